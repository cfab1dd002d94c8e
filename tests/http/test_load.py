"""Many calls at a time through the mock provider: each ends as its fault prescribes, and nothing stays behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentloop.errors import ModelError
from agentloop.http.async_client import AsyncClient
from agentloop.http.call import Call
from agentloop.http.client import Client
from agentloop.http.retry import RetryPolicy
from agentloop.mock import MockProvider
from agentloop.testing.faults import Fault, parse_fault

CALLS = 72
FAULTS: list[tuple[str, bool, str]] = [  # the fault, whether it strikes each time, the outcome
    ("ok", True, "answered"),
    ("status=503", False, "answered"),
    ("reset", False, "answered"),
    ("gzip", True, "answered"),
    ("keepalive=2,seconds=0", True, "answered"),
    ("status=400", True, "RequestRejected"),
    ("status=503", True, "ServerError"),
    ("html", True, "ProtocolError"),
    ("cut-after=3", True, "StreamInterrupted"),
]
SETTINGS: dict[str, Any] = {
    "model": "m",
    "retry": RetryPolicy(attempts=3, base=0.001),
    "max_connections": 16,
}


class Planned:
    """The fault of a call, by the number in its prompt."""

    def __init__(self) -> None:
        self._met: Counter[int] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: Any) -> Fault | None:
        number = int(request.json["messages"][-1]["content"].split()[0])
        with self._lock:
            self._met[number] += 1
        spec, always, _ = FAULTS[number % len(FAULTS)]
        return parse_fault(spec)[0] if always or self._met[number] == 1 else None


def prompt(number: int) -> str:
    return f"{number} tell me all of it, in as many words as that takes"


def wrong(outcomes: list[str]) -> list[tuple[int, str]]:
    expected = [FAULTS[number % len(FAULTS)][2] for number in range(len(outcomes))]
    return [(n, found) for n, (found, right) in enumerate(zip(outcomes, expected, strict=True)) if found != right]


def calls_alive() -> int:
    gc.collect()
    return sum(isinstance(item, Call) for item in gc.get_objects())


def test_many_tasks() -> None:
    async def one(client: AsyncClient, number: int) -> str:
        try:
            async with client.stream(prompt(number)) as events:
                text = "".join([event.text async for event in events if event.type == "text_delta"])
            return "answered" if prompt(number) in text else text
        except ModelError as failed:
            return type(failed).__name__

    async def all_of_them() -> list[str]:
        with MockProvider("echo", faults=Planned()) as server:
            async with AsyncClient(server.base_url, **SETTINGS) as client:
                outcomes = await asyncio.gather(*(one(client, number) for number in range(CALLS)))
                assert len(client.transport.connections) <= 16
            assert client.transport.connections == []
        return outcomes

    assert wrong(asyncio.run(all_of_them())) == []
    assert calls_alive() == 0


def test_many_threads() -> None:
    def one(number: int) -> str:
        try:
            with client.stream(prompt(number)) as events:
                text = "".join([event.text for event in events if event.type == "text_delta"])
            return "answered" if prompt(number) in text else text
        except ModelError as failed:
            return type(failed).__name__

    with MockProvider("echo", faults=Planned()) as server:
        with Client(server.base_url, **SETTINGS) as client, ThreadPoolExecutor(24) as threads:
            outcomes = list(threads.map(one, range(CALLS)))
        assert client.transport.connections == []
    assert wrong(outcomes) == []
    assert calls_alive() == 0
