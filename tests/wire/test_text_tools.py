"""Tool calls as text: what must run, and what must not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.messages import AssistantMessage, ToolMessage, UserMessage
from agentloop.model import ModelRequest
from agentloop.parts import ToolCall
from agentloop.wire.chat import ChatWire
from agentloop.wire.quirks import Quirks
from tests.wire.text_cases import ASK, BASH, CLICK, DOUBTS, PLAIN, RUNS, TOOLS, answer, calls


@pytest.mark.parametrize("case", RUNS)
def test_a_call_runs_when_nothing_else_can_be_meant(case: str):
    text, wanted, rest = RUNS[case]
    response = answer(text)
    assert calls(response) == wanted
    assert response.text == rest
    assert response.finish_reason == "tool_calls"


@pytest.mark.parametrize("case", PLAIN)
def test_text_stays_text_and_nobody_is_asked_again(case: str):
    response = answer(PLAIN[case])
    assert (response.tool_calls, response.text, response.finish_reason) == ((), PLAIN[case], "stop")


@pytest.mark.parametrize("case", DOUBTS)
def test_in_doubt_nothing_runs_and_the_model_is_to_be_told(case: str):
    text, reason = DOUBTS[case]
    response = answer(text)
    assert (response.tool_calls, response.text, response.finish_reason) == ((), text, "pause")
    assert response.raw_finish_reason == "stop"
    assert reason in response.notes[-1]


@pytest.mark.parametrize("case", [*DOUBTS, *PLAIN])
def test_the_model_is_told_only_once(case: str):
    text = DOUBTS[case][0] if case in DOUBTS else PLAIN[case]
    told = ModelRequest((UserMessage("go"), AssistantMessage(DOUBTS["an example"][0])), tools=TOOLS)
    assert answer(text, request=told).finish_reason == "stop"


@pytest.mark.parametrize("finish", ["length", "content_filter", "weird"])
def test_a_cut_text_is_not_read(finish: str):
    response = answer(CLICK, finish)
    assert (response.tool_calls, response.text) == ((), CLICK)


def test_a_refusal_is_not_read():
    assert answer(CLICK, refusal="no").tool_calls == ()


def test_native_calls_win_over_the_text():
    native = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    response = answer(CLICK, "tool_calls", tool_calls=[native])
    assert (calls(response), response.text) == ([("bash", {})], CLICK)


def test_reasoning_is_not_read():
    assert answer("Done.", reasoning_content=CLICK).tool_calls == ()


@pytest.mark.parametrize("request_", [ModelRequest(ASK.messages), ModelRequest(ASK.messages, TOOLS, "none")])
def test_without_tools_to_call_nothing_is_read(request_: ModelRequest):
    assert answer(CLICK, request=request_).tool_calls == ()


def test_with_native_calls_no_text_is_read():
    body = json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": CLICK}}]}).encode()
    assert ChatWire("m", "p", Quirks()).decode(body, ASK).tool_calls == ()


def test_deep_and_long_texts_are_read_in_no_time():
    assert answer("[" * 100_000).tool_calls == ()
    assert answer('{"name":"click","arguments":' * 20_000).tool_calls == ()
    assert answer("{\n" * 100_000).tool_calls == ()


SINGLE = [text for text, wanted, _ in RUNS.values() if len(wanted) == 1 and text.count('"name"') < 2]


@pytest.mark.parametrize("text", SINGLE)
def test_a_call_that_is_cut_anywhere_does_not_run(text: str):
    whole = text.rstrip()
    assert [cut for cut in range(len(whole)) if answer(whole[:cut]).tool_calls] == []


@pytest.mark.parametrize("case", RUNS)
def test_a_call_that_is_quoted_does_not_run(case: str):
    assert answer("\n".join(f"> {line}" for line in RUNS[case][0].splitlines())).tool_calls == ()


@pytest.mark.parametrize("case", RUNS)
def test_a_call_with_a_word_after_it_does_not_run(case: str):
    assert answer(f"{RUNS[case][0]}\nOK?").tool_calls == ()


@pytest.mark.parametrize("case", RUNS)
def test_a_call_inside_another_language_does_not_run(case: str):
    assert answer(f"````text\n{RUNS[case][0]}\n````").tool_calls == ()


@given(st.text(alphabet='{}[]":,`\n <>/abtool_calnmergus', max_size=80))
def test_no_text_breaks_the_reader(text: str):
    response = answer(text)
    assert response.tool_calls or response.text == text


# --- ids -------------------------------------------------------------------------------------------------------------


def test_ids_are_made_from_turn_and_position():
    response = answer(f"{CLICK}\n{BASH}")
    assert [call.id for call in response.tool_calls] == ["text_1_1", "text_1_2"]
    assert response.repairs == ()


def test_ids_follow_on_those_of_a_history_that_was_cut():
    history = (UserMessage("go"), AssistantMessage(None, (ToolCall("text_7_1", "bash"),)), ToolMessage("text_7_1", "x"))
    assert answer(CLICK, request=ModelRequest(history, TOOLS)).tool_calls[0].id == "text_8_1"
