"""A person decides about calls, line by line."""

from __future__ import annotations

import pytest

from agentloop.cli.approval import Approval
from agentloop.messages import ToolCall
from agentloop.tools.policy import Allow, Decision, Deny, Edit, ToolRequest, risk_policy

CALL = ToolCall("call_1", "delete_file", '{"path": "a.txt"}')


def ask(approval: Approval, call: ToolCall = CALL) -> Decision:
    assert approval.policy(ToolRequest.of(call)) == "ask"
    return approval.ask([call])[call.id]


@pytest.mark.parametrize(
    ("typing", "decision"),
    [
        ("y", Allow()),
        ("YES", Allow()),
        ("n", Deny("the owner said no")),
        ("no wrong file", Deny("the owner said no: wrong file")),
        ("a", Allow()),
        ("never", Deny("the owner never allows this tool")),
    ],
)
def test_one_word_decides(typed, typing: str, decision: Decision):
    assert ask(Approval(typed(typing).screen)) == decision


def test_the_person_sees_the_exact_call_and_its_risk(typed):
    person = typed("y")
    ask(Approval(person.screen), ToolCall("call_1", "shell", '{"run": "rm \u202e-rf\\u0000\x1b[2K"}'))
    assert '  call_1 shell({"run": "rm \\u202e-rf\\u0000\\x1b[2K"})' in person.shown
    assert "risk: danger (the tool declares none)" in person.shown


def test_anything_else_is_asked_again(typed):
    person = typed("maybe", "", "y")
    assert ask(Approval(person.screen)) == Allow()
    assert person.shown.count("please answer y, n, e, a or never") == 2


def test_the_end_of_the_input_is_a_denial(typed):
    assert ask(Approval(typed().screen)) == Deny("the owner did not answer")


def test_edited_arguments_replace_the_models(typed):
    assert ask(Approval(typed("e", '{"path": "b.txt"}').screen)) == Edit('{"path": "b.txt"}')


def test_a_bad_edit_is_explained_and_asked_again(typed):
    person = typed("e", "[1]", "n")
    assert ask(Approval(person.screen)) == Deny("the owner said no")
    assert "JSON object" in person.shown


def test_always_holds_for_the_same_tool_and_arguments_only(typed):
    approval = Approval(typed("a").screen)
    ask(approval)
    same = ToolRequest("call_2", "delete_file", '{ "path":"a.txt" }')
    other = ToolRequest("call_3", "delete_file", '{"path": "b.txt"}')
    assert approval.policy(same) == Allow()
    assert approval.policy(other) == "ask"


def test_never_holds_for_the_tool_whatever_its_arguments(typed):
    approval = Approval(typed("never").screen)
    ask(approval)
    verdict = approval.policy(ToolRequest("call_2", "delete_file", "{}"))
    assert verdict == Deny("the owner never allows this tool")


def test_tools_that_only_read_run_without_asking(typed):
    approval = Approval(typed().screen)
    assert approval.policy(ToolRequest("call_1", "look", "{}", risk="read")) == "allow"
    assert approval.policy(ToolRequest("call_2", "put", "{}", risk="write")) == "ask"


def test_a_policy_that_allows_more_is_followed(typed):
    approval = Approval(typed().screen, risk_policy(["read", "write"]))
    assert approval.policy(ToolRequest("call_1", "put", "{}", risk="write")) == "allow"
