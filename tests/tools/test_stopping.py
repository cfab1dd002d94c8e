"""Calls that are stopped: by their timeout, by the run's deadline, by a cancel signal, by a cancelled task."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable

import pytest

from agentloop.cancel import CancelSignal
from agentloop.messages import ToolCall, ToolResult
from agentloop.tools.context import ToolContext
from agentloop.tools.execute import execute, execute_async
from agentloop.tools.tool import tool
from agentloop.tools.toolbox import Prepared, Toolbox, prepare

ABANDONED = "it was abandoned and may still be running"


@pytest.fixture
def hang():
    """A function that hangs until the test is over."""
    over = threading.Event()

    def hang() -> None:
        over.wait(20)

    yield hang
    over.set()


async def ahang() -> None:
    await asyncio.Event().wait()


def test_a_sync_tool_that_takes_too_long_is_left_behind_and_the_result_says_so(run, hang) -> None:
    result = run(tool(hang, timeout=0.02))
    assert (result.is_error, result.kind) == (True, "timeout")
    assert result.content.startswith("timed out after 0.02 s")
    assert ABANDONED in result.content


def test_an_async_tool_that_takes_too_long_is_cancelled(run) -> None:
    cleaned: list[str] = []

    async def slow() -> None:
        try:
            await ahang()
        finally:
            cleaned.append("cleaned")

    result = run(tool(slow, timeout=0.02))
    assert (result.kind, "and was stopped" in result.content, cleaned) == ("timeout", True, ["cleaned"])


def test_the_runs_deadline_holds_as_a_timeout_does(run, hang) -> None:
    for function in (hang, ahang):
        context = ToolContext(deadline=time.monotonic() + 0.02)
        assert run(tool(function, timeout=60), context=context).kind == "timeout"


def test_the_tool_sees_the_nearer_of_timeout_and_deadline(run) -> None:
    def left(context: ToolContext) -> float | None:
        return context.seconds_left()

    context = ToolContext(deadline=time.monotonic() + 1000)
    assert float(run(tool(left, timeout=5), context=context).content) <= 5
    assert run(left).content == "null"


def test_a_call_after_the_deadline_does_not_start(run) -> None:
    seen: list[int] = []
    result = run(tool(lambda: seen.append(1), name="t"), context=ToolContext(deadline=time.monotonic() - 1))
    assert (result.kind, seen) == ("not_run", [])


def test_a_call_after_the_cancel_does_not_start(run) -> None:
    seen: list[int] = []
    cancel = CancelSignal()
    cancel.cancel()
    result = run(tool(lambda: seen.append(1), name="t"), context=ToolContext(cancel=cancel))
    assert (result.kind, seen) == ("cancelled", [])


def started(cancel: CancelSignal, function: Callable[[], object]) -> Callable[[], object]:
    """`function`, with the cancel signal set once it has begun."""

    def begin() -> object:
        threading.Thread(target=cancel.cancel).start()
        return function()

    return begin


def test_a_cancel_signal_ends_the_waiting_for_a_sync_tool(run, hang) -> None:
    cancel = CancelSignal()
    result = run(tool(started(cancel, hang), name="t", timeout=20), context=ToolContext(cancel=cancel))
    assert (result.is_error, result.kind, ABANDONED in result.content) == (True, "cancelled", True)


def test_a_cancel_signal_cancels_an_async_tool(run) -> None:
    cancel = CancelSignal()

    async def slow() -> None:
        threading.Thread(target=cancel.cancel).start()
        await ahang()

    result = run(slow, context=ToolContext(cancel=cancel))
    assert result.content.startswith("cancelled while it ran and was stopped")


def test_a_tool_that_heeds_the_cancel_signal_has_the_last_word(run) -> None:
    cancel = CancelSignal()

    def heed(context: ToolContext) -> str:
        stop = threading.Event()
        context.cancel.on_cancel(stop.set)
        threading.Thread(target=cancel.cancel).start()
        stop.wait(20)
        return "half of it is done"

    result = run(tool(heed, timeout=20), context=ToolContext(cancel=cancel))
    assert result == ToolResult("half of it is done")


def test_a_tool_that_is_left_behind_is_told(run) -> None:
    told = threading.Event()

    def heed(context: ToolContext) -> None:
        context.cancel.on_cancel(told.set)
        told.wait(20)

    assert run(tool(heed, timeout=0.02)).kind == "timeout"
    assert told.wait(5)


def test_a_timeout_does_not_cancel_the_run(run, hang) -> None:
    context = ToolContext()
    run(tool(hang, timeout=0.02), context=context)
    assert not context.cancel.cancelled


def test_a_timeout_is_tried_again_where_that_does_no_harm(run) -> None:
    tries: list[int] = []

    async def flaky() -> str:
        tries.append(1)
        if len(tries) == 1:
            await ahang()
        return "ok"

    assert run(tool(flaky, timeout=0.05, retries=1, effects="none")) == ToolResult("ok")


def ready(function: object, **options: object) -> Prepared:
    made = prepare(Toolbox([tool(function, name="t", **options)]), ToolCall("c1", "t"))
    assert isinstance(made, Prepared)
    return made


@pytest.mark.anyio
async def test_a_cancelled_task_cancels_its_async_tool_and_goes_on() -> None:
    begun, cleaned = asyncio.Event(), []

    async def slow() -> None:
        begun.set()
        try:
            await ahang()
        finally:
            await asyncio.sleep(0)
            cleaned.append(1)

    task = asyncio.create_task(execute_async(ready(slow), context=ToolContext()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == [1]


@pytest.mark.anyio
async def test_a_cancelled_task_leaves_its_sync_tool_behind_within_a_moment(hang) -> None:
    loop, begun = asyncio.get_running_loop(), asyncio.Event()

    def slow(context: ToolContext) -> None:
        loop.call_soon_threadsafe(begun.set)
        hang()

    task = asyncio.create_task(execute_async(ready(slow), context=ToolContext()))
    await begun.wait()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=2)
    assert done == {task}
    assert task.cancelled()


@pytest.mark.anyio
async def test_an_async_tool_that_does_not_end_when_cancelled_is_left_behind() -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    result = await execute_async(ready(stubborn, timeout=0.02), context=ToolContext())
    release.set()
    assert (result.kind, ABANDONED in str(result.content)) == ("timeout", True)


def test_an_async_tool_that_blocks_the_shared_loop_does_not_block_the_next_one(hang) -> None:
    async def block() -> None:
        hang()

    async def answer() -> int:
        return 42

    assert execute(ready(block, timeout=0.02), context=ToolContext()).kind == "timeout"
    assert execute(ready(answer, timeout=5), context=ToolContext()) == ToolResult("42")


def test_one_failing_call_does_not_touch_its_neighbours() -> None:
    first, second = asyncio.Event(), asyncio.Event()

    async def a() -> str:
        await first.wait()
        return "A"

    async def b() -> str:
        second.set()
        raise ValueError

    async def c() -> str:
        await second.wait()
        first.set()
        return "C"

    async def together() -> list[ToolResult]:
        return await asyncio.gather(*(execute_async(ready(each), context=ToolContext()) for each in (a, b, c)))

    results = asyncio.run(together())
    assert [result.content for result in results] == ["A", "ValueError", "C"]


def test_ctrl_c_ends_the_waiting_for_a_sync_tool_and_tells_it(hang) -> None:
    told = threading.Event()

    def slow(context: ToolContext) -> None:
        context.cancel.on_cancel(told.set)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        hang()

    with pytest.raises(KeyboardInterrupt):
        execute(ready(slow, timeout=20), context=ToolContext())
    assert told.wait(5)


def test_ctrl_c_cancels_an_async_tool() -> None:
    cleaned = threading.Event()

    async def slow() -> None:
        try:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            await ahang()
        finally:
            cleaned.set()

    with pytest.raises(KeyboardInterrupt):
        execute(ready(slow), context=ToolContext())
    assert cleaned.wait(5)
