"""How costs grow: with the steps of a run, the chunks of a stream, the runs at a time, and the messages of a history.

Run: python -m tests.bench.growth CURVE BASE_URL SIZE... One JSON object with a list of points for each line of the
curve. Each curve is drawn in a process of its own, so that none pays for the memory of another.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, TypeAlias

from tests.bench import bench_cassettes
from tests.bench.bench_history import conversation
from tests.bench.server import REPLY, call
from tests.bench.subjects import KEY, QUESTION, SYSTEM

__all__ = ["CURVES", "Points", "resident"]

Points: TypeAlias = dict[str, list[float]]


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


# --- one long run ----------------------------------------------------------------------------------------------------


def steps_own(base: str, sizes: Sequence[int]) -> Points:
    """Microseconds of CPU of one step of a run, and bytes that each message holds, without any socket: a step is a
    model call and a tool call."""
    import httpx

    del base
    calls = iter(range(10_000_000))

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=call(next(calls)))

    return _steps("http://a.test", sizes, httpx.MockTransport(answer))


def steps_http(base: str, sizes: Sequence[int]) -> Points:
    """The same through the server: the whole request passes the socket at each step."""
    return _steps(f"{base}/calls", sizes, None)


def _steps(base: str, sizes: Sequence[int], transport: Any) -> Points:
    from agentloop import Agent, Client, Limits, tool

    @tool(effects="none")
    def look_up(key: str) -> str:
        return f"{key} {len(marks)}: a result of some length, as tools give it"

    marks: list[float] = []
    memory: dict[int, int] = {}
    most = max(sizes)
    with Client(f"{base}/v1", model="m", transport=transport) as client:
        agent = Agent(client, tools=[look_up], limits=Limits(max_steps=most + 6, max_repeats=None))
        start = resident()
        with agent.stream("go on", stream=False) as events:
            for event in events:
                if event.type == "step_started":
                    marks.append(process_time())
                    if len(marks) in sizes:
                        memory[len(marks)] = resident()
    costs = [b - a for a, b in pairwise(marks)]
    return {
        "µs per step": [median(costs[max(0, size - 6) : size + 5]) * 1e6 for size in sizes],
        "bytes per message": [(memory[size] - start) / (2 * size) for size in sizes],
    }


# --- streams, and runs at a time -------------------------------------------------------------------------------------


def chunks(base: str, sizes: Sequence[int]) -> Points:
    """Microseconds of CPU per chunk of a stream, one event in each."""
    from agentloop import Client

    def read(size: int) -> float:
        with Client(f"{base}/{size}/1/v1", model="m") as client, client.stream(QUESTION) as events:
            start = process_time()
            for _ in events:
                pass
            return (process_time() - start) / size * 1e6

    read(100)
    return {"µs per chunk": [median(read(size) for _ in range(max(1, min(9, 100_000 // size)))) for size in sizes]}


def concurrent(base: str, sizes: Sequence[int]) -> Points:
    """Microseconds of CPU per run, so many at a time, each answered in one step."""
    from agentloop import AsyncAgent, AsyncClient

    async def run(size: int) -> float:
        async with AsyncClient(f"{base}/v1", model="m", api_key=KEY, max_connections=size) as client:
            agent = AsyncAgent(client, instructions=SYSTEM)
            await asyncio.gather(*(agent.run(QUESTION) for _ in range(size)))  # opens the connections
            times, start = max(2, 1000 // size), process_time()
            for _ in range(times):
                await asyncio.gather(*(agent.run(QUESTION) for _ in range(size)))
            return (process_time() - start) / (times * size) * 1e6

    return {"µs per run": [asyncio.run(run(size)) for size in sizes]}


# --- histories and cassettes -----------------------------------------------------------------------------------------


def histories(base: str, sizes: Sequence[int]) -> Points:
    """Milliseconds of CPU to count a history never seen before, and to trim one whose messages were sized before."""
    from agentloop.history import EstimateCounter, Meter, PairedMessages, TokenBudget, plan_view

    del base
    policy = TokenBudget(16_000, 8_000)
    points: Points = {"ms to count": [], "ms to trim": []}
    for size in sizes:
        messages = conversation(size)[:size]
        points["ms to count"].append(_milliseconds(lambda: EstimateCounter().count(messages)))  # noqa: B023
        paired, meter = PairedMessages(messages), Meter(EstimateCounter())
        plan_view(paired, meter=meter, policy=policy)
        points["ms to trim"].append(
            _milliseconds(lambda: plan_view(paired, meter=meter, policy=policy))  # noqa: B023
        )
    return points


def _milliseconds(work: Callable[[], object], times: int = 7) -> float:
    taken: list[float] = []
    for _ in range(times):
        start = process_time()
        work()
        taken.append((process_time() - start) * 1e3)
    return median(taken)


def cassettes(base: str, sizes: Sequence[int]) -> Points:
    """Microseconds per exchange to write a cassette, read it, and answer from it in reverse order."""
    del base
    with tempfile.TemporaryDirectory() as folder:
        costs = [bench_cassettes.measure(size, Path(folder)) for size in sizes]
    return {f"µs to {step}": [cost[step] for cost in costs] for step in costs[0]}


CURVES: Mapping[str, Callable[[str, Sequence[int]], Points]] = {
    "steps_own": steps_own,
    "steps_http": steps_http,
    "chunks": chunks,
    "concurrent": concurrent,
    "histories": histories,
    "cassettes": cassettes,
}

if __name__ == "__main__":
    assert REPLY  # the module of the server is loaded before anything is timed
    gc.collect()
    print(json.dumps(CURVES[sys.argv[1]](sys.argv[2], [int(size) for size in sys.argv[3:]])))
