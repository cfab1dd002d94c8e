"""Fixed commands as tools."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from agentloop.cancel import CancelSignal
from agentloop.errors import ConfigError
from agentloop.messages import ToolCall, ToolResult
from agentloop.tools.command import command_tool
from agentloop.tools.context import ToolContext
from agentloop.tools.toolbox import Toolbox, prepare


def python(code: str, **options: Any):
    return command_tool("script", [sys.executable, "-c", code], **options)


def test_exit_status_stdout_and_stderr_become_the_result(run) -> None:
    result = run(python("import sys; print('é'); print('warn', file=sys.stderr)"))
    assert not result.is_error
    assert json.loads(result.content) == {"exit_status": 0, "stdout": "é\n", "stderr": "warn\n"}


def test_a_script_that_divides_by_zero_is_evidence_for_the_model(run) -> None:
    result = run(python("1/0"))
    told = json.loads(result.content)
    assert (result.is_error, result.kind, told["exit_status"]) == (True, "exit_status", 1)
    assert "ZeroDivisionError" in told["stderr"]


def test_the_arguments_reach_the_program_as_they_are_without_a_shell(run) -> None:
    made = command_tool("show", [sys.executable, "-c", "import sys; print(sys.argv[1:])", "$HOME", "a b; ls", "*"])
    assert json.loads(run(made).content)["stdout"] == "['$HOME', 'a b; ls', '*']\n"


def test_the_model_can_pass_nothing(run) -> None:
    result = run(python("print(1)"), '{"argv":["rm"]}')
    assert (result.kind, "there is no argument argv" in result.content) == ("bad_arguments", True)


@pytest.mark.parametrize("argv", [["/no/such/program"], ["bad\0name"]])
def test_a_command_that_cannot_start_is_an_error_that_says_so(run, argv: list[str]) -> None:
    result = run(command_tool("t", argv))
    assert (result.is_error, result.kind, "was not started" in result.content) == (True, "not_started", True)


def test_a_working_directory_that_is_missing_is_named(run, tmp_path: Path) -> None:
    result = run(python("1", cwd=tmp_path / "gone"))
    assert (result.kind, "gone" in result.content) == ("not_started", True)


def test_the_command_runs_where_it_is_told_with_the_environment_it_is_given(run, tmp_path: Path) -> None:
    made = python("import os; print(os.getcwd(), sorted(os.environ))", cwd=tmp_path, env={"ONLY": "this"})
    told = json.loads(run(made).content)["stdout"]
    assert str(tmp_path) in told
    assert "'ONLY'" in told
    assert "'PATH'" not in told


def test_a_command_that_takes_too_long_is_killed_and_its_output_so_far_is_told(run) -> None:
    result = run(python("import time; print('begun', flush=True); time.sleep(60)", timeout=2))
    told = json.loads(result.content)
    assert (result.kind, told["timeout"], told["stdout"]) == ("timeout", "killed: its time was over", "begun\n")


def test_a_cancelled_command_is_killed(run, tmp_path: Path) -> None:
    cancel, pipe = CancelSignal(), tmp_path / "pipe"
    os.mkfifo(pipe)

    def when_started() -> None:
        with pipe.open():
            cancel.cancel()

    threading.Thread(target=when_started, daemon=True).start()
    made = python(f"import time; open({str(pipe)!r}, 'w').close(); time.sleep(60)")
    result = run(made, context=ToolContext(cancel=cancel))
    assert (result.kind, json.loads(result.content)["exit_status"]) == ("cancelled", -9)


def test_what_a_command_leaves_in_the_background_is_killed_and_not_waited_for(run) -> None:
    made = command_tool("sh", ["sh", "-c", "sleep 60 & echo hi"], timeout=30)
    assert json.loads(run(made).content) == {"exit_status": 0, "stdout": "hi\n", "stderr": ""}


def test_a_flood_of_output_is_cut_and_the_result_stays_json(run) -> None:
    result = run(python("print('x' * 20_000_000)", max_output=200))
    told = json.loads(result.content)
    assert len(told["stdout"]) <= 200
    assert "of 20000001 characters left out" in told["stdout"]


def test_output_that_is_no_text_is_still_told(run) -> None:
    result = run(python("import sys; sys.stdout.buffer.write(b'a\\xffb')"))
    assert json.loads(result.content)["stdout"] == "a\ufffdb"


def test_a_command_reads_no_input(run) -> None:
    assert json.loads(run(python("import sys; print(repr(sys.stdin.read()))")).content)["stdout"] == "''\n"


def test_a_command_ended_by_a_signal_tells_it_by_a_negative_status(run) -> None:
    result = run(python("import os; os.kill(os.getpid(), 15)"))
    assert (result.kind, json.loads(result.content)["exit_status"]) == ("exit_status", -15)


@pytest.mark.parametrize("argv", [[], "ls -l", b"ls"])
def test_argv_must_be_a_list(argv: Any) -> None:
    with pytest.raises(ConfigError, match="argv is a list of texts"):
        command_tool("t", argv)


def test_argv_may_hold_paths() -> None:
    assert command_tool("t", [Path("/bin/ls"), "-l"]).description == "Runs the fixed command: /bin/ls -l"


def test_an_argument_that_is_no_text_is_refused() -> None:
    argv: Any = ["sleep", 3]
    with pytest.raises(ConfigError, match="argv holds what is no text"):
        command_tool("t", argv)


def test_a_command_tool_carries_what_its_owner_declares() -> None:
    made = command_tool("t", ["ls"], risk="read", effects="none", description="List.")
    assert (made.risk, made.effects, made.description) == ("read", "none", "List.")
    assert command_tool("t", ["git", "status"]).description == "Runs the fixed command: git status"


def test_a_call_without_arguments_may_be_written_in_any_way() -> None:
    for raw in ("", "null", "{}"):
        assert not isinstance(prepare(Toolbox([command_tool("t", ["ls"])]), ToolCall("c", "t", raw)), ToolResult)
