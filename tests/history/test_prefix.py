"""The guard of the prompt cache: which path moved between two bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentloop.history import EstimateCounter, Meter, Send, TokenBudget, moved_path, plan_view
from agentloop.messages import UserMessage
from agentloop.model import ModelRequest
from agentloop.wire.chat import ChatWire
from agentloop.wire.quirks import Quirks

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
OTHER = {"type": "function", "function": {"name": "g"}}
ONE, TWO = {"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}
BODY = {"model": "m", "tools": [TOOL, OTHER], "messages": [ONE, TWO]}


def test_a_body_that_only_grew_did_not_move():
    assert moved_path(BODY, {**BODY, "messages": [dict(ONE), dict(TWO), ONE], "temperature": 1}) is None


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"messages": [ONE, {"role": "assistant", "content": "two"}]}, "messages[1].content"),
        ({"messages": [ONE]}, "messages[1]"),
        ({"messages": [{"content": "1", "role": "user"}, TWO]}, "messages[0].content"),
        ({"messages": [{**ONE, "name": "x"}, TWO]}, "messages[0].name"),
        ({"tools": [OTHER, TOOL]}, "tools[0].function.name"),
        ({"tools": [TOOL]}, "tools[1]"),
        ({"tools": [TOOL, OTHER, TOOL]}, "tools[2]"),
        ({"model": "n"}, "model"),
    ],
)
def test_the_first_path_that_moved_is_named(change: dict[str, Any], path: str):
    assert moved_path(BODY, {**BODY, **change}) == path


def test_equal_values_that_are_other_bytes_moved():
    assert moved_path({"messages": [{"n": 1}]}, {"messages": [{"n": 1.0}]}) == "messages[0].n"
    assert moved_path({"messages": [{"n": 1}]}, {"messages": [{"n": True}]}) == "messages[0].n"


def test_cache_markers_may_move():
    marked = {**ONE, "cache_control": {"type": "ephemeral"}}
    assert moved_path({"messages": [marked]}, {"messages": [ONE, marked]}) is None


def test_the_other_wires_are_guarded_too():
    assert moved_path({"system": "a", "messages": []}, {"system": "b", "messages": []}) == "system"
    assert moved_path({"instructions": "a", "input": [ONE]}, {"instructions": "a", "input": [TWO]}) == "input[0].role"


def test_planned_requests_only_grow_between_two_cuts(turn: Any):
    wire, meter = ChatWire("m", "p", Quirks()), Meter(EstimateCounter(), instructions="be kind", tools=[TOOL])
    history, previous, body, cuts = [UserMessage("do it")], None, None, 0
    for n in range(30):
        plan = plan_view(history, meter=meter, policy=TokenBudget(400, 200), previous=previous)
        assert isinstance(plan, Send)
        request = ModelRequest(tuple(plan.view), tools=(TOOL,), instructions="be kind")
        before, body = body, json.loads(wire.encode(request).body)
        if before is not None:
            assert (moved_path(before, body) is not None) == (plan.cut is not None)
        previous, cuts = plan, cuts + (plan.cut is not None)
        history += turn(f"c{n}", words=30)
    assert 2 <= cuts <= 8
