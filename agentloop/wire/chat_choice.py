"""One choice of a streamed reply: its deltas joined to the message of a whole reply."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from agentloop.model import ModelEvent, ReasoningDelta, RefusalDelta, TextDelta
from agentloop.parts import ReasoningPart, RefusalPart, TextPart
from agentloop.shapes import as_dict, as_list, as_text
from agentloop.wire.chat_calls import CallAssembler
from agentloop.wire.chat_content import REASONING_FIELDS, content_parts, details_text
from agentloop.wire.codec import as_json
from agentloop.wire.quirks import Quirks
from agentloop.wire.think import ThinkSplitter

__all__ = ["ChoiceAssembler"]

_READ_KEYS = frozenset({"content", "refusal", "tool_calls", "function_call", "reasoning_details", *REASONING_FIELDS})


class ChoiceAssembler:
    """Pieces are kept in lists and joined once, at the end."""

    def __init__(self, quirks: Quirks, tools: Collection[str]) -> None:
        self.finish_reason: Any = None
        self._top: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._content: list[Any] = []  # text, and the parts of servers that send parts
        self._strings: dict[str, list[str]] = {}  # refusal and reasoning, each under the key it came in
        self._details: list[dict[str, Any]] = []
        self._logprobs: dict[str, Any] = {}
        self._calls = CallAssembler(tools)
        self._think = ThinkSplitter() if quirks.think_tags else None

    @property
    def seen(self) -> bool:
        return bool(self._top)

    @property
    def notes(self) -> Collection[str]:
        return self._calls.notes

    def take(self, choice: dict[str, Any], events: list[ModelEvent]) -> None:
        """One entry of a chunk's `choices`; what a caller may see of it is added to `events`."""
        self._top |= choice
        if reason := choice.get("finish_reason"):
            self.finish_reason = reason
        if logprobs := choice.get("logprobs"):
            self._add_logprobs(as_dict(logprobs))
        delta: dict[str, Any] = choice.get("delta") or choice.get("message") or {}  # some send the whole in one chunk
        if type(delta) is not dict:
            return
        content = delta.get("content")
        if len(delta) == 1 and type(content) is str and self._think is None:  # most deltas: text and nothing else
            if content:
                self._content.append(content)
                events.append(TextDelta(content))
        else:
            self._take_delta(delta, events)

    def flush(self, events: list[ModelEvent]) -> None:
        """Give out what was held back for a tag that never came."""
        if self._think is not None:
            _emit(*self._think.end(), events)

    def to_dict(self) -> dict[str, Any]:
        """The choice as a whole reply has it."""
        top = {key: value for key, value in self._top.items() if key not in ("delta", "message", "logprobs")}
        top["finish_reason"] = self.finish_reason
        if self._logprobs:
            top["logprobs"] = self._logprobs
        message = {"role": "assistant", **self._message, "content": self._joined_content()}
        message |= {key: "".join(pieces) for key, pieces in self._strings.items()}
        if self._details:
            message["reasoning_details"] = self._details
        if self._calls:
            message["tool_calls"] = self._calls.to_list()
        return {**top, "message": message}

    # --- one delta ---------------------------------------------------------------------------------------------------

    def _take_delta(self, delta: dict[str, Any], events: list[ModelEvent]) -> None:
        self._take_reasoning(delta, events)
        if (content := delta.get("content")) is not None:
            self._take_content(content, events)
        if refusal := as_text(delta.get("refusal")):
            self._strings.setdefault("refusal", []).append(refusal)
            events.append(RefusalDelta(refusal))
        if calls := delta.get("tool_calls"):
            events += self._calls.add([calls] if isinstance(calls, dict) else as_list(calls))
        elif old := as_dict(delta.get("function_call")):
            self._calls.notes["the deprecated function_call was read as a tool call"] = None
            events += self._calls.add([{"index": 0, "function": old}])
        if not delta.keys() <= _READ_KEYS:
            for key, value in delta.items():
                if key not in _READ_KEYS and value is not None:
                    self._message[key] = _joined(self._message.get(key), value)

    def _take_content(self, content: Any, events: list[ModelEvent]) -> None:
        if not isinstance(content, (str, list, dict)):
            self._calls.notes[f"content was of type {type(content).__name__}, not text"] = None
            content = as_json(content)
        if isinstance(content, str):
            self._content.append(content)
            self._take_text(content, events)
            return
        self._content += as_list(content) if isinstance(content, list) else [content]
        for part in content_parts(content, "", []):
            match part:
                case TextPart(text):
                    self._take_text(text, events)
                case ReasoningPart(text) if text:
                    events.append(ReasoningDelta(text))
                case RefusalPart(text) if text:
                    events.append(RefusalDelta(text))
                case _:
                    pass

    def _take_text(self, text: str, events: list[ModelEvent]) -> None:
        if self._think is None:
            _emit("", text, events)
        else:
            _emit(*self._think.feed(text), events)
            if self._think.done:
                self._think = None

    def _take_reasoning(self, delta: dict[str, Any], events: list[ModelEvent]) -> None:
        told = ""
        for key in REASONING_FIELDS:
            if text := as_text(delta.get(key)):
                self._strings.setdefault(key, []).append(text)
                told = told or text  # some servers send the same under two keys
        if details := [item for item in map(as_dict, as_list(delta.get("reasoning_details"))) if item]:
            told = told or details_text(details)
            for item in details:
                self._add_detail(item)
        if told:
            events.append(ReasoningDelta(told))

    def _add_detail(self, item: dict[str, Any]) -> None:
        """Pieces of one item have its type and index, and no other id; their texts are joined, the rest is replaced."""
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(key) != item.get(key) for key in ("type", "index")) or _differ(last, item):
            self._details.append(dict(item))
            return
        for key, value in item.items():
            if key in ("text", "summary", "data") and isinstance(value, str):
                last[key] = (as_text(last.get(key)) or "") + value
            elif value is not None:
                last[key] = value

    def _add_logprobs(self, logprobs: dict[str, Any]) -> None:
        for key, value in logprobs.items():
            if isinstance(value, list):
                self._logprobs.setdefault(key, []).extend(as_list(value))

    def _joined_content(self) -> Any:
        if all(isinstance(piece, str) for piece in self._content):
            return "".join(self._content) if self._content else None
        return self._content


def _emit(reasoning: str, text: str, events: list[ModelEvent]) -> None:
    if reasoning:
        events.append(ReasoningDelta(reasoning))
    if text:
        events.append(TextDelta(text))


def _differ(last: dict[str, Any], item: dict[str, Any]) -> bool:
    return bool(last.get("id") and item.get("id") and last["id"] != item["id"])


def _joined(before: Any, value: Any) -> Any:
    """Keys without a rule of their own: lists are joined, spoken audio piece by piece, the last of all else stays."""
    if isinstance(before, list) and isinstance(value, list):
        return as_list(before) + as_list(value)
    if isinstance(before, dict) and isinstance(value, dict):
        old, new = as_dict(before), as_dict(value)
        pieces = {key: str(old.get(key) or "") + str(new[key]) for key in ("data", "transcript") if new.get(key)}
        return {**old, **new, **pieces}
    return value
