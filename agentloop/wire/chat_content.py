"""The content of a reply, as text, as parts, or as whatever else a server sends."""

from __future__ import annotations

from typing import Any

from agentloop.parts import Part, ReasoningPart, RefusalPart, TextPart, VendorPart
from agentloop.shapes import as_dict, as_list, as_text
from agentloop.wire.codec import as_json

__all__ = ["REASONING_FIELDS", "content_parts", "details_text", "merged_content", "reasoning_parts"]

REASONING_FIELDS = ("reasoning_content", "reasoning")


def reasoning_parts(message: dict[str, Any], provider: str) -> list[Part]:
    """The reasoning beside the content. `reasoning_details` are kept as they are, since signatures hang on them."""
    parts: list[Part] = []
    details = as_list(message.get("reasoning_details"))
    for key in REASONING_FIELDS:
        if text := as_text(message.get(key)):
            # The key is kept where it is not the usual one: the reasoning goes back under the key it came in.
            parts.append(ReasoningPart(text, {} if key == REASONING_FIELDS[0] else {"field": key}))
            break
    else:
        if text := details_text(details):
            parts.append(ReasoningPart(text))
    if details:
        parts.append(VendorPart("chat", provider, {"reasoning_details": details}))
    return parts


def details_text(details: list[Any]) -> str:
    """What can be read of `reasoning_details`: the texts and summaries."""
    items = map(as_dict, details)
    return "".join(as_text(item.get("text")) or as_text(item.get("summary")) or "" for item in items)


def content_parts(content: Any, provider: str, notes: list[str]) -> list[Part]:
    """The parts of a `content`. What is not known is kept as a VendorPart, and noted."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [TextPart(content)]
    if isinstance(content, list):
        return [_part(item, provider, notes) for item in as_list(content)]
    if isinstance(content, dict):
        return [_part(content, provider, notes)]
    notes.append(f"content was of type {type(content).__name__}, not text")
    return [TextPart(as_json(content))]


def _part(item: Any, provider: str, notes: list[str]) -> Part:
    part = as_dict(item)
    if isinstance(item, str):
        return TextPart(item)
    match part.get("type"):
        case "text" | "output_text":
            return TextPart(as_text(part.get("text")) or "")
        case "thinking":
            inner = part.get("thinking")
            return ReasoningPart(inner if isinstance(inner, str) else details_text(as_list(inner)))
        case "refusal":
            return RefusalPart(as_text(part.get("refusal")) or "")
        case None if isinstance(part.get("text"), str):
            return TextPart(part["text"])
        case kind:
            notes.append(f"a content part of type {str(kind)[:50]} was kept as it is")
            return VendorPart("chat", provider, item)


def merged_content(parts: list[Part]) -> str | tuple[Part, ...] | None:
    """Neighbours of one kind joined, as they are pieces of a stream; plain text where there is nothing else."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, TextPart) and isinstance(last, TextPart):
            merged[-1] = TextPart(last.text + part.text)
        elif isinstance(part, ReasoningPart) and isinstance(last, ReasoningPart):
            merged[-1] = ReasoningPart(last.text + part.text, last.extra)
        elif not isinstance(part, (TextPart, ReasoningPart)) or part.text:
            merged.append(part)
    if len(merged) == 1 and isinstance(merged[0], TextPart):
        return merged[0].text
    return tuple(merged) or None
