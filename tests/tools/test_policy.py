"""Policies: their answers, and what a policy file says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentloop.errors import ConfigError
from agentloop.messages import ToolCall
from agentloop.tools.policy import Allow, Deny, Edit, ToolRequest, allow, decide, deny, edit, read_decision, risk_policy
from agentloop.tools.policy_file import TomlPolicy
from agentloop.tools.tool import Tool


def request(name: str = "write_file", arguments: str = "{}", risk: Any = None) -> ToolRequest:
    return ToolRequest.of(ToolCall("c1", name, arguments), Tool(name, function=print, risk=risk))


def test_a_policy_sees_the_call_with_its_raw_and_its_read_arguments() -> None:
    call = ToolCall("c1", "functions.write_file", ' {"path": "a"}')
    seen = ToolRequest.of(call, Tool("write_file", function=print, risk="write", effects="once"))
    assert (seen.id, seen.name, seen.arguments) == ("c1", "write_file", ' {"path": "a"}')
    assert (seen.parsed, seen.risk, seen.effects) == ({"path": "a"}, "write", "once")
    assert seen.canonical == '{"path":"a"}'


def test_arguments_that_cannot_be_read_are_none_for_a_policy() -> None:
    assert ToolRequest.of(ToolCall("c1", "t", "{")).parsed is None


@pytest.mark.parametrize(
    ("verdict", "decision"),
    [("allow", Allow()), ("ask", None), ("deny", Deny()), (deny("not now"), Deny("not now")), (allow(), Allow())],
)
def test_a_policys_answer_is_read(verdict: Any, decision: Any) -> None:
    async def later(request: ToolRequest) -> Any:
        return verdict

    assert decide(lambda request: verdict, request()) == decision
    assert asyncio.run(_awaited(decide(later, request()))) == decision


async def _awaited(value: Any) -> Any:
    return await value


@pytest.mark.parametrize("verdict", [None, True, "yes", edit({}), 1])
def test_any_other_answer_of_a_policy_is_a_fault_of_the_program(verdict: Any) -> None:
    with pytest.raises(ConfigError):
        decide(lambda request: verdict, request())


def test_a_policy_that_fails_has_not_allowed_anything(caplog: pytest.LogCaptureFixture) -> None:
    def broken(request: ToolRequest) -> Any:
        raise KeyError("path")

    with caplog.at_level(logging.WARNING):
        assert decide(broken, request()) == Deny(
            "the policy could not decide (KeyError: 'path'), so the call was not allowed"
        )
    assert "the policy failed on write_file" in caplog.text


def test_an_edit_takes_an_object_or_its_json() -> None:
    assert edit({"a": "ü"}) == edit('{"a": "ü"}') == Edit('{"a": "ü"}')


@pytest.mark.parametrize("arguments", ["[1]", "{", '{"a":1}}'])
def test_an_edit_that_is_no_json_object_is_refused(arguments: str) -> None:
    with pytest.raises(ConfigError, match="takes a JSON object"):
        edit(arguments)


@pytest.mark.parametrize("value", ["ask", "yes", None, True])
def test_what_is_no_decision_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="a decision is"):
        read_decision(value)


@pytest.mark.parametrize(("risk", "decision"), [("read", Allow()), ("write", None), ("danger", None), (None, None)])
def test_the_risk_policy_allows_reading_and_asks_for_the_rest(risk: Any, decision: Any) -> None:
    assert decide(risk_policy(), request(risk=risk)) == decision


def test_the_risk_policy_takes_other_risks() -> None:
    assert decide(risk_policy(["read", "write"]), request(risk="write")) == Allow()


# --- the file --------------------------------------------------------------------------------------------------------

POLICY = """
default = "ask"

[[rule]]
decide = "deny"
tool = ["shell", "write_*"]
arguments = '"path":"/etc'
reason = "system files are not for you"

[[rule]]
decide = "allow"
risk = "read"

[[rule]]
decide = "allow"
tool = "write_file"
arguments = '\\{"path":"[a-z]+"\\}'

