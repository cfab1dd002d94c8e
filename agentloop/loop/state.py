"""What a run is made of: its spec, which holds for the whole run, and its state, the fold over what it was told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from agentloop import errors
from agentloop.errors import AgentLoopError, HistoryError
from agentloop.loop.limits import Limits
from agentloop.loop.repeats import Repeats
from agentloop.loop.result import Status
from agentloop.loop.step import OpenCall, OpenStep
from agentloop.messages import AssistantMessage, Message, ToolResult, messages_from
from agentloop.model import ModelResponse, Options, ToolChoice, Usage
from agentloop.parts import part_from_dict, part_to_dict, tool_call_from_dict, tool_call_to_dict
from agentloop.repairs import Repair
from agentloop.shapes import as_dict, as_list

if TYPE_CHECKING:
    from agentloop.history.summary import Summary

__all__ = ["SCHEMA_VERSION", "RunSpec", "RunState", "dump", "load"]

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What holds for a whole run. `decides`: a policy is asked about every call; `checks`: an answer must be accepted;
    `parallel`: names of the tools that may run beside each other; `max_refusals`: answers refused before giving up."""

    instructions: str | None = None
    limits: Limits = field(default_factory=Limits)
    options: Options = field(default_factory=Options)
    tool_choice: ToolChoice | None = None
    on_tool_error: Literal["observe", "stop"] = "observe"
    strict: bool = False
    max_refusals: int = 2
    decides: bool = False
    checks: bool = False
    parallel: frozenset[str] = frozenset()


@dataclass(slots=True)
class RunState:
    """The fold.

    `open` is the step whose calls are not all answered; `asking` and `checking` say what else is going on; `halting` is
    the tool error that ends the run once the calls in flight are done. `summary` stands for the messages before its
    `upto` in requests, `context_limit` is what an overflow taught, and `summary_tried` and `overflowed` bound both to
    once in a step; after a summary that was of no use (`summary_failed`) the run asks for no other.
    """

    messages: list[Message]
    steps: int = 0
    tool_steps: int = 0
    refusals: int = 0
    usage: Usage = field(default_factory=Usage)
    repairs: tuple[Repair, ...] = ()
    repeats: Repeats = field(default_factory=Repeats)
    text: str = ""
    summary: Summary | None = None
    summary_tried: bool = False
    summary_failed: bool = False
    context_limit: int | None = None
    overflowed: bool = False
    open: OpenStep | None = None
    asking: bool = False
    checking: bool = False
    halting: AgentLoopError | None = None
    status: Status | None = None
    error: AgentLoopError | None = None
    elapsed: float = 0.0
    last_seen: float | None = None
    response: ModelResponse | None = None
    used_ids: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        assistants = (message for message in self.messages if isinstance(message, AssistantMessage))
        self.used_ids.update(call.id for message in assistants for call in message.tool_calls)

    def tick(self, now: float, *, counts: bool) -> None:
        if self.last_seen is not None and counts:
            self.elapsed += now - self.last_seen
        self.last_seen = now

    def seconds_left(self, limits: Limits) -> float | None:
        return None if limits.max_seconds is None else max(0.0, limits.max_seconds - self.elapsed)


def dump(id: str, spec: RunSpec, state: RunState) -> str:
    """A snapshot as JSON text. The last response and the clock are left out: they mean nothing elsewhere. So are the
    headers of the requests: they may hold keys, and the agent that goes on with the run has its own."""
    options = {name: value for name, value in spec.options.items() if name != "extra_headers"}
    saved = {
        "schema": SCHEMA_VERSION,
        "id": id,
        "spec": {**asdict(spec), "options": options, "parallel": sorted(spec.parallel)},
        "messages": [message.to_dict() for message in state.messages],
        "open": None if state.open is None else [_call_to_dict(call) for call in state.open.calls],
        "usage": asdict(state.usage),
        "repairs": [asdict(repair) for repair in state.repairs],
        "repeats": asdict(state.repeats),
        "summary": None if state.summary is None else asdict(state.summary),
        "halting": _error_to_dict(state.halting),
        "error": _error_to_dict(state.error),
    }
    plain = (
        "steps",
        "tool_steps",
        "refusals",
        "text",
        "checking",
        "status",
        "elapsed",
        "context_limit",
        "summary_failed",
    )
    return json.dumps(saved | {name: getattr(state, name) for name in plain}, ensure_ascii=False, default=str)


