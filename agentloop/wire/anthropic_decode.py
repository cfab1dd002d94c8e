"""A reply of Anthropic Messages, read into one ModelResponse. A streamed one is first joined to the same body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentloop.messages import Message
from agentloop.model import FinishReason, ModelResponse, Usage
from agentloop.parts import Part, ReasoningPart, TextPart, ToolCall, VendorPart
from agentloop.shapes import as_dict, as_int, as_list, as_text
from agentloop.wire.carry import call_tag
from agentloop.wire.codec import argument_text
from agentloop.wire.origin import Origin
from agentloop.wire.turns import read_cut, read_turn

__all__ = ["MessageReader"]

_STOP_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "content_filter",
}
_TEXT_KEYS = frozenset({"type", "text", "citations"})
_CALL_KEYS = frozenset({"type", "id", "name", "input"})


@dataclass(frozen=True, slots=True)
class MessageReader:
    """Reads the replies of one model of one provider."""

    origin: Origin

    def read(
        self, body: dict[str, Any], *, history: Sequence[Message], arguments: Mapping[int, str] | None = None
    ) -> ModelResponse:
        """A reply to `history` from its body. `arguments` has, by the place of a block, what the model wrote for it as
        it came in a stream.

        Raises StatusError for an error in the body, and ProtocolError when it has no content.
        """
        self._check(body)
        notes: list[str] = []
        finish, word = _finish(body.get("stop_reason"), notes)
        parts = self._parts(body, arguments or {}, notes)
        if finish == "length" and parts and _is_cut_thinking(parts[-1]):
            del parts[-1]  # without its signature it would be refused
        message, repairs = read_turn(parts, history, whole=finish not in ("length", "content_filter"))
        notes += _verdict(as_dict(body.get("stop_details")))
        return self.origin.response(body, message, _usage(body), notes, repairs, finish=finish, word=word)

    def cut(self, body: dict[str, Any], arguments: Mapping[int, str]) -> ModelResponse:
        """What can be read of a reply that was not finished. Its calls, which may be cut, stay in `raw`."""
        notes: list[str] = []
        message = read_cut(self._parts(body, arguments, notes), notes)
        return self.origin.response(body, message, _usage(body), notes)

    def _check(self, body: dict[str, Any]) -> None:
        if body.get("error") or body.get("type") == "error":
            raise self.origin.status_error(body)
        if isinstance(body.get("content"), list):
            return
        raise self.origin.no_reply(body, "content")

    def _parts(self, body: dict[str, Any], arguments: Mapping[int, str], notes: list[str]) -> list[Part]:
        parts: list[Part] = []
        for place, item in enumerate(as_list(body.get("content"))):
            block = as_dict(item)
            match block.get("type"):
                case "text":
                    parts += self._text(block)
                case "thinking":
                    thought = as_text(block.get("thinking"))
                    parts += [ReasoningPart(thought)] if thought else []
                    parts.append(self._whole(block))
                case "tool_use":
                    parts.append(self._call(block, arguments.get(place)))
                case kind:
                    if kind not in ("redacted_thinking", "server_tool_use") and not str(kind).endswith("_tool_result"):
                        notes.append(f"a content block of type {str(kind)[:50]} was kept as it is")
                    parts.append(self._whole(item))
        return parts

    def _whole(self, block: Any) -> VendorPart:
        return VendorPart("anthropic", self.origin.provider, block)

    def _text(self, block: dict[str, Any]) -> list[Part]:
        text = as_text(block.get("text"))
        readable: list[Part] = [TextPart(text)] if text else []
        plain = block.keys() <= _TEXT_KEYS and not block.get("citations")
        return readable if plain else [*readable, self._whole(block)]

    def _call(self, block: dict[str, Any], arguments: str | None) -> ToolCall:
        extra = {key: value for key, value in block.items() if key not in _CALL_KEYS and value is not None}
        text = argument_text(block.get("input") or {}) if arguments is None else arguments
        vendor = call_tag("anthropic", self.origin.provider) if extra else None
        return ToolCall(as_text(block.get("id")) or "", as_text(block.get("name")) or "", text, extra, vendor)


def _finish(word: Any, notes: list[str]) -> tuple[FinishReason | None, str | None]:
    if word is None or word == "":
        return None, word
    word = str(word)
    if (finish := _STOP_REASONS.get(word)) is None:
        notes.append(f"stop reason {word[:50]!r} was read as other")
        return "other", word
    return finish, word


def _verdict(details: dict[str, Any]) -> list[str]:
    """Why the model declined."""
    said = [text for key in ("category", "explanation") if (text := as_text(details.get(key)))]
    return [f"the provider refused: {': '.join(said)}"] if said else []


def _is_cut_thinking(part: Part) -> bool:
    block = as_dict(part.value) if isinstance(part, VendorPart) else {}
    return block.get("type") == "thinking" and not block.get("signature")


def _usage(body: dict[str, Any]) -> Usage:
    """`input_tokens` leaves out what the cache read and wrote; ours is the whole prompt."""
    usage = as_dict(body.get("usage"))
    fresh, output = as_int(usage.get("input_tokens")), as_int(usage.get("output_tokens"))
    read, written = as_int(usage.get("cache_read_input_tokens")), as_int(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=output,
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=as_int(as_dict(usage.get("output_tokens_details")).get("thinking_tokens")),
        requests=1,
        complete=fresh is not None and output is not None,
    )
