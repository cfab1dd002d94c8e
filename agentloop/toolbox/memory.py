"""`memory.save` and `memory.search`: notes that outlive a run, in one SQLite file.

What they can do to you: what the model once believed comes back later as if it were known, and a text that it read
somewhere may have told it what to save. So each note carries its origin, and notes are for facts, not for orders. The
file is not encrypted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from agentloop.errors import ToolError
from agentloop.loop.retrieval import numbered
from agentloop.toolbox.passages import PassageStore
from agentloop.tools.context import ToolContext
from agentloop.tools.tool import Tool, tool

__all__ = ["memory_tools"]

_LONGEST = 4000


def memory_tools(path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> list[Tool]:
    """The two tools over the file at `path`. Raises ConfigError when its folder does not exist."""
    store = PassageStore.at(path, clock=clock)

    def save(text: str, context: ToolContext) -> str:
        """Keep a fact for later conversations.

        Args:
            text: One fact in one or a few sentences that can be understood alone.
        """
        if not text.strip():
            raise ToolError("there is nothing to save")
        if len(text) > _LONGEST:
            raise ToolError(f"the text has {len(text)} characters; at most {_LONGEST} are kept: save it in parts")
        return "saved" if store.add(text.strip(), f"noted by the model in run {context.run_id}") else "known already"

    def search(query: str, limit: int = 5) -> str:
        """Search what was saved in earlier conversations, by its words. Notes may be wrong or out of date.

        Args:
            query: A few words that the note should have.
            limit: How many notes at most.
        """
        found = store.find(query, min(max(1, limit), 50))
        return numbered(found) or "nothing found"

    return [
        tool(save, name="memory.save", risk="write", effects="idempotent"),
        tool(search, name="memory.search", risk="read", effects="none"),
    ]
