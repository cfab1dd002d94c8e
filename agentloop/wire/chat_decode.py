"""A whole Chat Completions reply, read tolerantly into one clean ModelResponse.

A streamed reply is first joined to the body that its chunks amount to, and then read here too, so that both give the
same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentloop.errors import ServerError
from agentloop.messages import AssistantMessage, Message
from agentloop.model import FinishReason, ModelResponse, Usage
from agentloop.parts import Part, ReasoningPart, RefusalPart, TextPart, ToolCall, VendorPart
from agentloop.repairs import Repair
from agentloop.shapes import as_dict, as_int, as_list, as_text
from agentloop.wire.chat_content import content_parts, merged_content, reasoning_parts
from agentloop.wire.codec import argument_text, as_json
from agentloop.wire.origin import Origin, excerpt
from agentloop.wire.quirks import Quirks
from agentloop.wire.think import ThinkSplitter
from agentloop.wire.turns import settled

__all__ = ["ReplyReader", "found_error"]

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "safety": "content_filter",
    "error": "error",
    "insufficient_system_resource": "error",
}
_KNOWN_CALL_KEYS = frozenset({"id", "index", "type", "function"})


def found_error(body: dict[str, Any]) -> Any:
    """The error that a body with status 200 stands for, or None. A null or empty `error` is none."""
    if body.get("error"):
        return body
    if body.get("choices") is None and (
        body.get("object") == "error" or body.get("detail") or as_text(body.get("message"))
    ):
        return body
    groq = as_dict(body.get("x_groq"))
    return groq if groq.get("error") else None


@dataclass(slots=True)
class _Reply:
    """What is gathered while one reply is read."""

    parts: list[Part] = field(default_factory=list[Part])
    calls: tuple[ToolCall, ...] = ()
    notes: list[str] = field(default_factory=list[str])
    repairs: list[Repair] = field(default_factory=list[Repair])


@dataclass(frozen=True, slots=True)
class ReplyReader:
    """Reads the replies of one model of one provider."""

    origin: Origin
    quirks: Quirks

    def read(self, body: dict[str, Any], *, history: Sequence[Message], notes: tuple[str, ...] = ()) -> ModelResponse:
        """A reply from its JSON body. Raises StatusError for an error in it, ServerError with the partial reply when
        the finish reason says that the model failed, and ProtocolError when there is no choice."""
        if (error := found_error(body)) is not None:
            raise self.origin.status_error(error)
        choices = [choice for choice in map(as_dict, as_list(body.get("choices"))) if choice]
        if not choices:
            told = excerpt(as_json(body).encode("utf-8", "replace"))
            raise self.origin.protocol_error("the response has no choices", body=told, retryable=True)
        if choices[0].get("error"):
            raise self.origin.status_error(choices[0], partial=self.cut(body, notes=notes))
        response = self._response(body, choices[0], history, list(notes))
        if response.finish_reason == "error":
            raise ServerError(
                f"the model failed while it answered (finish reason {response.raw_finish_reason})",
                code=response.raw_finish_reason,
                provider=self.origin.provider,
                model=self.origin.model,
                partial=self.cut(body, notes=notes),
            )
        return response

    def cut(self, body: dict[str, Any], *, notes: tuple[str, ...] = ()) -> ModelResponse:
        """What had arrived of a reply that was not finished. Its calls, which may be cut, stay in `raw`."""
        choice = next(choice for choice in map(as_dict, as_list(body.get("choices"))) if choice)
        message = as_dict(choice.get("message"))
        told = list(notes)
        if calls := len(as_list(message.get("tool_calls"))):
            told.append(f"tool calls of an unfinished reply were left out: {calls}")
        bare = {key: value for key, value in message.items() if key not in ("tool_calls", "function_call")}
        return self._response(body, {**choice, "message": bare}, (), told)

    # --- one choice --------------------------------------------------------------------------------------------------

    def _response(
        self, body: dict[str, Any], choice: dict[str, Any], history: Sequence[Message], notes: list[str]
    ) -> ModelResponse:
        reply = _Reply(notes=notes)
        finish, word = _finish(choice.get("finish_reason"), reply)
        said = as_dict(choice.get("message"))
        reply.parts += reasoning_parts(said, self.origin.provider)
        reply.parts += self._split_thinking(content_parts(said.get("content"), self.origin.provider, reply.notes))
        if refusal := as_text(said.get("refusal")):
            reply.parts.append(RefusalPart(refusal))
        if audio := as_text(as_dict(said.get("audio")).get("id")):
            reply.parts.append(VendorPart("chat", self.origin.provider, {"audio": {"id": audio}}))
        self._read_calls(said, reply, history, whole=finish not in ("length", "content_filter"))
        message = AssistantMessage(merged_content(reply.parts), reply.calls)
        return self.origin.response(body, message, _usage(body), reply.notes, reply.repairs, finish=finish, word=word)

    def _split_thinking(self, parts: list[Part]) -> list[Part]:
        """Split a `<think>` block off the first text, if this provider writes any."""
        first = next((i for i, part in enumerate(parts) if isinstance(part, TextPart)), None)
        if first is None or not self.quirks.think_tags:
            return parts
        text = "".join(part.text for part in parts if isinstance(part, TextPart))
        splitter = ThinkSplitter()
        thought, answer = map("".join, zip(splitter.feed(text), splitter.end(), strict=True))
        rest = [part for part in parts if not isinstance(part, TextPart)]
        return [*rest[:first], ReasoningPart(thought), TextPart(answer), *rest[first:]]

    def _read_calls(self, message: dict[str, Any], reply: _Reply, history: Sequence[Message], *, whole: bool) -> None:
        entries: Any = message.get("tool_calls") or []
        entries = [entries] if isinstance(entries, dict) else as_list(entries)
        if not entries and (old := as_dict(message.get("function_call"))):
            reply.notes.append("the deprecated function_call was read as a tool call")
            entries = [{"function": old}]
        read = [self._read_call(as_dict(entry), reply) for entry in entries]
        calls = [call for call in read if call is not None]
        reply.calls, repairs = settled(calls, history, whole=whole)
        reply.repairs += repairs

    def _read_call(self, entry: dict[str, Any], reply: _Reply) -> ToolCall | None:
        function = as_dict(entry.get("function"))
        custom = as_dict(entry.get("custom"))
        extra = {key: value for key, value in entry.items() if key not in _KNOWN_CALL_KEYS}
        name = as_text(function.get("name")) or as_text(custom.get("name")) or ""
        arguments = custom.get("input") if custom else function.get("arguments")
        call_id = entry.get("id")
        if not (name or call_id or arguments):
            reply.notes.append("an empty tool call was left out")
            return None
        if arguments is not None and not isinstance(arguments, str):
            reply.notes.append("arguments came as an object, not as a string")
        call_id = "" if call_id is None else str(call_id)
        vendor = self.origin.provider if extra else None
        return ToolCall(call_id, name, argument_text(arguments), extra, vendor)


def _finish(word: Any, reply: _Reply) -> tuple[FinishReason | None, str | None]:
    if word is None or word == "":
        return None, word
    word = word if isinstance(word, str) else as_json(word)
    finish = _FINISH_REASONS.get(word.lower(), "other")
    if finish != word:
        reply.notes.append(f"finish reason {word[:50]!r} was read as {finish}")
    return finish, word


def _usage(body: dict[str, Any]) -> Usage:
    usage = as_dict(body.get("usage")) or as_dict(as_dict(body.get("x_groq")).get("usage"))
    prompt, completion = as_int(usage.get("prompt_tokens")), as_int(usage.get("completion_tokens"))
    read = as_dict(usage.get("prompt_tokens_details"))
    written = as_dict(usage.get("completion_tokens_details"))
    cached = as_int(read.get("cached_tokens"))
    return Usage(
        input_tokens=prompt,
        output_tokens=completion,
        cached_tokens=as_int(usage.get("prompt_cache_hit_tokens")) if cached is None else cached,
        cache_write_tokens=as_int(read.get("cache_write_tokens")),
        reasoning_tokens=as_int(written.get("reasoning_tokens")),
        requests=1,
        complete=prompt is not None and completion is not None,
    )
