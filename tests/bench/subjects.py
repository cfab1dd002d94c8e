"""What is measured: each subject does so many units of work against the server at `base` when it is told to.

A subject runs in a process of its own (see `worker`), so it imports only what it needs, inside its function. The
subject that another is compared with is the plainest program that does the same with httpx.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias

__all__ = ["SUBJECTS", "Subject", "asynchronous"]

Work: TypeAlias = Callable[[int], None]
Subject: TypeAlias = Callable[[str], Any]  # a context manager of Work

SYSTEM, QUESTION = "You are helpful.", "Say something about foxes."
BODY = {
    "model": "m",
    "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}],
}
STREAM_BODY = BODY | {"stream": True, "stream_options": {"include_usage": True}}
KEY = "sk-measured"
HEADERS = {"Authorization": f"Bearer {KEY}"}
EVENTS = 1000  # of one stream
MANY = 20  # events in one HTTP chunk


def one_by_one(once: Callable[[], object]) -> Work:
    def work(units: int) -> None:
        for _ in range(units):
            once()

    return work


def asynchronous(subject: Callable[[str], Any]) -> Subject:
    """A subject from an async context manager that gives the coroutine function for one unit."""

    @contextmanager
    def run_in_a_loop(base: str) -> Iterator[Work]:
        async def repeat(once: Callable[[], Awaitable[object]], units: int) -> None:
            for _ in range(units):
                await once()

        with asyncio.Runner() as runner:
            opened = subject(base)
            once = runner.run(opened.__aenter__())
            yield lambda units: runner.run(repeat(once, units))
            runner.run(opened.__aexit__(None, None, None))

    return run_in_a_loop


# --- one small reply -------------------------------------------------------------------------------------------------


@contextmanager
def httpx_post(base: str) -> Iterator[Work]:
    import httpx

    url = f"{base}/v1/chat/completions"
    with httpx.Client(headers=HEADERS) as client:
        yield one_by_one(lambda: client.post(url, json=BODY).json()["choices"][0]["message"]["content"])


@asynchronous
@asynccontextmanager
async def httpx_post_async(base: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    import httpx

    url = f"{base}/v1/chat/completions"
    async with httpx.AsyncClient(headers=HEADERS) as client:

        async def once() -> str:
            return (await client.post(url, json=BODY)).json()["choices"][0]["message"]["content"]

        yield once


@contextmanager
def respond(base: str) -> Iterator[Work]:
    from agentloop import Client

    with Client(f"{base}/v1", model="m", api_key=KEY) as client:
        yield one_by_one(lambda: client.respond(QUESTION, instructions=SYSTEM).text)


@asynchronous
@asynccontextmanager
async def respond_async(base: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    from agentloop import AsyncClient

    async with AsyncClient(f"{base}/v1", model="m", api_key=KEY) as client:

        async def once() -> str:
            return (await client.respond(QUESTION, instructions=SYSTEM)).text

        yield once


@contextmanager
def agent_run(base: str) -> Iterator[Work]:
    from agentloop import Agent, Client

    with Client(f"{base}/v1", model="m", api_key=KEY) as client:
        agent = Agent(client, instructions=SYSTEM)
        yield one_by_one(lambda: agent.run(QUESTION).text)


@asynchronous
@asynccontextmanager
async def agent_run_async(base: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    from agentloop import AsyncAgent, AsyncClient

    async with AsyncClient(f"{base}/v1", model="m", api_key=KEY) as client:
        agent = AsyncAgent(client, instructions=SYSTEM)

        async def once() -> str | None:
            return (await agent.run(QUESTION)).text

        yield once


# --- streams ---------------------------------------------------------------------------------------------------------


@contextmanager
def iter_bytes(base: str) -> Iterator[Work]:
    import httpx

    url = f"{base}/{EVENTS}/1/v1/chat/completions"
    with httpx.Client(headers=HEADERS) as client:

        def once() -> None:
            with client.stream("POST", url, json=STREAM_BODY) as response:
                for _ in response.iter_bytes():
                    pass

        yield one_by_one(once)


@asynchronous
@asynccontextmanager
async def aiter_bytes(base: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    import httpx

    url = f"{base}/{EVENTS}/1/v1/chat/completions"
    async with httpx.AsyncClient(headers=HEADERS) as client:

        async def once() -> None:
            async with client.stream("POST", url, json=STREAM_BODY) as response:
                async for _ in response.aiter_bytes():
                    pass

        yield once


@contextmanager
def loads(base: str) -> Iterator[Work]:
    from tests.bench.server import event_texts

    del base
    events = event_texts(EVENTS)

    def once() -> None:
        for event in events:
            json.loads(event)

    yield one_by_one(once)


def streamed(per: int) -> Subject:
    @contextmanager
    def stream(base: str) -> Iterator[Work]:
        from agentloop import Client

        with Client(f"{base}/{EVENTS}/{per}/v1", model="m", api_key=KEY) as client:

            def once() -> None:
                with client.stream(QUESTION, instructions=SYSTEM) as events:
                    count = sum(1 for _ in events)
                assert count == EVENTS + 1, count

            yield one_by_one(once)

    return stream


@asynchronous
@asynccontextmanager
async def stream_async(base: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    from agentloop import AsyncClient

    async with AsyncClient(f"{base}/{EVENTS}/1/v1", model="m", api_key=KEY) as client:

        async def once() -> None:
            async with client.stream(QUESTION, instructions=SYSTEM) as events:
                async for _ in events:
                    pass

        yield once


SUBJECTS: dict[str, Subject] = {
    "httpx": httpx_post,
    "httpx async": httpx_post_async,
    "respond": respond,
    "respond async": respond_async,
    "agent": agent_run,
    "agent async": agent_run_async,
    "iter_bytes": iter_bytes,
    "iter_bytes async": aiter_bytes,
    "json.loads": loads,
    "stream": streamed(1),
    "stream async": stream_async,
    "stream 20": streamed(MANY),
}
