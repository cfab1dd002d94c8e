"""What `--trace` writes."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agentloop import Client
from agentloop.cli.trace_file import TraceWriter
from agentloop.cli.tracing import Trace
from agentloop.history.answers import Cut
from agentloop.loop.result import Repaired, StepStarted, ToolFinished, ToolStarted, Trimmed, Warned
from agentloop.messages import ToolResult, UserMessage
from agentloop.mock import Call, MockProvider, Question, Reply
from agentloop.model import ModelRequest, TextDelta
from agentloop.parts import TextPart, ToolCall
from agentloop.repairs import Repair
from agentloop.tools.policy import Allow, Deny, Edit

QUESTION = "What is the weather in Tokyo, in Fahrenheit?"
CALL = ToolCall("call_1", "get_weather", '{"city": "Tokyo"}')


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def of_type(file: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in read(file) if line["type"] == kind]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def fail(error: OSError) -> None:
    raise AssertionError(error)


@pytest.fixture
def trace(file: Path):
    """A trace in `file` whose clock goes on by a second each time it is looked at."""
    seconds = itertools.count()
    with TraceWriter(file, on_failure=fail, clock=lambda: float(next(seconds))) as writer:
        yield Trace(writer)


def test_a_run_is_told_from_its_start_to_its_end(agentloop, file: Path):
    agentloop("run", QUESTION, "--mock", "--demo-tools", "--trace", str(file))
    asked = ["step_started", "request", "response_started", "attempt", "response"]
    acted = ["decision", "tool_started", "tool_finished"]
    assert [line["type"] for line in read(file)] == [
        *["trace", "run_started", *asked, *acted, *asked, *acted, *asked, "run_finished"]
    ]


def test_the_first_line_says_which_format_it_is(agentloop, file: Path):
    agentloop("run", "hi", "--mock", "--trace", str(file))
    assert [read(file)[0]["type"], read(file)[0]["schema"]] == ["trace", 1]


def test_the_start_names_model_tools_and_limits(agentloop, file: Path):
    agentloop("run", "hi", "--mock", "--demo-tools", "--max-steps", "3", "--system", "be brief", "--trace", str(file))
    [start] = of_type(file, "run_started")
    assert [start["provider"], start["model"], start["ask"]] == ["mock", "agentloop-mock-rules", "hi"]
    assert start["limits"]["max_steps"] == 3
    assert start["tools"][0] == {"name": "get_weather", "risk": "read", "effects": "none"}
    assert start["instructions"] == "be brief"


def test_a_request_is_written_with_its_body_and_size(agentloop, file: Path):
    with MockProvider() as mock:
        agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", "--trace", str(file))
        url = f"{mock.base_url}/chat/completions"
    [request] = of_type(file, "request")
    assert [request["request"], request["step"], request["purpose"], request["attempt"]] == [1, 1, "step", 1]
    assert [request["method"], request["url"]] == ["POST", url]
    assert request["body"] == mock.requests[0].json
    assert ["content-length", str(request["size"])] in request["headers"]


def test_each_attempt_is_written_with_what_was_wrong_and_the_wait(agentloop, file: Path):
    with MockProvider(faults="status=429,retry-after-ms=1;then=ok") as mock:
        agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", "--trace", str(file))
    first, second = of_type(file, "attempt")
    assert [first["request"], first["attempt"], first["status"], first["wait"]] == [1, 1, 429, 0.001]
    assert first["error"].startswith("RateLimited: ")
    assert first["rule"]
    assert [second["request"], second["attempt"], second["status"]] == [2, 2, 200]
    assert "error" not in second


def test_the_last_attempt_of_a_call_that_fails_is_written_too(agentloop, file: Path):
    with MockProvider(faults="then=status=401") as mock:
        agentloop("run", "hi", "--base-url", mock.base_url, "--model", "m", "--trace", str(file))
    [attempt] = of_type(file, "attempt")
    assert [attempt["status"], "wait" in attempt] == [401, False]
    assert of_type(file, "run_finished")[0]["error"]["type"] == "AuthError"


def test_a_response_has_its_times_usage_and_ids(agentloop, file: Path):
    agentloop("run", "hi", "--mock", "--stream", "--trace", str(file))
    [response] = of_type(file, "response")
    assert 0 < response["first_byte"] <= response["first_content"] <= response["seconds"]
    assert response["finish_reason"] == "stop"
    assert response["usage"]["requests"] == 1
    assert response["request_id"] == "req-mock-1"


def test_pieces_of_a_streamed_reply_are_no_lines(agentloop, file: Path, tmp_path: Path):
    whole = tmp_path / "whole.jsonl"
    agentloop("run", QUESTION, "--mock", "--demo-tools", "--stream", "--trace", str(file))
    agentloop("run", QUESTION, "--mock", "--demo-tools", "--no-stream", "--trace", str(whole))
    assert [line["type"] for line in read(file)] == [line["type"] for line in read(whole)]


def test_runs_of_a_chat_share_a_file_and_count_on(agentloop, file: Path):
    agentloop("chat", "--mock", "--trace", str(file), input="one\ntwo\n")
    assert [line["run"] for line in of_type(file, "run_finished")] == [1, 2]
    assert [line["request"] for line in of_type(file, "request")] == [1, 2]


@pytest.mark.parametrize("fault", ["ok", "status=401", "html=502", "close"])
def test_keys_are_in_no_line(agentloop, file: Path, fault: str):
    secret = "marked-secret-0815"
    with MockProvider("echo", faults=f"then={fault}") as mock:
        url = f"{mock.base_url.replace('://', f'://me:{secret}@')}?api_key={secret}"
        options = ("--base-url", url, "--model", "m", "--retries", "0", "--trace", str(file))
        agentloop("run", f"repeat {secret}", *options)
    assert of_type(file, "request")
    assert secret not in file.read_text("utf-8")


def test_a_key_from_a_variable_is_in_no_line(agentloop, file: Path):
    key = "my-own-kind-of-key"
    with MockProvider("echo", require_key=key) as mock:
        server = ("--base-url", mock.base_url, "--model", "m", "--key-env", "MY_KEY")
        agentloop("run", f"is {key} mine?", *server, "--trace", str(file), env={"MY_KEY": key})
    assert of_type(file, "run_started")[0]["ask"] == "is *** mine?"
    assert ["authorization", "Bearer ***"] in of_type(file, "request")[0]["headers"]
    assert key not in file.read_text("utf-8")


def test_a_line_is_in_the_file_as_soon_as_it_is_written(trace: Trace, file: Path):
    trace.see(Warned("look out"))
    assert read(file)[-1] == {"type": "warning", "at": 1.0, "text": "look out"}


def test_a_tool_is_timed(trace: Trace, file: Path):
    trace.see(ToolStarted(CALL))
    trace.see(ToolFinished(CALL, ToolResult("no such city", is_error=True, kind="raised")))
    [end] = of_type(file, "tool_finished")
    assert [end["id"], end["content"], end["kind"]] == ["call_1", "no such city", "raised"]
    assert end["seconds"] > 0


def test_a_call_that_never_started_has_no_time(trace: Trace, file: Path):
    trace.see(ToolFinished(CALL, ToolResult((TextPart("denied"),), is_error=True, kind="denied")))
    [end] = of_type(file, "tool_finished")
    assert "seconds" not in end
    assert end["content"] == [{"type": "text", "text": "denied"}]


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ("ask", {"decision": "ask"}),
        (Allow(), {"decision": "allow"}),
        (Deny("no"), {"decision": "deny", "reason": "no"}),
        (Edit("{}"), {"decision": "edit", "arguments": "{}"}),
    ],
)
def test_a_decision_is_written_with_who_made_it(trace: Trace, file: Path, decision: Any, told: dict[str, str]):
    trace.decided("call_1", "get_weather", decision, "person")
    [line] = of_type(file, "decision")
    assert line == {**line, "id": "call_1", "name": "get_weather", "by": "person", **told}


def test_a_denial_without_a_terminal_is_a_decision_of_the_policy(agentloop, file: Path):
    def calls(question: Question) -> Reply:
        return Reply("ok") if question.turns[-1].role == "tool" else Reply(calls=(Call.of("dedent", text="x"),))

    with MockProvider(calls) as mock:
        server = ("--base-url", mock.base_url, "--model", "m", "--tool", "textwrap:dedent")
        agentloop("run", "go", *server, "--trace", str(file))
    [line] = of_type(file, "decision")
    assert [line["decision"], line["by"]] == ["deny", "policy"]


def test_the_decision_of_a_person_is_written(terminal, tmp_path: Path):
    (tmp_path / "station.py").write_text("def get_weather(city: str) -> str:\n    return city\n")
    options = ("--mock", "--tool", "station:get_weather", "--trace", "run.jsonl")
    session = terminal("run", "weather in Oslo?", *options)
    session.wait_for("run it?")
    session.type("n not now")
    session.end()
    decisions = [(line["by"], line["decision"]) for line in of_type(tmp_path / "run.jsonl", "decision")]
    assert decisions == [("policy", "ask"), ("person", "deny")]


def test_repairs_and_cuts_are_written(trace: Trace, file: Path):
    trace.see(Repaired((Repair("call_id", "made up"),)))
    trace.see(Trimmed(Cut((UserMessage("old"),), tokens_before=9000, tokens_after=4000, cached_lost=3500)))
    trace.see(TextDelta("no line"))
    repaired, trimmed = read(file)[1:]
    assert repaired["repairs"] == [str(Repair("call_id", "made up"))]
    assert trimmed == {
        "type": "trimmed",
        "at": trimmed["at"],
        "messages": 1,
        "tokens_before": 9000,
        "tokens_after": 4000,
        "cached_lost": 3500,
    }


def test_a_request_that_no_step_has_announced_is_for_a_summary(trace: Trace, file: Path):
    with MockProvider() as mock, Client(mock.base_url, model="m") as client:
        model = trace.watch(client)
        trace.see(StepStarted(4))
        list(model.events(ModelRequest((UserMessage("hi"),))))
        list(model.events(ModelRequest((UserMessage("sum this up"),))))
    assert [(line["step"], line["purpose"]) for line in of_type(file, "request")] == [(4, "step"), (4, "summary")]


def test_the_end_is_written_also_when_the_run_is_stopped(agentloop, file: Path):
    agentloop("run", "hi", "--mock", "--step", "--trace", str(file), input="q\n")
    assert of_type(file, "run_finished")[0]["status"] == "cancelled"
    assert of_type(file, "request") == []


def test_what_could_steer_a_terminal_is_escaped_in_the_file(trace: Trace, file: Path):
    trace.see(Warned("back \u202e and \udc80 and \x9b"))
    assert "\\u202e" in file.read_text("utf-8")
    assert read(file)[-1]["text"] == "back \u202e and \udc80 and \x9b"


def test_a_file_that_cannot_be_written_is_told_before_anything_is_sent(agentloop, tmp_path: Path):
    with MockProvider() as mock:
        server = ("--base-url", mock.base_url, "--model", "m")
        done = agentloop("run", "hi", *server, "--trace", str(tmp_path / "missing" / "run.jsonl"))
    assert done.exit_code == 2
    assert "the trace cannot be written" in done.stderr
    assert mock.requests == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason=f"{sys.platform} has no device that is always full")
def test_a_full_disk_ends_the_trace_and_not_the_run(agentloop):
    done = agentloop("run", "hi", "--mock", "--trace", "/dev/full")
    assert done.exit_code == 0
    assert done.stderr.count("the trace ends here: /dev/full: No space left on device") == 1


def test_recording_and_tracing_go_together(agentloop, file: Path, tmp_path: Path):
    agentloop("run", "hi", "--mock", "--record", str(tmp_path / "x.json"), "--trace", str(file))
    assert len(json.loads((tmp_path / "x.json").read_text("utf-8"))["exchanges"]) == len(of_type(file, "request")) == 1
