"""What the machine wants (actions) and what it is told (outcomes): plain values that meet in the drivers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from agentloop.errors import ModelError
from agentloop.messages import ToolCall, ToolResult
from agentloop.model import ModelRequest, ModelResponse
from agentloop.tools.policy import Allow, Decision

if TYPE_CHECKING:
    from agentloop.loop.result import RunResult, Status

__all__ = [
    "Action",
    "Answered",
    "Ask",
    "Cancelled",
    "Check",
    "Checked",
    "Decide",
    "Decided",
    "Execute",
    "Failed",
    "Finished",
    "Outcome",
    "Resolve",
    "Resolved",
    "Started",
    "Stop",
    "Stopped",
]


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model. `request.seconds` is what the run has left."""

    key: str
    request: ModelRequest
    purpose: Literal["step", "summary"] = "step"


@dataclass(frozen=True, slots=True)
class Execute:
    """Run a tool; `seconds` is what the run has left, None for no bound."""

    key: str
    call: ToolCall
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Decide:
    """Say whether a call may run: the policy first, then a person."""

    key: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Resolve:
    """A call was started before a crash and its outcome is unknown: repeat it, or give a result."""

    key: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Check:
    """Ask the user's `accept` whether this answer will do."""

    key: str
    result: RunResult


@dataclass(frozen=True, slots=True)
class Stop:
    status: Status
    key: str = "stop"


Action: TypeAlias = Ask | Execute | Decide | Resolve | Check | Stop


@dataclass(frozen=True, slots=True)
class Started:
    """Told before each effect: without it a crash would leave no doubt where there is some."""

    key: str


@dataclass(frozen=True, slots=True)
class Answered:
    key: str
    response: ModelResponse


@dataclass(frozen=True, slots=True)
class Failed:
    key: str
    error: ModelError
    partial: ModelResponse | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    key: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Decided:
    key: str
    decision: Decision = field(default_factory=Allow)


@dataclass(frozen=True, slots=True)
class Resolved:
    """`result` None means: run the call again."""

    key: str
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """`refusal` None accepts the answer; a text goes back to the model as a user message."""

    key: str
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Stop now. `partial` is the text that had arrived of a reply."""

    partial: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The driver ends the run, for a reason the machine cannot see."""

    status: Status
    reason: str = ""


Outcome: TypeAlias = Started | Answered | Failed | Finished | Decided | Resolved | Checked | Cancelled | Stopped
