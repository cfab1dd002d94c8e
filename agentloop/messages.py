"""Messages: the frozen values that a history is made of.

The dict form is the Chat Completions form with a few more keys (`schema`, `kind`, parts of type `reasoning` and
`vendor`), so that what users write by hand and what is stored are read by the same function. Keys that are not known
here are kept in `extra` and written back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, cast

from agentloop.errors import HistoryError
from agentloop.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    VendorPart,
    part_from_dict,
    part_to_dict,
    tool_call_from_dict,
    tool_call_to_dict,
)
from agentloop.shapes import as_list

__all__ = [
    "PINNED",
    "SCHEMA_VERSION",
    "AssistantMessage",
    "AudioPart",
    "FilePart",
    "ImagePart",
    "Message",
    "Part",
    "ReasoningPart",
    "RefusalPart",
    "SystemMessage",
    "TextPart",
    "ToolCall",
    "ToolMessage",
    "ToolResult",
    "ToolResultKind",
    "UserMessage",
    "VendorPart",
    "message_from_dict",
    "messages_from",
]

SCHEMA_VERSION = 1

PINNED = "pinned"
"""The key of `extra` that marks a message for trimming policies; no wire sends it."""

ToolResultKind: TypeAlias = Literal[
    "unknown_tool",
    "bad_arguments",
    "raised",
    "timeout",
    "denied",
    "cancelled",
    "too_large",
    "exit_status",
    "not_started",
    "not_run",
]

Content: TypeAlias = str | tuple[Part, ...] | None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one execution gives. `content` is text, or text and image parts; `kind` says what went wrong, if it did.

    `whole` is the text before it was cut to the tool's limit, when it was cut, and `cause` the exception behind an
    error. Both are for the program that watches; neither is sent or stored.
    """

    content: str | tuple[Part, ...]
    is_error: bool = False
    kind: ToolResultKind | None = None
    whole: str | None = field(default=None, repr=False, compare=False)
    cause: BaseException | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        _freeze_content(self)


def _freeze_content(owner: Message | ToolResult) -> None:
    """Content that is no text becomes a tuple of parts: callers may give a list, and parts in their dict form.

    Raises HistoryError for anything else, which would be lost without a word on its way to the model.
    """
    content: Any = owner.content
    if isinstance(content, str):
        return
    if not isinstance(content, (list, tuple)):
        raise HistoryError(f"content must be text or a list of parts, not {type(content).__name__}")
    given = cast("Sequence[Any]", content)
    parts = tuple(part if isinstance(part, Part) else part_from_dict(part) for part in given)
    object.__setattr__(owner, "content", parts)


def _text_of(content: Content, wanted: type[TextPart | ReasoningPart | RefusalPart]) -> str | None:
    if not isinstance(content, tuple):
        return content if wanted is TextPart else None
    found = [part.text for part in content if isinstance(part, wanted)]
    return "".join(found) if found else None


@dataclass(frozen=True, slots=True)
class SystemMessage:
    content: str | tuple[Part, ...]
    name: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    role: ClassVar[Literal["system"]] = "system"

    def __post_init__(self) -> None:
        _freeze_content(self)

    @property
    def text(self) -> str:
        return _text_of(self.content, TextPart) or ""

    def to_dict(self) -> dict[str, Any]:
        return _to_dict(self, name=self.name)

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> SystemMessage:
        return _expect(value, SystemMessage)


