"""What bounds a run: steps, rounds of tools, tokens, time, and doing the same again and again."""

from __future__ import annotations

import pytest

from agentloop.loop.actions import (
    Finished,
    Started,
)
from agentloop.loop.limits import Limits
from agentloop.loop.run import Run
from agentloop.messages import ToolMessage, ToolResult
from agentloop.parts import ToolCall
from tests.loop.machine import A, B, answer, execute, reply, start


def test_at_max_steps_the_calls_of_the_last_reply_run():
    run = start(limits=Limits(max_steps=1))
    answer(run, reply(None, A))
    execute(run, "ran")
    assert run.result().status == "step_limit"
    assert run.messages[-1] == ToolMessage("c1", "ran")


def test_after_the_last_tool_round_the_model_may_still_answer():
    run = start(limits=Limits(max_tool_steps=1))
    answer(run, reply(None, A))
    execute(run)
    answer(run, reply("there"))
    assert run.result().status == "answered"


def test_a_request_for_tools_beyond_the_last_round_ends_the_run():
    run = start(limits=Limits(max_tool_steps=0))
    answer(run, reply(None, A))
    assert run.result().status == "tool_limit"
    assert run.messages[-1].kind == "not_run"  # pyright: ignore[reportAttributeAccessIssue]


def test_tokens_used_up_stop_the_run_before_its_tools():
    run = start(limits=Limits(max_total_tokens=100))
    answer(run, reply(None, A, tokens=100))
    assert run.result().status == "token_limit"


def test_an_answer_is_accepted_even_when_the_tokens_are_used_up():
    run = start(limits=Limits(max_total_tokens=100))
    answer(run, reply("here", tokens=200))
    assert run.result().status == "answered"


def test_time_that_is_up_stops_the_run_after_the_tool_in_flight():
    run = start(limits=Limits(max_seconds=5))
    answer(run, reply(None, A, B))
    run.receive(Started("1.c1"), 1.0)
    run.receive(Finished("1.c1", ToolResult("late")), 6.0)
    assert run.result().status == "time_limit"
    assert [m.content for m in run.messages[-2:]] == ["late", "not run: the run's time was up"]


def test_the_request_carries_what_is_left_of_the_time():
    run = start(limits=Limits(max_seconds=5))
    answer(run, reply(None, A))
    run.receive(Started("1.c1"), 1.0)
    run.receive(Finished("1.c1", ToolResult("x")), 3.0)
    assert run.next()[0].request.seconds == 2.0  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    "fields", [{"max_steps": 0}, {"max_tool_steps": -1}, {"max_seconds": 0}, {"max_total_tokens": -5}]
)
def test_limits_that_make_no_sense_are_refused(fields: dict[str, int]):
    with pytest.raises(ValueError, match=next(iter(fields))):
        Limits(**fields)


def go_round(run: Run, number: int, arguments: str = "{}", result: str = "same") -> None:
    answer(run, reply(None, ToolCall(f"x{number}", "a", arguments)))
    execute(run, result)


def test_the_same_call_with_the_same_result_is_warned_about_once_and_then_stuck():
    run = start(limits=Limits(max_repeats=2))
    go_round(run, 1)
    go_round(run, 2, "{ }")
    assert run.messages[-1].text.startswith("same\n\n[You have made this same call 2 times")
    go_round(run, 3)
    assert (run.result().status, run.messages[-1].content) == ("stuck", "same")


@pytest.mark.parametrize(("arguments", "result"), [('{"n": %d}', "same"), ("{}", "result %d")])
def test_other_arguments_or_other_results_are_not_a_loop(arguments: str, result: str):
    run = start(limits=Limits(max_repeats=2))
    for number in range(5):
        go_round(run, number, arguments.replace("%d", str(number)), result.replace("%d", str(number)))
    assert run.status is None


def test_the_loop_detector_can_be_turned_off():
    run = start(limits=Limits(max_steps=30, max_repeats=None))
    for number in range(20):
        go_round(run, number)
    assert run.status is None
