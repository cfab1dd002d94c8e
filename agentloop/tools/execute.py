"""Executing a prepared call: one driver for sync callers, one for async ones. Both give a result, whatever happens."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future

from agentloop.cancel import CancelSignal
from agentloop.errors import ToolError
from agentloop.messages import ToolResult
from agentloop.tools import outcome
from agentloop.tools.context import ToolContext
from agentloop.tools.threads import in_thread
from agentloop.tools.tool import Tool
from agentloop.tools.toolbox import Prepared
from agentloop.tools.waiting import loop_thread

__all__ = ["execute", "execute_async"]


def execute(prepared: Prepared, *, context: ToolContext) -> ToolResult:
    """Run the call and wait for its end. Raises nothing but KeyboardInterrupt.

    A sync function is called in this thread; only when a time limit holds (the tool's, or `context.deadline`) does it
    run in a daemon thread, which is left behind at the limit or when `context.cancel` is set, and the result says so.
    An async function runs on a loop of its own in another thread, and is cancelled. `isolate="process"` runs in a child
    process, which is killed. A call whose tool allows retries is repeated at once after it raised or timed out.
    """
    result = _once(prepared, context)
    for _ in range(prepared.tool.retries):
        if not _may_retry(result, context):
            break
        result = _once(prepared.again(), context)
    return result


async def execute_async(prepared: Prepared, *, context: ToolContext) -> ToolResult:
    """As `execute`, for a running event loop: async functions run as tasks of this loop, sync ones in daemon threads.

    When the caller's task is cancelled, the tool is told, an async one is given a moment to clean up, and
    CancelledError goes on.
    """
    result = await _once_async(prepared, context)
    for _ in range(prepared.tool.retries):
        if not _may_retry(result, context):
            break
        result = await _once_async(prepared.again(), context)
    return result


async def _once_async(prepared: Prepared, context: ToolContext) -> ToolResult:
    from agentloop.tools.tasks import run_task

    refusal = _refusal(context)
    if refusal is not None:
        return refusal
    with _own(prepared.tool, context) as (own, seconds):
        return await run_task(prepared, own, seconds)


def _may_retry(result: ToolResult, context: ToolContext) -> bool:
    told = isinstance(result.cause, ToolError)
    return result.kind in ("raised", "timeout") and not told and _refusal(context) is None


def _refusal(context: ToolContext) -> ToolResult | None:
    """The result of a call that must not start any more."""
    if context.cancel.cancelled:
        return ToolResult("not run: the run was cancelled before it started", is_error=True, kind="cancelled")
    if context.seconds_left() == 0.0:
        return ToolResult("not run: the time was used up before it started", is_error=True, kind="not_run")
    return None


@contextlib.contextmanager
def _own(tool: Tool, context: ToolContext) -> Generator[tuple[ToolContext, float | None]]:
    """The context for one try, with a cancel signal and a deadline of its own, and the seconds it may take.

    An exception (Ctrl-C, a cancelled task) sets the signal, so that whatever runs on is told.
    """
    signal = CancelSignal()
    forget = context.cancel.on_cancel(signal.cancel)
    limits = [seconds for seconds in (tool.timeout, context.seconds_left()) if seconds is not None]
    seconds = min(limits, default=None)
    deadline = None if seconds is None else time.monotonic() + seconds
    try:
        yield dataclasses.replace(context, cancel=signal, deadline=deadline), seconds
    except BaseException:
        signal.cancel()
        raise
    finally:
        forget()


def _once(prepared: Prepared, context: ToolContext) -> ToolResult:
    refusal = _refusal(context)
    if refusal is not None:
        return refusal
    tool = prepared.tool
    if tool.timeout is None and context.deadline is None and tool.isolate is None and not tool.is_async:
        return outcome.call(prepared, context)
    with _own(tool, context) as (own, seconds):
        if tool.isolate == "process":
            from agentloop.tools.isolate import run_in_process

            return run_in_process(prepared, own)
        if tool.is_async:
            return _on_loop(prepared, own, seconds)
        future = in_thread(lambda: outcome.call(prepared, own), tool.name)
        return _wait(future, own.cancel, seconds)


def _on_loop(prepared: Prepared, own: ToolContext, seconds: float | None) -> ToolResult:
    from agentloop.tools.tasks import run_task

    loop = loop_thread()
    future = loop.submit(run_task(prepared, own, seconds))
    # The task keeps the limits itself; the patience is for one that blocks its loop and cannot.
    result = _wait(future, own.cancel, seconds, patience=2 * outcome.GRACE)
    if not future.done():
        loop.replace()
    return result


def _wait(future: Future[ToolResult], signal: CancelSignal, seconds: float | None, patience: float = 0.0) -> ToolResult:
    """The result, or what is to be said when `signal` or the time comes first."""
    wake = threading.Event()
    future.add_done_callback(lambda _: wake.set())
    forget = signal.on_cancel(wake.set)
    try:
        wake.wait(None if seconds is None else min(seconds + patience, threading.TIMEOUT_MAX))
        if future.done():
            return future.result()
        was_cancelled = signal.cancelled
        signal.cancel()
        with contextlib.suppress(TimeoutError):
            late = future.result(outcome.GRACE + patience)
            if was_cancelled or late.kind == "timeout":  # it saw the signal: its own word is the better one
                return late
    finally:
        forget()
    if was_cancelled:
        return outcome.cancelled(stopped=False)
    return outcome.timed_out(seconds or 0.0, stopped=future.done())
