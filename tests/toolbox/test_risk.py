"""A tool whose calls differ in risk, and what that means for policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentloop.messages import ToolCall
from agentloop.tools.policy import ToolRequest, decide, risk_policy
from agentloop.tools.policy_file import TomlPolicy
from agentloop.tools.tool import Risk, Tool, tool


def by_path(arguments: Mapping[str, Any]) -> Risk | None:
    return "danger" if arguments["path"].startswith(".") else None


def write(path: str) -> str:
    return path


WRITE = Tool("write", function=write, risk="write", risk_of=by_path)


def request(arguments: str) -> ToolRequest:
    return ToolRequest.of(ToolCall("c1", "write", arguments), WRITE)


def verdict(arguments: str, *rules: dict[str, Any], default: str = "ask") -> object:
    return TomlPolicy.from_dict({"default": default, "rule": list(rules)})(request(arguments))


def test_the_risk_of_a_call_follows_from_its_arguments():
    assert (request('{"path":".env"}').risk, request('{"path":"a.txt"}').risk) == ("danger", "write")


def test_the_decorator_takes_it_too():
    made = tool(risk="write", risk_of=by_path)(write)
    assert made.risk_for({"path": ".env"}) == "danger"


@pytest.mark.parametrize("arguments", ['{"path":7}', "{}"])
def test_arguments_that_cannot_be_judged_are_danger(arguments: str):
    assert request(arguments).risk == "danger"


def test_where_writing_is_allowed_a_riskier_call_asks():
    policy = risk_policy(allow=("read", "write"))
    assert decide(policy, request('{"path":"a.txt"}')) is not None
    assert decide(policy, request('{"path":".env"}')) is None


def test_a_rule_that_allows_the_tool_does_not_allow_a_riskier_call():
    rule = {"decide": "allow", "tool": "write"}
    assert (verdict('{"path":"a.txt"}', rule), verdict('{"path":".env"}', rule)) == ("allow", "ask")


def test_a_rule_that_names_the_risk_allows_it():
    assert verdict('{"path":".env"}', {"decide": "allow", "tool": "write", "risk": "danger"}) == "allow"


def test_a_default_of_allow_asks_for_a_riskier_call():
    assert (verdict('{"path":"a.txt"}', default="allow"), verdict('{"path":".env"}', default="allow")) == (
        "allow",
        "ask",
    )


def test_a_rule_that_denies_the_tool_denies_the_riskier_call_too():
    assert verdict('{"path":".env"}', {"decide": "deny", "tool": "write"}) != "ask"
