"""The machine: a run as a value.

`next()` says which actions are wanted now and changes nothing; `receive(outcome, now)` is the only transition. There
is no clock, no thread, no randomness and no I/O in here, so a run can be replayed, saved in the middle, and continued
in another process. A driver is a loop over these two (see `drive.py`).

    ask ──Answered──> act ──all calls done──> ask ...      one step: a model call and the tools it asked for
     └────Answered──> check ──Checked──> ask or end
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agentloop.callids import settle_ids
from agentloop.errors import AgentLoopError, ConfigError, ModelError, ProtocolError, StreamInterrupted, ToolError
from agentloop.loop.actions import (
    Action,
    Answered,
    Ask,
    Cancelled,
    Check,
    Checked,
    Decide,
    Decided,
    Failed,
    Finished,
    Outcome,
    Resolved,
    Started,
    Stop,
    Stopped,
)
from agentloop.loop.reading import is_worth_keeping, read_reply, with_calls
from agentloop.loop.repeats import with_warning
from agentloop.loop.result import (
    LateResult,
    Repaired,
    RunEvent,
    RunFinished,
    RunResult,
    Status,
    StepStarted,
    ToolFinished,
    ToolStarted,
)
from agentloop.loop.state import RunSpec, RunState, dump, load
from agentloop.loop.step import OpenStep
from agentloop.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from agentloop.model import ModelRequest, ModelResponse, ToolSpec, Usage
from agentloop.pairing import PairedMessages, repair
from agentloop.tools.approval import approval_digest

__all__ = ["Run", "RunSpec"]


class Run:
    """One run, from a user message to a stop. `Agent.start` makes one and the drivers move it.

    `tools` are what requests offer, and `stream` whether replies come in pieces; neither is saved, so whoever drives a
    run that was loaded sets them again.
    """

    def __init__(
        self,
        messages: Iterable[Message],
        *,
        spec: RunSpec | None = None,
        tools: Sequence[ToolSpec] = (),
        id: str = "run",
    ) -> None:
        repaired = repair(messages)
        self.id = id
        self.spec = spec or RunSpec()
        self.tools: tuple[ToolSpec, ...] = tuple(tools)
        self.stream = False
        self._state = RunState(list(repaired.messages), repairs=repaired.repairs)
        self._view = repaired.messages

    # --- questions --------------------------------------------------------------------------------------------------

    @property
    def status(self) -> Status | None:
        """How it ended; "needs_approval" while only decisions are wanted; None while it goes on."""
        if self._state.status is None and self._state.open is not None and not self._state.open.running:
            actions = self._state.open.actions(self.spec.parallel, None)
            if actions and all(isinstance(action, Decide) for action in actions):
                return "needs_approval"
        return self._state.status

    @property
    def ended(self) -> bool:
        return self._state.status is not None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The given and the new messages. While a step is open its results are not among them yet."""
        return PairedMessages(self._state.messages) if self._state.open is None else tuple(self._state.messages)

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        return self._state.open.undecided if self._state.open is not None and not self.ended else ()

    def key_of(self, call_id: str) -> str:
        """The key of an undecided call of the open step; ConfigError names the calls that do wait."""
        key = f"{self._state.steps}.{call_id}"
        if self._state.open is not None and key in self._state.open and self._state.open[key].state == "undecided":
            return key
        waiting = ", ".join(call.id for call in self.pending) or "none"
        raise ConfigError(f"no tool call {call_id!r} waits for a decision (waiting: {waiting})")

    def digest(self, call_id: str, *, arguments: str | None = None, key: bytes | None = None) -> str:
        """What binds an approval to a call that waits: to this run, the call, its tool and its arguments (or the edited
        `arguments`). With a `key` it is signed. Without one, who can write the saved run can approve its calls."""
        self.key_of(call_id)
        call = next(call for call in self.pending if call.id == call_id)
        return approval_digest(self.id, call.id, call.name, call.arguments if arguments is None else arguments, key=key)

    def result(self) -> RunResult:
        """The result as things stand; ValueError while the run is neither ended nor paused."""
        status = self.status
        if status is None:
            raise ValueError("the run goes on: it has no result yet")
        return self._result(status)

    def next(self) -> list[Action]:
        """The actions wanted now; [] while everything that is wanted is in flight. Asking changes nothing."""
        if self._state.status is not None:
            return [Stop(self._state.status)]
        if self._state.open is not None:
            return self._state.open.actions(self.spec.parallel, self._seconds_left())
        if self._state.asking:
            return []
        if self._state.checking:
            return [Check(f"{self._state.steps}.check", self._result("answered"))]
        return [Ask(str(self._state.steps + 1), self._request())]

    # --- the transition ---------------------------------------------------------------------------------------------

    def receive(self, outcome: Outcome, now: float) -> list[RunEvent]:
        """Take one outcome; `now` is seconds on any clock that only rises. Returns the events for watchers."""
        self._state.tick(now, counts=self.status != "needs_approval")
        if self._state.status is not None:
            return [LateResult(outcome.key, outcome.result)] if isinstance(outcome, Finished) else []
        match outcome:
            case Started():
                return self._started(outcome.key)
            case Answered():
                return self._answered(outcome.response)
            case Failed():
                return self._failed(outcome.error, outcome.partial)
            case Finished():
                return self._finished(outcome.key, outcome.result)
            case Decided():
                return self._decided(outcome)
            case Resolved():
                return self._resolved(outcome)
            case Checked():
                return self._checked(outcome.refusal)
            case Cancelled():
                return self._cancelled(outcome.partial)
            case Stopped():
                return self._end(outcome.status, outcome.reason or outcome.status)

    def cancel(self) -> RunResult:
        """End a paused run: every open call is answered as cancelled. An ended run stays as it is."""
        if self._state.asking or (self._state.open is not None and self._state.open.running):
            raise ValueError("the run is being driven: cancel its stream instead")
        self.receive(Cancelled(), self._state.last_seen or 0.0)
        return self.result()

    def to_json(self) -> str:
        """A snapshot that `Run.from_json` reads, in this process or another."""
        return dump(self.id, self.spec, self._state)

    @staticmethod
    def from_json(text: str) -> Run:
        """The run as it stood. Calls that had started and not finished are in doubt (see the action `Resolve`).
        Raises HistoryError when the text is no snapshot, or one of a newer agentloop."""
        id, spec, state = load(text)
        run = Run((), spec=spec, id=id)
        run._state = state
        run._view = PairedMessages(state.messages)
        return run

    def _started(self, key: str) -> list[RunEvent]:
        if self._state.open is not None and key in self._state.open:
            self._state.open[key].state = "running"
            return [ToolStarted(self._state.open[key].to_run)]
        self._state.asking = True
        return [StepStarted(self._state.steps + 1)]

    def _answered(self, response: ModelResponse) -> list[RunEvent]:
        self._state.asking = False
        self._state.steps += 1
        usage = response.usage
        self._state.usage += usage if usage.requests else replace(usage, requests=1)
        calls, repairs = settle_ids(response.tool_calls, step=self._state.steps, used=self._state.used_ids)
        if repairs:
            response = replace(response, message=with_calls(response.message, calls))
            response = replace(response, repairs=(*response.repairs, *repairs))
        self._state.response, self._state.text = response, response.text
        self._state.repairs += response.repairs
        events: list[RunEvent] = [Repaired(response.repairs)] if response.repairs else []
        if response.repairs and self.spec.strict:
            listed = "; ".join(str(r) for r in response.repairs)
            error = ProtocolError(f"strict: the reply needed repairs: {listed}", partial=response)
            return [*events, *self._end("protocol_error", "the reply was not accepted", error)]
        if is_worth_keeping(response.message):
            self._state.messages.append(response.message)
            self._state.used_ids.update(call.id for call in calls)
        return [*events, *self._read(response)]

    def _read(self, response: ModelResponse) -> list[RunEvent]:
        self._state.open = (
            OpenStep.of(self._state.steps, response.tool_calls, decides=self.spec.decides)
            if response.tool_calls
            else None
        )
        verdict = read_reply(response)
        match verdict:
            case "act":
                return self._act()
            case "pause":
                return self._go_on()
            case "answered" if self.spec.checks:
                self._state.checking = True
                return []
            case "model_error":
                word = response.raw_finish_reason or "error"
                return self._end(verdict, "", ModelError(f"the reply ended in {word!r}", partial=response))
            case "protocol_error":
                word = response.raw_finish_reason
                return self._end(verdict, "", ProtocolError(f"no text and no tool calls (finish reason {word!r})"))
            case _:
                return self._end(verdict, f"the reply ended in {verdict}")

    def _act(self) -> list[RunEvent]:
        limits = self.spec.limits
        if limits.max_tool_steps is not None and self._state.tool_steps >= limits.max_tool_steps:
            return self._end("tool_limit", f"the limit of {limits.max_tool_steps} rounds of tools was reached")
        stop = self._spent()
        if stop:
            return self._end(*stop)
        self._state.tool_steps += 1
        return []

    def _failed(self, error: ModelError, partial: ModelResponse | None) -> list[RunEvent]:
        self._state.asking = False
        self._state.steps += 1
        tries = max(1, len(error.attempts))
        self._state.usage += replace(partial.usage if partial else Usage(), requests=tries, complete=False)
        self._state.text = partial.text if partial else self._state.text
        if self._out_of_time():
            return self._end("time_limit", "", error)
        odd = isinstance(error, ProtocolError) and not isinstance(error, StreamInterrupted)
        return self._end("protocol_error" if odd else "model_error", "", error)

    def _finished(self, key: str, result: ToolResult) -> list[RunEvent]:
        step = self._step()
        step.finish(key, result)
        events: list[RunEvent] = [ToolFinished(step[key].to_run, result)]
        stops = result.is_error and self.spec.on_tool_error == "stop" and result.kind not in ("denied", "cancelled")
        if stops and self._state.halting is None:
            call = step[key].call
            text = result.content if isinstance(result.content, str) else "it failed"
            self._state.halting = ToolError(f"{call.name} ({result.kind or 'error'}): {text}", kind=result.kind)
            step.halt(_not_run(f"an earlier tool call failed ({call.name})"))
        elif self._out_of_time():
            step.halt(_not_run("the run's time was up"))
        return [*events, *self._close_step()]

    def _decided(self, outcome: Decided) -> list[RunEvent]:
        call = self._step().decide(outcome.key, outcome.decision)
        events: list[RunEvent] = [ToolFinished(call.call, call.result)] if call.result else []
        return [*events, *self._close_step()]

    def _resolved(self, outcome: Resolved) -> list[RunEvent]:
        if outcome.result is not None:
            return self._finished(outcome.key, outcome.result)
        self._step()[outcome.key].state = "ready"
        return []

    def _checked(self, refusal: str | None) -> list[RunEvent]:
        self._state.checking = False
        if refusal is None:
            return self._end("answered", "")
        self._state.refusals += 1
        if self._state.refusals >= self.spec.max_refusals:
            return self._end("model_stopped", "", AgentLoopError(f"the answer was refused: {refusal}"))
        self._state.messages.append(UserMessage(refusal))
        return self._go_on()

    def _cancelled(self, partial: str) -> list[RunEvent]:
        if partial:
            self._state.text = partial
            self._state.messages.append(AssistantMessage(partial))
        if self._state.asking:
            self._state.steps += 1
            self._state.usage += Usage(requests=1, complete=False)
        return self._end("cancelled", "the run was cancelled")

    # --- inside -----------------------------------------------------------------------------------------------------

    def _close_step(self) -> list[RunEvent]:
        step = self._step()
        if not step.done:
            return []
        results = step.messages()
        self._state.repeats = self._state.repeats.after(step.calls)
        times, most = self._state.repeats.count, self.spec.limits.max_repeats
        if times == most:
            results[-1] = with_warning(results[-1], times)
        self._state.messages.extend(results)
        self._state.open = None
        if self._state.halting is not None:
            return self._end("tool_error", "", self._state.halting)
        if most is not None and times > most:
            return self._end("stuck", "")
        return self._go_on()

    def _go_on(self) -> list[RunEvent]:
        """After a step: the next model call, or the limit that forbids it."""
        self._state.open = None
        if self._state.steps >= self.spec.limits.max_steps:
            return self._end("step_limit", "")
        stop = self._spent()
        if stop:
            return self._end(*stop)
        self._want_model()
        return []

    def _spent(self) -> tuple[Status, str] | None:
        most = self.spec.limits.max_total_tokens
        if most is not None and (self._state.usage.total_tokens or 0) >= most:
            return "token_limit", f"the limit of {most} tokens was reached"
        return ("time_limit", "the run's time was up") if self._out_of_time() else None

    def _end(self, status: Status, reason: str, error: AgentLoopError | None = None) -> list[RunEvent]:
        if self._state.open is not None:
            cancelled = status == "cancelled"
            rest = ToolResult("cancelled before it ran", True, "cancelled") if cancelled else _not_run(reason)
            self._state.open.halt(
                rest, running=ToolResult("cancelled while it ran; it may have taken effect", True, "cancelled")
            )
            self._state.messages.extend(self._state.open.messages())
            self._state.open = None
        self._state.asking = self._state.checking = False
        self._state.status, self._state.error = status, error
        return [RunFinished(self._result(status))]

    def _want_model(self) -> None:
        self._view = PairedMessages(self._state.messages)

    def _request(self) -> ModelRequest:
        return ModelRequest(
            messages=self._view,
            tools=self.tools,
            tool_choice=self.spec.tool_choice if self._state.steps == 0 else None,
            instructions=self.spec.instructions,
            options=self.spec.options,
            stream=self.stream,
            seconds=self._seconds_left(),
        )

    def _result(self, status: Status) -> RunResult:
        return RunResult(
            status=status,
            text=self._state.text,
            messages=self.messages,
            usage=self._state.usage,
            steps=self._state.steps,
            run=self,
            error=self._state.error,
            pending=self.pending if status == "needs_approval" else (),
            response=self._state.response,
            repairs=self._state.repairs,
        )

    def _step(self) -> OpenStep:
        if self._state.open is None:
            raise ValueError("no step is open: this outcome belongs to no action that was wanted")
        return self._state.open

    def _seconds_left(self) -> float | None:
        most = self.spec.limits.max_seconds
        return None if most is None else max(0.0, most - self._state.elapsed)

    def _out_of_time(self) -> bool:
        return self._seconds_left() == 0.0


def _not_run(reason: str) -> ToolResult:
    return ToolResult(f"not run: {reason}", is_error=True, kind="not_run")
