"""The events of a run, and how a run ends when its consumer leaves, cancels, or fails."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agentloop import Agent, AsyncAgent, Session, tool
from agentloop.messages import AssistantMessage, UserMessage
from agentloop.parts import ToolCall
from agentloop.testing import ScriptedModel
from tests.loop.agents import ADD, add


def test_the_events_of_a_run_come_in_this_order():
    agent = Agent(ScriptedModel([ADD, "it is 3"]), tools=[add])
    with agent.stream("go") as events:
        types = [event.type for event in events]
    assert types == [
        *["step_started", "tool_call_delta", "tool_call_delta", "response_done", "tool_started", "tool_finished"],
        *["step_started", "text_delta", "text_delta", "text_delta", "response_done", "run_finished"],
    ]
    assert events.result.text == "it is 3"


def test_leaving_a_stream_early_closes_the_run_and_keeps_what_was_said():
    with Agent(ScriptedModel(["one two three"])).stream("go") as events:
        for event in events:
            if event.type == "text_delta":
                break
    assert (events.result.status, events.result.messages[-1]) == ("cancelled", AssistantMessage("one "))


def test_a_stream_that_is_never_read_is_a_cancelled_run():
    with Agent(ScriptedModel([])).stream("go") as events:
        pass
    assert events.result.status == "cancelled"


def test_cancel_from_a_tool_ends_the_run_and_the_rest_is_answered():
    @tool
    def stop() -> str:
        events.cancel()
        return "stopping"

    events = Agent(ScriptedModel([[ToolCall("c1", "stop"), ADD]]), tools=[stop, add]).stream("go")
    result = events.finish()
    assert (result.status, [m.content for m in result.messages[2:]]) == (
        "cancelled",
        ["stopping", "cancelled before it ran"],
    )


def test_ctrl_c_in_a_tool_leaves_a_history_to_continue():
    @tool
    def interrupted() -> str:
        raise KeyboardInterrupt

    session = Session(Agent(ScriptedModel([ToolCall("c1", "interrupted"), "fine"]), tools=[interrupted]))
    with pytest.raises(KeyboardInterrupt):
        session.run("go")
    assert session.messages[-1].kind == "cancelled"  # type: ignore[union-attr]
    assert session.run("go on").text == "fine"


def test_parallel_calls_that_wait_for_their_turn_do_not_begin_when_the_consumer_leaves():
    ran: list[int] = []
    blocked = threading.Event()

    @tool(parallel=True)
    def work(number: int) -> None:
        ran.append(number)
        if len(ran) > 1:
            blocked.wait()

    calls = [ToolCall(f"c{number}", "work", f'{{"number":{number}}}') for number in range(4)]
    with Agent(ScriptedModel([calls]), tools=[work], max_parallel=1).stream("go") as events:
        next(event for event in events if event.type == "tool_finished")
    blocked.set()
    for thread in [thread for thread in threading.enumerate() if thread.name == "tool-work"]:
        thread.join()
    assert len(ran) <= 2


@pytest.mark.parametrize("last_seen", ["decision_needed", "run_finished"])
def test_a_run_that_waits_for_a_person_goes_on_waiting_when_its_events_are_left(last_seen: str):
    agent = Agent(ScriptedModel([ADD, "done"]), tools=[add], policy=lambda call: "ask")
    with agent.stream("go") as events:
        next(event for event in events if event.type == last_seen)
    assert events.run.status == "needs_approval"
    assert agent.resume(events.run, {"c1": "allow"}).text == "done"


@pytest.mark.anyio
@pytest.mark.parametrize("last_seen", ["decision_needed", "run_finished"])
async def test_an_async_run_that_waits_for_a_person_goes_on_waiting_too(last_seen: str):
    agent = AsyncAgent(ScriptedModel([ADD, "done"]), tools=[add], policy=lambda call: "ask")
    async with agent.stream("go") as events:
        async for event in events:
            if event.type == last_seen:
                break
    assert events.run.status == "needs_approval"
    assert (await agent.resume(events.run, {"c1": "allow"})).text == "done"


@pytest.mark.anyio
async def test_a_cancelled_task_leaves_a_history_to_continue():
    started = asyncio.Event()

    @tool(parallel=True)
    async def fast() -> str:
        return "F"

    @tool(parallel=True)
    async def slow() -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    model = ScriptedModel([[ToolCall("c1", "fast"), ToolCall("c2", "slow")], "fine"])
    session = Session(AsyncAgent(model, tools=[fast, slow]))
    task = asyncio.create_task(session.run("go"))  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.messages[2].content == "F"
    assert session.messages[3].kind == "cancelled"  # type: ignore[union-attr]
    assert (await session.run("go on")).text == "fine"


@pytest.mark.anyio
async def test_cancel_from_another_thread_ends_an_async_run():
    @tool
    async def hang() -> str:
        threading.Thread(target=events.cancel).start()
        await asyncio.Event().wait()
        return "never"

    events = AsyncAgent(ScriptedModel([ToolCall("c1", "hang")]), tools=[hang]).stream("go")
    result = await events.finish()
    assert (result.status, result.messages[-1].kind) == ("cancelled", "cancelled")  # type: ignore[union-attr]


def test_an_exception_in_a_hook_goes_on_its_way_and_the_history_is_sendable():
    def broken(request: Any) -> Any:
        raise LookupError("hook")

    session = Session(Agent(ScriptedModel(["fine"]), before_model=[broken]))
    with pytest.raises(LookupError):
        session.run("go")
    assert session.messages == (UserMessage("go"),)


def test_two_runs_of_one_agent_share_nothing():
    agent = Agent(ScriptedModel([lambda r: r.messages[-1].text] * 8))
    results: list[str] = []
    threads = [threading.Thread(target=lambda n=n: results.append(agent.run(f"p{n}").text)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [f"p{n}" for n in range(8)]
