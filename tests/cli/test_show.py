"""What `agentloop show` makes of a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.cli.trace_digest import digest
from agentloop.cli.trace_text import request_text, summary_lines, trace_lines
from agentloop.mock import MockProvider

HEAD = {"type": "trace", "schema": 1, "agentloop": "0.1.0", "started": "2026-01-02T03:04:05.000+00:00"}
START = {
    "type": "run_started",
    "at": 0.001,
    "run": 1,
    "provider": "mock",
    "model": "m",
    "ask": "hi",
    "messages": 1,
    "limits": {"max_steps": 10},
    "tools": [{"name": "look", "risk": "read"}],
}
STEP = {"type": "step_started", "at": 0.002, "step": 1}
REQUEST = {
    "type": "request",
    "at": 0.003,
    "request": 1,
    "step": 1,
    "purpose": "step",
    "attempt": 1,
    "method": "POST",
    "url": "http://x.test/v1/chat/completions",
    "size": 1234,
    "body": {"model": "m", "messages": []},
    "headers": [["content-type", "application/json"], ["authorization", "Bearer ***"]],
}
FAILED = {
    "type": "attempt",
    "at": 0.1,
    "request": 1,
    "attempt": 1,
    "status": 429,
    "error": "RateLimited: slow down",
    "rule": "retry-after",
    "wait": 1.5,
    "seconds": 0.12,
}
AGAIN = REQUEST | {"request": 2, "attempt": 2}
PASSED = {"type": "attempt", "at": 0.1, "request": 2, "attempt": 2, "status": 200, "seconds": 0.25}
RESPONSE = {
    "type": "response",
    "at": 0.2,
    "request": 2,
    "model": "m",
    "seconds": 0.25,
    "first_byte": 0.05,
    "first_content": 0.06,
    "finish_reason": "stop",
    "usage": {"input_tokens": 1200, "output_tokens": 30},
    "request_id": "req-1",
    "message": {"role": "assistant", "content": "Hello."},
}
TOOL = {"type": "tool_finished", "at": 0.3, "id": "call_1", "name": "look", "seconds": 0.5, "content": "18 °C"}
END = {
    "type": "run_finished",
    "at": 2.5,
    "run": 1,
    "status": "answered",
    "steps": 1,
    "seconds": 2.4,
    "usage": {"input_tokens": 1200, "output_tokens": 30, "requests": 2, "complete": False},
}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    def write(*lines: dict[str, Any], head: dict[str, Any] = HEAD, rest: str = "") -> str:
        file = tmp_path / "run.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)) + rest, "utf-8")
        return str(file)

    return write


def texts(line: dict[str, Any]) -> list[str]:
    return [shown.text for shown in trace_lines(line)]


def test_a_trace_is_shown_step_by_step_with_tokens_times_and_retries(agentloop, written):
    done = agentloop("show", written(START, STEP, REQUEST, FAILED, AGAIN, PASSED, RESPONSE, TOOL, END))
    assert done.stdout.splitlines() == [
        "agentloop 0.1.0, 2026-01-02T03:04:05.000+00:00",
        "run 1: mock m",
        "  asks: hi",
        "  tools: look; limits: max_steps=10",
        "step 1  (at 0.002 s)",
        "  request 1: POST http://x.test/v1/chat/completions, 1,234 bytes",
        "  attempt 1 failed after 0.120 s: RateLimited: slow down; again in 1.500 s (retry-after)",
        "  request 2: POST http://x.test/v1/chat/completions, 1,234 bytes, try 2",
        "  reply after 0.250 s (first byte 0.050 s, first content 0.060 s): stop, 1,200 tokens in, 30 out, "
        "request id req-1",
        "  says: Hello.",
        "  call_1 -> 18 °C (0.500 s)",
        "answered: 1 step, 2 requests, 1 retry; at least 1,200 tokens in, 30 out; "
        "2.400 s: model 0.370 s, waits 1.500 s, tools 0.500 s",
    ]
    assert (done.exit_code, done.stderr) == (0, "")


def test_what_run_writes_is_what_show_shows(agentloop, tmp_path: Path):
    file = str(tmp_path / "run.jsonl")
    agentloop("run", "weather in Oslo?", "--mock", "--demo-tools", "--trace", file)
    shown = agentloop("show", file).stdout
    assert '  call_1 get_weather({"city": "Oslo"})\n  call_1 -> {"city":"Oslo"' in shown
    assert "\nanswered: 2 steps, 2 requests; 330 tokens in (0 cached), 11 out; " in shown


@pytest.mark.parametrize("rest", ['{"type": "tool_st', '{"at": 1.0}\n', "[1, 2]\n", '{"type": 3}\n', "\x00\n"])
def test_a_damaged_line_is_told_and_the_rest_is_shown(agentloop, written, rest: str):
    file = written(START, STEP, rest=rest)
    done = agentloop("show", file)
    assert done.exit_code == 0
    assert "step 1" in done.stdout
    assert done.stderr == f"{file}: line 4 is damaged, or was not written to its end; it is left out\n"


def test_a_run_without_an_end_is_told(agentloop, written):
    shown = agentloop("show", written(START, STEP, START | {"run": 2}, END | {"run": 2})).stdout
    assert "step 1  (at 0.002 s)\nrun 1 has no end here: its program was stopped, or is still running\nrun 2" in shown


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ({"type": "trace", "schema": 2}, "has schema 2, and this agentloop reads up to 1"),
        ({"type": "trace"}, "is no trace"),
        ({"exchanges": []}, "is no trace"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(agentloop, written, head: dict[str, Any], told: str):
    done = agentloop("show", written(head=head))
    assert done.exit_code == 2
    assert told in done.stderr


def test_a_missing_file_is_told(agentloop, tmp_path: Path):
    done = agentloop("show", str(tmp_path / "none.jsonl"))
    assert done.exit_code == 2
    assert "none.jsonl: cannot be read: No such file or directory" in done.stderr


def test_a_request_is_printed_with_its_body_indented(agentloop, written):
    done = agentloop("show", written(START, REQUEST), "--request", "1")
    assert done.stdout == (
        "POST http://x.test/v1/chat/completions\n"
        "content-type: application/json\n"
        "authorization: Bearer ***\n"
        '\n{\n  "model": "m",\n  "messages": []\n}\n'
    )


def test_a_request_is_printed_as_json(agentloop, written):
    assert json.loads(agentloop("show", written(REQUEST), "--request", "1", "--json").stdout) == REQUEST


def test_a_request_is_printed_as_curl_with_a_variable_for_the_key(agentloop, written):
    shown = agentloop("show", written(REQUEST), "--request", "1", "--curl").stdout
    assert "curl -sS http://x.test/v1/chat/completions" in shown
    assert "AGENTLOOP_API_KEY" in shown
    assert "Bearer ***" not in shown
    assert '{"model":"m","messages":[]}\nBODY\n' in shown


def test_a_masked_key_in_the_body_of_a_curl_command_is_told(agentloop, written):
    done = agentloop("show", written(REQUEST | {"body": {"user": "***"}}), "--request", "1", "--curl")
    assert done.stderr == "the body holds *** where the trace masks a key\n"


def test_the_bytes_of_a_curl_command_are_those_that_were_sent(agentloop, tmp_path: Path):
    file = str(tmp_path / "run.jsonl")
    with MockProvider() as mock:
        agentloop("run", "grüße", "--base-url", mock.base_url, "--model", "m", "--trace", file)
    assert mock.requests[0].body.decode() in agentloop("show", file, "--request", "1", "--curl").stdout


def test_a_request_that_is_not_there_is_told(agentloop, written):
    done = agentloop("show", written(REQUEST), "--request", "9")
    assert done.exit_code == 2
    assert "there is no request 9: the trace has 1, counted from 1" in done.stderr


@pytest.mark.parametrize("options", [["--curl"], ["--curl", "--json", "--request", "1"]])
def test_curl_is_for_one_request(agentloop, written, options: list[str]):
    assert agentloop("show", written(REQUEST), *options).exit_code == 2


def test_json_sums_the_runs_up(agentloop, written):
    file = written(START, STEP, REQUEST, FAILED, AGAIN, PASSED, RESPONSE, TOOL, END, rest="{")
    shown = json.loads(agentloop("show", file, "--json").stdout)
    [run] = shown["runs"]
    assert [run["status"], run["steps"], run["retries"], run["seconds"]] == ["answered", 1, 1, 2.4]
    assert [run["model_seconds"], run["wait_seconds"], run["tool_seconds"]] == [0.37, 1.5, 0.5]
    assert [request["status"] for request in run["requests"]] == [429, 200]
    assert run["requests"][1]["usage"] == {"input_tokens": 1200, "output_tokens": 30}
    assert run["tools"] == [{"id": "call_1", "name": "look", "seconds": 0.5}]
    assert shown["damaged_lines"] == [11]


def test_an_error_is_shown_below_the_status():
    end = END | {"status": "model_error", "error": {"type": "AuthError", "message": "no\x1b[2J"}}
    [run] = digest([START, end])
    assert [line.text for line in summary_lines(run)][1:] == ["  AuthError: no\\x1b[2J"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ({"by": "policy", "decision": "allow"}, []),
        ({"by": "policy", "decision": "ask"}, ["  call_1 look: policy says ask"]),
        ({"by": "person", "decision": "deny", "reason": "no"}, ["  call_1 look: person says deny: no"]),
        ({"by": "person", "decision": "edit", "arguments": "{}"}, ["  call_1 look: person says edit: {}"]),
    ],
)
def test_decisions_are_shown_where_a_call_did_not_simply_run(line: dict[str, str], shown: list[str]):
    assert texts({"type": "decision", "id": "call_1", "name": "look", **line}) == shown


def test_what_the_model_thinks_says_and_refuses_is_told_apart():
    parts = [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "Yes."},
        {"type": "refusal", "refusal": "No."},
    ]
    shown = texts(RESPONSE | {"message": {"content": [*parts, {"type": "tool_call"}]}})
    assert shown[1:] == ["  thinks: hm", "  says: Yes.", "  refuses: No."]


def test_a_cut_is_shown_with_what_it_costs():
    cut = {"type": "trimmed", "messages": 2, "tokens_before": 9000, "tokens_after": 4000, "cached_lost": 3500}
    assert texts(cut) == [
        "  trimmed: 2 messages left out or shortened, 9,000 to 4,000 tokens, 3,500 cached tokens lost"
    ]


def test_a_failed_tool_shows_its_kind():
    failed = TOOL | {"is_error": True, "kind": "raised", "content": [{"type": "text", "text": "no such city"}]}
    assert texts(failed) == ["  call_1 raised: no such city (0.500 s)"]


def test_what_strangers_wrote_cannot_steer_the_terminal():
    assert texts({"type": "warning", "text": "red \x1b[31m"}) == ["  warning: red \\x1b[31m"]
    assert "\x1b" not in request_text(REQUEST | {"text": "\x1b[2J", "url": "\x1b"})


def test_lines_of_a_later_version_are_passed_over():
    assert texts({"type": "telepathy", "at": 1.0}) == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from([START, STEP, REQUEST, FAILED, RESPONSE, TOOL, END]), st.data())
def test_a_line_may_hold_anything(line: dict[str, Any], data: st.DataObject):
    name = data.draw(st.sampled_from([name for name in line if name != "type"]))
    odd = line | {name: data.draw(values)}
    for shown in (*trace_lines(odd), *(line for run in digest([START, REQUEST, odd]) for line in summary_lines(run))):
        assert "\n" not in shown.text
    request_text(odd)
