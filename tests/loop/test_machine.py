"""The machine alone: outcomes in, actions and events out, no model and no clock."""

from __future__ import annotations

import pytest

from agentloop.errors import ConfigError, HistoryError, ModelError, ProtocolError, StreamInterrupted
from agentloop.loop.actions import (
    Ask,
    Cancelled,
    Check,
    Checked,
    Decide,
    Decided,
    Execute,
    Failed,
    Finished,
    Resolve,
    Resolved,
    Started,
    Stop,
    Stopped,
)
from agentloop.loop.limits import Limits
from agentloop.loop.run import Run
from agentloop.messages import AssistantMessage, ToolMessage, ToolResult, UserMessage
from agentloop.model import ModelResponse
from agentloop.parts import RefusalPart, ToolCall
from agentloop.tools.policy import Deny, Edit
from tests.loop.machine import A, B, answer, execute, reply, start


def test_asking_for_the_next_action_changes_nothing():
    run = start()
    assert run.next() == run.next()


def test_text_with_stop_is_the_answer():
    run = start()
    answer(run, reply("hello"))
    assert run.next() == [Stop("answered")]
    assert run.result().messages == (UserMessage("go"), AssistantMessage("hello"))


def test_the_whole_reply_is_stored_before_a_tool_starts():
    run = start()
    answer(run, reply("let me see", A))
    assert run.messages[-1] == AssistantMessage("let me see", (A,))
    assert run.next() == [Execute("1.c1", A)]


def test_results_follow_in_the_order_of_the_calls():
    run = start()
    answer(run, reply(None, A, B))
    execute(run, "first")
    execute(run, "second")
    assert run.messages[-2:] == (ToolMessage("c1", "first"), ToolMessage("c2", "second"))


def test_parallel_tools_are_wanted_together_and_stored_in_order():
    run = start(parallel=frozenset({"a", "b"}))
    answer(run, reply(None, A, B))
    assert [action.key for action in run.next()] == ["1.c1", "1.c2"]
    run.receive(Finished("1.c2", ToolResult("second")), 0.0)
    run.receive(Finished("1.c1", ToolResult("first")), 0.0)
    assert run.messages[-2:] == (ToolMessage("c1", "first"), ToolMessage("c2", "second"))


def test_a_tool_that_is_not_parallel_waits_for_the_ones_before_it():
    run = start(parallel=frozenset({"a"}))
    answer(run, reply(None, A, B, ToolCall("c3", "a")))
    assert [action.key for action in run.next()] == ["1.c1"]


@pytest.mark.parametrize("finish", ["stop", "other", "none", "tool_calls", "pause"])
def test_calls_run_whatever_the_finish_word(finish: str):
    run = start()
    answer(run, reply("looking", A, finish=finish))
    assert isinstance(run.next()[0], Execute)


@pytest.mark.parametrize(
    ("finish", "status"), [("length", "truncated"), ("content_filter", "filtered"), ("error", "model_error")]
)
def test_calls_of_a_cut_or_withheld_reply_do_not_run(finish: str, status: str):
    run = start()
    answer(run, reply("half", A, finish=finish))
    result = run.result()
    assert (result.status, result.text) == (status, "half")
    assert result.messages[-1].kind == "not_run"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_refusal_ends_the_run():
    run = start()
    answer(run, ModelResponse(AssistantMessage((RefusalPart("no"),)), "stop", "stop"))
    assert run.result().status == "refused"


@pytest.mark.parametrize(
    ("finish", "status"), [("none", "answered"), ("other", "model_stopped"), ("tool_calls", "model_stopped")]
)
def test_text_with_another_word_keeps_the_text(finish: str, status: str):
    run = start()
    answer(run, reply("hm", finish=finish))
    assert (run.result().status, run.result().text) == (status, "hm")


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "none"])
def test_nothing_at_all_is_a_protocol_error_and_is_not_stored(finish: str):
    run = start()
    answer(run, reply("", finish=finish))
    assert run.result().status == "protocol_error"
    assert run.messages == (UserMessage("go"),)


