"""A cache of encoded tools: those of an agent are the same objects in each request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentloop.model import ToolSpec
from agentloop.wire.codec import dumps

__all__ = ["EncodedTools"]

_KEPT = 1000


class EncodedTools:
    """`write` says a tool in the words of the wire, under the name it has there. Raises ConfigError for a schema that
    is no JSON."""

    def __init__(self, write: Callable[[ToolSpec, str], dict[str, Any]]) -> None:
        self._write = write
        self._known: dict[int, tuple[ToolSpec, str, bytes]] = {}  # the tool is kept too, so that its id stays its own

    def encode(self, tool: ToolSpec, name: str) -> bytes:
        known = self._known.get(id(tool))
        if known is None or known[1] != name:
            if len(self._known) > _KEPT:
                self._known.clear()
            known = self._known[id(tool)] = (tool, name, dumps(self._write(tool, name), of=f"tool {tool.name!r}"))
        return known[2]
