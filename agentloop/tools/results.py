"""What a tool returned, as the text (or parts) that the model reads.

| returned | sent |
| --- | --- |
| str | as it is, without quotes |
| None | `null` |
| dict, list, tuple, set, dataclass, pydantic model, named tuple, array | JSON, non-ASCII kept |
| datetime, date, time | ISO 8601 |
| timedelta | seconds |
| Decimal, UUID, path, fraction | its text, so `Decimal("1.10")` stays `1.10` |
| Enum | its value |
| bytes | base64 |
| NaN, infinities | `NaN`, `Infinity`, `-Infinity` as strings, since JSON has no such numbers |
| ToolResult | as it is |
| an image, file or text part, or a list of parts | parts |

Anything else is an error that the model and the programmer can read; so is a value that contains itself.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeAlias, cast

from agentloop.errors import ToolError
from agentloop.messages import ToolResult
from agentloop.parts import AudioPart, FilePart, ImagePart, Part, TextPart

__all__ = ["error_text", "to_result"]

_PARTS = (TextPart, ImagePart, FilePart, AudioPart)
_Plain: TypeAlias = "str | int | float | bool | list[_Plain] | dict[str, _Plain] | None"


def to_result(value: Any) -> ToolResult:
    """The result that `value` amounts to. A value that cannot be written is an error result of kind `raised`."""
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str) and not isinstance(value, Enum):
        return ToolResult(str(value))
    if isinstance(value, _PARTS):
        return ToolResult((value,))
    parts = _parts(value)
    if parts:
        return ToolResult(parts)
    try:
        plain = _plain(value, "result", ())
        return ToolResult(plain if isinstance(plain, str) else _json(plain))
    except Exception as error:
        text = "it is nested too deeply" if isinstance(error, RecursionError) else error_text(error)
        return ToolResult(f"the tool ran, but its result cannot be sent: {text}", is_error=True, kind="raised")


def error_text(error: BaseException) -> str:
    """One line or more that names the error, never empty: the message of a ToolError, else type and message."""
    try:
        text = str(error)
    except Exception:
        text = ""
    name = type(error).__name__
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return f"{name}: {error.message}: " + "; ".join(error_text(each) for each in inner)
    if isinstance(error, ToolError):
        return text or name
    return f"{name}: {text}" if text else name


def _parts(value: Any) -> tuple[Part, ...]:
    """The parts in a list of parts and strings, or () when it is anything else; strings alone are plain data."""
    if not isinstance(value, (list, tuple)):
        return ()
    items = cast("list[Any] | tuple[Any, ...]", value)
    if not any(isinstance(item, _PARTS) for item in items) or not all(isinstance(i, (str, *_PARTS)) for i in items):
        return ()
    return tuple(TextPart(item) if isinstance(item, str) else item for item in items)


def _json(plain: _Plain) -> str:
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _scalar(value: Any) -> _Plain:
    match value:
        case Enum():
            return _scalar(value.value)
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case float():
            if math.isfinite(value):
                return float(value)
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal() | PurePath():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(bytes(cast("Any", value))).decode("ascii")
        case _:
            return _NOT_SCALAR


_NOT_SCALAR: Any = object()
_BARE = frozenset({dict, list, tuple, set})


def _plain(value: Any, path: str, above: tuple[int, ...]) -> _Plain:
    """`value` as what JSON knows. `path` names the place in error texts; `above` are the containers around it."""
    scalar = _scalar(value)
    if scalar is not _NOT_SCALAR:
        return scalar
    if id(value) in above:
        raise ToolError(f"{path} contains itself")
    within = (*above, id(value))
    inner = value if type(value) in _BARE else _opened(value)
    if isinstance(inner, Mapping):
        return _object(cast("Mapping[Any, Any]", inner), path, within)
    if isinstance(inner, AbstractSet):
        members = [_plain(item, f"{path}{{}}", within) for item in cast("AbstractSet[Any]", inner)]
        return _sorted(members)
    if isinstance(inner, (list, tuple, deque, range)):
        return [_plain(item, f"{path}[{i}]", within) for i, item in enumerate(cast("Iterable[Any]", inner))]
    if inner is not value:
        return _plain(inner, path, within)
    raise ToolError(
        f"{path} is of type {type(value).__name__}; return text, numbers, lists, dicts, dataclasses or pydantic models"
    )


def _opened(value: Any) -> Any:
    """What is inside a named tuple, dataclass, pydantic model, array or the like; else the value itself."""
    from fractions import Fraction
    from uuid import UUID

    if isinstance(value, (Fraction, UUID)):
        return str(value)
    if isinstance(value, type):
        return cast("Any", value)
    as_dict: Callable[[], Any] | None = getattr(value, "_asdict", None)
    if as_dict is not None:
        return as_dict()
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump: Callable[..., Any] | None = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    # Arrays and scalars of numpy, and of what follows its protocol.
    to_list: Callable[[], Any] | None = getattr(value, "tolist", None)
    return value if to_list is None else to_list()


def _object(value: Mapping[Any, Any], path: str, within: tuple[int, ...]) -> _Plain:
    out: dict[str, _Plain] = {}
    for key, item in value.items():
        name = _key(key, path, within)
        if name in out:
            raise ToolError(f"{path} has two keys that both read {name!r} in JSON")
        out[name] = _plain(item, f"{path}[{name!r}]", within)
    return out


def _key(key: Any, path: str, within: tuple[int, ...]) -> str:
    plain = _plain(key, f"a key of {path}", within)
    return plain if isinstance(plain, str) else _json(plain)


def _sorted(members: list[_Plain]) -> list[_Plain]:
    """In order of value where the members can be compared, else in order of their JSON text: the same in each run."""
    try:
        return sorted(cast("list[Any]", members))
    except TypeError:
        return sorted(members, key=_json)
