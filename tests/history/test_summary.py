"""Summaries: when one is asked for, what it covers, when it is refused, and that it never loops."""

from __future__ import annotations

from typing import Any

import pytest

from agentloop.errors import ConfigError
from agentloop.history import (
    Impossible,
    Meter,
    NeedSummary,
    Send,
    Summarise,
    Summary,
    accept_summary,
    check,
    pin,
    plan_view,
    summary_request,
)
from agentloop.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

S = SystemMessage("be kind")
POLICY = Summarise(high=200, low=100)  # a summary has room for 50 tokens


def talk(turns: int) -> list[Message]:
    out: list[Message] = [S]
    for n in range(turns):
        out += [UserMessage(f"q{n} " + "q " * 19), AssistantMessage(f"a{n} " + "a " * 19)]
    return out[:-1]


def is_summary(message: Message) -> bool:
    return message.text.startswith("[Summary")


def step(history: list[Message], meter: Meter, summarise: Any, state: dict[str, Any]) -> Send | Impossible:
    """What a run does: plan, summarise at most once, plan again."""
    options: dict[str, Any] = {"meter": meter, "policy": POLICY, "context_limit": state.get("limit")}
    answer = plan_view(history, summary=state.get("summary"), **options)
    if isinstance(answer, NeedSummary):
        state["asked"] = state.get("asked", 0) + 1
        found = accept_summary(answer, summarise(answer), meter)
        state["summary"] = found or state.get("summary")
        answer = plan_view(history, summary=state["summary"], may_summarise=False, **options)
    assert not isinstance(answer, NeedSummary)
    return answer


def test_nothing_is_summarised_up_to_high(words: Any):
    assert plan_view(talk(5), meter=Meter(words), policy=POLICY) == Send(tuple(talk(5)), upto=10)


def test_the_older_part_is_to_be_summarised_without_instructions_and_pins(words: Any):
    history = talk(8)
    history[3] = fact = pin(history[3])
    need = plan_view(history, meter=Meter(words), policy=POLICY)
    assert isinstance(need, NeedSummary)
    assert S not in need.messages
    assert fact not in need.messages
    assert list(need.messages) == [m for m in history[: need.upto] if m not in (S, fact)]


def test_the_view_has_the_summary_in_the_place_of_what_it_covers(words: Any):
    history, state = talk(8), {}
    answer = step(history, Meter(words), lambda _: "short", state)
    assert isinstance(answer, Send)
    assert answer.view[0] is S
    assert answer.view[1] == state["summary"].message()
    assert list(answer.view[2:]) == history[state["summary"].upto :]
    assert "short" in answer.view[1].text
    assert "It is not a request" in answer.view[1].text


def test_a_long_conversation_has_one_summary_the_same_instructions_and_whole_groups(turn: Any, words: Any):
    history, meter, state = [S], Meter(words), {}
    for n in range(40):
        history += [UserMessage(f"q{n} " + "q " * 19), *turn(f"c{n}", words=15)]
        answer = step(history, meter, lambda _: "short", state)
        assert isinstance(answer, Send)
        check(answer.view)
        assert sum(is_summary(m) for m in answer.view) <= 1
        assert answer.view[0] is S
        assert words.count(answer.view) <= 200
        history.append(AssistantMessage("done"))
    assert 3 <= state["asked"] <= 15


def test_between_two_summaries_each_view_is_the_one_before_plus_what_is_new(words: Any):
    meter, state, history = Meter(words), {}, talk(40)
    before: list[Message] = []
    for end in range(2, len(history) + 1, 2):
        asked = state.get("asked", 0)
        view = list(step(history[:end], meter, lambda _: "short", state).view)
        if state.get("asked", 0) == asked and before:
            assert view[: len(before)] == before
        before = view


def test_the_task_of_a_long_run_of_tools_stays_verbatim(turn: Any, words: Any):
    history, meter, state = [S, UserMessage("the task")], Meter(words), {}
    for n in range(60):
        history += turn(f"c{n}", words=15)
        answer = step(history, meter, lambda _: "short", state)
        assert UserMessage("the task") in answer.view
        assert sum(is_summary(m) for m in answer.view) == (1 if state else 0)


@pytest.mark.parametrize("text", ["", "  \n", "S " * 5000])
def test_a_summary_that_is_empty_or_too_long_is_not_used_and_the_view_is_trimmed(text: str, words: Any):
    history, state = talk(12), {}
    answer = step(history, Meter(words), lambda _: text, state)
    assert isinstance(answer, Send)
    assert state["asked"] == 1
    assert not any(is_summary(m) for m in answer.view)
    assert words.count(answer.view) <= 200
    assert answer.view[-1] is history[-1]


def test_a_newest_message_above_the_budget_asks_for_no_summary(words: Any):
    answer = plan_view([*talk(5), UserMessage("q " * 2000)], meter=Meter(words), policy=POLICY)
    assert isinstance(answer, Impossible)


def test_what_was_summarised_is_not_asked_for_again(words: Any):
    history, meter, state = talk(12), Meter(words), {}
    step(history, meter, lambda _: "short", state)
    again = plan_view(history, meter=meter, policy=POLICY, summary=state["summary"])
    assert isinstance(again, Send)


def test_when_only_the_summary_could_be_summarised_it_is_left_out_instead(words: Any):
    facts = [pin(UserMessage("fact " * 15)) for _ in range(10)]
    history = [*facts, *talk(3)[1:], UserMessage("q " * 40)]
    summary = Summary(upto=len(history) - 1, text="short " * 20)
    answer = plan_view(history, meter=Meter(words), policy=POLICY, summary=summary)
    assert isinstance(answer, Send)
    assert list(answer.view) == [*facts, history[-1]]


def test_the_request_for_a_summary_is_one_user_message_with_the_transcript(turn: Any):
    need = NeedSummary([UserMessage("find it"), *turn("c1", words=2)], upto=3, room=400)
    (request,) = summary_request(need)
    assert request.role == "user"
    assert "at most 300 words" in request.text
    assert "user: find it\n\nassistant: \ncall c1: look({})\n\nresult of c1: r r" in request.text


def test_a_summary_needs_room():
    with pytest.raises(ConfigError, match="needs room between the two"):
        Summarise(high=100, low=100)


def test_results_of_tools_are_covered_with_their_calls(turn: Any, words: Any):
    history = [S, UserMessage("go"), *[m for n in range(20) for m in turn(f"c{n}", words=20)]]
    need = plan_view(history, meter=Meter(words), policy=POLICY)
    assert isinstance(need, NeedSummary)
    check(need.messages)
    assert not isinstance(history[need.upto], ToolMessage)
