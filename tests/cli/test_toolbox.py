"""The tools that come along, offered by the command, and tools as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentloop.cli.approval import Approval
from agentloop.cli.toolset import MEMORY_FILE, toolbox_tools
from agentloop.errors import ConfigError
from agentloop.messages import ToolCall
from agentloop.mock import Call, MockProvider, Question, Reply
from agentloop.tools.policy import Allow, ToolRequest, Verdict


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("files", ["file.read", "file.list", "file.search", "file.write", "file.edit"]),
        ("web", ["web.fetch"]),
        ("python", ["python.run"]),
        ("calc", ["calc"]),
        ("time", ["time.now"]),
        ("memory", ["memory.save", "memory.search"]),
    ],
)
def test_each_name_stands_for_its_tools(tmp_path: Path, name: str, tools: list[str]):
    assert [tool.name for tool in toolbox_tools(name, tmp_path)] == tools
    assert all(tool.risk and tool.effects for tool in toolbox_tools(name, tmp_path))


@pytest.mark.parametrize("name", ["files", "memory"])
def test_a_root_is_never_guessed(name: str):
    with pytest.raises(ConfigError, match="--root DIR"):
        toolbox_tools(name, None)


def test_an_unknown_name_tells_those_there_are(agentloop):
    done = agentloop("run", "hi", "--mock", "--toolbox", "calc,filez")
    assert done.exit_code == 2
    assert "--toolbox filez: there are files, web, python, calc, time and memory" in done.stderr


def test_the_stand_in_takes_the_tools_under_their_spelled_names(agentloop, tmp_path: Path):
    done = agentloop("run", "hi", "--mock", "--toolbox", "files,calc", "--root", str(tmp_path), "--show-requests")
    assert done.exit_code == 0
    assert '"file__read"' in done.stderr


def asking(name: str, arguments: dict[str, str]):
    """A model that calls one tool, and says what came of it."""

    def scenario(question: Question) -> Reply:
        if question.turns[-1].role == "tool":
            return Reply(f"It said: {question.turns[-1].text}")
        return Reply(calls=(Call.of(name, **arguments),))

    return scenario


def run(agentloop, scenario, *options: str) -> str:
    with MockProvider(scenario) as mock:
        done = agentloop("run", "go", "--base-url", mock.base_url, "--model", "m", *options)
    assert done.exit_code == 0, done.stderr
    return done.stdout + done.stderr


def test_reading_runs_without_asking(agentloop, tmp_path: Path):
    (tmp_path / "a.txt").write_text("hello")
    shown = run(agentloop, asking("file__read", {"path": "a.txt"}), "--toolbox", "files", "--root", str(tmp_path))
    assert "It said: hello" in shown
    assert 'file.read({"path": "a.txt"})' in shown


def test_writing_is_denied_without_a_terminal_unless_it_is_allowed(agentloop, tmp_path: Path):
    write = asking("file__write", {"path": "a.txt", "content": "x"})
    options = ("--toolbox", "files", "--root", str(tmp_path))
    assert "pass --allow file.write" in run(agentloop, write, *options)
    assert not (tmp_path / "a.txt").exists()
    run(agentloop, write, *options, "--allow", "file.*")
    assert (tmp_path / "a.txt").read_text() == "x"


def test_a_file_that_runs_by_itself_is_not_written_although_writing_is_allowed(agentloop, tmp_path: Path):
    write = asking("file__write", {"path": "conftest.py", "content": "x"})
    options = ("--toolbox", "files", "--root", str(tmp_path), "--allow", "*")
    assert "pass --policy FILE with a rule of risk 'danger'" in run(agentloop, write, *options)
    assert not (tmp_path / "conftest.py").exists()


def test_a_policy_that_names_the_risk_allows_it(agentloop, tmp_path: Path):
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rule]]\ndecide = "allow"\ntool = "file.write"\nrisk = ["write", "danger"]\n')
    write = asking("file__write", {"path": "conftest.py", "content": "x"})
    run(agentloop, write, "--toolbox", "files", "--root", str(tmp_path), "--policy", str(policy))
    assert (tmp_path / "conftest.py").read_text() == "x"


def test_a_person_is_asked_about_a_riskier_call(typed, tmp_path: Path):
    write = toolbox_tools("files", tmp_path)[3]
    person = typed("y")
    call = ToolCall("call_1", "file.write", '{"path": "Makefile", "content": "x"}')

    def judge(request: ToolRequest) -> Verdict:
        return "allow" if request.risk == "write" else "ask"

    approval = Approval(person.screen, judge, allow=("*",))
    assert approval.policy(ToolRequest.of(call, write)) == "ask"
    assert approval.ask([call]) == {"call_1": Allow()}
    assert "risk: danger" in person.shown


def test_memory_keeps_its_file_in_the_root(agentloop, tmp_path: Path):
    save = asking("memory__save", {"text": "Anna likes tea."})
    run(agentloop, save, "--toolbox", "memory", "--root", str(tmp_path), "--allow", "memory.save")
    assert (tmp_path / MEMORY_FILE).exists()


def test_tools_as_text_need_nothing_of_the_server(agentloop):
    def writes_its_calls(question: Question) -> Reply:
        assert question.tools == ()
        if "<tool_result" in question.prompt:
            return Reply("It is " + question.prompt.splitlines()[1])
        return Reply("```json\n" + json.dumps({"name": "calc", "arguments": {"expression": "6*7"}}) + "\n```")

    assert "It is 42" in run(agentloop, writes_its_calls, "--toolbox", "calc", "--tool-protocol", "text")
