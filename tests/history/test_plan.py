"""The plan of a request: limits, reserve, policies that ask too much, cuts that are told, overflow."""

from __future__ import annotations

from typing import Any

import pytest

from agentloop.errors import ConfigError
from agentloop.history import (
    EstimateCounter,
    Impossible,
    KeepLast,
    Meter,
    NeedSummary,
    PairedMessages,
    Send,
    TokenBudget,
    limit_after_overflow,
    plan_view,
)
from agentloop.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agentloop.model import Usage

TOOL = {"type": "function", "function": {"name": "look"}}  # 100 tokens for the counter of these tests
TWENTY = [AssistantMessage("a " * 40) if n % 2 == 0 else UserMessage("q " * 40) for n in range(20)]


def meter_of(counter: Any, tools: int = 3) -> Meter:
    return Meter(counter, instructions="i " * 50, tools=[TOOL] * tools)


def sent(answer: Any) -> Send:
    assert isinstance(answer, Send), answer
    return answer


def test_without_policy_and_limit_the_history_is_sent_and_nothing_is_counted(words: Any):
    history = PairedMessages(TWENTY)
    assert sent(plan_view(history, meter=meter_of(words))).view is history
    assert words.asked == []


@pytest.mark.parametrize("policy", [TokenBudget(1000, 1000), TokenBudget(800, 800), KeepLast(100)])
def test_instructions_tools_and_reserve_belong_to_the_limit(policy: Any, words: Any):
    plan = sent(plan_view(TWENTY, meter=meter_of(words), policy=policy, context_limit=1000, reserve=200))
    assert plan.view == tuple(TWENTY[-11:])
    assert plan.tokens == 50 + 300 + 11 * 40


def test_what_heads_a_request_and_is_too_large_by_itself_is_told(words: Any):
    plan = plan_view(TWENTY, meter=meter_of(words, tools=9), policy=KeepLast(5), context_limit=1000, reserve=200)
    assert isinstance(plan, Impossible)
    assert "instructions and tools need 950 tokens, and 200 are reserved for the answer: 1150 of a context of 1000" in (
        plan.reason
    )


def test_a_limit_without_a_policy_is_an_error_and_not_a_silent_cut(words: Any):
    plan = plan_view(TWENTY, meter=meter_of(words), context_limit=1000, reserve=200)
    assert plan == Impossible("the request has 1150 of at most 800 tokens: set trim=, or raise context_limit")


@pytest.mark.parametrize(
    ("context_limit", "reserve", "told"),
    [
        (0, 0, "at least 1"),
        (-5, 0, "at least 1"),
        (100, -1, "0 or more"),
        (100, 100, "leaves nothing"),
        (1.5, 0, "whole number"),
    ],
)
def test_limits_that_mean_nothing_are_refused(context_limit: int, reserve: int, told: str, words: Any):
    with pytest.raises(ConfigError, match=told):
        plan_view(TWENTY, meter=meter_of(words), context_limit=context_limit, reserve=reserve)


def test_a_message_above_the_limit_is_told_before_sending(words: Any):
    history = [UserMessage("q " * 2000)]
    plan = plan_view(history, meter=meter_of(words), policy=TokenBudget(10_000, 5000), context_limit=1000)
    assert isinstance(plan, Impossible)
    assert "newest user message with its results 2000" in plan.reason


def test_a_broken_history_is_mended_before_it_is_planned(turn: Any, words: Any):
    plan = sent(plan_view([UserMessage("hi"), turn("a")[0]], meter=Meter(words), policy=KeepLast(10)))
    assert plan.view[-1] == ToolMessage("a", plan.view[-1].text, is_error=True, kind="not_run")


def test_a_view_of_a_users_policy_that_no_server_accepts_is_not_sent(turn: Any, words: Any):
    plan = plan_view([UserMessage("hi"), *turn("a")], meter=Meter(words), policy=lambda messages, _: Send(messages[2:]))
    assert isinstance(plan, Impossible)
    assert "a tool result without a call" in plan.reason


