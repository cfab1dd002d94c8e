"""The child's side of `isolate="process"`: one request from stdin, one reply to the pipe that stdout was."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import os
import runpy
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

from agentloop.errors import ToolError
from agentloop.messages import ToolCall, ToolMessage, ToolResult
from agentloop.tools import outcome
from agentloop.tools.context import ToolContext
from agentloop.tools.tasks import run_task
from agentloop.tools.tool import Tool, ToolOptions, tool
from agentloop.tools.toolbox import Prepared
from agentloop.tools.waiting import wait_for

__all__ = ["main"]


def main(request: dict[str, Any]) -> None:
    """Serve `request`, as `agentloop.tools.isolate` made it. What the tool prints goes to stderr."""
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    threading.Thread(target=_leave_with_the_parent, daemon=True).start()

    def say(told: dict[str, Any]) -> None:
        pipe.write(json.dumps(told) + "\n")
        pipe.flush()

    def progress(text: str) -> None:
        say({"progress": text})

    result = _run(request, progress)
    message = ToolMessage(request["call_id"], result.content, result.is_error, result.kind)
    say({"message": message.to_dict(), "told": isinstance(result.cause, ToolError)})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # at once, whatever threads the tool has left


def _leave_with_the_parent() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(1)


def _run(request: dict[str, Any], progress: Callable[[str], None]) -> ToolResult:
    seconds: float | None = request["seconds"]
    deadline = None if seconds is None else time.monotonic() + seconds
    ids = (request["run_id"], request["call_id"], request["idempotency_key"])
    context = ToolContext(*ids, deadline=deadline, progress=progress)
    try:
        found = _tool(request)
        bound = found.validate(request["arguments"])
    except Exception as error:
        text = f"not started: the child process could not load the tool: {outcome.error_text(error)}"
        return ToolResult(text, is_error=True, kind="not_started")
    prepared = Prepared(ToolCall(request["call_id"], found.name), found, bound)
    # The parent keeps the limits, so sync tools have the main thread, as they would at home.
    return wait_for(run_task(prepared, context, None)) if found.is_async else outcome.call(prepared, context)


def _tool(request: dict[str, Any]) -> Tool:
    module: Any = _import_main(request["main"]) if request["main"] else importlib.import_module(request["module"])
    found: Any = functools.reduce(getattr, request["name"].split("."), module)
    made = found if isinstance(found, Tool) else _wrap(found, request)
    return dataclasses.replace(made, isolate=None, timeout=None, max_result=None, retries=0)


def _wrap(function: Callable[..., Any], request: dict[str, Any]) -> Tool:
    options: ToolOptions | None = request["options"]
    if options is None:
        return Tool(request["tool"], function=function)
    return tool(**{**options, "name": request["tool"]})(function)


def _import_main(main: dict[str, str]) -> Any:
    """The program that the parent runs, loaded under another name, so that its `if __name__` part does not run."""
    module = types.ModuleType("__mp_main__")
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    if "module" in main:
        content = runpy.run_module(main["module"], run_name="__mp_main__", alter_sys=True)
    else:
        content = runpy.run_path(main["file"], run_name="__mp_main__")
    module.__dict__.update(content)
    return module
