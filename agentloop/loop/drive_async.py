"""The async driver: the same loop as `drive.py`, for `async for`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TypeVar, cast

from agentloop.cancel import CancelSignal
from agentloop.errors import ConfigError, ModelError, ProtocolError
from agentloop.loop.actions import (
    Answered,
    Ask,
    Cancelled,
    Check,
    Checked,
    Decide,
    Decided,
    Execute,
    Failed,
    Finished,
    Outcome,
    Resolve,
    Started,
    Stop,
)
from agentloop.loop.bindings import Bindings, returned
from agentloop.loop.result import DecisionNeeded, RunEvent, RunFinished, Warned
from agentloop.loop.run import Run
from agentloop.messages import ToolResult
from agentloop.model import AsyncEventStream, AsyncModel, ModelRequest, ModelResponse
from agentloop.tools.execute import execute_async

__all__ = ["AsyncDriver"]

T = TypeVar("T")


class AsyncDriver:
    """Moves one run until it ends or pauses. Cancelling the task closes the run and lets CancelledError through;
    setting `cancel`, from any thread, ends the run with status "cancelled"."""

    def __init__(self, run: Run, bindings: Bindings[AsyncModel], cancel: CancelSignal) -> None:
        self.run, self.bindings, self.cancel = run, bindings, cancel
        self._partial: list[str] = []
        self._asked: set[str] = set()
        self._waiting: asyncio.Task[object] | None = None
        self._poked = False

    async def events(self) -> AsyncGenerator[RunEvent, None]:
        loop = asyncio.get_running_loop()
        forget = self.cancel.on_cancel(lambda: _call_soon(loop, self._poke))
        try:
            while not self.run.ended:
                if self.cancel.cancelled:
                    for event in self._tell(Cancelled("".join(self._partial))):
                        yield event
                    break
                wanted = [action for action in self.run.next() if action.key not in self._asked]
                if not wanted:
                    break
                async with aclosing(self._perform(wanted)) as events:
                    async for event in events:
                        self._waiting = None
                        yield event
                        self._waiting = asyncio.current_task()
        except BaseException as error:
            if not (isinstance(error, GeneratorExit) and self._asked and self.run.status == "needs_approval"):
                self._tell(Cancelled("".join(self._partial)))
            raise
        finally:
            self._waiting = None
            forget()
        yield RunFinished(self.run.result())

    def _poke(self) -> None:
        """Wake the driver where it waits; while it does not wait, it will look at the signal by itself."""
        if self._waiting is not None:
            self._poked = True
            self._waiting.cancel()

    def _tell(self, outcome: Outcome) -> list[RunEvent]:
        return self.run.receive(outcome, self.bindings.clock())

    async def _perform(self, wanted: Sequence[object]) -> AsyncGenerator[RunEvent, None]:
        """Decisions first: every call of the step is judged before one of them runs."""
        self._waiting = asyncio.current_task()
        action = next((a for a in wanted if isinstance(a, (Decide, Resolve))), wanted[0])
        try:
            match action:
                case Ask():
                    events = self._ask(action)
                case Execute():
                    events = self._execute([a for a in wanted if isinstance(a, Execute)])
                case _:
                    events = self._judge(action)
            async with aclosing(events):
                async for event in events:
                    yield event
        except asyncio.CancelledError:
            if not self._poked or self._waiting is None:
                raise
            self._poked = False
            self._waiting.uncancel()

    async def _ask(self, action: Ask) -> AsyncGenerator[RunEvent, None]:
        request = replace(action.request, cancel=self.cancel)
        for hook in self.bindings.before_model:
            request = returned(ModelRequest, hook, await _settled(hook(request)))
        for event in self._tell(Started(action.key)):
            yield event
        moved = self.bindings.judge_prefix(self.run, request) if action.purpose == "step" else None
        if moved and self.bindings.on_prefix_change == "error":
            for event in self._tell(Failed(action.key, ModelError(moved))):
                yield event
            return
        if moved:
            yield Warned(moved)
        self._partial.clear()
        response: ModelResponse | None = None
        try:
            async with aclosing(_open(self.bindings.model_for(action), request)) as events:
                async for event in events:
                    if event.type == "text_delta":
                        self._partial.append(event.text)
                    elif event.type == "response_done":
                        response = event.response
                    if action.purpose == "step":
                        yield event
        except ModelError as error:
            if not self.cancel.cancelled:
                for event in self._tell(Failed(action.key, error, error.partial)):
                    yield event
            return
        outcome: Outcome = Failed(action.key, ProtocolError("the model ended without a response"))
        if response is not None:
            self._partial.clear()
            outcome = Answered(action.key, response)
        if response is not None or not self.cancel.cancelled:
            for event in self._tell(outcome):
                yield event

    async def _judge(self, action: object) -> AsyncGenerator[RunEvent, None]:
        events: list[RunEvent] = []
        match action:
            case Decide():
                decision = await _settled(self.bindings.decide(action))
                if decision is None:
                    self._asked.add(action.key)
                    events = [DecisionNeeded(action.call)]
                else:
                    events = self._tell(Decided(action.key, decision))
            case Resolve():
                events = self._tell(self.bindings.resolve(action))
            case Check():
                accept = self.bindings.accept
                events = self._tell(Checked(action.key, await _settled(accept(action.result)) if accept else None))
            case _:
                assert isinstance(action, Stop)
        for event in events:
            yield event

    async def _execute(self, batch: Sequence[Execute]) -> AsyncGenerator[RunEvent, None]:
        gate = asyncio.Semaphore(self.bindings.max_parallel)
        tasks: dict[asyncio.Task[ToolResult], str] = {}
        try:
            for action in batch:
                for hook in self.bindings.before_tool:
                    await _settled(hook(action.call))
                for event in self._tell(Started(action.key)):
                    yield event
                tasks[asyncio.create_task(self._run_tool(action, gate))] = action.key
            while tasks:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    for event in self._tell(Finished(tasks.pop(task), task.result())):
                        yield event
        finally:
            await self._abandon(tasks)

    async def _abandon(self, tasks: dict[asyncio.Task[ToolResult], str]) -> None:
        """Stop what still runs; a tool that had just finished keeps its result."""
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for task, key in tasks.items():
            if not task.cancelled() and task.exception() is None:
                self._tell(Finished(key, task.result()))

    async def _run_tool(self, action: Execute, gate: asyncio.Semaphore) -> ToolResult:
        async with gate:
            prepared = self.bindings.prepare(action)
            if isinstance(prepared, ToolResult):
                result = prepared
            else:
                context = self.bindings.context(self.run, action, self.cancel)
                result = await execute_async(prepared, context=context)
            for hook in self.bindings.after_tool:
                result = returned(ToolResult, hook, await _settled(hook(action.call, result)))
            return result


async def _settled(value: T | Awaitable[T]) -> T:
    return await value if inspect.isawaitable(value) else cast("T", value)


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop is closed: the run has ended with it
        loop.call_soon_threadsafe(callback)


def _open(model: AsyncModel, request: ModelRequest) -> AsyncEventStream:
    events = model.events(request)
    if not hasattr(events, "__aiter__"):
        name = type(model).__name__
        raise ConfigError(f"AsyncAgent needs an async model such as AsyncClient, and {name} is not one")
    return events
