"""Histories for servers whose chat templates take fewer shapes than the specification: a view, never the history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agentloop.messages import AssistantMessage, Message, SystemMessage, UserMessage
from agentloop.parts import Part, TextPart
from agentloop.wire.quirks import Quirks

__all__ = ["shaped"]


def shaped(
    instructions: str | None, messages: tuple[Message, ...], quirks: Quirks
) -> tuple[str | None, tuple[Message, ...]]:
    """Instructions and messages as the provider takes them. What needs no change stays the same object."""
    if quirks.single_system:
        systems = [message.text for message in messages if isinstance(message, SystemMessage)]
        if instructions is not None:
            systems.insert(0, instructions)
        instructions = "\n\n".join(systems) if systems else None
        messages = tuple(message for message in messages if not isinstance(message, SystemMessage))
    if quirks.alternate_roles:
        messages = tuple(_alternating(messages))
    return instructions, messages


def _alternating(messages: Iterable[Message]) -> Iterable[Message]:
    held: Message | None = None
    for message in messages:
        if isinstance(held, UserMessage) and isinstance(message, UserMessage):
            held = replace(held, content=_joined(held.content, message.content))
        elif isinstance(held, AssistantMessage) and isinstance(message, AssistantMessage) and not held.tool_calls:
            content = _joined(held.content or "", message.content or "")
            held = replace(held, content=content, tool_calls=message.tool_calls)
        else:
            if held is not None:
                yield held
            held = message
    if held is not None:
        yield held


def _joined(first: str | tuple[Part, ...], second: str | tuple[Part, ...]) -> str | tuple[Part, ...]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}" if first and second else first or second
    return (*_parts(first), *_parts(second))


def _parts(content: str | tuple[Part, ...]) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (TextPart(content),) if content else ()
    return content
