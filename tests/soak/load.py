"""The load: seeded faults, runs in tasks and in threads, and a count of what they leave behind."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from agentloop import Agent, AsyncAgent, AsyncClient, Client, RetryPolicy, RunResult, Timeouts
from agentloop.mock import MockProvider
from agentloop.mock.received import ReceivedRequest
from agentloop.testing import Fault, parse_fault

FAULTS = {  # what befalls the first request of a run -> how the run ends
    "status=503": "answered",
    "status=429,retry-after=0": "answered",
    "status=529": "answered",
    "reset": "answered",
    "close": "answered",
    "error=overloaded,code=503,after=0": "answered",
    "keepalive=5": "answered",
    "gzip": "answered",
    "status=400": "model_error",
    "status=401": "model_error",
    "cut-after=4": "model_error",
    "reset-after=4": "model_error",
    "end-after=4": "model_error",
    "error=broken,code=500,after=4": "model_error",
    "html": "protocol_error",
}
RETRY = RetryPolicy(attempts=3, base=0.001, cap=1.0)
TIMEOUTS = Timeouts(pool=120, total=120)


@dataclass(slots=True)
class Plan:
    """Which run meets which fault, and what came of it."""

    runs: int
    seed: int
    share: float = 0.05
    name: str = "run"
    faults: dict[str, str] = field(default_factory=dict[str, str])
    _met: set[str] = field(default_factory=set[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        rng = random.Random(self.seed)
        for number in range(self.runs):
            if rng.random() < self.share:
                self.faults[self.prompt(number)] = rng.choice(list(FAULTS))

    def prompt(self, number: int) -> str:
        return f"this is {self.name} {number}"

    def choose(self, request: ReceivedRequest) -> Fault:
        """For `MockProvider(faults=...)`: the run's fault at its first request, nothing afterwards."""
        prompt = request.json["messages"][-1]["content"]
        with self._lock:
            first = prompt not in self._met
            self._met.add(prompt)
        return parse_fault(self.faults[prompt])[0] if first and prompt in self.faults else Fault()

    def check(self, prompt: str, result: RunResult) -> str | None:
        """What is wrong with the end of this run, or None."""
        wanted = FAULTS.get(self.faults.get(prompt, ""), "answered")
        if result.status != wanted:
            return f"{prompt}: {self.faults.get(prompt)} should end in {wanted}, not {result.status} ({result.error})"
        if wanted == "answered" and result.text != prompt:
            return f"{prompt}: answered {result.text!r}"
        return None


WARM_UP = Plan(20, seed=0, share=0.0, name="warm-up")  # makes what is made once and kept


@contextmanager
def nothing_left(mock: MockProvider) -> Iterator[list[str]]:
    """Fills the list with what the block leaves behind: connections, and live objects of ours and of httpx."""
    left: list[str] = []
    before = _living()
    yield left
    mock.wait_idle(30)
    for name, count in (_living() - before).items():
        left.append(f"{count} more {name}")
    if mock.open_connections:
        left.append(f"{mock.open_connections} connections")


def _living() -> Counter[str]:
    gc.collect()
    kinds = (type(thing) for thing in gc.get_objects())
    rooms = ("agentloop.http", "agentloop.loop", "agentloop.wire", "agentloop.agent", "httpx", "httpcore", "h11")
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in kinds if str(kind.__module__).startswith(rooms))
    return Counter(names)


async def in_tasks(mock: MockProvider, plan: Plan) -> list[str]:
    """All runs of the plan at once, in one process; returns what went wrong."""

    async def one(agent: AsyncAgent, number: int) -> str | None:
        prompt = plan.prompt(number)
        return plan.check(prompt, await agent.stream(prompt).finish())

    async with AsyncClient(mock.base_url, model="m", retry=RETRY, timeouts=TIMEOUTS) as client:
        agent = AsyncAgent(client)
        wrong = await asyncio.gather(*(one(agent, number) for number in range(plan.runs)))
    return [text for text in wrong if text]


def in_threads(mock: MockProvider, plan: Plan, threads: int = 64) -> list[str]:
    """The same in threads, with the sync client."""

    def one(number: int) -> str | None:
        prompt = plan.prompt(number)
        return plan.check(prompt, agent.stream(prompt).finish())

    with (
        Client(mock.base_url, model="m", retry=RETRY, timeouts=TIMEOUTS) as client,
        ThreadPoolExecutor(threads) as pool,
    ):
        agent = Agent(client)
        return [text for text in pool.map(one, range(plan.runs)) if text]


def main() -> int:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    status = 0
    for name in ("tasks", "threads"):
        plan = Plan(1000, seed)
        with MockProvider("echo", faults=plan.choose) as mock:
            if name == "tasks":
                asyncio.run(in_tasks(mock, WARM_UP))
            else:
                in_threads(mock, WARM_UP)
            with nothing_left(mock) as left:
                wrong = asyncio.run(in_tasks(mock, plan)) if name == "tasks" else in_threads(mock, plan)
        print(f"{plan.runs} runs in {name}, seed {seed}: {len(plan.faults)} with a fault, {len(wrong)} ended otherwise")
        for line in [*wrong, *left]:
            print(f"  {line}")
        status = status or bool(wrong or left)
    return int(status)
