"""What fills the context, row by row."""

from __future__ import annotations

from typing import Any

from agentloop.history import EstimateCounter, Meter, ledger
from agentloop.messages import AssistantMessage, UserMessage
from agentloop.model import Usage

TOOL = {"type": "function", "function": {"name": "look", "description": "looks"}}


def test_rows_name_instructions_tools_and_messages(turn: Any):
    meter = Meter(EstimateCounter(), instructions="be kind", tools=[TOOL])
    rows = ledger([UserMessage("hi"), *turn("c1")], meter).rows
    assert [(row.kind, row.name, row.index) for row in rows] == [
        ("instructions", "instructions", None),
        ("tool", "look", None),
        ("message", "user", 0),
        ("message", "assistant calls look", 1),
        ("message", "tool c1", 2),
    ]
    assert all(row.tokens > 0 for row in rows)


def test_rows_add_up_to_what_any_counter_says(turn: Any, words: Any):
    meter = Meter(words, instructions="be kind", tools=[TOOL])
    found = ledger([UserMessage("one two three"), *turn("c1", "c2")], meter)
    assert sum(row.tokens for row in found.rows) == found.total == 3 + 20 + 2 + 100
    assert found.by_kind()["message"] == 23


def test_what_the_provider_reported_is_told_from_what_is_estimated():
    meter = Meter(EstimateCounter(), instructions="be kind")
    first = UserMessage("hi")
    meter.observe([first], Usage(input_tokens=77), provider="p", model="m")
    found = ledger([first, AssistantMessage("yes")], meter)
    assert (found.known_messages, found.known_tokens) == (1, 77)
    assert found.estimated_tokens == found.total - 77 > 0


def test_a_request_that_was_reported_as_a_whole_has_that_total():
    meter = Meter(EstimateCounter())
    sent = [UserMessage("hi")]
    meter.observe(sent, Usage(input_tokens=77), provider="p", model="m")
    found = ledger(sent, meter)
    assert sum(row.tokens for row in found.rows) == found.total
    assert (found.total, found.known_tokens, found.estimated_tokens) == (77, 77, 0)


def test_an_empty_view_has_no_message_rows(words: Any):
    assert ledger([], Meter(words)).rows == ()
