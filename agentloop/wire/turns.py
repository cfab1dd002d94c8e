"""A model's turn, as the wires that mix calls with other items make it from what they read."""

from __future__ import annotations

from collections.abc import Sequence

from agentloop.arguments import read_arguments
from agentloop.callids import placed, settle_ids
from agentloop.messages import AssistantMessage, Message
from agentloop.parts import Part, ReasoningPart, RefusalPart, TextPart, ToolCall
from agentloop.repairs import Repair

__all__ = ["read_cut", "read_turn", "settled"]


def settled(
    calls: Sequence[ToolCall], history: Sequence[Message], *, whole: bool
) -> tuple[tuple[ToolCall, ...], list[Repair]]:
    """The calls of the reply to `history`, each with an id of its own, and the repairs of ids and arguments. `whole`
    says that the calls were not cut. The turns so far are counted only when an id must be made: a long history takes
    longer than all else in a reply."""
    own, repairs = tuple(calls), list[Repair]()
    ids = {call.id for call in calls}
    if len(ids) < len(calls) or not all(map(str.strip, ids)):
        turns = sum(isinstance(past, AssistantMessage) for past in history)
        own, renamed = settle_ids(calls, step=turns + 1)
        repairs += renamed
    if whole:
        mended = (read_arguments(call.arguments).repair for call in own if "custom" not in call.extra)
        repairs += [repair for repair in mended if repair is not None]
    return own, repairs


def read_turn(
    parts: Sequence[Part], history: Sequence[Message], *, whole: bool
) -> tuple[AssistantMessage, list[Repair]]:
    """The message that answers `history`, and what was changed for it. `whole` says that the calls were not cut.

    Text alone is plain text, and calls after everything else stand in `tool_calls` only, so that every wire gives the
    same message for the same reply.
    """
    calls = [part for part in parts if isinstance(part, ToolCall)]
    own, repairs = settled(calls, history, whole=whole)
    first = next((i for i, part in enumerate(parts) if isinstance(part, ToolCall)), len(parts))
    if all(isinstance(part, ToolCall) for part in parts[first:]):
        return AssistantMessage(_content(parts[:first]), own), repairs
    return AssistantMessage(placed(parts, own), own), repairs


def read_cut(parts: Sequence[Part], notes: list[str]) -> AssistantMessage:
    """The message of a reply that was not finished. Its calls, which may be cut, are left out, with a note."""
    if calls := sum(isinstance(part, ToolCall) for part in parts):
        notes.append(f"{calls} tool calls of an unfinished reply were left out")
    readable = [part for part in parts if isinstance(part, (TextPart, ReasoningPart, RefusalPart))]
    return AssistantMessage(_content(readable))


def _content(parts: Sequence[Part]) -> str | tuple[Part, ...] | None:
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    return tuple(parts) or None
