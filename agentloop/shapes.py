"""Reading JSON that strangers wrote: each function gives the wanted shape, or an empty value for any other."""

from __future__ import annotations

from typing import Any, cast

__all__ = ["as_dict", "as_int", "as_list", "as_text"]


def as_dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """The text, or None for anything that is not a non-empty string."""
    return value if isinstance(value, str) and value else None


def as_int(value: Any) -> int | None:
    """A count: whole numbers, also written as 12.0 by some servers; None for anything else, true and false included."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None
