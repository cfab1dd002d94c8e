"""Tools in a process of their own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentloop.cancel import CancelSignal
from agentloop.errors import ConfigError, ToolError
from agentloop.messages import ToolCall, ToolResult
from agentloop.parts import ImagePart
from agentloop.tools.context import ToolContext
from agentloop.tools.execute import execute, execute_async
from agentloop.tools.tool import tool
from agentloop.tools.toolbox import Prepared, Toolbox, prepare
from tests.tools import isolated

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the isolated samples use fork and named pipes")


def test_the_call_runs_in_a_child_and_its_value_comes_back(run, capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    context = ToolContext("r1", "c1", progress=heard.append)
    result = run(isolated.where, '{"day":"2024-01-02"}', context)
    assert json.loads(result.content) == {"day": "2024-01-02", "run": "r1", "parent": os.getpid()}
    assert heard == ["half"]
    assert capfd.readouterr().out == ""


def test_an_isolated_coroutine_function_runs_to_its_end(run) -> None:
    assert run(isolated.later) == ToolResult("from a coroutine")


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("crash", "the tool's process ended with exit status -6 before it gave a result"),
        ("exit", "the tool tried to end the program (SystemExit: 3)"),
        ("raise", "ValueError: v"),
    ],
)
def test_however_the_child_fails_the_program_goes_on(run, how: str, text: str) -> None:
    assert run(isolated.fail, json.dumps({"how": how})) == ToolResult(text, is_error=True, kind="raised")


def test_what_an_isolated_tool_says_on_purpose_is_known_as_such(run) -> None:
    result = run(isolated.fail, '{"how":"told"}')
    assert (result.content, type(result.cause)) == ("there is no such city", ToolError)


def test_the_limit_holds_for_the_result_of_a_child_and_the_whole_is_kept(run) -> None:
    result = run(isolated.fail, '{"how":"long"}')
    assert (len(result.content) <= 100, result.whole) == (True, "x" * 5000)


def test_an_image_comes_back_from_a_child(run) -> None:
    assert run(isolated.see).content == (ImagePart(data=b"png"),)


def test_a_thread_that_an_isolated_tool_leaves_does_not_hold_up_its_result(run) -> None:
    assert run(isolated.leave_a_thread) == ToolResult("done")


def test_a_tool_with_a_schema_by_hand_can_be_isolated(run) -> None:
    assert run(isolated.by_hand, '{"n":1}') == ToolResult('{"n":1}')
    assert run(isolated.by_hand, '{"n":"x"}').kind == "bad_arguments"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def end_of(pipe: Path) -> threading.Thread:
    """A thread that ends when a writer has come and every writer is gone."""

    def read() -> None:
        with pipe.open() as opened:
            opened.read()

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def hanging(pipe: Path, **options: object) -> Prepared:
    made = tool(isolated.hang, isolate="process", **options)
    ready = prepare(Toolbox([made]), ToolCall("c1", "hang", json.dumps({"flag": str(pipe)})))
    assert isinstance(ready, Prepared)
    return ready


def test_at_the_timeout_the_child_and_what_it_started_are_killed(pipe: Path) -> None:
    ended = end_of(pipe)
    result = execute(hanging(pipe, timeout=3), context=ToolContext())
    assert (result.kind, "and was stopped" in str(result.content)) == ("timeout", True)
    ended.join(10)
    assert not ended.is_alive()


def test_a_cancel_signal_kills_the_child(run, pipe: Path) -> None:
    cancel = CancelSignal()

    def when_started() -> None:
        with pipe.open():
            cancel.cancel()

    threading.Thread(target=when_started, daemon=True).start()
    result = run(hanging(pipe).tool, json.dumps({"flag": str(pipe)}), ToolContext(cancel=cancel))
    assert (result.kind, "and was stopped" in result.content) == ("cancelled", True)


def test_ctrl_c_kills_the_child(pipe: Path) -> None:
    def when_started() -> None:
        with pipe.open() as opened:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            opened.read()

    ended = threading.Thread(target=when_started, daemon=True)
    ended.start()
    with pytest.raises(KeyboardInterrupt):
        execute(hanging(pipe), context=ToolContext())
    ended.join(10)
    assert not ended.is_alive()


@pytest.mark.anyio
async def test_a_cancelled_task_kills_the_child(pipe: Path) -> None:
    ended = end_of(pipe)
    task = asyncio.create_task(execute_async(hanging(pipe), context=ToolContext()))
    await asyncio.to_thread(lambda: open(pipe, "w").close())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(ended.join, 10)
    assert not ended.is_alive()


def test_a_function_that_a_child_cannot_import_is_refused_at_definition() -> None:
    def local() -> None: ...

    for function in (local, lambda: 1, Path.exists.__get__(Path())):
        with pytest.raises(ConfigError, match="at the top of a module"):
            tool(function, name="t", isolate="process")


def test_a_tool_of_the_program_itself_can_be_isolated(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
from agentloop.messages import ToolCall
from agentloop.tools.context import ToolContext
from agentloop.tools.execute import execute
from agentloop.tools.tool import tool
from agentloop.tools.toolbox import Toolbox, prepare

@tool(isolate="process")
def double(n: int) -> int:
    return 2 * n

if __name__ == "__main__":
    print(execute(prepare(Toolbox([double]), ToolCall("c", "double", '{"n":4}')), context=ToolContext()).content)
""")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("8\n", "")
