"""Executing a call: every end is a result."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import subprocess
import sys
import threading
from typing import Any

import pytest

from agentloop.errors import ToolError
from agentloop.messages import ToolCall, ToolResult
from agentloop.tools.context import ToolContext
from agentloop.tools.execute import execute, execute_async
from agentloop.tools.tool import Tool, tool
from agentloop.tools.toolbox import Prepared, Toolbox, prepare


def prepared(made: Tool, arguments: str = "{}") -> Prepared:
    ready = prepare(Toolbox([made]), ToolCall("c1", made.name, arguments))
    assert isinstance(ready, Prepared)
    return ready


def test_a_sync_tool_gives_its_value(run) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    assert run(add, '{"a":1,"b":2}') == ToolResult("3")


def test_an_async_tool_gives_its_value(run) -> None:
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    assert run(add, '{"a":1,"b":2}') == ToolResult("3")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError(), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
        (ToolError("the city is not known"), "the city is not known"),
        (SystemExit(3), "the tool tried to end the program (SystemExit: 3)"),
        (
            BaseExceptionGroup("both", [ValueError("a"), SystemExit(1)]),
            "BaseExceptionGroup: both: ValueError: a; SystemExit: 1",
        ),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "CancelledError"),
        (RecursionError("deep"), "RecursionError: deep"),
        (StopIteration(1), "StopIteration: 1"),
    ],
)
def test_whatever_a_tool_raises_is_a_result_that_names_it(run, error: BaseException, text: str) -> None:
    def fail() -> None:
        raise error

    result = run(fail)
    assert result == ToolResult(text, is_error=True, kind="raised")
    assert result.cause is error


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), ValueError()])
def test_whatever_an_async_tool_raises_is_a_result_too(run, error: BaseException) -> None:
    async def fail() -> None:
        raise error

    result = run(fail)
    assert (result.is_error, result.kind) == (True, "raised")
    assert type(error).__name__ in result.content


def test_ctrl_c_goes_through() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    for made in (tool(interrupted), tool(interrupted, timeout=5)):
        with pytest.raises(KeyboardInterrupt):
            execute(prepared(made), context=ToolContext())


def test_a_sync_tool_without_a_limit_runs_in_the_callers_thread() -> None:
    made = tool(lambda: threading.current_thread().name, name="where")
    assert execute(prepared(made), context=ToolContext()).content == threading.current_thread().name


def test_a_sync_tool_of_an_async_caller_does_not_block_the_loop() -> None:
    turn = threading.Event()

    async def main() -> ToolResult:
        waiting = asyncio.create_task(
            execute_async(prepared(tool(lambda: turn.wait(5), name="wait")), context=ToolContext())
        )
        await asyncio.sleep(0)
        turn.set()
        return await waiting

    assert asyncio.run(main()) == ToolResult("true")


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


@pytest.mark.parametrize("timeout", [None, 5])
def test_context_variables_reach_sync_and_async_tools(run, timeout: float | None) -> None:
    async def read_async() -> str:
        return variable.get()

    def read() -> str:
        return variable.get()

    inside = contextvars.copy_context()
    inside.run(variable.set, "mine")
    for function in (read, read_async):
        assert inside.run(run, tool(function, timeout=timeout)) == ToolResult("mine")


def test_async_tools_of_a_sync_caller_share_one_loop() -> None:
    async def loop_id() -> int:
        return id(asyncio.get_running_loop())

    made = prepared(tool(loop_id))
    assert execute(made, context=ToolContext()) == execute(made, context=ToolContext())


def test_a_sync_caller_inside_a_running_loop_can_run_async_tools() -> None:
    async def answer() -> int:
        return 42

    async def notebook_cell() -> ToolResult:
        return execute(prepared(tool(answer)), context=ToolContext())

    assert asyncio.run(notebook_cell()) == ToolResult("42")


def test_an_async_tool_that_uses_a_sync_caller_itself_does_not_wait_for_itself() -> None:
    async def inner() -> int:
        return 1

    async def outer() -> Any:
        return execute(prepared(tool(inner)), context=ToolContext()).content

    assert execute(prepared(tool(outer, timeout=5)), context=ToolContext()) == ToolResult("1")


def test_a_partial_of_an_async_function_is_awaited(run) -> None:
    async def add(a: int, b: int) -> int:
        return a + b

    assert run(tool(functools.partial(add, 1), name="add_one"), '{"b":2}') == ToolResult("3")


def test_a_coroutine_that_a_plain_function_returns_is_an_error_that_says_what_to_do(run) -> None:
    async def later() -> int:
        return 1

    result = run(tool(lambda: later(), name="later"))
    assert (result.is_error, "define it with async def" in result.content) == (True, True)


def test_a_generator_is_an_error_that_says_what_to_return(run) -> None:
    def numbers():
        yield 1

    assert "return text, numbers, lists" in run(numbers).content


def test_progress_reaches_whoever_watches(run) -> None:
    heard: list[str] = []

    def work(context: ToolContext) -> str:
        context.progress("half")
        return context.idempotency_key

    context = ToolContext("r1", "c1", "r1:c1", progress=heard.append)
    assert (run(work, context=context).content, heard) == ("r1:c1", ["half"])


def test_what_a_tool_prints_is_not_its_result(run, capsys: pytest.CaptureFixture[str]) -> None:
    def noisy() -> str:
        print("noise")
        return "quiet"

    assert (run(noisy).content, capsys.readouterr().out) == ("quiet", "noise\n")


def test_a_hundred_megabytes_become_a_result_of_the_limit(run) -> None:
    result = run(tool(lambda: "x" * 100_000_000, name="huge"))
    assert len(result.content) <= 50_000
    assert "of 100000000 characters left out" in result.content


def test_threads_that_a_tool_leaves_do_not_hold_up_its_result(run) -> None:
    release = threading.Event()

    def leave() -> str:
        threading.Thread(target=release.wait, daemon=True).start()
        return "left"

    assert run(leave) == ToolResult("left")
    release.set()


def test_a_tool_that_hangs_does_not_block_the_interpreters_exit() -> None:
    code = """