@dataclass(frozen=True, slots=True)
class UserMessage:
    content: str | tuple[Part, ...]
    name: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    role: ClassVar[Literal["user"]] = "user"

    def __post_init__(self) -> None:
        _freeze_content(self)

    @property
    def text(self) -> str:
        return _text_of(self.content, TextPart) or ""

    def to_dict(self) -> dict[str, Any]:
        return _to_dict(self, name=self.name)

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> UserMessage:
        return _expect(value, UserMessage)


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A model's turn. `content` is text, or parts in the order the model gave them; the parts may hold the tool calls
    themselves, where a wire mixes them with text, and `tool_calls` is then derived from them."""

    content: Content = None
    tool_calls: tuple[ToolCall, ...] = ()
    name: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    role: ClassVar[Literal["assistant"]] = "assistant"

    def __post_init__(self) -> None:
        if self.content is not None:
            _freeze_content(self)
        calls: tuple[ToolCall, ...] = tuple(self.tool_calls)
        if not calls and isinstance(self.content, tuple):
            calls = tuple(part for part in self.content if isinstance(part, ToolCall))
        object.__setattr__(self, "tool_calls", calls)

    @property
    def text(self) -> str:
        return _text_of(self.content, TextPart) or ""

    @property
    def reasoning(self) -> str | None:
        return _text_of(self.content, ReasoningPart)

    @property
    def refusal(self) -> str | None:
        return _text_of(self.content, RefusalPart)

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts in order, text as a TextPart and tool calls included."""
        if isinstance(self.content, tuple):
            inside = any(isinstance(part, ToolCall) for part in self.content)
            return self.content if inside else self.content + self.tool_calls
        text: tuple[Part, ...] = (TextPart(self.content),) if self.content else ()
        return text + self.tool_calls

    def to_dict(self) -> dict[str, Any]:
        out = _to_dict(self, name=self.name)
        if self.tool_calls:
            out["tool_calls"] = [tool_call_to_dict(call) for call in self.tool_calls]
        return out

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> AssistantMessage:
        return _expect(value, AssistantMessage)


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call, as the history keeps it."""

    tool_call_id: str
    content: str | tuple[Part, ...]
    is_error: bool = False
    kind: ToolResultKind | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    role: ClassVar[Literal["tool"]] = "tool"

    def __post_init__(self) -> None:
        _freeze_content(self)

    @property
    def text(self) -> str:
        return _text_of(self.content, TextPart) or ""

    def to_dict(self) -> dict[str, Any]:
        out = _to_dict(self, tool_call_id=self.tool_call_id, kind=self.kind)
        if self.is_error:
            out["is_error"] = True
        return out

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> ToolMessage:
        return _expect(value, ToolMessage)


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


# --- dict form -------------------------------------------------------------------------------------------------------


def _to_dict(message: Message, **fields: Any) -> dict[str, Any]:
    content = message.content
    out: dict[str, Any] = {**message.extra, "schema": SCHEMA_VERSION, "role": message.role}
    out["content"] = [part_to_dict(part) for part in content] if isinstance(content, tuple) else content
    out.update({key: value for key, value in fields.items() if value is not None})
    return out


def messages_from(values: Iterable[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
    """Messages from our classes or from dicts, mixed as you like; our own objects come back as they are.

    Raises HistoryError for what is no message, for an unknown role, and for a dict that lacks what its role needs.
    """
    if isinstance(values, (Message, Mapping, str, bytes)):
        raise HistoryError(f"messages are given as a list; put this {type(values).__name__} into one")
    return tuple(_message_from(value) for value in values)


def _message_from(value: Message | Mapping[str, Any]) -> Message:
    if isinstance(value, Mapping):
        return message_from_dict(value)
    if not isinstance(value, Message):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers may be untyped
        raise HistoryError(f"a message is a UserMessage or another of our classes, or a dict, not {value!r:.80}")
    return value


def message_from_dict(value: Mapping[str, Any]) -> Message:
    """One message from its dict form (ours or Chat Completions'). Unknown keys are kept in `extra`."""
    schema = value.get("schema", SCHEMA_VERSION)
    if not isinstance(schema, int) or schema > SCHEMA_VERSION:
        raise HistoryError(f"message schema {schema!r} is newer than {SCHEMA_VERSION}: update agentloop to read it")
    rest = dict(value)
    rest.pop("schema", None)
    role = rest.pop("role", None)
    content = _content_from(rest.pop("content", None))
    match role:
        case "system" | "developer":
            return SystemMessage(content or "", name=rest.pop("name", None), extra=rest)
        case "user":
            return UserMessage(content or "", name=rest.pop("name", None), extra=rest)
        case "assistant":
            return _assistant_from(content, rest)
        case "tool":
            call_id, is_error, kind = rest.pop("tool_call_id", ""), rest.pop("is_error", False), rest.pop("kind", None)
            return ToolMessage(str(call_id or ""), content or "", bool(is_error), kind, extra=rest)
        case _:
            raise HistoryError(f"unknown role {role!r}: use system, user, assistant or tool")


def _assistant_from(content: Content, rest: dict[str, Any]) -> AssistantMessage:
    calls = tuple(tool_call_from_dict(call) for call in as_list(rest.pop("tool_calls", None)))
    head: list[Part] = []
    if isinstance(rest.get("reasoning_content"), str):
        head.append(ReasoningPart(rest.pop("reasoning_content")))
    tail: list[Part] = [RefusalPart(rest.pop("refusal"))] if rest.get("refusal") else []
    rest.pop("refusal", None)
    if head or tail:
        middle = content if isinstance(content, tuple) else (TextPart(content),) if content else ()
        content = (*head, *middle, *tail)
    return AssistantMessage(content, calls, name=rest.pop("name", None), extra=rest)


def _content_from(value: Any) -> Content:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(part_from_dict(part) for part in cast("Sequence[Any]", value))
    raise HistoryError(f"content must be text, a list of parts or null, not {type(value).__name__}")


def _expect(value: Mapping[str, Any], wanted: type[Any]) -> Any:
    message = message_from_dict(value)
    if not isinstance(message, wanted):
        raise HistoryError(f"this is a {message.role} message, not a {wanted.role} message")
    return message
