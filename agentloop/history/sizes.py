"""The size of one message or tool in tokens, given how text is counted; and a cache, so that each is sized once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentloop.messages import (
    AssistantMessage,
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    ToolCall,
    ToolMessage,
    VendorPart,
    message_from_dict,
)
from agentloop.model import ToolSpec

__all__ = ["IMAGE_TOKENS", "REQUEST_TOKENS", "TOOLS_TOKENS", "CountText", "SizeCache", "message_tokens", "tool_tokens"]

CountText = Callable[[str], float]
AnyMessage = Message | Mapping[str, Any]
AnyTool = ToolSpec | Mapping[str, Any]

REQUEST_TOKENS = 3  # what opens the reply (OpenAI's counting rule for chat models)
_MESSAGE_TOKENS = 4  # role and separators
_CALL_TOKENS = 8  # what stands around the name and arguments of a call
_TOOL_TOKENS = 12  # what a template writes around a schema
TOOLS_TOKENS = 30  # what it says once when there are tools; some say 15, some 100
IMAGE_TOKENS = 1000  # vendors charge 85 to about 1,600 by pixels, which a URL does not tell
_LOW_DETAIL_TOKENS = 85
_FILE_TOKENS = 3000  # a few pages
_BASE64_PER_AUDIO_TOKEN = 4000  # about a tenth of a second of speech
_MOST_OPAQUE_TOKENS = 3000  # a vendor's item may hold megabytes that are not text to the model


def message_tokens(message: Message, text: CountText) -> int:
    """Tokens of one message with its overhead. Media have flat or bounded sizes, whatever their base64 length."""
    content = message.content
    total: float = _MESSAGE_TOKENS
    if isinstance(content, str):
        total += text(content)
    elif content is not None:
        total += sum(_part_tokens(part, text) for part in content if not isinstance(part, ToolCall))
    if isinstance(message, AssistantMessage):
        for call in message.tool_calls:
            total += _CALL_TOKENS + text(call.name) + text(call.arguments)
    if not isinstance(message, ToolMessage) and message.name:
        total += 1 + text(message.name)
    return round(total)


def tool_tokens(tool: AnyTool, text: CountText) -> int:
    """Tokens of a tool's schema, as the JSON that a template shows to the model."""
    if isinstance(tool, Mapping):
        schema: Any = tool
    else:
        schema = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return round(_TOOL_TOKENS + text(json.dumps(schema, ensure_ascii=False, default=str)))


