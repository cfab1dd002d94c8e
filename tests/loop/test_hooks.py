"""What stands before an action is called before the machine is told of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentloop import Agent, AsyncAgent, RunResult, ToolResult, tool
from agentloop.errors import ConfigError
from agentloop.parts import ToolCall
from agentloop.testing import ScriptedModel

ADD = ToolCall("c1", "add", '{"a":1,"b":2}')


class Blocking:
    """An AsyncAgent with the `run` of an Agent."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        self.agent = AsyncAgent(*args, **settings)

    def run(self, prompt: str) -> RunResult:
        return asyncio.run(self.agent.run(prompt))


both = pytest.mark.parametrize("agent", [Agent, Blocking])


@tool
def add(a: int, b: int) -> int:
    return a + b


def refuse(_: object) -> Any:
    raise LookupError("not now")


def test_before_tool_is_called_before_the_call_counts_as_started():
    seen: list[str] = []
    agent = Agent(ScriptedModel([ADD, "ok"]), tools=[add], before_tool=[lambda call: seen.append(f"before {call.id}")])
    with agent.stream("go", stream=False) as events:
        seen.extend(event.type for event in events)
    assert seen[:4] == ["step_started", "response_done", "before c1", "tool_started"]


def test_a_call_is_not_started_when_its_hook_raises():
    stream = Agent(ScriptedModel([ADD]), tools=[add], before_tool=[refuse]).stream("go")
    with pytest.raises(LookupError):
        stream.finish()
    assert stream.result.messages[-1].content == "cancelled before it ran"


def test_a_step_does_not_count_when_the_hook_of_its_request_raises():
    stream = Agent(ScriptedModel(["unused"]), before_model=[refuse]).stream("go")
    with pytest.raises(LookupError):
        stream.finish()
    assert (stream.result.steps, stream.result.usage.requests) == (0, 0)


def test_before_tool_stands_before_each_of_several_parallel_calls():
    @tool(parallel=True)
    def nothing() -> str:
        return ""

    seen: list[str] = []
    calls = [ToolCall("c1", "nothing"), ToolCall("c2", "nothing")]
    Agent(ScriptedModel([calls, "ok"]), tools=[nothing], before_tool=[lambda call: seen.append(call.id)]).run("go")
    assert seen == ["c1", "c2"]


@pytest.mark.anyio
async def test_before_tool_may_be_async_in_an_async_agent():
    seen: list[str] = []

    async def look(call: ToolCall) -> None:
        seen.append(call.arguments)

    await AsyncAgent(ScriptedModel([ADD, "ok"]), tools=[add], before_tool=[look]).run("go")
    assert seen == ['{"a":1,"b":2}']


@both
def test_a_hook_that_forgets_to_return_is_named(agent: Any):
    def look(call: ToolCall, result: ToolResult) -> Any:
        """Only looks on."""

    with pytest.raises(ConfigError, match="the hook look returned None: it must return the ToolResult"):
        agent(ScriptedModel([ADD]), tools=[add], after_tool=[look]).run("go")


@both
def test_a_hook_of_parallel_calls_that_raises_ends_the_run_instead_of_hanging_it(agent: Any):
    @tool(parallel=True)
    def nothing() -> str:
        return ""

    def fail(call: ToolCall, result: ToolResult) -> Any:
        raise LookupError(call.id)

    model = ScriptedModel([[ToolCall("c1", "nothing"), ToolCall("c2", "nothing")]])
    with pytest.raises(LookupError):
        agent(model, tools=[nothing], after_tool=[fail]).run("go")


@pytest.mark.parametrize("name", ["before_model", "before_tool", "after_tool"])
@pytest.mark.parametrize("hooks", [print, ["print"]])
def test_hooks_are_a_list_of_functions(name: str, hooks: object):
    settings: dict[str, Any] = {name: hooks}
    with pytest.raises(ConfigError, match=f"{name} is a list of functions"):
        Agent(ScriptedModel([]), **settings)


@pytest.mark.parametrize("settings", [{"policy": "allow"}, {"accept": True}, {"approval_key": "text"}])
def test_what_is_no_function_or_no_bytes_is_refused_by_name(settings: dict[str, Any]):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        Agent(ScriptedModel([]), **settings)