import asyncio, threading
from agentloop.messages import ToolCall
from agentloop.tools.context import ToolContext
from agentloop.tools.execute import execute, execute_async
from agentloop.tools.tool import tool
from agentloop.tools.toolbox import Toolbox, prepare

def hang(): threading.Event().wait()
async def ahang(): threading.Event().wait()

for function in (hang, ahang):
    ready = prepare(Toolbox([tool(function, timeout=0.05)]), ToolCall("c", function.__name__))
    print(execute(ready, context=ToolContext()).kind)
ready = prepare(Toolbox([tool(hang, timeout=0.05)]), ToolCall("c", "hang"))
print(asyncio.run(execute_async(ready, context=ToolContext())).kind)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    assert (done.stdout.split(), done.stderr) == (["timeout"] * 3, "")


# --- retries ---------------------------------------------------------------------------------------------------------


def failing(times: int, error: Exception) -> tuple[list[int], Any]:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) <= times:
            raise error
        return "ok"

    return tries, flaky


def test_a_repeatable_tool_is_tried_again(run) -> None:
    tries, flaky = failing(2, OSError("busy"))
    assert run(tool(flaky, retries=2, effects="idempotent")) == ToolResult("ok")
    assert len(tries) == 3


def test_the_last_error_stands_when_the_tries_are_used_up(run) -> None:
    tries, flaky = failing(9, OSError("busy"))
    assert run(tool(flaky, retries=1, effects="none")).content == "OSError: busy"
    assert len(tries) == 2


def test_what_a_tool_says_on_purpose_is_not_tried_again(run) -> None:
    tries, flaky = failing(9, ToolError("no such city"))
    assert run(tool(flaky, retries=3, effects="none")).content == "no such city"
    assert len(tries) == 1


def test_a_tool_is_not_tried_again_unless_it_says_so(run) -> None:
    tries, flaky = failing(1, OSError("busy"))
    assert run(tool(flaky, effects="none")).kind == "raised"
    assert len(tries) == 1
