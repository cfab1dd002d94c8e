"""Old tool results shown shortened, and read again in full."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from agentloop.errors import ConfigError, ToolError
from agentloop.history import EstimateCounter, Meter, Send, ShortenToolResults, TokenBudget, check, pin, read_result
from agentloop.messages import AssistantMessage, Message, ToolMessage, UserMessage

TASK = UserMessage("do it")
POLICY = ShortenToolResults(high=300, keep=1, longer_than=100, shown=20)


def run_of(turn: Any, steps: int, words: int = 100) -> list[Message]:
    history: list[Message] = [TASK]
    for n in range(steps):
        history += turn(f"c{n}", words=words)
    return history


def shown(policy: Any, history: list[Message], counter: Any) -> list[str]:
    answer = policy(history, counter)
    assert isinstance(answer, Send)
    check(answer.view)
    return ["whole" if any(m is h for h in history) else "short" for m in answer.view if isinstance(m, ToolMessage)]


def test_up_to_high_results_are_whole_and_then_the_old_ones_are_shortened_in_one_go(turn: Any, words: Any):
    assert shown(POLICY, run_of(turn, 2), words) == ["whole", "whole"]
    assert shown(POLICY, run_of(turn, 3), words) == ["short", "short", "whole"]


def test_shortened_results_stay_as_they_are_while_new_ones_come(turn: Any, words: Any):
    meter = Meter(words)
    three = POLICY(run_of(turn, 3), meter)
    history = run_of(turn, 4)
    four = POLICY(history, meter)
    assert isinstance(three, Send)
    assert isinstance(four, Send)
    assert list(four.view[: len(three.view)]) == list(three.view)


def test_a_shortened_result_keeps_both_ends_and_says_how_to_read_the_rest():
    short = POLICY.shorten(ToolMessage("c7", "begin " + "x" * 500 + " end"))
    assert short is not None
    assert short.text.startswith("begin xxxx\n[490 of 510 characters")
    assert "read_tool_result(call_id='c7')" in short.text
    assert short.text.endswith("xxxxxx end")


def test_short_pinned_and_other_messages_are_shown_whole():
    assert POLICY.shorten(ToolMessage("c", "x" * 100)) is None
    assert POLICY.shorten(pin(ToolMessage("c", "x" * 900))) is None
    assert POLICY.shorten(AssistantMessage("x" * 900)) is None


def test_a_note_never_makes_a_result_longer():
    assert POLICY.shorten(ToolMessage("c", "x" * 110)) is None


def test_what_is_still_too_long_goes_to_the_next_policy(turn: Any, words: Any):
    policy = ShortenToolResults(high=300, keep=1, longer_than=100, shown=20, then=TokenBudget(200, 150))
    answer = policy(run_of(turn, 30), words)
    assert isinstance(answer, Send)
    assert answer.view[0] is TASK
    assert words.count(answer.view) <= 200


def test_shortening_again_waits_until_it_is_worth_a_tenth_of_high(turn: Any):
    history, meter = run_of(turn, 60, words=200), Meter(EstimateCounter())
    policy = ShortenToolResults(high=3000, keep=1, longer_than=100, shown=20)
    views = [policy(history[:end], meter).view for end in range(3, len(history) + 1, 2)]
    changed = sum(list(after[: len(before)]) != list(before) for before, after in pairwise(views))
    assert 2 <= changed <= 20


def test_a_view_depends_on_the_messages_only(turn: Any):
    history, meter = run_of(turn, 40), Meter(EstimateCounter())
    policy = ShortenToolResults(high=900, keep=2, longer_than=100, shown=20, then=TokenBudget(900, 600))
    for end in range(3, len(history) + 1, 2):
        assert policy(history[:end], meter) == policy(history[:end], EstimateCounter())


def test_a_result_is_read_in_pieces(turn: Any):
    history = [*turn("c1"), ToolMessage("c1", "0123456789")]
    assert read_result(history, "c1", start=2, length=3) == "234"
    with pytest.raises(ToolError, match="no result of a call 'c9'"):
        read_result(history, "c9")
    with pytest.raises(ToolError, match="the result has 10 characters"):
        read_result(history, "c1", start=11)


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(ConfigError, match="less than longer_than"):
        ShortenToolResults(high=100, longer_than=100, shown=100)
