"""A callable's name, and what its docstring says of it and of its parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["About", "describe"]


@dataclass(frozen=True, slots=True)
class About:
    name: str
    text: str
    parameters: Mapping[str, str]


def describe(function: Callable[..., Any]) -> About:
    """Name, description, and the parameters' descriptions, read from a Google, NumPy, Sphinx or Epydoc docstring."""
    while isinstance(function, functools.partial):
        function = function.func
    name: str = getattr(function, "__name__", type(function).__name__)
    doc = _docstring(function)
    if not doc:
        return About(name, "", {})
    import docstring_parser

    try:
        parsed = docstring_parser.parse(doc)
    except docstring_parser.ParseError:
        return About(name, doc, {})
    text = "\n\n".join(part for part in (parsed.short_description, parsed.long_description) if part)
    about = {each.arg_name.lstrip("*"): " ".join((each.description or "").split()) for each in parsed.params}
    return About(name, text, {key: value for key, value in about.items() if value})


def _docstring(function: Callable[..., Any]) -> str:
    if inspect.isroutine(function) or isinstance(function, type):
        return inspect.getdoc(function) or ""
    # An object with __call__: its class describes it, unless the method does.
    return inspect.getdoc(type(function).__call__) or inspect.getdoc(type(function)) or ""
