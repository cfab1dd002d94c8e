"""What every test gets: asyncio for async tests, and no sockets but loopback's."""

from __future__ import annotations

import ipaddress
import sys
from typing import Any

import hypothesis
import pytest

# An example that takes long on a busy machine is no fault: what is timed belongs in tests/bench.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _refuse_the_network(event: str, args: tuple[Any, ...]) -> None:
    if event != "socket.connect":
        return
    address = args[1]
    if not isinstance(address, tuple) or not isinstance(address[0], str):
        return
    try:
        allowed = ipaddress.ip_address(address[0].partition("%")[0]).is_loopback
    except ValueError:
        allowed = address[0] == "localhost"
    if not allowed:
        raise RuntimeError(f"a test tried to reach {address[0]}: tests use loopback only")


sys.addaudithook(_refuse_the_network)
