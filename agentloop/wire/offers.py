"""A cache of encoded tools: those of an agent are the same objects in each request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentloop.model import ToolSpec
from agentloop.wire.codec import dumps

__all__ = ["EncodedTools"]

_KEPT = 1000


class EncodedTools:
    """`write` says a tool in the words of the wire. Raises ConfigError for a schema that is no JSON."""

    def __init__(self, write: Callable[[ToolSpec], dict[str, Any]]) -> None:
        self._write = write
        self._known: dict[int, tuple[ToolSpec, bytes]] = {}  # the tool is kept too, so that its id stays its own

    def encode(self, tool: ToolSpec) -> bytes:
        known = self._known.get(id(tool))
        if known is None:
            if len(self._known) > _KEPT:
                self._known.clear()
            known = self._known[id(tool)] = (tool, dumps(self._write(tool), of=f"tool {tool.name!r}"))
        return known[1]
