"""The forms that a body has in a cassette file.

- `"body"`: the parsed JSON value, when writing and reading it again loses nothing.
- `"text"`: any other UTF-8 text.
- `"base64"`: bytes that are neither.
- `"chunks"`: a stream, piece by piece as it came. Each is `{"at": seconds, "text": "..."}`, where `at` counts from the
  sending of the request; `base64` stands for `text` when a character was split between two chunks; and
  `{"at": ..., "event": "name", "data": ...}` is one server-sent event whose data is the JSON value (or plain text, such
  as "[DONE]"), written compactly, or with `"spaced": true` as Python writes it, with blanks after commas and colons.
  By hand, a chunk may be just a string. A body that ended badly has chunks too.

An absent body is an empty one.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentloop.errors import ConfigError

__all__ = ["Chunk", "Unfaithful", "body_from_dict", "body_to_dict", "dump_json", "load_json"]

_STREAMED = ("text/event-stream", "ndjson", "jsonlines", "jsonl", "json-seq")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a body as it came, `at` seconds after the request was sent (None: not known)."""

    data: bytes
    at: float | None = None


class Unfaithful(ValueError):
    """A body is JSON that would not survive being parsed and written again."""


def dump_json(value: object, *, spaced: bool = False) -> bytes:
    """UTF-8 JSON, compact unless `spaced`."""
    return json.dumps(value, ensure_ascii=False, separators=None if spaced else (",", ":")).encode()


def load_json(content: bytes) -> Any:
    """The JSON value, or Unfaithful: not JSON, keys given twice, NaN, blank lines before it, half a surrogate pair."""
    if content[:1].isspace():
        raise Unfaithful("white space before the JSON")
    try:
        value = json.loads(
            content.decode(), object_pairs_hook=_no_key_twice, parse_constant=_no_constant, parse_float=_finite
        )
        dump_json(value)
    except (ValueError, RecursionError) as error:
        raise Unfaithful(str(error)) from error
    return value


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise Unfaithful("a key that is given twice")
    return out


def _no_constant(word: str) -> Any:
    raise Unfaithful(f"{word} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise Unfaithful("a number that is too large")
    return number


def body_to_dict(chunks: Sequence[Chunk], headers: Mapping[str, str], *, broken: bool = False) -> dict[str, Any]:
    """The one key, or none, that shows this body. `broken`: it did not come to its end."""
    content = b"".join(chunk.data for chunk in chunks)
    kind = headers.get("content-type", "").lower()
    streamed = broken or any(word in kind for word in _STREAMED)
    if not streamed and ("json" in kind or (not kind and content[:1] in (b"{", b"["))):
        try:
            return {"body": load_json(content)}
        except Unfaithful:
            pass
    if not content:
        return {}
    if streamed or len(chunks) > 1:
        return {"chunks": [_chunk_to_dict(chunk) for chunk in chunks]}
    return _bytes_to_dict(content)


def _bytes_to_dict(content: bytes) -> dict[str, Any]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _chunk_to_dict(chunk: Chunk) -> dict[str, Any]:
    at = {} if chunk.at is None else {"at": chunk.at}
    return {**at, **(_event_to_dict(chunk.data) or _bytes_to_dict(chunk.data))}


def _event_to_dict(content: bytes) -> dict[str, Any] | None:
    """The chunk as one server-sent event, if that form gives back exactly these bytes."""
    head, mark, data = content.rpartition(b"data: ")
    if not mark or not content.endswith(b"\n\n"):
        return None
    try:
        name = head.removeprefix(b"event: ").strip().decode()
        value = "[DONE]" if data == b"[DONE]\n\n" else load_json(data[:-2])
    except ValueError:
        return None
    form = {"event": name, "data": value} if name else {"data": value}
    forms = (form, {"spaced": True, **form})
    return next((form for form in forms if _event_bytes(form) == content), None)


def _event_bytes(fields: Mapping[str, Any]) -> bytes:
    data = fields["data"]
    line = data.encode() if isinstance(data, str) else dump_json(data, spaced=fields.get("spaced", False))
    name = f"event: {fields['event']}\n".encode() if "event" in fields else b""
    return name + b"data: " + line + b"\n\n"


def body_from_dict(fields: Mapping[str, Any], headers: dict[str, str], where: str) -> tuple[Chunk, ...]:
    """The chunks that the file describes; adds the content-type that goes with a parsed or streamed body."""
    forms = [key for key in ("body", "text", "base64", "chunks") if key in fields]
    if len(forms) > 1:
        raise ConfigError(f"{where}: has {' and '.join(forms)}; one of them says what the body is")
    if not forms:
        return ()
    try:
        return _read_form(forms[0], fields, headers, where)
    except UnicodeEncodeError as error:
        raise ConfigError(f"{where}: {forms[0]} holds half a surrogate pair; use base64") from error


def _read_form(form: str, fields: Mapping[str, Any], headers: dict[str, str], where: str) -> tuple[Chunk, ...]:
    if form == "body":
        headers.setdefault("content-type", "application/json")
        return (Chunk(dump_json(fields["body"])),)
    if form != "chunks":
        return (Chunk(_content(fields, where)),)
    if not isinstance(fields["chunks"], list):
        raise ConfigError(f"{where}: chunks must be a list")
    headers.setdefault("content-type", "text/event-stream")
    items = cast("list[object]", fields["chunks"])
    return tuple(_chunk_from_dict(item, f"{where}: chunk {n}") for n, item in enumerate(items, start=1))


def _chunk_from_dict(item: object, where: str) -> Chunk:
    if isinstance(item, str):
        return Chunk(item.encode())
    if not isinstance(item, dict):
        raise ConfigError(f"{where}: must be a string or an object, not {item!r:.80}")
    fields = cast("dict[str, Any]", item)
    forms = fields.keys() & {"text", "base64", "data"}
    beside = {"at", "event", "spaced"} if "data" in fields else {"at"}
    if len(forms) != 1 or fields.keys() - forms - beside:
        raise ConfigError(
            f"{where}: must have one of text, base64 or data (with event, spaced or none), and may have at"
        )
    at = fields.get("at")
    if at is not None and (isinstance(at, bool) or not isinstance(at, (int, float))):
        raise ConfigError(f"{where}: at must be a number of seconds, not {at!r:.80}")
    return Chunk(_event_bytes(fields) if "data" in fields else _content(fields, where), at)


def _content(fields: Mapping[str, Any], where: str) -> bytes:
    form = "text" if "text" in fields else "base64"
    value = fields[form]
    if not isinstance(value, str):
        raise ConfigError(f"{where}: {form} must be a string, not {value!r:.80}")
    if form == "text":
        return value.encode()
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ConfigError(f"{where}: base64 cannot be decoded: {error}") from error
