"""The tool that gives back in full what a trimming policy shows shortened."""

from __future__ import annotations

from agentloop.history.answers import Policy
from agentloop.history.shorten import ShortenToolResults, read_result
from agentloop.tools.context import ToolContext
from agentloop.tools.tool import Tool, tool

__all__ = ["reader_tool"]


def reader_tool(policy: Policy | None) -> Tool | None:
    """The tool that the notes of `ShortenToolResults(reader=...)` name; None for other policies and without a name."""
    if not isinstance(policy, ShortenToolResults) or policy.reader is None:
        return None

    def read(call_id: str, start: int = 0, length: int = 4000, *, context: ToolContext) -> str:
        """Read an older tool result that is shown shortened.

        Args:
            call_id: The id of the tool call whose result to read.
            start: The first character to read.
            length: How many characters to read.
        """
        return read_result(context.messages(), call_id, start, length)

    return tool(read, name=policy.reader, risk="read", effects="none")
