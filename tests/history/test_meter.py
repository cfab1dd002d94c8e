"""The counter of one conversation: groups of a growing list, what heads a request, and counters with an overhead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentloop.history import EstimateCounter, Meter, groups
from agentloop.messages import AssistantMessage, Message, ReasoningPart, TextPart, UserMessage

HI, YES = UserMessage("one two three"), AssistantMessage("one two")


class WithOverhead:
    def count(self, messages: Sequence[Message], tools: Sequence[Any] = ()) -> int:
        return 7 + 100 * len(tools) + sum(len(message.text.split()) for message in messages)


def test_an_overhead_of_each_request_is_told_from_the_sizes_of_groups():
    meter = Meter(WithOverhead(), instructions="be kind", tools=[{"name": "f"}])
    meter.track([HI])
    assert meter.fixed + meter.total == 7 + 100 + 2 + 3
    meter.track([HI, YES, HI])
    assert meter.sizes == [3, 2, 3]
    assert (meter.fixed, meter.total) == (7 + 100 + 2, 8)


def test_the_last_group_may_grow(turn: Any):
    meter = Meter(EstimateCounter())
    thought = AssistantMessage((ReasoningPart("hm"), TextPart("wait")))
    meter.track([HI, thought])
    history = [HI, thought, *turn("a"), HI]
    meter.track(history)
    assert meter.spans == groups(history)
    assert meter.total == sum(map(meter.counter.size, history))


def test_another_list_starts_anew():
    meter = Meter(EstimateCounter())
    meter.track([HI, YES, HI])
    meter.state["policy"] = "what it worked out"
    meter.track([YES, HI])
    assert (meter.messages, meter.state) == ((YES, HI), {})


def test_a_list_that_goes_on_keeps_what_was_worked_out_and_sizes_only_the_news(words: Any):
    meter = Meter(words)
    meter.track([HI, YES, HI])
    meter.state["policy"] = "what it worked out"
    asked = len(words.asked)
    meter.track([HI, YES, HI, YES])
    assert meter.state == {"policy": "what it worked out"}
    assert words.asked[asked:] == [(HI,), (YES,)]


def test_the_groups_of_users_are_known_by_what_follows_them(turn: Any):
    meter = Meter(EstimateCounter())
    meter.track([HI, YES, HI, *turn("a"), *turn("b")])
    assert meter.user_before == [-1, 0, 0, 2, 2]
