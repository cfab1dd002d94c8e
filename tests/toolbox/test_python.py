"""`python.run`: what a program gets, what it does not, and how it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agentloop.toolbox.python import CONFINEMENTS, Confinement, python_tool

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a system like Unix")


@pytest.fixture
def run(calling: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """run(code, timeout=...): what the tool told of a program that was not confined."""

    def program(code: str, **options: Any) -> dict[str, Any]:
        result = calling([python_tool(**{"confinements": (), **options})])("python.run", code=code)
        told = json.loads(str(result.content))
        return {**told, "kind": result.kind}

    return program


def test_a_program_runs_and_tells_what_it_printed(run: Any):
    assert run("import sys; print('grün'); print('oh', file=sys.stderr)") == {
        "exit_status": 0,
        "stdout": "grün\n",
        "stderr": "oh\n",
        "confined": "not confined",
        "kind": None,
    }


def test_an_error_is_told_with_its_line(run: Any):
    told = run("x = 1\nx / 0")
    assert (told["exit_status"], told["kind"]) == (1, "exit_status")
    assert 'File "main.py", line 2' in told["stderr"]
    assert told["stderr"].endswith("ZeroDivisionError: division by zero\n")


def test_the_environment_holds_nothing_of_ours(run: Any):
    assert set(json.loads(run("import os, json; print(json.dumps(list(os.environ)))")["stdout"])) <= {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "LC_CTYPE",
    }


def test_each_call_has_a_folder_of_its_own_that_is_deleted(run: Any):
    first, second = (run("import os; print(os.getcwd()); open('x', 'x')")["stdout"].strip() for _ in range(2))
    assert first != second
    assert not os.path.exists(first)


def test_modules_of_the_folder_we_run_in_are_not_imported(run: Any):
    assert run("import os, sys; print({'', os.getcwd()} & set(sys.path))")["stdout"] == "set()\n"


def test_a_program_without_end_is_killed(run: Any):
    told = run("while True: pass", timeout=0.3)
    assert (told["kind"], told["timeout"]) == ("timeout", "killed: its time was over")


def test_its_children_are_killed_with_it(run: Any):
    child = "import signal; signal.pause() # a-child-left"
    code = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', '{child}'])\nwhile True: pass"
    assert run(code, timeout=1.0)["kind"] == "timeout"
    assert not running("a-child-left")


def running(mark: str) -> list[str]:
    """The processes whose command line holds this mark."""
    found: list[str] = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += [each.parent.name] if mark.encode() in each.read_bytes() else []
    return found


def test_its_memory_is_limited(run: Any):
    assert "MemoryError" in run("x = bytearray(200_000_000)", memory_mb=100)["stderr"]


def test_the_size_of_its_files_is_limited(run: Any):
    assert run("open('x', 'wb').write(bytes(3_000_000))", file_mb=1)["exit_status"] != 0


def test_its_limits_cannot_be_raised_where_it_is_not_root(run: Any):
    told = run(
        "import resource; print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    assert told["stdout"] == "(0, 0) (256, 256)\n"


def test_its_output_is_cut(run: Any):
    assert len(run("print('x' * 10_000_000)", max_output=1000)["stdout"]) in (999, 1000)


def test_no_shell_reads_the_code(run: Any):
    assert run("print('$(id) `id` \"; id')")["stdout"] == '$(id) `id` "; id\n'


def test_it_reads_no_input(run: Any):
    assert "EOFError" in run("input()")["stderr"]


def test_the_tool_says_that_it_is_dangerous():
    tool = python_tool()
    assert (tool.name, tool.risk, tool.effects) == ("python.run", "danger", "once")


# --- confinement -----------------------------------------------------------------------------------------------------


def nothing_before(folder: str) -> Sequence[str]:
    return ("env",)


def test_the_first_confinement_that_works_is_used_and_named(run: Any):
    broken = Confinement("broken", "false", lambda folder: ("false",))
    missing = Confinement("missing", "no-such-program", lambda folder: ("no-such-program",))
    works = Confinement("works", "env", nothing_before)
    assert run("print(1)", confinements=(missing, broken, works))["confined"] == "works"
    assert run("print(1)", confinements=(missing, broken))["confined"] == "not confined"


def test_a_user_namespace_has_no_network_and_its_own_processes(run: Any):
    told = run(
        "import os, socket\nprint([name for _, name in socket.if_nameindex()], os.getpid() < 10)",
        confinements=CONFINEMENTS,
    )
    if told["confined"] == "not confined":
        pytest.skip("this system allows neither bwrap nor user namespaces")
    assert told["stdout"] == "['lo'] True\n"


def test_in_a_user_namespace_no_process_outlives_the_call(run: Any):
    code = (
        "import os, signal, sys\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    os.execv(sys.executable, [sys.executable, '-c', 'import signal; signal.pause() # an-orphan-left'])\n"
        "print('left')"
    )
    told = run(code, confinements=CONFINEMENTS, timeout=5.0)
    if told["confined"] == "not confined":
        pytest.skip("this system allows neither bwrap nor user namespaces")
    assert told["stdout"] == "left\n"
    assert not running("an-orphan-left")


def test_in_a_user_namespace_the_keys_of_our_environment_cannot_be_read(run: Any):
    told = run(f"print(open('/proc/{os.getpid()}/environ').read())", confinements=CONFINEMENTS)
    if told["confined"] == "not confined":
        pytest.skip("this system allows neither bwrap nor user namespaces")
    assert (told["stdout"], told["exit_status"]) == ("", 1)


def test_in_bwrap_the_disk_is_python_and_a_folder(run: Any):
    code = "import os\nprint(os.listdir('/etc'), os.path.exists('/etc/passwd'), os.listdir(os.environ['HOME']))"
    told = run(code, confinements=CONFINEMENTS)
    if told["confined"] != "bwrap":
        pytest.skip("this system does not allow bwrap")
    assert told["stdout"] == "['ld.so.cache'] False ['main.py']\n"