def load(text: str | bytes) -> tuple[str, RunSpec, RunState]:
    """What `dump` wrote. Raises HistoryError for anything else, and for a newer schema."""
    try:
        saved = as_dict(json.loads(text))
        schema = saved["schema"]
        if schema != SCHEMA_VERSION:
            raise HistoryError(f"this run was saved with schema {schema!r}; this agentloop reads {SCHEMA_VERSION}")
        return str(saved["id"]), _spec_from(saved["spec"]), _state_from(saved)
    except (KeyError, TypeError, ValueError) as error:
        raise HistoryError(f"this is not a saved run ({type(error).__name__}: {error})") from error


def _spec_from(saved: Mapping[str, Any]) -> RunSpec:
    fields = dict(saved)
    fields["limits"] = Limits(**fields["limits"])
    fields["parallel"] = frozenset(fields["parallel"])
    return RunSpec(**fields)


def _state_from(saved: Mapping[str, Any]) -> RunState:
    calls = saved["open"]
    return RunState(
        messages=list(messages_from(saved["messages"])),
        open=None if calls is None else OpenStep([_call_from_dict(call) for call in calls]),
        usage=Usage(**saved["usage"]),
        repairs=tuple(Repair(**repair) for repair in saved["repairs"]),
        repeats=Repeats(**saved["repeats"]),
        summary=_summary_from(saved["summary"]),
        summary_failed=saved["summary_failed"],
        context_limit=saved["context_limit"],
        halting=_error_from_dict(saved["halting"]),
        error=_error_from_dict(saved["error"]),
        steps=saved["steps"],
        tool_steps=saved["tool_steps"],
        refusals=saved["refusals"],
        text=saved["text"],
        checking=saved["checking"],
        status=saved["status"],
        elapsed=saved["elapsed"],
    )


def _summary_from(saved: Mapping[str, Any] | None) -> Summary | None:
    if saved is None:
        return None
    from agentloop.history.summary import Summary

    return Summary(**saved)


def _call_to_dict(call: OpenCall) -> dict[str, Any]:
    result = call.result
    content = result.content if result else None
    return {
        "key": call.key,
        "call": tool_call_to_dict(call.call),
        "state": call.state,
        "arguments": call.arguments,
        "result": None
        if result is None
        else {
            "content": [part_to_dict(part) for part in content] if isinstance(content, tuple) else content,
            "is_error": result.is_error,
            "kind": result.kind,
        },
    }


def _call_from_dict(saved: Mapping[str, Any]) -> OpenCall:
    state = "in_doubt" if saved["state"] == "running" else saved["state"]
    result = saved["result"]
    if result is not None:
        content = result["content"]
        parts = content if isinstance(content, str) else tuple(part_from_dict(part) for part in as_list(content))
        result = ToolResult(parts, result["is_error"], result["kind"])
    return OpenCall(saved["key"], tool_call_from_dict(saved["call"]), state, saved["arguments"], result)


def _error_to_dict(error: AgentLoopError | None) -> dict[str, str] | None:
    return None if error is None else {"type": type(error).__name__, "message": str(error)}


def _error_from_dict(saved: Mapping[str, str] | None) -> AgentLoopError | None:
    if saved is None:
        return None
    found = getattr(errors, saved["type"], AgentLoopError) if saved["type"] in errors.__all__ else AgentLoopError
    return cast("type[AgentLoopError]", found)(saved["message"])
