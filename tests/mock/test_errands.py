"""The rules for the tools of the toolbox, on questions without any wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentloop.mock.conversation import Call, Offer, Question, Turn
from agentloop.mock.weather import weather

TOOLS = tuple(map(Offer, ("calc", "file__read", "file__list")))


@pytest.mark.parametrize(
    ("prompt", "calls"),
    [
        ("What is (17 + 25) * 3?", [("calc", {"expression": "(17 + 25) * 3"})]),
        ("Is 2**10 more than 1000?", [("calc", {"expression": "2**10"})]),
        ("Read notes/a.txt, please.", [("file__read", {"path": "notes/a.txt"})]),
        ("Compare a.txt and .env", [("file__read", {"path": "a.txt"}), ("file__read", {"path": ".env"})]),
        ("Which files are in here?", [("file__list", {})]),
        ("Hello", []),
        ("It is 2024-ish, e.g. at https://example.com/a.html", []),
    ],
)
def test_a_question_calls_the_tool_that_it_is_about(prompt: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    reply = weather(Question((Turn("user", prompt),), TOOLS))
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == calls


def test_the_answer_repeats_what_the_tools_said() -> None:
    call = Call("calc", '{"expression": "6 * 7"}', "c1")
    turns = (Turn("user", "6 * 7?"), Turn("assistant", calls=(call,)), Turn("tool", "42", call_id="c1"))
    assert weather(Question(turns, TOOLS)).text == "calc: 42"


def test_without_the_tools_nothing_is_called() -> None:
    assert weather(Question((Turn("user", "What is 6 * 7?"),))).calls == ()
