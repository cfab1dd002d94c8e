"""Content parts and tool calls: what messages are made of, and their dict form (Chat Completions parts, and ours)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, TypeAlias, cast

from agentloop.errors import HistoryError
from agentloop.shapes import as_dict

__all__ = [
    "AudioPart",
    "FilePart",
    "ImagePart",
    "Part",
    "ReasoningPart",
    "RefusalPart",
    "TextPart",
    "ToolCall",
    "VendorPart",
    "data_url",
    "part_from_dict",
    "part_to_dict",
    "split_data_url",
    "tool_call_from_dict",
    "tool_call_to_dict",
]


def data_url(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def split_data_url(url: str) -> tuple[str, str] | None:
    """(media type, base64 text) of a base64 `data:` URL, or None for any other URL."""
    head, comma, payload = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return head[len("data:") : -len(";base64")], payload


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    type: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image by URL (`https:` or `data:`), or by `data=` bytes, which become a `data:` URL of `media_type`.

    `detail` is a vendor's hint about resolution.
    """

    url: str = ""
    detail: str | None = None
    data: InitVar[bytes | None] = None
    media_type: InitVar[str] = "image/png"
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    type: ClassVar[str] = "image_url"

    def __post_init__(self, data: bytes | None, media_type: str) -> None:
        if bool(self.url) == (data is not None):
            raise ValueError("ImagePart takes url= or data=, one of them")
        if data is not None:
            object.__setattr__(self, "url", data_url(data, media_type))


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file by the provider's id, by URL, or by `data=` bytes, which become the `data:` URL `file_data`."""

    file_id: str | None = None
    url: str | None = None
    file_data: str | None = field(default=None, repr=False)
    filename: str | None = None
    data: InitVar[bytes | None] = None
    media_type: InitVar[str] = "application/pdf"
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    type: ClassVar[str] = "file"

    def __post_init__(self, data: bytes | None, media_type: str) -> None:
        if data is not None:
            object.__setattr__(self, "file_data", data_url(data, media_type))
        if not (self.file_id or self.url or self.file_data):
            raise ValueError("FilePart takes file_id=, url= or data=")


@dataclass(frozen=True, slots=True)
class AudioPart:
    """Audio as base64 text, in the vendor's `format` (wav, mp3)."""

    data: str = field(repr=False)
    format: str = "wav"
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    type: ClassVar[str] = "input_audio"


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """What the model thought, in clear. It is never part of `.text`."""

    text: str
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    type: ClassVar[str] = "reasoning"


@dataclass(frozen=True, slots=True)
class RefusalPart:
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    type: ClassVar[str] = "refusal"


@dataclass(frozen=True, slots=True)
class VendorPart:
    """An item that only its vendor understands (a signature, encrypted reasoning, an unknown part).

    It goes back unchanged to the wire and provider it came from, and is left out for any other. Without wire and
    provider it was written by hand, and goes to whoever is asked.
    """

    wire: str
    provider: str
    value: Any
    type: ClassVar[str] = "vendor"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool. `arguments` is the raw string that the model wrote, valid JSON or not.

    `extra` holds vendor keys of the call; `vendor` is the provider they came from, and they go back to that one only.
    """

    id: str
    name: str
    arguments: str = "{}"
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    vendor: str | None = None
    type: ClassVar[str] = "tool_call"


Part: TypeAlias = TextPart | ImagePart | FilePart | AudioPart | ReasoningPart | RefusalPart | VendorPart | ToolCall


def tool_call_to_dict(call: ToolCall) -> dict[str, Any]:
    out = {**call.extra, "id": call.id, "type": "function"}
    out["function"] = {"name": call.name, "arguments": call.arguments}
    if call.vendor is not None:
        out["vendor"] = call.vendor
    return out


def part_to_dict(part: Part) -> dict[str, Any]:
    match part:
        case TextPart() | ReasoningPart():
            return {**part.extra, "type": part.type, "text": part.text}
        case RefusalPart():
            return {**part.extra, "type": "refusal", "refusal": part.text}
        case ImagePart():
            image = {"url": part.url} if part.detail is None else {"url": part.url, "detail": part.detail}
            return {**part.extra, "type": "image_url", "image_url": image}
        case FilePart():
            fields = {"file_id": part.file_id, "url": part.url, "file_data": part.file_data, "filename": part.filename}
            return {**part.extra, "type": "file", "file": {key: v for key, v in fields.items() if v is not None}}
        case AudioPart():
            return {**part.extra, "type": "input_audio", "input_audio": {"data": part.data, "format": part.format}}
        case VendorPart():
            return {"type": "vendor", "wire": part.wire, "provider": part.provider, "value": part.value}
        case ToolCall():
            return {"type": "tool_call", "tool_call": tool_call_to_dict(part)}


def tool_call_from_dict(value: Mapping[str, Any]) -> ToolCall:
    rest = dict(value)
    function = as_dict(rest.pop("function", None))
    rest.pop("type", None)
    arguments: Any = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    call_id, vendor = rest.pop("id", None), rest.pop("vendor", None)
    return ToolCall(str(call_id or ""), str(function.get("name") or ""), arguments or "", extra=rest, vendor=vendor)


def part_from_dict(value: Any) -> Part:
    if isinstance(value, str):
        return TextPart(value)
    if not isinstance(value, Mapping):
        raise HistoryError(f"a content part must be an object, not {type(value).__name__}")
    rest = dict(cast("Mapping[str, Any]", value))
    match rest.pop("type", "text"):
        case "text" | "input_text":  # the latter is what the Responses API calls it
            return TextPart(str(rest.pop("text", "")), extra=rest)
        case "output_text":  # its further keys are about the text, and not sent
            return TextPart(str(rest.pop("text", "")))
        case "reasoning":
            return ReasoningPart(str(rest.pop("text", "")), extra=rest)
        case "refusal":
            return RefusalPart(str(rest.pop("refusal", "")), extra=rest)
        case "image_url":
            image = rest.pop("image_url", None)
            image = {"url": image} if isinstance(image, str) else as_dict(image)
            if not image.get("url"):
                raise HistoryError('an image part needs {"image_url": {"url": ...}}')
            return ImagePart(url=str(image["url"]), detail=image.get("detail"), extra=rest)
        case "input_audio":
            audio = as_dict(rest.pop("input_audio", None))
            return AudioPart(str(audio.get("data", "")), str(audio.get("format", "wav")), extra=rest)
        case "file":
            return _file_from_dict(as_dict(rest.pop("file", None)), rest)
        case "vendor":
            return VendorPart(str(rest.get("wire", "")), str(rest.get("provider", "")), rest.get("value"))
        case "tool_call":
            return tool_call_from_dict(as_dict(rest.get("tool_call")))
        case other:
            return VendorPart("", "", {**rest, "type": other})


def _file_from_dict(file: Mapping[str, Any], rest: dict[str, Any]) -> FilePart:
    if not (file.get("file_id") or file.get("url") or file.get("file_data")):
        raise HistoryError('a file part needs {"file": {...}} with file_id, url or file_data')
    return FilePart(file.get("file_id"), file.get("url"), file.get("file_data"), file.get("filename"), extra=rest)
