"""Refusing a request: an error body in OpenAI's shape, and the readers that raise it for a field of the wrong kind."""

from __future__ import annotations

import re
from typing import Any, NoReturn, cast

__all__ = ["Refused", "a_list", "a_name", "an_object", "error_body", "one_of", "optional", "refuse", "required", "text"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_KINDS: dict[type, str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


class Refused(Exception):
    """The request is refused; `body` is the error body that says why."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body["error"]["message"])
        self.body = body


def error_body(
    message: str, *, type: str = "invalid_request_error", param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    """The error object of OpenAI's API description, which requires all four keys."""
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


def refuse(message: str, param: str | None, code: str | None = None) -> NoReturn:
    raise Refused(error_body(message, param=param, code=code))


def required(where: dict[str, Any], key: str, path: str) -> Any:
    if key not in where:
        refuse(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")
    return where[key]


def _wrong(value: Any, wanted: str, path: str) -> NoReturn:
    kind = type(cast("object", value))
    got = _KINDS.get(kind, kind.__name__)
    refuse(f"Invalid type for '{path}': expected {wanted}, but got {got} instead.", path, "invalid_type")


def text(value: Any, path: str) -> str:
    return value if isinstance(value, str) else _wrong(value, "a string", path)


def a_name(value: Any, path: str) -> str:
    """The name of a tool or schema: letters, digits, underscores and hyphens, 64 of them at most."""
    name = text(value, path)
    if not _NAME.fullmatch(name):
        message = f"Invalid '{path}': the name does not match the pattern '^[a-zA-Z0-9_-]{{1,64}}$'."
        refuse(message, path, "invalid_value")
    return name


def an_object(value: Any, path: str) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else _wrong(value, "an object", path)


def a_list(value: Any, path: str, *, least: int = 0, most: int | None = None) -> list[Any]:
    if not isinstance(value, list):
        _wrong(value, "an array", path)
    items = cast("list[Any]", value)
    if len(items) < least:
        refuse(f"Invalid '{path}': empty array. Expected at least {least} item.", path, "empty_array")
    if most is not None and len(items) > most:
        refuse(
            f"Invalid '{path}': array too long. Expected at most {most} items, got {len(items)}.",
            path,
            "array_above_max_length",
        )
    return items


def one_of(value: Any, allowed: tuple[str, ...], path: str) -> str:
    word = text(value, path)
    if word not in allowed:
        known = ", ".join(f"'{item}'" for item in allowed)
        refuse(f"Invalid value: '{word}'. Supported values are: {known}.", path, "invalid_value")
    return word


def optional(body: dict[str, Any], key: str, kind: type, low: float | None = None, high: float | None = None) -> None:
    """Check a field that may be absent or null: its kind (an integer is also a number), and its bounds."""
    value = body.get(key)
    if value is None:
        return
    kinds = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        _wrong(value, _KINDS[kind], key)
    if low is not None and value < low:
        refuse(f"Invalid '{key}': {value} is below the minimum of {low:g}.", key, "number_below_min_value")
    if high is not None and value > high:
        refuse(f"Invalid '{key}': {value} is above the maximum of {high:g}.", key, "number_above_max_value")
