"""A reply of the Responses API, read into one ModelResponse. A streamed one ends with the same body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentloop.model import FinishReason, ModelRequest, ModelResponse, Usage
from agentloop.parts import Part, ReasoningPart, RefusalPart, TextPart, ToolCall, VendorPart
from agentloop.shapes import as_dict, as_int, as_list, as_text
from agentloop.wire.carry import call_tag, reasoning_text
from agentloop.wire.codec import argument_text
from agentloop.wire.origin import Origin
from agentloop.wire.turns import read_cut, read_turn

__all__ = ["ResponseReader"]

_INCOMPLETE: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}
_MESSAGE_KEYS = frozenset({"type", "id", "role", "status", "content"})
_CALL_KEYS = frozenset({"type", "id", "call_id", "name", "arguments", "input", "status"})
_TEXT_KEYS = frozenset({"type", "text", "annotations", "logprobs"})


@dataclass(frozen=True, slots=True)
class ResponseReader:
    """Reads the replies of one model of one provider."""

    origin: Origin
    tells_cuts: bool = True

    def read(self, body: dict[str, Any], request: ModelRequest) -> ModelResponse:
        """A reply to a request from its body.

        Raises StatusError for an error in the body, with what had arrived as its partial reply, and ProtocolError when
        there is no output.
        """
        self._check(body)
        notes: list[str] = []
        parts = self._parts(body, notes)
        finish, word = _finish(body, parts, notes)
        if word == "completed" and not self.tells_cuts and _fills(body, request.options.get("max_tokens")):
            notes.append("a reply as long as its bound was read as cut")
            finish = "length"
        whole = finish not in ("length", "content_filter")
        message, repairs = read_turn(parts, request.messages, whole=whole)
        return self.origin.response(body, message, _usage(body), notes, repairs, finish=finish, word=word)

    def cut(self, body: dict[str, Any]) -> ModelResponse:
        """What can be read of a reply that was not finished. Its calls, which may be cut, stay in `raw`."""
        notes: list[str] = []
        message = read_cut(self._parts(body, notes), notes)
        return self.origin.response(body, message, _usage(body), notes)

    def _check(self, body: dict[str, Any]) -> None:
        output = body.get("output")
        if body.get("error") or body.get("status") == "failed" or body.get("object") == "error":
            told = body if body.get("error") else {"error": {"code": "server_error", "message": "the reply failed"}}
            raise self.origin.status_error(told, partial=self.cut(body) if isinstance(output, list) else None)
        if isinstance(output, list):
            return
        raise self.origin.no_reply(body, "output")

    # --- items -------------------------------------------------------------------------------------------------------

    def _parts(self, body: dict[str, Any], notes: list[str]) -> list[Part]:
        parts: list[Part] = []
        for entry in as_list(body.get("output")):
            item = as_dict(entry)
            match item.get("type"):
                case "message":
                    parts += self._message(item)
                case "reasoning":
                    thought = reasoning_text(item)
                    parts += [ReasoningPart(thought)] if thought else []
                    parts.append(self._whole(item))
                case "function_call" | "custom_tool_call":
                    parts.append(self._call(item))
                case kind:
                    notes.append(f"an item of type {str(kind)[:50]} was kept as it is")
                    parts.append(self._whole(entry))
        return parts

    def _whole(self, item: Any) -> VendorPart:
        return VendorPart("responses", self.origin.provider, item)

    def _message(self, item: dict[str, Any]) -> list[Part]:
        """Texts and refusals; the whole item too, where they are not all that it says."""
        readable: list[Part] = []
        plain = item.keys() <= _MESSAGE_KEYS
        for part in map(as_dict, as_list(item.get("content"))):
            if text := as_text(part.get("text")):
                readable.append(TextPart(text))
                plain = plain and part.keys() <= _TEXT_KEYS and not part.get("annotations")
            elif refusal := as_text(part.get("refusal")):
                readable.append(RefusalPart(refusal))
            else:
                plain = plain and part.get("text") == ""
        return readable if plain else [*readable, self._whole(item)]

    def _call(self, item: dict[str, Any]) -> ToolCall:
        extra = {key: value for key, value in item.items() if key not in _CALL_KEYS and value is not None}
        call_id = as_text(item.get("call_id")) or as_text(item.get("id")) or ""
        name = as_text(item.get("name")) or ""
        arguments = argument_text(item.get("arguments"))
        if item["type"] == "custom_tool_call":
            arguments = as_text(item.get("input")) or ""
            extra["custom"] = {"name": name, "input": arguments}
        vendor = call_tag("responses", self.origin.provider) if extra else None
        return ToolCall(call_id, name, arguments, extra, vendor)


def _finish(body: dict[str, Any], parts: Sequence[Part], notes: list[str]) -> tuple[FinishReason | None, str | None]:
    """There is no word for why the model stopped: it follows from the status and the items."""
    status = body.get("status")
    if status is None:
        return None, None
    reason = as_text(as_dict(body.get("incomplete_details")).get("reason"))
    word = reason if status == "incomplete" and reason else str(status)
    if status == "completed":
        return ("tool_calls" if any(isinstance(part, ToolCall) for part in parts) else "stop"), word
    if (finish := _INCOMPLETE.get(word)) is None:
        notes.append(f"finish reason {word[:50]!r} was read as other")
        return "other", word
    return finish, word


def _fills(body: dict[str, Any], bound: int | None) -> bool:
    written = as_int(as_dict(body.get("usage")).get("output_tokens"))
    return bound is not None and written is not None and written >= bound


def _usage(body: dict[str, Any]) -> Usage:
    usage = as_dict(body.get("usage"))
    read, written = as_dict(usage.get("input_tokens_details")), as_dict(usage.get("output_tokens_details"))
    prompt, completion = as_int(usage.get("input_tokens")), as_int(usage.get("output_tokens"))
    return Usage(
        input_tokens=prompt,
        output_tokens=completion,
        cached_tokens=as_int(read.get("cached_tokens")),
        cache_write_tokens=as_int(read.get("cache_write_tokens")),
        reasoning_tokens=as_int(written.get("reasoning_tokens")),
        requests=1,
        complete=prompt is not None and completion is not None,
    )