[[rule]]
decide = "deny"
risk = ["danger"]
"""


@pytest.fixture
def policy(tmp_path: Path) -> TomlPolicy:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return TomlPolicy.load(path)


@pytest.mark.parametrize(
    ("name", "arguments", "risk", "explained"),
    [
        ("write_file", '{"path": "/etc/passwd"}', "read", "deny (system files are not for you): rule 1"),
        ("write_file", '{"z": 1, "path" : "/etc/passwd"}', "write", "deny (system files are not for you): rule 1"),
        ("read_file", '{"path": "/etc/passwd"}', "read", "allow: rule 2"),
        ("write_file", '{"path": "notes"}', "write", "allow: rule 3"),
        ("write_file", '{"path": "notes", "mode": "x"}', "write", "ask: no rule matches, so the default holds"),
        ("write_file", '{"path": "../notes"}', "write", "ask: no rule matches, so the default holds"),
        ("other", "{}", "danger", "deny (the policy does not allow this call): rule 4"),
        ("other", "{}", None, "deny (the policy does not allow this call): rule 4"),
        ("shellfish", '{"path": "/etc"}', "write", "ask: no rule matches, so the default holds"),
    ],
)
def test_the_first_rule_that_matches_decides(policy, name: str, arguments: str, risk: Any, explained: str) -> None:
    assert str(policy.explain(request(name, arguments, risk))) == explained


def test_a_policy_file_is_a_policy(policy: TomlPolicy) -> None:
    assert decide(policy, request("read_file", risk="read")) == Allow()
    assert decide(policy, request("x", risk="write")) is None
    assert decide(policy, request("x", risk="danger")) == Deny("the policy does not allow this call")


def test_an_allowing_pattern_must_match_all_and_a_denying_one_may_match_a_part() -> None:
    def rule(word: str) -> Callable[[ToolRequest], Any]:
        return TomlPolicy.from_dict({"rule": [{"decide": word, "arguments": '"a":1'}]})

    assert rule("allow")(request(arguments='{"a":1}')) == "ask"
    assert rule("deny")(request(arguments='{"a":1}')) == Deny("the policy does not allow this call")


def test_a_pattern_cannot_be_dodged_by_another_spelling_of_the_same_json() -> None:
    policy = TomlPolicy.from_dict({"default": "allow", "rule": [{"decide": "deny", "arguments": '"cmd":"rm'}]})
    for raw in ('{"cmd":"rm -r"}', '{ "cmd" :\n"rm -r"}', '{"cmd":"\\u0072m -r"}', '{"a":1,"cmd":"rm -r"}'):
        assert policy(request(arguments=raw)) == Deny("the policy does not allow this call")


def test_without_rules_and_default_everything_is_asked_for() -> None:
    assert TomlPolicy.from_dict({})(request()) == "ask"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default = 'maybe'", "default must be allow, ask or deny, not 'maybe'"),
        ("[[rules]]\ndecide = 'deny'", "unknown key 'rules'"),
        ("[rule]\ndecide = 'deny'", r"two brackets"),
        ("[[rule]]\ntool = 'x'", "rule 1: decide must be"),
        ("[[rule]]\ndecide = 'allow'\n[[rule]]\ndecide = 'deny'\ntools = 'x'", "rule 2: unknown key 'tools'"),
        ("[[rule]]\ndecide = 'deny'\nrisk = 'high'", "rule 1: risk must be read, write or danger"),
        ("[[rule]]\ndecide = 'deny'\ntool = 3", "rule 1: tool is a text or a list of texts"),
        ("[[rule]]\ndecide = 'deny'\ntool = []", "rule 1: tool is a text or a list of texts"),
        ("[[rule]]\ndecide = 'deny'\narguments = '('", "rule 1: arguments is not a regular expression"),
        ("[[rule]]\ndecide = 'deny'\narguments = 3", "rule 1: arguments is not a regular expression"),
        ("[[rule]]\ndecide = 'allow'\nreason = 'r'", "rule 1: reason is a text, for deny only"),
        ("default = ", "cannot be read"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        TomlPolicy.load(path)
    assert "policy.toml" in str(caught.value)


def test_a_missing_policy_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        TomlPolicy.load(tmp_path / "none.toml")
