"""The one transition of a run: an outcome goes in, the state changes, events for watchers come out."""

from __future__ import annotations

from dataclasses import replace

from agentloop.callids import settle_ids
from agentloop.errors import (
    AgentLoopError,
    ConfigError,
    ContextOverflow,
    ModelError,
    ProtocolError,
    StreamInterrupted,
    ToolError,
)
from agentloop.loop.actions import (
    Answered,
    Cancelled,
    Checked,
    Decided,
    Failed,
    Finished,
    Outcome,
    Resolved,
    Started,
    Stopped,
)
from agentloop.loop.asking import Asking
from agentloop.loop.reading import is_worth_keeping, read_reply, with_calls
from agentloop.loop.repeats import with_warning
from agentloop.loop.result import Repaired, RunEvent, Status, StepStarted, ToolFinished, ToolStarted
from agentloop.loop.state import RunSpec, RunState
from agentloop.loop.step import OpenStep
from agentloop.messages import AssistantMessage, ToolResult, UserMessage
from agentloop.model import ModelResponse, Usage

__all__ = ["Transition"]


class Transition:
    """Changes `state` and `asking`, and nothing else; deterministic."""

    def __init__(self, spec: RunSpec, state: RunState, asking: Asking) -> None:
        self.spec, self.state, self.asking = spec, state, asking

    def take(self, outcome: Outcome) -> list[RunEvent]:
        match outcome:
            case Started():
                return self._started(outcome.key)
            case Answered() if self.asking.need is not None:
                return self._summarised(outcome.response.text, outcome.response.usage)
            case Answered():
                return self._answered(outcome.response)
            case Failed() if self.asking.need is not None:
                return self._summarised("", Usage(complete=False))
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
                return self.end(outcome.status, outcome.reason or outcome.status)

    def _started(self, key: str) -> list[RunEvent]:
        if self.state.open is not None and key in self.state.open:
            self.state.open[key].state = "running"
            return [ToolStarted(self.state.open[key].to_run)]
        self.state.asking = True
        return [] if self.asking.need is not None else [StepStarted(self.state.steps + 1)]

    def _answered(self, response: ModelResponse) -> list[RunEvent]:
        self.state.asking = False
        self.state.steps += 1
        self.state.usage += _of_a_request(response.usage)
        self.asking.learn(response)
        calls, repairs = settle_ids(response.tool_calls, step=self.state.steps, used=self.state.used_ids)
        if repairs:
            message = with_calls(response.message, calls)
            response = replace(response, message=message, repairs=(*response.repairs, *repairs))
        self.state.response, self.state.text = response, response.text
        self.state.repairs += response.repairs
        events: list[RunEvent] = [Repaired(response.repairs)] if response.repairs else []
        if response.repairs and self.spec.strict:
            listed = "; ".join(str(r) for r in response.repairs)
            error = ProtocolError(f"strict: the reply needed repairs: {listed}", partial=response)
            return [*events, *self.end("protocol_error", "the reply was not accepted", error)]
        if is_worth_keeping(response.message):
            self.state.messages.append(response.message)
            self.state.used_ids.update(call.id for call in calls)
        return [*events, *self._read(response)]

    def _read(self, response: ModelResponse) -> list[RunEvent]:
        self.state.open = (
            OpenStep.of(self.state.steps, response.tool_calls, decides=self.spec.decides)
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
                self.state.checking = True
                return []
            case "model_error":
                word = response.raw_finish_reason or "error"
                return self.end(verdict, "", ModelError(f"the reply ended in {word!r}", partial=response))
            case "protocol_error":
                word = response.raw_finish_reason
                return self.end(verdict, "", ProtocolError(f"no text and no tool calls (finish reason {word!r})"))
            case _:
                return self.end(verdict, f"the reply ended in {verdict}")

    def _act(self) -> list[RunEvent]:
        limits = self.spec.limits
        if limits.max_tool_steps is not None and self.state.tool_steps >= limits.max_tool_steps:
            return self.end("tool_limit", f"the limit of {limits.max_tool_steps} rounds of tools was reached")
        stop = self._spent()
        if stop:
            return self.end(*stop)
        self.state.tool_steps += 1
        return []

    def _summarised(self, text: str, usage: Usage) -> list[RunEvent]:
        self.state.asking = False
        self.state.usage += _of_a_request(usage)
        error = self.asking.summarised(text)
        return self.end("model_error", "", error) if error else []

    def _failed(self, error: ModelError, partial: ModelResponse | None) -> list[RunEvent]:
        self.state.asking = False
        self.state.steps += 1
        tries = max(1, len(error.attempts))
        self.state.usage += replace(partial.usage if partial else Usage(), requests=tries, complete=False)
        self.state.text = partial.text if partial else self.state.text
        if self.state.seconds_left(self.spec.limits) == 0.0:
            return self.end("time_limit", "", error)
        may_ask = self.state.steps < self.spec.limits.max_steps
        if isinstance(error, ContextOverflow) and may_ask and self.asking.shrink(error):
            return []
        odd = isinstance(error, ProtocolError) and not isinstance(error, StreamInterrupted)
        return self.end("protocol_error" if odd else "model_error", "", error)

    def _finished(self, key: str, result: ToolResult) -> list[RunEvent]:
        step = self._step()
        step.finish(key, result)
        events: list[RunEvent] = [ToolFinished(step[key].to_run, result)]
        stops = result.is_error and self.spec.on_tool_error == "stop" and result.kind not in ("denied", "cancelled")
        if stops and self.state.halting is None:
            call = step[key].call
            text = result.content if isinstance(result.content, str) else "it failed"
            self.state.halting = ToolError(f"{call.name} ({result.kind or 'error'}): {text}", kind=result.kind)
            step.halt(_not_run(f"an earlier tool call failed ({call.name})"))
        elif self.state.seconds_left(self.spec.limits) == 0.0:
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

    def _checked(self, refusal: object) -> list[RunEvent]:
        self.state.checking = False
        if refusal is None:
            return self.end("answered", "")
        if not isinstance(refusal, str) or not refusal.strip():  # a user's function said it
            raise ConfigError(
                f"accept returns None, or a text that says what is wrong with the answer, not {refusal!r}"
            )
        self.state.refusals += 1
        if self.state.refusals >= self.spec.max_refusals:
            return self.end("model_stopped", "", AgentLoopError(f"the answer was refused: {refusal}"))
        self.state.messages.append(UserMessage(refusal))
        return self._go_on()

    def _cancelled(self, partial: str) -> list[RunEvent]:
        if partial:
            self.state.text = partial
            self.state.messages.append(AssistantMessage(partial))
        if self.state.asking:
            self.state.steps += 1
            self.state.usage += Usage(requests=1, complete=False)
        return self.end("cancelled", "the run was cancelled")

    # --- inside -----------------------------------------------------------------------------------------------------

    def _close_step(self) -> list[RunEvent]:
        step = self._step()
        if not step.done:
            return []
        results = step.messages()
        self.state.repeats = self.state.repeats.after(step.calls)
        times, most = self.state.repeats.count, self.spec.limits.max_repeats
        if times == most:
            results[-1] = with_warning(results[-1], times)
        self.state.messages.extend(results)
        self.state.open = None
        if self.state.halting is not None:
            return self.end("tool_error", "", self.state.halting)
        if most is not None and times > most:
            return self.end("stuck", "")
        return self._go_on()

    def _go_on(self) -> list[RunEvent]:
        """After a step: the next model call, or the limit that forbids it."""
        self.state.open = None
        if self.state.steps >= self.spec.limits.max_steps:
            return self.end("step_limit", "")
        stop = self._spent()
        if stop:
            return self.end(*stop)
        self.state.summary_tried = self.state.overflowed = False
        self.plan()
        return []

    def _spent(self) -> tuple[Status, str] | None:
        most = self.spec.limits.max_total_tokens
        if most is not None and (self.state.usage.total_tokens or 0) >= most:
            return "token_limit", f"the limit of {most} tokens was reached"
        return ("time_limit", "the run's time was up") if self.state.seconds_left(self.spec.limits) == 0.0 else None

    def end(self, status: Status, reason: str, error: AgentLoopError | None = None) -> list[RunEvent]:
        if self.state.open is not None:
            cancelled = status == "cancelled"
            rest = ToolResult("cancelled before it ran", True, "cancelled") if cancelled else _not_run(reason)
            self.state.open.halt(
                rest, running=ToolResult("cancelled while it ran; it may have taken effect", True, "cancelled")
            )
            self.state.messages.extend(self.state.open.messages())
            self.state.open = None
        self.state.asking = self.state.checking = False
        self.state.status, self.state.error = status, error
        return []

    def plan(self) -> None:
        """Make the next request; end the run when nothing legal fits the context."""
        if self.state.status is None and self.state.open is None and not self.state.asking:
            error = self.asking.plan()
            if error is not None:
                self.end("model_error", "", error)

    def _step(self) -> OpenStep:
        if self.state.open is None:
            raise ValueError("no step is open: this outcome belongs to no action that was wanted")
        return self.state.open


def _of_a_request(usage: Usage) -> Usage:
    return usage if usage.requests else replace(usage, requests=1)


def _not_run(reason: str) -> ToolResult:
    return ToolResult(f"not run: {reason}", is_error=True, kind="not_run")
