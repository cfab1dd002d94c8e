"""What goes wrong on real sockets is recorded, and goes wrong again in the same way without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
# Some stalls never end by themselves; the client's patience does.
SETTINGS = {"model": "m", "retry": None, "trust_env": False, "timeouts": Timeouts(first_byte=0.2, idle=0.2)}


def outcome(error: ModelError) -> str:
    return f"{type(error).__name__} {getattr(error, 'timeout', '')} {error.partial and error.partial.text}"


def ask(base_url: str, path: Path, transport: ReplayTransport | None) -> tuple[list[str], str]:
    """The deltas, and how the stream ended."""
    deltas: list[str] = []
    with Client(base_url, **SETTINGS, transport=transport) as client, record(path, client):
        try:
            with client.stream("hi") as events:
                deltas += [event.text for event in events if event.type == "text_delta"]
        except ModelError as error:
            return deltas, outcome(error)
    return deltas, "ended"


def ask_async(base_url: str, path: Path, transport: ReplayTransport | None) -> tuple[list[str], str]:
    async def run() -> tuple[list[str], str]:
        deltas: list[str] = []
        async with AsyncClient(base_url, **SETTINGS, transport=transport) as client:
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
    with MockProvider(faults=parse_fault(fault)) as mock:
        base_url = mock.base_url
        met = ask_it(base_url, tmp_path / "x.json", None)
    assert (met[1] == "ended") is (fault in OK)
    assert ask_it(base_url, tmp_path / "y.json", ReplayTransport(tmp_path / "x.json")) == met
    assert what_came(tmp_path / "y.json") == what_came(tmp_path / "x.json")


def what_came(path: Path) -> list[tuple[bytes | None, Failure | None, bool]]:
    exchanges = Cassette.load(path).exchanges
    return [(one.response and one.response.content, one.error, one.left) for one in exchanges]