def _part_tokens(part: Part, text: CountText) -> float:
    match part:
        case ImagePart():
            return _LOW_DETAIL_TOKENS if part.detail == "low" else IMAGE_TOKENS
        case FilePart():
            return _FILE_TOKENS
        case AudioPart():
            return 50 + min(len(part.data) // _BASE64_PER_AUDIO_TOKEN, _MOST_OPAQUE_TOKENS)
        case VendorPart():
            return _vendor_tokens(part.value, text)
        case ToolCall():
            return 0
        case _:
            return text(part.text)


def _vendor_tokens(value: Any, text: CountText) -> float:
    kind = str(cast("Mapping[str, Any]", value).get("type", "")) if isinstance(value, Mapping) else ""
    if "image" in kind:
        return IMAGE_TOKENS
    if kind in ("document", "input_file", "file"):
        return _FILE_TOKENS
    return min(text(json.dumps(value, ensure_ascii=False, default=str)), _MOST_OPAQUE_TOKENS)


@dataclass(frozen=True, slots=True)
class _Total:
    """The tokens of a whole request; `known` when the provider reported them."""

    messages: tuple[AnyMessage, ...]
    tools: tuple[AnyTool, ...]
    tokens: int
    known: bool


class SizeCache:
    """Sizes by the identity of frozen messages, and totals of the last few lists, so that a list that grew is sized by
    what was added. A size stays as it was first taken, while it is kept; dicts may change, so theirs are not kept.
    Safe to use from many threads.
    """

    MOST_TOTALS = 16
    LEAST_TOTAL = 8  # messages: a shorter list is added up as fast as its total is found

    def __init__(
        self,
        size_message: Callable[[Message], int],
        size_tool: Callable[[AnyTool], int],
        *,
        most_sizes: int = 50_000,
    ) -> None:
        """`most_sizes`: how many sizes are kept before the oldest are given up; up to twice as many are held."""
        self._most_sizes = most_sizes
        self._size_message = size_message
        self._size_tool = size_tool
        self._lock = threading.RLock()
        self._sizes: dict[int, tuple[Message, int]] = {}
        self._older: dict[int, tuple[Message, int]] = {}
        self._tools: dict[int, tuple[AnyTool, int]] = {}
        self._totals: dict[int, _Total] = {}

    def clear(self) -> None:
        with self._lock:
            self._sizes, self._older, self._tools, self._totals = {}, {}, {}, {}

    def size(self, message: AnyMessage) -> int:
        entry = self._sizes.get(id(message))
        if entry is not None:
            return entry[1]
        if isinstance(message, Mapping):
            return self._size_message(message_from_dict(message))
        entry = self._older.get(id(message)) or (message, self._size_message(message))
        if len(self._sizes) >= self._most_sizes:
            self._older, self._sizes = self._sizes, {}
        self._sizes[id(message)] = entry  # it holds the message, so the id stays taken
        return entry[1]

    def tool_size(self, tool: AnyTool) -> int:
        entry = self._tools.get(id(tool))
        if entry is None:
            if len(self._tools) >= 1000:
                self._tools = {}
            entry = self._tools[id(tool)] = (tool, self._size_tool(tool))
        return entry[1]

    def total(self, messages: Sequence[AnyMessage], tools: Sequence[AnyTool]) -> int:
        """Tokens of a request of these messages and tools, built on what is known of its beginning."""
        given, offered = tuple(messages), tuple(tools)
        with self._lock:
            total, lasting = self._add_up(given, offered)
            if lasting and len(given) >= self.LEAST_TOTAL and id(given[-1]) not in self._totals:
                self._keep(_Total(given, offered, total, known=False))
        return total

    def known(self, messages: Sequence[Message], tools: Sequence[AnyTool]) -> tuple[int, int]:
        """(how many messages, their tokens) of the longest beginning of the list that a provider has reported."""
        given, offered = tuple(messages), tuple(tools)
        with self._lock:
            for end in range(len(given), 0, -1):
                found = self._totals.get(id(given[end - 1]))
                if found and found.known and found.tools == offered and found.messages == given[:end]:
                    return end, found.tokens
        return 0, 0

    def learn(self, messages: Sequence[Message], tools: Sequence[AnyTool], tokens: int) -> None:
        """From now on a list that begins with these messages, and goes on with a reply, has these tokens in it."""
        if messages:
            with self._lock:
                self._keep(_Total(tuple(messages), tuple(tools), tokens, known=True))

    def _add_up(self, given: tuple[AnyMessage, ...], offered: tuple[AnyTool, ...]) -> tuple[int, bool]:
        """The total, and whether it lasts: all messages are frozen."""
        total, lasting = 0, True
        for end in range(len(given), 0, -1):
            message = given[end - 1]
            found = self._totals.get(id(message))
            if found and self._holds(found, given, offered, end):
                return total + found.tokens, lasting
            total += self.size(message)
            lasting = lasting and not isinstance(message, Mapping)
        total += REQUEST_TOKENS + (TOOLS_TOKENS if offered else 0)
        return total + sum(self.tool_size(tool) for tool in offered), lasting

    @staticmethod
    def _holds(found: _Total, given: tuple[AnyMessage, ...], offered: tuple[AnyTool, ...], end: int) -> bool:
        # A reported total is used only for what came after it: the size of a group of messages by itself must not
        # change when a report about that group alone comes in.
        replied = end < len(given) and isinstance(given[end], AssistantMessage)
        return (replied or not found.known) and found.tools == offered and found.messages == given[:end]

    def _keep(self, total: _Total) -> None:
        key = id(total.messages[-1])
        self._totals.pop(key, None)
        self._totals[key] = total
        while len(self._totals) > self.MOST_TOTALS:
            del self._totals[next(iter(self._totals))]
