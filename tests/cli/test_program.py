"""The program around the commands: what it loads, and what errors look like."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentloop._version import __version__
from agentloop.mock import MockProvider


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("heavy", ["httpx", "rich", "pydantic", "asyncio", "agentloop.agent", "agentloop.http"])
def test_version_loads_nothing_heavy(heavy: str):
    done = run_python(
        f"import sys; from agentloop.cli import main; main(['--version']); sys.exit({heavy!r} in sys.modules)"
    )
    assert (done.returncode, done.stdout) == (0, f"agentloop {__version__}\n")


def test_without_the_extra_one_line_says_what_to_install():
    done = run_python(
        "import sys; sys.modules['click'] = None; from agentloop.cli import main; sys.exit(main(['run', 'hi']))"
    )
    assert done.returncode == 2
    assert done.stderr == "agentloop needs click for its command line: pip install 'agentloop-http[cli]'\n"


def test_it_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "agentloop", "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == f"agentloop {__version__}\n"


def test_help_names_every_command(agentloop):
    shown = agentloop("--help").stdout
    for name in ("run", "chat", "mock", "policy", "replay", "cassette"):
        assert f"  {name} " in shown


def test_an_unknown_command_is_exit_code_2(agentloop):
    assert agentloop("walk").exit_code == 2


def broken_tool(directory: Path) -> Path:
    (directory / "broken.py").write_text("raise RuntimeError('half done')\n")
    return directory


def test_an_unexpected_error_is_one_line_that_tells_how_to_see_more(start, tmp_path: Path):
    process = start("run", "hi", "--mock", "--tool", "broken:f", cwd=broken_tool(tmp_path))
    _, err = process.communicate()
    assert process.returncode == 1
    assert err == "Error: RuntimeError: half done (AGENTLOOP_TRACEBACK=1 shows where)\n"


@pytest.mark.parametrize(("option", "variable"), [("--verbose", ""), ("--no-stream", "1")])
def test_tracebacks_are_shown_to_those_who_ask(start, tmp_path: Path, option: str, variable: str):
    env = {**os.environ, "AGENTLOOP_TRACEBACK": variable}
    process = start("run", "hi", "--mock", "--tool", "broken:f", option, cwd=broken_tool(tmp_path), env=env)
    _, err = process.communicate()
    assert 'broken.py", line 1' in err
    assert err.endswith("Error: RuntimeError: half done\n")


def test_a_tool_module_is_found_in_the_working_directory(start, tmp_path: Path):
    (tmp_path / "here.py").write_text("def get_weather(city: str) -> str:\n    return city.upper()\n")
    process = start("run", "weather in Oslo?", "--mock", "--tool", "here:get_weather", "--allow", "*", cwd=tmp_path)
    _, err = process.communicate()
    assert process.returncode == 0
    assert "  call_1 -> OSLO" in err


def test_ctrl_c_ends_a_run_as_cancelled_with_130_and_says_how_to_go_on(start):
    with MockProvider(faults="then=stall=first-byte") as mock:
        process = start("run", "hi", "--base-url", mock.base_url, "--model", "m")
        assert process.stderr.readline() == "step 1\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert err.startswith("cancelled: 1 step")
    assert "--save FILE" in err


def test_ctrl_c_still_saves_the_conversation_and_prints_json(start, tmp_path: Path):
    saved = tmp_path / "talk.json"
    with MockProvider(faults="then=stall=first-byte") as mock:
        process = start("run", "hi", "--base-url", mock.base_url, "--model", "m", "--json", "--save", str(saved))
        assert process.stderr.readline() == "step 1\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert '"status": "cancelled"' in out
    assert f"--load {saved} goes on" in err
    assert '"content": "hi"' in saved.read_text("utf-8")


def test_a_closed_pipe_is_no_traceback(start):
    process = start("run", "hi", "--mock", stdin=subprocess.DEVNULL)
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    assert process.wait() != 0
