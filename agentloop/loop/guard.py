"""The guard of the prompt cache in a run: a request should be the one before plus what is new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentloop.model import ModelRequest, ToolSpec

__all__ = ["PrefixGuard"]


class PrefixGuard:
    """Remembers the last request of a conversation. While nothing moved, `check` costs two comparisons in C."""

    def __init__(self, last: ModelRequest | None = None) -> None:
        self.last = last

    def check(self, request: ModelRequest) -> str | None:
        """The first JSON path at which `request` does not go on from the last one; or None."""
        last, self.last = self.last, request
        if last is None:
            return None
        kept = request.messages[: len(last.messages)] == last.messages
        if kept and request.instructions == last.instructions and request.tools == last.tools:
            return None
        from agentloop.history.prefix import moved_path

        return moved_path(_body(last), _body(request))


def _body(request: ModelRequest) -> dict[str, Any]:
    return {
        "tools": [_tool(tool) for tool in request.tools],
        "instructions": request.instructions,
        "messages": [message.to_dict() for message in request.messages],
    }


def _tool(tool: ToolSpec | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(tool, Mapping):
        return tool
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
