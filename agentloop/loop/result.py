"""How a run ended: `RunResult`, its status, and the events that watchers see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from agentloop.errors import AgentLoopError, RunError
from agentloop.messages import Message, ToolCall, ToolResult
from agentloop.model import ModelEvent, ModelResponse, Repair, Usage

if TYPE_CHECKING:
    from agentloop.history.answers import Cut
    from agentloop.loop.run import Run

__all__ = [
    "DecisionNeeded",
    "LateResult",
    "Repaired",
    "RunEvent",
    "RunFinished",
    "RunResult",
    "Status",
    "StepStarted",
    "ToolFinished",
    "ToolStarted",
    "Trimmed",
    "Warned",
]

Status: TypeAlias = Literal[
    "answered",
    "step_limit",
    "tool_limit",
    "token_limit",
    "time_limit",
    "truncated",
    "filtered",
    "refused",
    "model_stopped",
    "stuck",
    "needs_approval",
    "cancelled",
    "tool_error",
    "model_error",
    "protocol_error",
]

_WHY: dict[str, str] = {
    "step_limit": "it reached max_steps; raise Limits(max_steps=...) or continue from result.messages",
    "tool_limit": "it reached max_tool_steps; raise Limits(max_tool_steps=...) or continue from result.messages",
    "token_limit": "it reached max_total_tokens; raise Limits(max_total_tokens=...) or continue from result.messages",
    "time_limit": "it reached max_seconds; raise Limits(max_seconds=...) or continue from result.messages",
    "truncated": "the reply was cut by the token limit; raise max_tokens",
    "filtered": "the provider's content filter withheld the reply",
    "refused": "the model refused",
    "model_stopped": "the model stopped without a proper answer; its text is in result.text",
    "stuck": "the model made the same calls again and again; see Limits(max_repeats=...)",
    "needs_approval": "tool calls wait for a decision; see result.pending and agent.resume()",
    "cancelled": "it was cancelled",
    "tool_error": "a tool failed and on_tool_error is 'stop'",
    "model_error": "asking the model failed",
    "protocol_error": "the model's reply made no sense",
}


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to. `status` is "answered", or says why not; every status keeps its history.

    `text` is the last text of the model (empty when there was none, the part that arrived when it was cut off).
    `messages` are the given and the new ones, without the instructions; they may be sent again as they are, unless the
    status is `needs_approval`. `steps` counts model calls. `pending` are the calls that wait for a decision.
    """

    status: Status
    text: str
    messages: tuple[Message, ...]
    usage: Usage
    steps: int
    run: Run = field(repr=False, compare=False)
    error: AgentLoopError | None = None
    pending: tuple[ToolCall, ...] = ()
    response: ModelResponse | None = field(default=None, repr=False)
    repairs: tuple[Repair, ...] = ()

    def raise_for_status(self) -> RunResult:
        """Itself when the run answered; else raises RunError, from the error that caused it."""
        if self.status == "answered":
            return self
        cause = f" ({self.error})" if self.error else ""
        raise RunError(f"run ended in {self.status}: {_WHY[self.status]}{cause}", self) from self.error

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: status, text, messages in storage form, usage, steps, pending, repairs, error."""
        usage = self.usage
        return {
            "status": self.status,
            "text": self.text,
            "steps": self.steps,
            "usage": {name: getattr(usage, name) for name in usage.__slots__},
            "messages": [message.to_dict() for message in self.messages],
            "pending": [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in self.pending],
            "repairs": [str(repair) for repair in self.repairs],
            "error": None if self.error is None else {"type": type(self.error).__name__, "message": str(self.error)},
        }


@dataclass(slots=True)
class StepStarted:
    step: int
    type: ClassVar[Literal["step_started"]] = "step_started"


@dataclass(slots=True)
class ToolStarted:
    call: ToolCall
    type: ClassVar[Literal["tool_started"]] = "tool_started"


@dataclass(slots=True)
class ToolFinished:
    call: ToolCall
    result: ToolResult
    type: ClassVar[Literal["tool_finished"]] = "tool_finished"


@dataclass(slots=True)
class DecisionNeeded:
    """A policy answered "ask": the call waits for `agent.resume`."""

    call: ToolCall
    type: ClassVar[Literal["decision_needed"]] = "decision_needed"


@dataclass(slots=True)
class Repaired:
    """A reply was changed before it entered the history; or, first of all, the messages that the run was given."""

    repairs: tuple[Repair, ...]
    type: ClassVar[Literal["repaired"]] = "repaired"


@dataclass(slots=True)
class Trimmed:
    """The next request leaves messages out, or shows them shortened: what, and at what cost. The history is whole."""

    cut: Cut
    type: ClassVar[Literal["trimmed"]] = "trimmed"


@dataclass(slots=True)
class Warned:
    """Something looks wrong that is not an error; `text` says what to do."""

    text: str
    type: ClassVar[Literal["warning"]] = "warning"


@dataclass(slots=True)
class LateResult:
    """A tool finished after the run had ended; its result is not in the history."""

    key: str
    result: ToolResult
    type: ClassVar[Literal["late_result"]] = "late_result"


@dataclass(slots=True)
class RunFinished:
    """The last event of a run, also when it pauses for approval."""

    result: RunResult
    type: ClassVar[Literal["run_finished"]] = "run_finished"


RunEvent: TypeAlias = (
    ModelEvent
    | StepStarted
    | ToolStarted
    | ToolFinished
    | DecisionNeeded
    | Repaired
    | Trimmed
    | Warned
    | LateResult
    | RunFinished
)
