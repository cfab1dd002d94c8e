"""Running the function of a prepared call to its end, whatever that is, and the results that tell of other ends."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from collections.abc import Callable
from typing import Any

from agentloop.errors import ConfigError
from agentloop.messages import ToolResult
from agentloop.parts import AudioPart, FilePart, ImagePart, Part, TextPart
from agentloop.tools.context import ToolContext
from agentloop.tools.limit import cap
from agentloop.tools.results import error_text, to_result
from agentloop.tools.tool import Tool
from agentloop.tools.toolbox import Prepared

__all__ = ["GRACE", "MAX_PARTS", "call", "cancelled", "finish", "function_of", "raised", "timed_out"]

_log = logging.getLogger("agentloop.tools")

GRACE = 0.25
"""Seconds that a tool which was told to stop has to do so, before it is left behind."""

MAX_PARTS = 32 * 1024 * 1024
"""Characters of images and files in one result; base64 cannot be cut, so more is an error of kind `too_large`."""


def call(prepared: Prepared, context: ToolContext) -> ToolResult:
    """Call the function in this thread. Everything it raises becomes a result, SystemExit too; only KeyboardInterrupt,
    which is meant for the program, passes through."""
    try:
        return finish(prepared.tool, prepared.bound.call(function_of(prepared.tool), context))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return raised(prepared.tool, error)


def function_of(tool: Tool) -> Callable[..., Any]:
    if tool.function is None:
        raise ConfigError(f"tool {tool.name} has no function")
    return tool.function


def finish(tool: Tool, value: Any) -> ToolResult:
    """What the function returned, as a result within the tool's limit."""
    if inspect.iscoroutine(value):
        value.close()
        value = ToolResult(
            "the tool returned a coroutine that nobody awaits: define it with async def", is_error=True, kind="raised"
        )
    return _capped(to_result(value), tool.max_result)


def raised(tool: Tool, error: BaseException) -> ToolResult:
    _log.debug("tool %s raised", tool.name, exc_info=error)
    text = error_text(error)
    if isinstance(error, SystemExit):
        text = f"the tool tried to end the program ({text})"
    return dataclasses.replace(_capped(ToolResult(text, is_error=True, kind="raised"), tool.max_result), cause=error)


def timed_out(seconds: float, *, stopped: bool) -> ToolResult:
    return ToolResult(f"timed out after {seconds:.3g} s{_fate(stopped)}", is_error=True, kind="timeout")


def cancelled(*, stopped: bool) -> ToolResult:
    return ToolResult(f"cancelled while it ran{_fate(stopped)}", is_error=True, kind="cancelled")


def _fate(stopped: bool) -> str:
    if stopped:
        return " and was stopped; what it had done by then is not undone"
    return "; it was abandoned and may still be running, so what it does is unknown"


def _capped(result: ToolResult, limit: int | None) -> ToolResult:
    content = result.content
    if isinstance(content, str):
        text = cap(content, limit)
        return result if text is content else dataclasses.replace(result, content=text, whole=content)
    size = sum(len(_data(part)) for part in content)
    if size > MAX_PARTS:
        text = f"the result holds {size} characters of images and files; at most {MAX_PARTS} can be sent"
        return ToolResult(text, is_error=True, kind="too_large")
    return _capped_parts(result, content, limit)


def _capped_parts(result: ToolResult, content: tuple[Part, ...], limit: int | None) -> ToolResult:
    """The texts of all parts together stay within the limit."""
    texts = [part.text for part in content if isinstance(part, TextPart)]
    if limit is None or sum(map(len, texts)) <= limit:
        return result
    parts: list[Part] = []
    room = limit
    for part in content:
        if isinstance(part, TextPart):
            part = dataclasses.replace(part, text=cap(part.text, room))
            room -= len(part.text)
        parts.append(part)
    return dataclasses.replace(result, content=tuple(parts), whole="".join(texts))


def _data(part: Part) -> str:
    match part:
        case ImagePart():
            return part.url
        case FilePart():
            return part.file_data or ""
        case AudioPart():
            return part.data
        case _:
            return ""
