"""The names of `agentloop.testing`."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys

import pytest

import agentloop.testing

NAMES = dir(agentloop.testing)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_can_be_loaded(name: str) -> None:
    assert getattr(agentloop.testing, name).__name__ == name


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isfunction(getattr(agentloop.testing, name))])
def test_no_module_is_named_like_a_function(name: str) -> None:
    """Otherwise importing the module would put it in the place of the function."""
    assert importlib.util.find_spec(f"agentloop.testing.{name}") is None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = agentloop.testing.nothing


def test_importing_the_package_loads_nothing() -> None:
    program = "import sys, agentloop.testing; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=20)
    assert "httpx" not in run.stdout.split()
