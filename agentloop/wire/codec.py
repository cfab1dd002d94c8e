"""JSON in and out: tolerant when reading, strict when writing."""

from __future__ import annotations

import json
from typing import Any

import orjson

from agentloop.errors import ConfigError

__all__ = ["argument_text", "as_json", "dumps", "loads"]

_READER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def loads(data: bytes | bytearray) -> Any:
    """The value of JSON text in UTF-8. Raises ValueError, also when it is nested too deeply.

    What orjson refuses goes through the standard library once more, since real servers send it: a byte order mark,
    broken UTF-8, lone surrogates, raw control characters in strings, and NaN or Infinity, which are read as null.
    """
    try:
        return orjson.loads(data)
    except ValueError:
        pass
    try:
        return _READER.decode(data.decode("utf-8-sig", "replace"))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def dumps(value: Any, *, of: str) -> bytes:
    """JSON text in UTF-8: the order of keys kept, no blanks, lone surrogates escaped.

    Raises ConfigError, which names `of`, for what JSON cannot say: NaN, infinity, objects, endless nesting.
    """
    try:
        text = _WRITER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{of} cannot be written as JSON: {str(error)[:200]}") from None
    return text.encode("utf-8", "backslashreplace")


def as_json(value: Any) -> str:
    """A value that came as JSON, as text again. What was not quite JSON (infinity, endless nesting) does not become
    JSON by it."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return "(nested too deeply)"


def argument_text(value: Any) -> str:
    """Arguments as the string they should have been: some servers send the object itself, or null."""
    if isinstance(value, str):
        return value
    return "" if value is None else as_json(value)
