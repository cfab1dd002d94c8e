"""The sync driver: it does what the machine wants, one thing at a time, and tells it what came of it."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias

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
from agentloop.model import EventStream, Model, ModelRequest, ModelResponse
from agentloop.tools.execute import execute
from agentloop.tools.waiting import wait_for

__all__ = ["Driver"]

_Queue: TypeAlias = "queue.SimpleQueue[tuple[str, ToolResult | BaseException] | None]"


class Driver:
    """Moves one run until it ends or pauses. `events()` is the loop; `cancel` may be set from any thread.

    An exception that is not the model's or a tool's (Ctrl-C, a hook that fails, a consumer that leaves) closes the run
    as cancelled, so that its history stays sendable, and goes on its way. A run that waits for a person is left as it
    is by a consumer that leaves.
    """

    def __init__(self, run: Run, bindings: Bindings[Model], cancel: CancelSignal) -> None:
        self.run, self.bindings, self.cancel = run, bindings, cancel
        self._partial: list[str] = []
        self._asked: set[str] = set()

    def events(self) -> Generator[RunEvent, None, None]:
        try:
            while not self.run.ended:
                if self.cancel.cancelled:
                    yield from self._tell(Cancelled("".join(self._partial)))
                    break
                wanted = [action for action in self.run.next() if action.key not in self._asked]
                if not wanted:
                    break
                yield from self._perform(wanted)
        except BaseException as error:
            self.cancel.cancel()  # parallel calls that still wait for their turn must not begin
            if not (isinstance(error, GeneratorExit) and self._asked and self.run.status == "needs_approval"):
                self._tell(Cancelled("".join(self._partial)))
            raise
        yield RunFinished(self.run.result())

    def _tell(self, outcome: Outcome) -> list[RunEvent]:
        return self.run.receive(outcome, self.bindings.clock())

    def _perform(self, wanted: Sequence[object]) -> Iterator[RunEvent]:
        """Decisions first: every call of the step is judged before one of them runs."""
        action = next((a for a in wanted if isinstance(a, (Decide, Resolve))), wanted[0])
        match action:
            case Ask():
                yield from self._ask(action)
            case Execute():
                yield from self._execute([a for a in wanted if isinstance(a, Execute)])
            case Decide():
                yield from self._decide(action)
            case Resolve():
                yield from self._tell(self.bindings.resolve(action))
            case Check():
                accept = self.bindings.accept
                yield from self._tell(Checked(action.key, wait_for(accept(action.result)) if accept else None))
            case _:
                assert isinstance(action, Stop)

    def _ask(self, action: Ask) -> Iterator[RunEvent]:
        request = replace(action.request, cancel=self.cancel)
        for hook in self.bindings.before_model:
            request = returned(ModelRequest, hook, wait_for(hook(request)))
        yield from self._tell(Started(action.key))
        moved = self.bindings.judge_prefix(self.run, request) if action.purpose == "step" else None
        if moved and self.bindings.on_prefix_change == "error":
            yield from self._tell(Failed(action.key, ModelError(moved)))
            return
        if moved:
            yield Warned(moved)
        self._partial.clear()
        response: ModelResponse | None = None
        try:
            with closing(_open(self.bindings.model_for(action), request)) as events:
                for event in events:
                    if event.type == "text_delta":
                        self._partial.append(event.text)
                    elif event.type == "response_done":
                        response = event.response
                    if action.purpose == "step":
                        yield event
        except ModelError as error:
            if not self.cancel.cancelled:
                yield from self._tell(Failed(action.key, error, error.partial))
            return
        if response is not None:
            self._partial.clear()
            yield from self._tell(Answered(action.key, response))
        elif not self.cancel.cancelled:
            yield from self._tell(Failed(action.key, ProtocolError("the model ended without a response")))

    def _decide(self, action: Decide) -> Iterator[RunEvent]:
        decision = wait_for(self.bindings.decide(action))
        if decision is None:
            self._asked.add(action.key)
            yield DecisionNeeded(action.call)
        else:
            yield from self._tell(Decided(action.key, decision))

    def _execute(self, batch: Sequence[Execute]) -> Iterator[RunEvent]:
        if len(batch) == 1:
            yield from self._start(batch[0])
            yield from self._tell(Finished(batch[0].key, self._run_tool(batch[0])))
            return
        finished: _Queue = queue.SimpleQueue()
        gate = threading.Semaphore(self.bindings.max_parallel)
        for action in batch:
            yield from self._start(action)
            run, name = contextvars.copy_context().run, f"tool-{action.call.name}"
            threading.Thread(target=run, args=(self._work, action, gate, finished), daemon=True, name=name).start()
        forget = self.cancel.on_cancel(lambda: finished.put(None))
        try:
            for _ in batch:
                done = finished.get()
                if done is None:
                    return
                key, result = done
                if isinstance(result, BaseException):
                    raise result
                yield from self._tell(Finished(key, result))
        finally:
            forget()

    def _start(self, action: Execute) -> Iterator[RunEvent]:
        for hook in self.bindings.before_tool:
            wait_for(hook(action.call))
        yield from self._tell(Started(action.key))

    def _work(self, action: Execute, gate: threading.Semaphore, finished: _Queue) -> None:
        """Runs in a thread. What a hook raises is for the thread that drives the run, which waits for an answer."""
        with gate:
            try:
                finished.put((action.key, self._run_tool(action)))
            except BaseException as error:
                finished.put((action.key, error))

    def _run_tool(self, action: Execute) -> ToolResult:
        prepared = self.bindings.prepare(action)
        if isinstance(prepared, ToolResult):
            result = prepared
        else:
            result = execute(prepared, context=self.bindings.context(self.run, action, self.cancel))
        for hook in self.bindings.after_tool:
            result = returned(ToolResult, hook, wait_for(hook(action.call, result)))
        return result


def _open(model: Model, request: ModelRequest) -> EventStream:
    events = model.events(request)
    if not hasattr(events, "__next__"):
        raise ConfigError(f"Agent needs a model such as Client; for {type(model).__name__} there is AsyncAgent")
    return events
