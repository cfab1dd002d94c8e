"""What a caller says in one call, and the `ModelRequest` that it amounts to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypedDict, cast

from agentloop.cancel import CancelSignal
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
        tools=tuple(ask.get("tools") or ()),
        tool_choice=ask.get("tool_choice"),
        instructions=ask.get("instructions"),
        options=cast("Options", options),
        stream=stream,
        seconds=ask.get("seconds"),
        cancel=ask.get("cancel"),
    )