def test_a_users_policy_is_called_with_the_history_and_a_counter_of_whole_requests(words: Any):
    counted: list[int] = []

    def policy(messages: Any, counter: Any) -> Send:
        counted.append(counter.count(messages[-1:]))
        return Send(messages[-1:])

    assert sent(plan_view(TWENTY, meter=meter_of(words), policy=policy)).view == (TWENTY[-1],)
    assert counted == [50 + 300 + 40]


def test_a_cut_tells_what_left_and_what_it_costs(words: Any):
    meter, policy = meter_of(words, tools=0), TokenBudget(250, 150)
    first = sent(plan_view(TWENTY[:5], meter=meter, policy=policy))
    assert first.cut is None
    second = sent(plan_view(TWENTY[:7], meter=meter, policy=policy, previous=first))
    assert second.cut is not None
    assert second.cut.left == tuple(TWENTY[:5])
    assert (second.cut.tokens_before, second.cut.tokens_after) == (50 + 280, 50 + 80)
    assert second.cut.cached_lost == 5 * 40
    third = sent(plan_view(TWENTY[:8], meter=meter, policy=policy, previous=second))
    assert third.cut is None


def test_the_first_request_of_a_long_history_tells_its_cut_too(words: Any):
    plan = sent(plan_view(TWENTY, meter=Meter(words), policy=KeepLast(3)))
    assert plan.cut is not None
    assert plan.cut.left == tuple(TWENTY[:17])
    assert plan.cut.cached_lost == 0


def test_what_the_provider_reports_keeps_requests_below_the_limit():
    counter = EstimateCounter()
    meter, policy = Meter(counter), TokenBudget(2000, 1000)
    history: list[Message] = []
    previous = None
    for n in range(60):
        history.append(UserMessage(f"{n} " + "some plain words " * 10))
        plan = sent(plan_view(history, meter=meter, policy=policy, context_limit=2000, previous=previous))
        real = sum(2 * EstimateCounter().size(message) for message in plan.view)  # a tokenizer twice as fine
        assert real <= 2000
        meter.observe(plan.view, Usage(input_tokens=real), provider="p", model="m")
        history.append(AssistantMessage("fine"))
        previous = plan


def test_a_summary_that_cannot_be_had_falls_back_to_the_limit(words: Any):
    def policy(messages: Any, counter: Any) -> NeedSummary:
        return NeedSummary(messages[:10], 10)

    plan = plan_view(TWENTY, meter=Meter(words), policy=policy, context_limit=200, may_summarise=False)
    assert sent(plan).view == tuple(TWENTY[-5:])
    plan = plan_view(TWENTY, meter=Meter(words), policy=policy, may_summarise=False)
    assert isinstance(plan, Impossible)


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ({}, 665),
        ({"named_limit": 800}, 684),
        ({"named_limit": 800, "named_tokens": 1600}, 475),
        ({"named_limit": 5000}, 855),
        ({"named_limit": 800, "named_tokens": 1600, "reserve": 200}, 356 + 200),
    ],
)
def test_after_an_overflow_the_limit_is_below_what_was_sent_and_what_the_server_named(said: Any, limit: int):
    assert limit_after_overflow(1000, **said) == limit


def test_a_plan_with_the_limit_after_an_overflow_is_shorter(words: Any):
    policy = TokenBudget(1000, 1000)
    first = sent(plan_view(TWENTY, meter=Meter(words), policy=policy, context_limit=2000))
    limit = limit_after_overflow(first.tokens or 0, named_limit=400, named_tokens=800)
    second = sent(plan_view(TWENTY, meter=Meter(words), policy=policy, context_limit=limit, previous=first))
    assert words.count(second.view) <= 400


def test_a_policy_that_gives_a_bare_list_is_told_what_to_give(words: Any):
    def bare(messages: Any, counter: Any) -> Any:
        return messages[-1:]

    with pytest.raises(ConfigError, match=r"gave a tuple; a policy answers with Send\(view\)"):
        plan_view(PairedMessages(TWENTY), meter=meter_of(words), policy=bare)
