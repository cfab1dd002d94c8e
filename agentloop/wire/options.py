"""What a request asks for beside its messages, checked; the same for all wires."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from agentloop.errors import ConfigError
from agentloop.model import ModelRequest, Options
from agentloop.shapes import as_dict, as_list
from agentloop.wire.names import Names, tool_name

__all__ = ["FIELDS", "extra_body", "tool_choice"]

_NOT_IN_BODY = ("extra_body", "extra_headers")
FIELDS = tuple(name for name in Options.__annotations__ if name not in _NOT_IN_BODY)
_WORDS = ("auto", "none", "required")


def extra_body(options: Options) -> dict[str, Any]:
    """The fields that are merged over the body. Raises ConfigError for an option without a name here."""
    if unknown := options.keys() - {*FIELDS, *_NOT_IN_BODY}:
        name = min(unknown)
        close = difflib.get_close_matches(name, FIELDS, 1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        raise ConfigError(f"unknown option {name!r}{meant}: what has no name here goes into extra_body")
    return dict(options.get("extra_body") or {})


def tool_choice(request: ModelRequest) -> Any:
    """The choice as Chat Completions says it, or None. Raises ConfigError for one that this request cannot mean."""
    choice = request.tool_choice
    if choice is None:
        return None
    if not isinstance(choice, str):
        return _spelled(choice, Names.of(request.tools))
    if not request.tools:
        if choice in ("auto", "none"):  # what holds anyway; some servers refuse the word where there are no tools
            return None
        raise ConfigError(f"tool_choice={choice!r} needs tools, and this request has none")
    if choice in _WORDS:
        return choice
    if choice not in map(tool_name, request.tools):
        names = ", ".join(map(tool_name, request.tools))
        raise ConfigError(
            f"tool_choice={choice!r} is none of auto, none, required, nor a tool of the request ({names})"
        )
    return _spelled({"type": "function", "function": {"name": choice}}, Names.of(request.tools))


def _spelled(choice: Mapping[str, Any], names: Names) -> Mapping[str, Any]:
    """The choice with the names that the tools have on the wire."""
    allowed = as_dict(choice.get("allowed_tools"))
    if not allowed:
        return names.offer(choice)
    return {**choice, "allowed_tools": {**allowed, "tools": [*map(names.offer, as_list(allowed.get("tools")))]}}
