"""Many runs on one history."""

from __future__ import annotations

import pytest

from agentloop import Agent, Limits, Session, Tool
from agentloop.errors import ModelError, SessionError
from agentloop.messages import AssistantMessage, ToolMessage, UserMessage
from agentloop.parts import ToolCall
from agentloop.testing import ScriptedModel
from tests.loop.agents import ADD, add, run_sync


def test_a_session_carries_the_history_on():
    session = Session(Agent(ScriptedModel(["hello", lambda r: str(len(r.messages))])))
    session.run("hi")
    assert session.run("how long is it?").text == "3"
    session.clear()
    assert session.messages == ()


def test_a_session_refuses_text_while_calls_wait():
    session = Session(Agent(ScriptedModel([ADD, "done"]), tools=[add], policy=lambda call: "ask"))
    session.run("go")
    with pytest.raises(SessionError, match=r"add \(c1\)"):
        session.run("more")
    assert session.resume({"c1": "allow"}).text == "done"


def test_a_cancelled_pause_frees_the_session():
    session = Session(Agent(ScriptedModel([ADD, "fine"]), tools=[add], policy=lambda call: "ask"))
    session.run("go").run.cancel()
    assert session.run("go on").text == "fine"


def test_resume_without_a_pause_is_a_session_error():
    with pytest.raises(SessionError, match="no run waits"):
        Session(Agent(ScriptedModel([]))).resume()


def test_a_model_error_in_a_session_keeps_the_user_message():
    session = Session(Agent(ScriptedModel([ModelError("down"), "up"])))
    assert session.run("hi").status == "model_error"
    assert session.run("again").status == "answered"


def test_two_hundred_tools_are_no_trouble():
    tools = [Tool(f"t{n}", "", {"type": "object"}, function=lambda n=n: n) for n in range(200)]
    result = run_sync(ScriptedModel([ToolCall("c1", "t199"), "ok"]), tools=tools, limits=Limits(max_steps=2))
    assert result.messages[2] == ToolMessage("c1", "199")


UNANSWERED = (UserMessage("go"), AssistantMessage(None, (ADD,)))


def test_what_was_mended_in_the_given_messages_is_told_first():
    events = list(Agent(ScriptedModel(["ok"])).stream("on", messages=UNANSWERED))
    assert [event.type for event in events][:2] == ["step_started", "repaired"]
    assert events[1].repairs[0].what == "message 1: call c1 had no result"  # type: ignore[union-attr]


def test_a_session_tells_what_it_mended_in_the_messages_it_was_given():
    session = Session(Agent(ScriptedModel(["ok", "yes"])), messages=UNANSWERED)
    assert len(session.messages) == 3
    assert [repair.what for repair in session.run("on").repairs] == ["message 1: call c1 had no result"]
    assert session.run("again").repairs == ()
