"""Tools at the top of a module, where a child process finds them."""

from __future__ import annotations

import os
import sys
import threading
import time
from datetime import date
from typing import Any

from agentloop.errors import ToolError
from agentloop.parts import ImagePart
from agentloop.tools.context import ToolContext
from agentloop.tools.tool import Tool, tool


@tool(isolate="process")
def where(day: date, context: ToolContext) -> dict[str, Any]:
    print("noise on stdout")
    context.progress("half")
    return {"day": day, "run": context.run_id, "parent": os.getppid()}


def hang(flag: str) -> None:
    """Hang, and leave a child of its own, whose death closes the pipe `flag`."""
    if os.fork() == 0:
        with open(flag, "w"):
            time.sleep(60)
    time.sleep(60)


@tool(isolate="process")
async def later() -> str:
    return "from a coroutine"


@tool(isolate="process", max_result=100)
def fail(how: str) -> Any:
    if how == "crash":
        os.abort()
    if how == "exit":
        sys.exit(3)
    if how == "told":
        raise ToolError("there is no such city")
    if how == "long":
        return "x" * 5000
    raise ValueError("v")


@tool(isolate="process")
def see() -> ImagePart:
    return ImagePart(data=b"png")


@tool(isolate="process")
def leave_a_thread() -> str:
    threading.Thread(target=time.sleep, args=(60,)).start()
    return "done"


def by_keyword(**arguments: Any) -> Any:
    return arguments


by_hand = Tool("by_hand", "", {"properties": {"n": {"type": "integer"}}}, function=by_keyword, isolate="process")
