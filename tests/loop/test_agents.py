"""Agents through both drivers: the same script gives the same run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from agentloop import Agent, AsyncAgent, Limits, Run, RunResult, Session, Tool, ToolContext, allow, deny, edit, tool
from agentloop.errors import ConfigError, ModelError, RunError, SessionError, StreamInterrupted
from agentloop.messages import AssistantMessage, ToolMessage, UserMessage
from agentloop.model import ModelResponse, Usage
from agentloop.parts import ToolCall
from agentloop.testing import ScriptedModel

RunIt = Callable[..., RunResult]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def slow_add(a: int, b: int) -> int:
    return a + b


@tool
def boom() -> str:
    raise ValueError("no")


ADD = ToolCall("c1", "add", '{"a":1,"b":2}')


def run_sync(model: ScriptedModel, prompt: Any = "go", *, messages: Any = (), **settings: Any) -> RunResult:
    return Agent(model, **settings).run(prompt, messages=messages)


def run_async(model: ScriptedModel, prompt: Any = "go", *, messages: Any = (), **settings: Any) -> RunResult:
    return asyncio.run(AsyncAgent(model, **settings).run(prompt, messages=messages))


both = pytest.mark.parametrize("run_it", [run_sync, run_async])


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


# --- approval --------------------------------------------------------------------------------------------------------


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


# --- streaming and stopping ------------------------------------------------------------------------------------------


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


# --- sessions --------------------------------------------------------------------------------------------------------


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
