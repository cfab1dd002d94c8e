"""Events of a run as lines."""

from __future__ import annotations

import pytest

from agentloop.cli.rendering import describe_message, lines_of, summary, usage_text
from agentloop.errors import ServerError
from agentloop.history.answers import Cut
from agentloop.loop.result import Repaired, RunResult, StepStarted, ToolFinished, ToolStarted, Trimmed, Warned
from agentloop.loop.run import Run
from agentloop.messages import AssistantMessage, RefusalPart, ToolCall, ToolMessage, ToolResult, UserMessage
from agentloop.model import Attempt, AttemptFailed, ModelResponse, ResponseDone, TextDelta, Usage
from agentloop.repairs import Repair

CALL = ToolCall("call_1", "get_weather", '{"city": "Tokyo"}')


def texts(event: object, **options: bool) -> list[str]:
    return [line.text for line in lines_of(event, **options)]


def result(status: str, **fields: object) -> RunResult:
    run = Run([UserMessage("hi")])
    return RunResult(status=status, text="", messages=(), usage=Usage(10, 2, 4), steps=1, run=run, **fields)


def test_a_step_and_its_tool_are_one_line_each():
    assert texts(StepStarted(2)) == ["step 2"]
    assert texts(ToolStarted(CALL)) == ['  call_1 get_weather({"city": "Tokyo"})']
    assert texts(ToolFinished(CALL, ToolResult("18 °C"))) == ["  call_1 -> 18 °C"]


def test_arguments_are_shown_to_the_last_character_and_on_one_line():
    call = ToolCall("call_1", "write", '{"text":\n"' + "x" * 500 + '\u202e"}')
    assert texts(ToolStarted(call)) == ['  call_1 write({"text":\\n"' + "x" * 500 + '\\u202e"})']


def test_a_long_result_is_cut_and_its_length_told():
    [text] = texts(ToolFinished(CALL, ToolResult("y" * 5000)))
    assert len(text) < 220
    assert text.endswith("… (5,000 characters)")


def test_a_failed_tool_shows_its_kind():
    failed = ToolResult("no such city", is_error=True, kind="raised")
    assert texts(ToolFinished(CALL, failed)) == ["  call_1 raised: no such city"]


def test_a_denied_call_is_shown_with_the_denial_since_it_never_started():
    denied = ToolResult("denied: the owner said no", is_error=True, kind="denied")
    assert texts(ToolFinished(CALL, denied)) == [
        '  call_1 get_weather({"city": "Tokyo"})',
        "  call_1 denied: the owner said no",
    ]


def test_a_retry_shows_what_failed_and_how_long_it_waits():
    event = AttemptFailed(Attempt(1, "503: overloaded", wait=1.25, rule="back-off"))
    assert texts(event) == ["  attempt 1 failed: 503: overloaded; again in 1.2 s (back-off)"]


def test_repairs_are_shown():
    [line] = texts(Repaired((Repair("made up an id"),)))
    assert line.startswith("  repaired: ")
    assert "made up an id" in line


def test_text_before_calls_is_shown_and_an_answer_is_not():
    said = AssistantMessage("let me look", (CALL,))
    assert texts(ResponseDone(ModelResponse(said))) == ["  says: let me look"]
    assert texts(ResponseDone(ModelResponse(AssistantMessage("18 °C")))) == []
    assert texts(TextDelta("18")) == []


def test_verbose_tells_what_a_reply_cost_and_what_was_odd():
    response = ModelResponse(
        AssistantMessage("hi"),
        raw_finish_reason="stop",
        usage=Usage(7, 2),
        model="m-1",
        request_id="req-1",
        notes=("no index",),
    )
    assert texts(ResponseDone(response), verbose=True) == [
        "  m-1: stop, 7 tokens in, 2 out, request req-1",
        "  note: no index",
    ]


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (Usage(1234, 56, 1000), "1,234 tokens in (1,000 cached), 56 out"),
        (Usage(10, 30, reasoning_tokens=20), "10 tokens in, 30 out (20 reasoning)"),
        (Usage(10, 2, complete=False), "at least 10 tokens in, 2 out"),
        (Usage(requests=1), "tokens not reported"),
    ],
)
def test_usage_in_words(usage: Usage, text: str):
    assert usage_text(usage) == text


def test_an_answer_is_summed_up_in_one_line():
    assert [line.text for line in summary(result("answered"))] == ["answered: 1 step, 10 tokens in (4 cached), 2 out"]


def test_a_limit_is_named_with_the_option_that_raises_it():
    lines = [line.text for line in summary(result("step_limit"))]
    assert lines == ["step_limit: 1 step, 10 tokens in (4 cached), 2 out", "  raise --max-steps"]


def test_a_run_that_is_stuck_tells_what_to_change():
    assert [line.text for line in summary(result("stuck"))][1:] == [
        "  the model made the same calls again and again: change the prompt or the tools"
    ]


def test_a_refusal_is_told():
    refused = ModelResponse(AssistantMessage((RefusalPart("not that"),)))
    lines = [line.text for line in summary(result("refused", response=refused))]
    assert lines[1:] == ["  the model refused", "  it said: not that"]


def test_a_cut_tells_what_left_and_what_it_costs():
    cut = Cut((UserMessage("old"), UserMessage("older")), tokens_before=9000, tokens_after=4000, cached_lost=3500)
    told = "  trimmed: 2 messages left out or shortened, 9,000 to 4,000 tokens, 3,500 cached tokens lost"
    assert texts(Trimmed(cut)) == [told]


def test_a_warning_is_shown():
    assert texts(Warned("the prompt was cut")) == ["  warning: the prompt was cut"]


def test_an_error_is_shown_below_its_status():
    lines = [line.text for line in summary(result("model_error", error=ServerError("down\x1b[2J", provider="p")))]
    assert lines[1:] == ["  p: down\\x1b[2J"]


def test_messages_are_described_on_one_line():
    assert describe_message(UserMessage("two\nlines")) == "user: two\\nlines"
    assert describe_message(AssistantMessage(None, (CALL,))) == 'assistant: call_1 get_weather({"city": "Tokyo"})'
    assert describe_message(ToolMessage("call_1", "18 °C")) == "tool call_1: 18 °C"
