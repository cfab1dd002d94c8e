"""What goes wrong on real sockets is recorded, and goes wrong again in the same way without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentloop import AsyncClient, Client, Timeouts
from agentloop.errors import ModelError
from agentloop.mock import MockProvider
from agentloop.testing import Cassette, ReplayTransport, parse_fault, record
from agentloop.testing.exchanges import Failure

FAULTS = [
    "status=429,message=busy",
    "status=500",
    "error=overloaded",
    "close",
    "reset",
    "reset-after=3",
    "cut-after=3",
    "cut-inside=3",
    "end-after=3",
    "bad-json=3",
    "html=200",
    "stall=first-byte",
    "stall=chunks,after=3",
]
OK = ["gzip", "keepalive=3", "duplicate=1", "drip=50,seconds=0"]
Ask = Callable[..., tuple[list[str], str]]
SETTINGS: dict[str, Any] = {"model": "m", "retry": None, "trust_env": False}


def outcome(error: ModelError) -> str:
    return f"{type(error).__name__} {getattr(error, 'timeout', '')} {error.partial and error.partial.text}"


def ask(path: Path, **settings: Any) -> tuple[list[str], str]:
    """The deltas, and how the stream ended."""
    deltas: list[str] = []
    with Client(**SETTINGS, **settings) as client, record(path, client):
        try:
            with client.stream("hi") as events:
                deltas += [event.text for event in events if event.type == "text_delta"]
        except ModelError as error:
            return deltas, outcome(error)
    return deltas, "ended"


def ask_async(path: Path, **settings: Any) -> tuple[list[str], str]:
    async def run() -> tuple[list[str], str]:
        deltas: list[str] = []
        async with AsyncClient(**SETTINGS, **settings) as client:
            with record(path, client):
                try:
                    async with client.stream("hi") as events:
                        deltas.extend([event.text async for event in events if event.type == "text_delta"])
                except ModelError as error:
                    return deltas, outcome(error)
        return deltas, "ended"

    return anyio.run(run)


@pytest.mark.parametrize("ask_it", [ask, ask_async])
@pytest.mark.parametrize("fault", [*FAULTS, *OK])
def test_a_fault_is_replayed_as_it_was_met(ask_it: Ask, fault: str, tmp_path: Path) -> None:
    # A stall does not end by itself; the client's patience does.
    timeouts = Timeouts(first_byte=0.2, idle=0.2) if fault.startswith("stall") else Timeouts()
    with MockProvider(faults=parse_fault(fault)) as mock:
        settings = {"base_url": mock.base_url, "timeouts": timeouts}
        met = ask_it(tmp_path / "x.json", **settings)
    assert (met[1] == "ended") is (fault in OK)
    assert ask_it(tmp_path / "y.json", **settings, transport=ReplayTransport(tmp_path / "x.json")) == met
    assert what_came(tmp_path / "y.json") == what_came(tmp_path / "x.json")


def what_came(path: Path) -> list[tuple[bytes | None, Failure | None, bool]]:
    exchanges = Cassette.load(path).exchanges
    return [(one.response and one.response.content, one.error, one.left) for one in exchanges]
