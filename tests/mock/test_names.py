"""The packages' names load when they are used, and not before."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from agentloop import mock, testing

PACKAGES = [mock, testing]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_loads(package: ModuleType) -> None:
    assert all(getattr(package, name) is not None for name in dir(package))


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("heavy", ["httpx", "h11", "asyncio", "hypothesis"])
def test_importing_the_packages_loads_nothing_heavy(heavy: str) -> None:
    code = f"import agentloop.mock, agentloop.testing, sys; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
