"""`isolate="process"`: each call in a child process that is killed, with all it started, when its time is over.

The child imports the function anew and gets the arguments as JSON; its result comes back as JSON. What the tool prints
goes to the program's stderr. Starting Python and importing the tool's module takes a few tenths of a second per call.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

from agentloop.errors import ConfigError, ToolError
from agentloop.messages import ToolMessage, ToolResult
from agentloop.shapes import as_dict
from agentloop.tools import outcome, process
from agentloop.tools.context import ToolContext
from agentloop.tools.threads import in_thread
from agentloop.tools.tool import Tool
from agentloop.tools.toolbox import Prepared

__all__ = ["check_importable", "run_in_process"]

_log = logging.getLogger("agentloop.tools")

# The child must be able to import agentloop and the tool's module as this process did.
_BOOT = (
    "import json, sys; request = json.loads(sys.stdin.buffer.readline()); sys.path[:] = request['path']; "
    "from agentloop.tools.child import main; main(request)"
)


def check_importable(tool: str, isolate: str, function: Callable[..., Any] | None) -> None:
    """Raises ConfigError unless a new process can import `function` by its module and name."""
    if isolate != "process":
        raise ConfigError(f'tool {tool}: isolate must be "process" or None, not {isolate!r}')
    name: str = getattr(function, "__qualname__", "<no name>")
    if not inspect.isfunction(function) or "<" in name:
        raise ConfigError(
            f'tool {tool}: isolate="process" needs a function at the top of a module, which a new process can import; '
            f"{name} is not one"
        )
    if function.__module__ == "__main__" and _main() is None:
        raise ConfigError(f'tool {tool}: isolate="process" needs a file to import; move the function into a module')


def _main() -> dict[str, str] | None:
    """How a child finds the program that was started: by module name (`python -m`) or by file."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return {"module": spec.name}
    file = getattr(main, "__file__", None)
    return None if file is None else {"file": file}


def run_in_process(prepared: Prepared, context: ToolContext) -> ToolResult:
    """Run the call in a child, until its end, `context.deadline` or `context.cancel`."""
    seconds = context.seconds_left()
    try:
        child = process.start([sys.executable, "-c", _BOOT], stdin=subprocess.PIPE, stderr=None)
    except OSError as error:
        return ToolResult(f"not started: {outcome.error_text(error)}", is_error=True, kind="not_started")
    reply = in_thread(lambda: _read(child, context.progress), prepared.tool.name)
    try:
        _send(child, _request(prepared, context))
        exited = process.wait(child, context.cancel, seconds)
    finally:
        status = process.end(child)
        told = reply.result()
        _close(child)
    if told is not None or exited:
        return _result(prepared.tool, told, status)
    if context.cancel.cancelled:
        return outcome.cancelled(stopped=True)
    return outcome.timed_out(seconds or 0.0, stopped=True)


def _request(prepared: Prepared, context: ToolContext) -> dict[str, Any]:
    tool, function = prepared.tool, cast("Any", prepared.tool.function)
    signature = tool.signature
    return {
        "path": sys.path,
        "main": _main() if function.__module__ == "__main__" else None,
        "module": function.__module__,
        "name": function.__qualname__,
        "tool": tool.name,
        "options": None if signature is None else {"coerce": signature.coerce, "strict": signature.is_strict},
        "arguments": prepared.arguments,
        "run_id": context.run_id,
        "call_id": context.call_id,
        "idempotency_key": context.idempotency_key,
        "seconds": context.seconds_left(),
    }


def _send(child: subprocess.Popen[bytes], request: dict[str, Any]) -> None:
    """One line. The pipe stays open: its end tells the child that this process is gone."""
    if child.stdin is not None:
        with contextlib.suppress(BrokenPipeError):  # the child died at once; its exit status tells more
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()


def _read(child: subprocess.Popen[bytes], progress: Callable[[str], None]) -> dict[str, Any] | None:
    """The child's reply, or None when it ended without one; reports of progress are passed on as they come."""
    for line in child.stdout or ():
        told = as_dict(json.loads(line))
        if "progress" not in told:
            return told
        try:
            progress(str(told["progress"]))
        except Exception as error:
            _log.warning("whoever watches the progress of a tool failed", exc_info=error)
    return None


def _close(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _result(tool: Tool, reply: dict[str, Any] | None, status: int) -> ToolResult:
    if reply is None:
        text = f"the tool's process ended with exit status {status} before it gave a result"
        return ToolResult(text, is_error=True, kind="raised")
    message = ToolMessage.from_dict(reply["message"])
    cause = ToolError(message.text) if reply["told"] else None
    return outcome.finish(tool, ToolResult(message.content, message.is_error, message.kind, cause=cause))
