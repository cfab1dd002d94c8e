"""What a caller says in one call, and the `ModelRequest` that it amounts to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypedDict, cast

from agentloop.cancel import CancelSignal
from agentloop.errors import ConfigError
from agentloop.messages import Message, UserMessage, messages_from
from agentloop.model import ModelRequest, Options, ToolChoice, ToolSpec

__all__ = ["Ask", "Question", "model_request"]

Question: TypeAlias = str | Iterable[Message | Mapping[str, Any]]


class _Beside(TypedDict, total=False):
    tools: Iterable[ToolSpec | Mapping[str, Any]]
    tool_choice: ToolChoice | None
    instructions: str | None
    seconds: float | None
    cancel: CancelSignal | None


class Ask(_Beside, Options, total=False):
    """The keywords of `respond` and `stream`: what `ModelRequest` has beside its messages, and every field of
    `Options`."""


def model_request(question: Question, stream: bool, ask: Ask) -> ModelRequest:
    """A text is one user message; dicts are in Chat Completions form. Options that are None are not sent."""
    messages = (UserMessage(question),) if isinstance(question, str) else messages_from(question)
    beside = _Beside.__annotations__
    options = {name: value for name, value in ask.items() if name not in beside and value is not None}
    return ModelRequest(
        messages=messages,
        tools=_tools(ask.get("tools") or ()),
        tool_choice=ask.get("tool_choice"),
        instructions=ask.get("instructions"),
        options=cast("Options", options),
        stream=stream,
        seconds=ask.get("seconds"),
        cancel=ask.get("cancel"),
    )


def _tools(given: Iterable[ToolSpec | Mapping[str, Any]]) -> tuple[ToolSpec | Mapping[str, Any], ...]:
    """Raises ConfigError for what is no tool: a function that was not wrapped, or one tool outside of a list."""
    if isinstance(given, Mapping) or hasattr(given, "parameters"):
        raise ConfigError("tools= takes a list; put this one tool into a list")
    tools = tuple(given)
    for tool in tools:
        if not isinstance(tool, Mapping) and not hasattr(tool, "parameters"):
            raise ConfigError(f"tools= takes Tool objects and dicts, not {tool!r:.80}: wrap functions with tool()")
    return tools