def test_a_pause_is_followed_by_another_model_call():
    run = start()
    answer(run, reply("working", finish="pause"))
    assert isinstance(run.next()[0], Ask)
    answer(run, reply("done"))
    assert (run.result().status, run.result().steps) == ("answered", 2)


def test_the_same_call_twice_in_one_reply_runs_once():
    run = start()
    answer(run, reply(None, A, A))
    assert run.next() == [Execute("1.c1", A)]
    execute(run)
    answer(run, reply("done"))
    assert "twice in one reply" in run.result().repairs[0].what


@pytest.mark.parametrize("given", ["", "c1"])
def test_a_missing_or_used_id_gets_a_fresh_one_from_step_and_position(given: str):
    history = [UserMessage("x"), AssistantMessage(None, (A,)), ToolMessage("c1", "ok"), UserMessage("y")]
    run = Run(history)
    answer(run, reply(None, ToolCall(given, "a", '{"n":1}')))
    assert run.next()[0].call.id == "call_1_1"  # pyright: ignore[reportAttributeAccessIssue]


def test_strict_refuses_a_reply_that_needs_repairs():
    run = start(strict=True)
    answer(run, reply(None, ToolCall("", "a")))
    assert run.result().status == "protocol_error"


def test_tool_choice_holds_for_the_first_request_only():
    run = start(tool_choice="required")
    assert run.next()[0].request.tool_choice == "required"  # pyright: ignore[reportAttributeAccessIssue]
    answer(run, reply(None, A))
    execute(run)
    assert run.next()[0].request.tool_choice is None  # pyright: ignore[reportAttributeAccessIssue]


def test_a_failing_tool_is_an_observation():
    run = start()
    answer(run, reply(None, A))
    execute(run, "ValueError: x", error=True)
    assert run.messages[-1] == ToolMessage("c1", "ValueError: x", True, "raised")
    assert isinstance(run.next()[0], Ask)


def test_on_tool_error_stop_answers_the_rest_and_ends():
    run = start(on_tool_error="stop")
    answer(run, reply(None, A, B))
    execute(run, "boom", error=True)
    result = run.result()
    assert (result.status, result.error.kind) == ("tool_error", "raised")  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    assert result.messages[-1].kind == "not_run"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_denial_never_stops_a_run():
    run = start(on_tool_error="stop", decides=True)
    answer(run, reply(None, A))
    run.receive(Decided("1.c1", Deny("not today")), 0.0)
    assert run.messages[-1] == ToolMessage("c1", "denied: not today", True, "denied")
    assert isinstance(run.next()[0], Ask)


def test_only_decisions_wanted_is_a_pause():
    run = start(decides=True)
    answer(run, reply(None, A, B))
    assert [type(action) for action in run.next()] == [Decide, Decide]
    assert (run.status, run.pending, run.ended) == ("needs_approval", (A, B), False)


def test_edited_arguments_run_and_the_history_keeps_what_the_model_wrote():
    run = start(decides=True)
    answer(run, reply(None, A))
    run.receive(Decided("1.c1", Edit('{"n": 2}')), 0.0)
    assert run.next() == [Execute("1.c1", ToolCall("c1", "a", '{"n": 2}'))]
    assert run.messages[-1] == AssistantMessage(None, (A,))


def test_waiting_for_a_person_does_not_use_up_time():
    run = start(decides=True, limits=Limits(max_seconds=5))
    answer(run, reply(None, A))
    run.receive(Decided("1.c1"), 1000.0)
    assert run.next() == [Execute("1.c1", A, 5.0)]


def test_a_decision_about_an_unknown_call_names_those_that_wait():
    run = start(decides=True)
    answer(run, reply(None, A))
    with pytest.raises(ConfigError, match="waiting: c1"):
        run.key_of("c9")


def test_a_cancelled_pause_is_sendable():
    run = start(decides=True)
    answer(run, reply(None, A))
    result = run.cancel()
    assert (result.status, result.messages[-1].kind) == ("cancelled", "cancelled")  # pyright: ignore[reportAttributeAccessIssue]


def test_cancelled_while_a_tool_runs_says_that_it_may_have_taken_effect():
    run = start()
    answer(run, reply(None, A, B))
    run.receive(Started("1.c1"), 0.0)
    run.receive(Cancelled(), 0.0)
    assert "may have taken effect" in run.messages[-2].text
    assert run.messages[-1].text == "cancelled before it ran"


