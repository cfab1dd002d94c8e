"""How a reply is read: one verdict, in a fixed order."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from agentloop.callids import placed
from agentloop.messages import AssistantMessage, ToolCall
from agentloop.model import ModelResponse
from agentloop.parts import VendorPart

__all__ = ["Verdict", "is_worth_keeping", "read_reply", "with_calls"]

Verdict: TypeAlias = Literal[
    "model_error",
    "filtered",
    "refused",
    "truncated",
    "act",
    "pause",
    "answered",
    "model_stopped",
    "protocol_error",
]


def read_reply(response: ModelResponse) -> Verdict:
    """What a complete reply means for the run. Calls count, whatever the finish word; only `length`, a filter or a
    refusal keeps them from running. Text without calls answers only with `stop`, or with no word at all."""
    reason = response.finish_reason
    if reason == "error":
        return "model_error"
    if reason == "content_filter":
        return "filtered"
    if response.refusal is not None:
        return "refused"
    if reason == "length":
        return "truncated"
    if response.tool_calls:
        return "act"
    if reason == "pause":
        return "pause"
    if response.text:
        return "answered" if reason in ("stop", None) else "model_stopped"
    return "protocol_error"


def is_worth_keeping(message: AssistantMessage) -> bool:
    """Whether a turn holds anything that may be sent back; an empty one bricks a history on strict servers."""
    if message.text or message.tool_calls or message.refusal is not None:
        return True
    return isinstance(message.content, tuple) and any(isinstance(part, VendorPart) for part in message.content)


def with_calls(message: AssistantMessage, calls: tuple[ToolCall, ...]) -> AssistantMessage:
    """The message with its calls replaced by `calls`, in their places when they stand among the parts.

    `calls` are the settled calls of the message: the same ones with other ids, and perhaps fewer (see `settle_ids`).
    """
    if not isinstance(message.content, tuple) or not any(isinstance(part, ToolCall) for part in message.content):
        return replace(message, tool_calls=calls)
    return replace(message, content=placed(message.content, calls), tool_calls=calls)
