"""Runs that wait for a person: paused, saved, decided about, gone on with."""

from __future__ import annotations

from typing import Any

import pytest

from agentloop import Agent, Run, RunResult, ToolContext, allow, edit, tool
from agentloop.errors import ConfigError
from agentloop.messages import ToolMessage
from agentloop.parts import ToolCall
from agentloop.testing import ScriptedModel
from tests.loop.agents import ADD, RunIt, add, both, run_sync


@both
def test_ask_pauses_and_resume_runs_the_call(run_it: RunIt):
    paused = run_it(ScriptedModel([ADD]), tools=[add], policy=lambda call: "ask")
    assert (paused.status, paused.pending) == ("needs_approval", (ADD,))
    done = Agent(ScriptedModel(["3"]), tools=[add], policy=lambda call: "ask").resume(paused, {"c1": "allow"})
    assert (done.status, done.messages[2]) == ("answered", ToolMessage("c1", "3"))


def test_a_run_resumes_in_another_process_from_json():
    paused = run_sync(ScriptedModel([ADD]), tools=[add], policy=lambda call: "ask")
    loaded = Run.from_json(paused.run.to_json())
    agent = Agent(ScriptedModel(["done"]), tools=[add], policy=lambda call: "ask")
    assert agent.resume(loaded, {"c1": edit({"a": 5, "b": 5})}).messages[2] == ToolMessage("c1", "10")


def test_headers_are_not_saved_with_a_run_and_the_agent_that_goes_on_gives_its_own():
    keyed = {"extra_headers": {"x-api-key": "sk-secret"}, "max_tokens": 5}
    model = ScriptedModel([ADD, "3"])
    agent = Agent(model, tools=[add], policy=lambda call: "ask", request_options=keyed)
    saved = agent.run("go").run.to_json()
    assert "sk-secret" not in saved
    agent.resume(Run.from_json(saved), {"c1": "allow"})
    assert [request.options for request in model.requests] == [keyed, keyed]


def test_a_call_that_is_left_out_keeps_waiting_and_the_others_run():
    calls = [ADD, ToolCall("c2", "add", '{"a":2,"b":2}')]
    agent = Agent(ScriptedModel([calls]), tools=[add], policy=lambda call: "ask")
    again = agent.resume(agent.run("go"), {"c1": "allow"})
    assert (again.status, [call.id for call in again.pending]) == ("needs_approval", ["c2"])


def test_a_decision_about_a_call_that_does_not_wait_is_refused():
    agent = Agent(ScriptedModel([ADD]), tools=[add], policy=lambda call: "ask")
    with pytest.raises(ConfigError, match="c9"):
        agent.resume(agent.run("go"), {"c9": "allow"})


def paused_agent(**settings: Any) -> tuple[Agent, RunResult]:
    agent = Agent(ScriptedModel([ADD, "done"]), tools=[add], policy=lambda call: "ask", **settings)
    return agent, agent.run("go")


def test_an_approval_is_bound_to_the_call_as_it_was_shown():
    agent, paused = paused_agent()
    digest = paused.run.digest("c1")
    changed = Run.from_json(paused.run.to_json().replace('\\"a\\":1', '\\"a\\":9'))
    with pytest.raises(ConfigError, match="another call"):
        agent.resume(changed, {"c1": allow(digest)})
    assert agent.resume(paused, {"c1": allow(digest)}).status == "answered"


def test_with_an_approval_key_only_signed_approvals_count():
    agent, paused = paused_agent(approval_key=b"k")
    for unsigned in ("allow", allow(paused.run.digest("c1")), allow(paused.run.digest("c1", key=b"other"))):
        with pytest.raises(ConfigError, match="approval key"):
            agent.resume(paused, {"c1": unsigned})
    assert agent.resume(paused, {"c1": allow(paused.run.digest("c1", key=b"k"))}).status == "answered"


def test_a_signed_edit_covers_the_edited_arguments():
    agent, paused = paused_agent(approval_key=b"k")
    arguments = '{"a": 5, "b": 5}'
    signed = edit(arguments, paused.run.digest("c1", arguments=arguments, key=b"k"))
    assert agent.resume(paused, {"c1": signed}).messages[2].content == "10"


@both
def test_a_tool_reports_progress_while_it_runs(run_it: RunIt):
    @tool
    def work(context: ToolContext) -> str:
        context.progress("half")
        return "done"

    seen: list[tuple[str, str]] = []
    call = ToolCall("c1", "work")
    run_it(ScriptedModel([call, "ok"]), tools=[work], on_progress=lambda call, text: seen.append((call.id, text)))
    assert seen == [("c1", "half")]