def test_text_that_had_arrived_when_cancelled_is_kept():
    run = start()
    run.receive(Started("1"), 0.0)
    run.receive(Cancelled("Hel"), 0.0)
    assert run.result().messages[-1] == AssistantMessage("Hel")


def test_a_result_after_the_end_is_reported_and_not_stored():
    run = start()
    answer(run, reply(None, A))
    run.receive(Started("1.c1"), 0.0)
    run.receive(Cancelled(), 0.0)
    before = run.messages
    [event] = run.receive(Finished("1.c1", ToolResult("late")), 0.0)
    assert (event.type, run.messages) == ("late_result", before)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ModelError("x"), "model_error"),
        (StreamInterrupted("cut"), "model_error"),
        (ProtocolError("html"), "protocol_error"),
    ],
)
def test_a_failed_call_ends_the_run_with_its_error(error: ModelError, status: str):
    run = start()
    run.receive(Started("1"), 0.0)
    run.receive(Failed("1", error), 0.0)
    assert (run.result().status, run.result().error) == (status, error)
    assert run.messages == (UserMessage("go"),)


def test_what_arrived_of_a_failed_reply_is_the_text_and_its_usage_is_incomplete():
    run = start()
    run.receive(Failed("1", StreamInterrupted("cut"), ModelResponse(AssistantMessage("Here is"))), 0.0)
    assert (run.result().text, run.result().usage.complete) == ("Here is", False)


def test_a_refused_answer_goes_back_as_a_user_message():
    run = start(checks=True)
    answer(run, reply("42"))
    [check] = run.next()
    assert isinstance(check, Check)
    assert check.result.text == "42"
    run.receive(Checked(check.key, "show your work"), 0.0)
    assert run.messages[-1] == UserMessage("show your work")


def test_a_refusal_without_a_text_is_refused_itself():
    run = start(checks=True)
    answer(run, reply("42"))
    with pytest.raises(ConfigError, match="accept returns None, or a text"):
        run.receive(Checked("x", " "), 0.0)


def test_after_two_refused_answers_the_run_stops_and_keeps_the_text():
    run = start(checks=True)
    for _ in range(2):
        answer(run, reply("42"))
        run.receive(Checked("x", "no"), 0.0)
    assert (run.result().status, run.result().text) == ("model_stopped", "42")


def test_usage_adds_up_over_the_steps():
    run = start()
    answer(run, reply(None, A, tokens=64))
    execute(run)
    answer(run, reply("x", tokens=90))
    assert (run.result().usage.input_tokens, run.result().usage.requests) == (154, 2)


def test_the_driver_may_stop_a_run():
    run = start()
    answer(run, reply(None, A))
    run.receive(Stopped("time_limit"), 0.0)
    assert run.result().status == "time_limit"


def test_a_paused_run_continues_from_its_snapshot():
    run = start(decides=True, limits=Limits(max_seconds=9))
    answer(run, reply(None, A))
    again = Run.from_json(run.to_json())
    assert (again.status, again.pending, again.spec) == ("needs_approval", (A,), run.spec)
    again.receive(Decided("1.c1"), 0.0)
    execute(again, "ran")
    answer(again, reply("done"))
    assert again.result().status == "answered"


def test_a_call_in_flight_when_the_snapshot_was_made_is_in_doubt():
    run = start()
    answer(run, reply(None, A))
    run.receive(Started("1.c1"), 0.0)
    again = Run.from_json(run.to_json())
    assert again.next() == [Resolve("1.c1", A)]
    again.receive(Resolved("1.c1"), 0.0)
    assert again.next() == [Execute("1.c1", A)]


def test_a_snapshot_is_the_same_after_a_round_trip():
    run = start(decides=True)
    answer(run, reply("x", A, B, tokens=5))
    assert Run.from_json(run.to_json()).to_json() == run.to_json()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 99}'])
def test_what_is_no_snapshot_is_refused(text: str):
    with pytest.raises(HistoryError):
        Run.from_json(text)
