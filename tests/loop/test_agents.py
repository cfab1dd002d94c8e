"""Agents through both drivers: the same script gives the same run."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from agentloop import Agent, AsyncAgent, deny, tool
from agentloop.errors import ConfigError, RunError, StreamInterrupted
from agentloop.messages import AssistantMessage, ToolMessage, UserMessage
from agentloop.model import ModelResponse, Usage
from agentloop.parts import ToolCall
from agentloop.testing import ScriptedModel
from tests.loop.agents import ADD, RunIt, add, boom, both, slow_add


@both
def test_the_result_of_a_tool_goes_back_to_the_model(run_it: RunIt):
    model = ScriptedModel([ADD, lambda request: f"it is {request.messages[-1].content}"])
    result = run_it(model, tools=[add])
    assert (result.status, result.text, result.steps) == ("answered", "it is 3", 2)
    assert result.messages == (
        UserMessage("go"),
        AssistantMessage(None, (ADD,)),
        ToolMessage("c1", "3"),
        AssistantMessage("it is 3"),
    )


@both
def test_async_tools_work_in_both_agents(run_it: RunIt):
    model = ScriptedModel([ToolCall("c1", "slow_add", '{"a":1,"b":2}'), "ok"])
    assert run_it(model, tools=[slow_add]).messages[2] == ToolMessage("c1", "3")


@both
def test_an_unknown_tool_and_bad_arguments_are_observations(run_it: RunIt):
    model = ScriptedModel([[ToolCall("c1", "ad"), ToolCall("c2", "add", "{")], "done"])
    result = run_it(model, tools=[add])
    assert [(m.is_error, m.kind) for m in result.messages[2:4]] == [(True, "unknown_tool"), (True, "bad_arguments")]  # type: ignore[union-attr]
    assert result.status == "answered"


@both
def test_on_tool_error_stop_ends_in_tool_error(run_it: RunIt):
    model = ScriptedModel([[ToolCall("c1", "boom"), ADD]])
    result = run_it(model, tools=[add, boom], on_tool_error="stop")
    assert (result.status, result.error.kind) == ("tool_error", "raised")  # type: ignore[union-attr]
    assert result.messages[-1].kind == "not_run"  # type: ignore[union-attr]


@both
def test_instructions_and_options_go_with_every_request_and_are_not_history(run_it: RunIt):
    model = ScriptedModel([ADD, "ok"])
    result = run_it(model, tools=[add], instructions="be brief", request_options={"max_tokens": 300})
    assert [(r.instructions, r.options) for r in model.requests] == [("be brief", {"max_tokens": 300})] * 2
    assert result.messages[0] == UserMessage("go")


@both
def test_a_model_error_is_a_status_and_keeps_the_history(run_it: RunIt):
    error = StreamInterrupted("cut", partial=ModelResponse(AssistantMessage("Here is")))
    result = run_it(ScriptedModel([error]))
    assert (result.status, result.error, result.text) == ("model_error", error, "Here is")
    with pytest.raises(RunError) as caught:
        result.raise_for_status()
    assert caught.value.result is result


@both
def test_an_answer_can_be_refused(run_it: RunIt):
    model = ScriptedModel(["41", "42"])
    result = run_it(model, accept=lambda r: None if r.text == "42" else "try again")
    assert (result.text, result.messages[2]) == ("42", UserMessage("try again"))


@both
def test_hooks_change_the_request_and_the_result(run_it: RunIt):
    from dataclasses import replace

    model = ScriptedModel([ADD, "ok"])
    result = run_it(
        model,
        tools=[add],
        before_model=[lambda request: replace(request, instructions="hooked")],
        after_tool=[lambda call, result: replace(result, content=f"{call.name}={result.content}")],
    )
    assert model.requests[0].instructions == "hooked"
    assert result.messages[2].content == "add=3"


@both
def test_async_hooks_and_policies_work_in_both_agents(run_it: RunIt):
    async def policy(call: Any) -> str:
        return "allow"

    async def shout(call: ToolCall, result: Any) -> Any:
        return type(result)("LOUD")

    result = run_it(ScriptedModel([ADD, "ok"]), tools=[add], policy=policy, after_tool=[shout])
    assert result.messages[2] == ToolMessage("c1", "LOUD")


@both
def test_a_policy_may_deny_with_a_reason(run_it: RunIt):
    result = run_it(ScriptedModel([ADD, "ok"]), tools=[add], policy=lambda call: deny("not on Mondays"))
    assert (result.messages[2].kind, "not on Mondays" in result.messages[2].text) == ("denied", True)  # type: ignore[union-attr]


@both
def test_a_policy_that_fails_denies(run_it: RunIt):
    def broken(call: Any) -> str:
        raise RuntimeError("no rules")

    result = run_it(ScriptedModel([ADD, "ok"]), tools=[add], policy=broken)
    assert result.messages[2].kind == "denied"  # type: ignore[union-attr]


@both
def test_parallel_tools_run_beside_each_other(run_it: RunIt):
    both_inside = threading.Barrier(2, timeout=10)

    @tool(parallel=True)
    def meet(name: str) -> str:
        both_inside.wait()
        return name

    calls = [ToolCall("c1", "meet", '{"name":"x"}'), ToolCall("c2", "meet", '{"name":"y"}')]
    result = run_it(ScriptedModel([calls, "ok"]), tools=[meet])
    assert [m.content for m in result.messages[2:4]] == ["x", "y"]


@both
def test_one_parallel_failure_does_not_touch_its_neighbours(run_it: RunIt):
    @tool(parallel=True)
    def pick(name: str) -> str:
        return {"c": "C"}[name]

    calls = [ToolCall("c1", "pick", '{"name":"k"}'), ToolCall("c2", "pick", '{"name":"c"}')]
    result = run_it(ScriptedModel([calls, "ok"]), tools=[pick])
    assert (result.messages[2].is_error, result.messages[3].content) == (True, "C")  # type: ignore[union-attr]
    assert "KeyError" in result.messages[2].text


@both
def test_usage_of_all_steps_adds_up(run_it: RunIt):
    first = ModelResponse(AssistantMessage(None, (ADD,)), "tool_calls", usage=Usage(64, 20))
    second = ModelResponse(AssistantMessage("ok"), "stop", usage=Usage(90, 5, cached_tokens=60))
    usage = run_it(ScriptedModel([first, second]), tools=[add]).usage
    assert usage == Usage(154, 25, cached_tokens=60, requests=2)


@both
def test_nothing_to_ask_is_a_config_error(run_it: RunIt):
    with pytest.raises(ConfigError, match="nothing to ask"):
        run_it(ScriptedModel([]), None)


@both
def test_a_history_of_dicts_is_continued(run_it: RunIt):
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    result = run_it(ScriptedModel(["fine"]), "how are you", messages=history)
    assert [m.role for m in result.messages] == ["user", "assistant", "user", "assistant"]


def test_the_async_agent_says_when_its_model_is_not_async():
    class Plain:
        provider = model = "plain"

        def events(self, request: Any) -> Any:
            return iter(())

    with pytest.raises(ConfigError, match="AsyncClient"):
        asyncio.run(AsyncAgent(Plain()).run("x"))  # pyright: ignore[reportArgumentType]


async def nothing(request: Any):
    for event in ():
        yield event


def test_the_agent_for_threads_says_when_its_model_is_async():
    model = SimpleNamespace(events=nothing, provider="p", model="m")
    with pytest.raises(ConfigError, match="AsyncAgent"):
        Agent(model).run("x")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("model", "settings", "told"),
    [
        ("gpt", {}, r"a model such as Client\(base_url, model=...\)"),
        (ScriptedModel([]), {"limits": {"max_steps": 3}}, r"Limits\(max_steps=...\)"),
        (ScriptedModel([]), {"tools": add}, "given as a list"),
        (ScriptedModel([]), {"tools": [len]}, "wrap functions with tool"),
    ],
)
def test_settings_of_another_kind_are_refused_and_the_right_one_is_named(model: Any, settings: Any, told: str):
    with pytest.raises(ConfigError, match=told):
        Agent(model, **settings)


@both
@pytest.mark.parametrize("answer", [True, False])
def test_a_check_of_answers_that_gives_neither_none_nor_text_is_a_config_error(run_it: RunIt, answer: bool):
    with pytest.raises(ConfigError, match="accept returns None"):
        run_it(ScriptedModel(["fine"]), accept=lambda result: answer)


def test_unknown_settings_are_named():
    with pytest.raises(ConfigError, match="max_step"):
        Agent(ScriptedModel([]), max_step=3)  # pyright: ignore[reportCallIssue]
