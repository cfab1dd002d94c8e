"""One try of a call inside a running event loop. A module of its own, so that asyncio loads for async work only."""

from __future__ import annotations

import asyncio
import inspect

from agentloop.cancel import CancelSignal
from agentloop.messages import ToolResult
from agentloop.tools import outcome
from agentloop.tools.context import ToolContext
from agentloop.tools.threads import in_thread
from agentloop.tools.toolbox import Prepared

__all__ = ["run_task"]


async def run_task(prepared: Prepared, own: ToolContext, seconds: float | None) -> ToolResult:
    """Run an async function as a task, any other in a daemon thread, for at most `seconds` and until `own.cancel`.

    When the caller's task is cancelled, the tool is told and waited for a moment, and CancelledError goes on.
    """
    tool = prepared.tool
    work: asyncio.Future[ToolResult]
    if tool.isolate == "process":
        from agentloop.tools.isolate import run_in_process

        # It keeps to its deadline itself, since it must end the child.
        work, seconds = asyncio.wrap_future(in_thread(lambda: run_in_process(prepared, own), tool.name)), None
    elif tool.is_async:
        work = asyncio.create_task(_call(prepared, own), name=f"tool {tool.name}")
    else:
        work = asyncio.wrap_future(in_thread(lambda: outcome.call(prepared, own), tool.name))
    return await _wait(work, own.cancel, seconds)


async def _call(prepared: Prepared, context: ToolContext) -> ToolResult:
    """As `outcome.call`. CancelledError passes through when it is this task that was cancelled."""
    try:
        value = prepared.bound.call(outcome.function_of(prepared.tool), context)
        return outcome.finish(prepared.tool, await value if inspect.isawaitable(value) else value)
    except KeyboardInterrupt:
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return outcome.raised(prepared.tool, error)
    except BaseException as error:
        return outcome.raised(prepared.tool, error)


async def _wait(work: asyncio.Future[ToolResult], signal: CancelSignal, seconds: float | None) -> ToolResult:
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        loop.call_soon_threadsafe(_set, woken)

    forget = signal.on_cancel(wake)
    try:
        await asyncio.wait({work, woken}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        was_cancelled = signal.cancelled
        await _stop(work, signal)
    except asyncio.CancelledError:
        await _stop(work, signal)
        raise
    finally:
        forget()
    late = work.result() if work.done() and not work.cancelled() else None
    if late is not None and (was_cancelled or late.kind == "timeout"):
        return late  # it saw the signal: its own word is the better one
    if was_cancelled:
        return outcome.cancelled(stopped=work.done())
    return outcome.timed_out(seconds or 0.0, stopped=work.done())


def _set(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


async def _stop(work: asyncio.Future[ToolResult], signal: CancelSignal) -> None:
    """Tell the tool, cancel the task, and wait a moment for either to end."""
    signal.cancel()
    if isinstance(work, asyncio.Task):
        work.cancel()
    await asyncio.wait({work}, timeout=outcome.GRACE)
