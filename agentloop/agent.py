"""Agents: a model, its tools, its instructions and its limits, bundled. An agent holds no conversation.

These are the faces of `loop/`, which is loaded with the first agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from agentloop.cancel import CancelSignal
from agentloop.loop.settings import AgentSettings, Decisions, History, Prompt

if TYPE_CHECKING:
    from agentloop.loop.bindings import Bindings
    from agentloop.loop.result import RunEvent, RunResult
    from agentloop.loop.run import Run
    from agentloop.model import AsyncModel, Model

__all__ = ["Agent", "AgentSettings", "AsyncAgent", "AsyncRunStream", "Decisions", "Prompt", "RunStream"]


class Agent:
    """Asks the model, runs the tools it asks for, and asks again, until it answers or a limit is reached.

    `Agent(model, tools=[...], instructions="...", limits=Limits(...))`; see `AgentSettings` for the rest. An agent may
    run in many threads at once; runs share nothing but the model.
    """

    def __init__(self, model: Model, **settings: Unpack[AgentSettings]) -> None:
        from agentloop.loop.bundle import Bundle

        self._bundle = Bundle(model, settings)
        self.model = model

    def start(self, prompt: Prompt, *, messages: History = (), after: Run | None = None) -> Run:
        """A run that has not begun: nothing is sent until it is given to `resume` or `stream`. `after` is
        the run that `messages` come from, so that its summary goes on serving."""
        return self._bundle.start(prompt, messages, after)

    def run(self, prompt: Prompt, *, messages: History = ()) -> RunResult:
        """Run to the end and return the result, whatever its status. `messages` is the history to continue from."""
        return self.resume(self.start(prompt, messages=messages))

    def resume(self, run: Run | RunResult, decisions: Decisions | None = None) -> RunResult:
        """Go on with a run that is paused, loaded or new. `decisions` maps the ids of `result.pending` to "allow",
        `deny(reason)` or `edit(arguments)`; calls that are left out keep waiting."""
        return self.stream(run, decisions=decisions, stream=False).finish()

    def stream(
        self,
        prompt: Prompt | Run | RunResult,
        *,
        messages: History = (),
        decisions: Decisions | None = None,
        stream: bool = True,
    ) -> RunStream:
        """The same, event by event: `with agent.stream("...") as events: for event in events: ...`. Use the `with`: it
        closes the HTTP response when you leave early. `stream=False` asks for whole replies."""
        run, first = self._bundle.open(prompt, messages, decisions, stream=stream)
        return RunStream(run, self._bundle.bindings, first)


class AsyncAgent:
    """`Agent` for `async`: the same settings, and `await agent.run(...)`."""

    def __init__(self, model: AsyncModel, **settings: Unpack[AgentSettings]) -> None:
        from agentloop.loop.bundle import Bundle

        self._bundle = Bundle(model, settings)
        self.model = model

    def start(self, prompt: Prompt, *, messages: History = (), after: Run | None = None) -> Run:
        """As `Agent.start`; it is not a coroutine, since nothing is sent."""
        return self._bundle.start(prompt, messages, after)

    async def run(self, prompt: Prompt, *, messages: History = ()) -> RunResult:
        """As `Agent.run`."""
        return await self.resume(self.start(prompt, messages=messages))

    async def resume(self, run: Run | RunResult, decisions: Decisions | None = None) -> RunResult:
        """As `Agent.resume`."""
        return await self.stream(run, decisions=decisions, stream=False).finish()

    def stream(
        self,
        prompt: Prompt | Run | RunResult,
        *,
        messages: History = (),
        decisions: Decisions | None = None,
        stream: bool = True,
    ) -> AsyncRunStream:
        """As `Agent.stream`, with `async with` and `async for`."""
        run, first = self._bundle.open(prompt, messages, decisions, stream=stream)
        return AsyncRunStream(run, self._bundle.bindings, first)


def _close_unless_paused(run: Run) -> None:
    """A generator that never began does not see that it is closed."""
    if run.status is None:
        run.cancel()


class RunStream:
    """The events of a run. `cancel()` may be called from any thread; `result` is there once the events have ended."""

    def __init__(self, run: Run, bindings: Bindings[Model], first: Sequence[RunEvent] = ()) -> None:
        self.run = run
        self._cancel = CancelSignal()
        self._first = list(first)
        from agentloop.loop.drive import Driver

        self._events = Driver(run, bindings, self._cancel).events()

    def __iter__(self) -> RunStream:
        return self

    def __next__(self) -> RunEvent:
        return self._first.pop(0) if self._first else next(self._events)

    def __enter__(self) -> RunStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def result(self) -> RunResult:
        """The run's result; ValueError while it goes on."""
        return self.run.result()

    def cancel(self) -> None:
        """Stop the run where it is; its events end with status "cancelled". A sync tool without a timeout is waited
        for, since it runs in the thread that reads the events."""
        self._cancel.cancel()

    def close(self) -> None:
        """Leave now: an unfinished run is closed as cancelled."""
        self._events.close()
        _close_unless_paused(self.run)

    def finish(self) -> RunResult:
        """Read the remaining events and return the result."""
        for _ in self:
            pass
        return self.result


class AsyncRunStream:
    """`RunStream` for `async with` and `async for`."""

    def __init__(self, run: Run, bindings: Bindings[AsyncModel], first: Sequence[RunEvent] = ()) -> None:
        self.run = run
        self._cancel = CancelSignal()
        self._first = list(first)
        from agentloop.loop.drive_async import AsyncDriver  # asyncio is a third of what importing httpx costs

        self._events = AsyncDriver(run, bindings, self._cancel).events()

    def __aiter__(self) -> AsyncRunStream:
        return self

    async def __anext__(self) -> RunEvent:
        return self._first.pop(0) if self._first else await anext(self._events)

    async def __aenter__(self) -> AsyncRunStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def result(self) -> RunResult:
        """The run's result; ValueError while it goes on."""
        return self.run.result()

    def cancel(self) -> None:
        """Stop the run where it is, from any thread; its events end with status "cancelled"."""
        self._cancel.cancel()

    async def aclose(self) -> None:
        """Leave now: an unfinished run is closed as cancelled."""
        await self._events.aclose()
        _close_unless_paused(self.run)

    async def finish(self) -> RunResult:
        """Read the remaining events and return the result."""
        async for _ in self:
            pass
        return self.result
