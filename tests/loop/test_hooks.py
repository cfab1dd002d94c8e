"""What stands before an action is called before the machine is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from agentloop import Agent, AsyncAgent, tool
from agentloop.parts import ToolCall
from agentloop.testing import ScriptedModel

ADD = ToolCall("c1", "add", '{"a":1,"b":2}')


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
