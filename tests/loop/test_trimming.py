"""Trimming, summaries and overflow as parts of a run: the history stays whole, the requests fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from agentloop import Agent, Session, tool
from agentloop.errors import ConfigError, ContextOverflow
from agentloop.history.shorten import ShortenToolResults
from agentloop.history.tokens import EstimateCounter
from agentloop.history.trim import KeepLast, Summarise, TokenBudget
from agentloop.messages import AssistantMessage, Message, UserMessage
from agentloop.model import ModelRequest, ModelResponse, Usage
from agentloop.parts import ImagePart, TextPart, ToolCall
from agentloop.testing import ScriptedModel


class Words:
    """A token a word."""

    def count(self, messages: Sequence[Message], tools: object = ()) -> int:
        return sum(len(str(message.text).split()) for message in messages)


def history(turns: int) -> list[Message]:
    out: list[Message] = []
    for turn in range(turns):
        out += [UserMessage(f"question number {turn}"), AssistantMessage(f"answer number {turn}")]
    return out


def test_a_view_is_sent_and_the_history_stays_whole():
    model = ScriptedModel(["ok"])
    result = Agent(model, trim=KeepLast(3)).run("and now", messages=history(5))
    assert [m.text for m in model.requests[0].messages] == ["question number 4", "answer number 4", "and now"]
    assert len(result.messages) == 12


def test_a_cut_is_an_event_that_says_what_left():
    agent = Agent(ScriptedModel(["ok"]), trim=KeepLast(3))
    with agent.stream("and now", messages=history(5)) as events:
        [cut] = [event.cut for event in events if event.type == "trimmed"]
    assert [m.text for m in cut.left][:2] == ["question number 0", "answer number 0"]


def test_a_request_that_cannot_fit_is_an_error_before_it_is_sent():
    model = ScriptedModel([])
    result = Agent(model, trim=TokenBudget(5, 5), counter=Words()).run("one two three four five six seven")
    assert result.status == "model_error"
    assert isinstance(result.error, ContextOverflow)


def test_a_context_limit_without_a_policy_is_an_error_that_names_trim():
    result = Agent(ScriptedModel([]), context_limit=5, counter=Words()).run("x", messages=history(3))
    assert "trim=" in str(result.error)


@pytest.mark.parametrize(
    "settings", [{"context_limit": 0}, {"context_limit": 10, "reserve": 10}, {"reserve": -1}, {"reserve": 5}]
)
def test_numbers_that_make_no_sense_are_refused(settings: dict[str, int]):
    with pytest.raises(ConfigError):
        Agent(ScriptedModel([]), **settings)  # pyright: ignore[reportArgumentType]


def test_after_an_overflow_the_run_trims_once_more_and_asks_again():
    model = ScriptedModel([ContextOverflow("too long", limit=20, prompt_tokens=40), "ok"])
    result = Agent(model, trim=TokenBudget(1000, 1000), counter=Words()).run("and now", messages=history(8))
    assert result.status == "answered"
    assert len(model.requests[1].messages) < len(model.requests[0].messages)
    assert model.requests[1].messages[-1].text == "and now"


def test_a_second_overflow_of_the_same_step_is_the_error():
    model = ScriptedModel([ContextOverflow("too long"), ContextOverflow("still too long")])
    result = Agent(model, trim=TokenBudget(1000, 1000), counter=Words()).run("and now", messages=history(8))
    assert (result.status, str(result.error)) == ("model_error", "still too long")


def test_a_summary_is_an_action_of_its_own_and_its_usage_counts():
    summary = ModelResponse(AssistantMessage("we talked"), "stop", usage=Usage(10, 2))
    model = ScriptedModel([summary, ModelResponse(AssistantMessage("ok"), "stop", usage=Usage(5, 1))])
    agent = Agent(model, trim=Summarise(high=40, low=10), counter=Words())
    result = agent.run("and now", messages=history(8))
    assert (result.steps, result.usage) == (1, Usage(15, 3, requests=2))
    assert any("we talked" in m.text for m in model.requests[1].messages)
    assert model.requests[0].tools == ()


@pytest.mark.parametrize("reply", ["", "S " * 5000, ContextOverflow("no")])
def test_a_summary_that_is_of_no_use_falls_back_to_trimming(reply: object):
    model = ScriptedModel([reply, "ok"])  # pyright: ignore[reportArgumentType]
    agent = Agent(model, trim=Summarise(high=40, low=10), counter=Words())
    result = agent.run("and now", messages=history(8))
    assert (result.status, len(model.requests)) == ("answered", 2)


def test_after_a_failed_summary_the_run_asks_for_no_other():
    @tool
    def look() -> str:
        return "word " * 20

    model = ScriptedModel(["", ToolCall("c1", "look"), ToolCall("c2", "look"), "ok"])
    agent = Agent(model, tools=[look], trim=Summarise(high=40, low=10), counter=Words())
    assert agent.run("and now", messages=history(8)).status == "answered"


def test_another_model_may_write_the_summary():
    model, other = ScriptedModel(["ok"]), ScriptedModel(["we talked"])
    with model, other:
        Agent(model, trim=Summarise(other, high=40, low=10), counter=Words()).run("and now", messages=history(8))


def test_a_shortened_result_can_be_read_again_through_a_tool():
    @tool
    def look(n: int) -> str:
        return f"{n}" * 3000

    calls = [ToolCall(f"c{n}", "look", f'{{"n":{n}}}') for n in range(3)]
    again = ToolCall("r1", "read_tool_result", '{"call_id":"c0","start":2990,"length":100}')
    model = ScriptedModel([*calls, again, "ok"])
    result = Agent(model, tools=[look], trim=ShortenToolResults(high=2000, keep=1)).run("go")
    assert "left out here; read_tool_result" in model.requests[3].messages[2].text
    assert result.messages[-2].content == "0" * 10


def test_the_next_run_of_a_session_goes_on_with_the_summary():
    model = ScriptedModel(["we talked", "ok", "fine"])
    agent = Agent(model, trim=Summarise(high=45, low=10), counter=Words())
    session = Session(agent, history(8))
    session.run("and now")
    session.run("more")
    assert any("we talked" in m.text for m in model.requests[2].messages)
    assert len(session.messages) == 20


def test_a_server_that_cuts_the_prompt_in_silence_is_noticed():
    reply = ModelResponse(AssistantMessage("ok"), "stop", usage=Usage(300, 2))
    agent = Agent(ScriptedModel([reply]), context_limit=10_000, counter=Words())
    with agent.stream("word " * 2000) as events:
        texts = [event.text for event in events if event.type == "warning"]
    assert "300 input tokens" in texts[0]


def test_a_prompt_cut_in_silence_is_told_once_in_a_run():
    @tool
    def look(n: int) -> str:
        return ""

    calls = [AssistantMessage(None, (ToolCall(f"c{n}", "look", f'{{"n":{n}}}'),)) for n in range(3)]
    replies = [ModelResponse(m, "stop", usage=Usage(300, 2)) for m in (*calls, AssistantMessage("ok"))]
    with Agent(ScriptedModel(replies), tools=[look]).stream("word " * 2000) as events:
        assert [event.type for event in events].count("warning") == 1


def test_between_two_cuts_each_request_begins_with_the_one_before():
    @tool
    def look(n: int) -> str:
        return "words " * 10

    calls = [ToolCall(f"c{n}", "look", f'{{"n":{n}}}') for n in range(9)]
    model = ScriptedModel([*calls, "done"])
    Agent(model, tools=[look], trim=TokenBudget(60, 20), counter=Words()).run("go")
    views = [request.messages for request in model.requests]
    moved = [old for old, new in pairwise(views) if new[: len(old)] != old]
    assert len(moved) == 1


# --- the guard of the prompt cache -----------------------------------------------------------------------------------


def clocked(**settings: str) -> tuple[Agent, ScriptedModel]:
    ticks = iter(range(100))
    model = ScriptedModel([ToolCall("c1", "nothing"), "done"])

    @tool
    def nothing() -> str:
        return ""

    def clock(request: ModelRequest) -> ModelRequest:
        return replace(request, instructions=f"it is {next(ticks)}")

    return Agent(model, tools=[nothing], before_model=[clock], **settings), model  # pyright: ignore[reportArgumentType]


def test_a_clock_in_the_instructions_is_warned_about_with_its_path():
    agent, _ = clocked()
    with agent.stream("go") as events:
        [warning] = [event.text for event in events if event.type == "warning"]
    assert "instructions changed" in warning


def test_with_error_the_request_is_not_sent():
    agent, model = clocked(on_prefix_change="error")
    result = agent.run("go")
    assert (result.status, len(model.requests)) == ("model_error", 1)


def test_with_ignore_nothing_is_said():
    agent, _ = clocked(on_prefix_change="ignore")
    with agent.stream("go") as events:
        assert not [event for event in events if event.type == "warning"]


def test_a_plain_run_goes_on_from_request_to_request():
    @tool
    def nothing() -> str:
        return ""

    session = Session(
        Agent(ScriptedModel([ToolCall("c1", "nothing"), "a", "b"]), tools=[nothing], on_prefix_change="error")
    )
    assert [session.run("x").status, session.run("y").status] == ["answered", "answered"]


def test_the_context_of_a_session_is_told_by_message_and_tool():
    @tool
    def nothing() -> str:
        return ""

    session = Session(Agent(ScriptedModel(["fine"]), tools=[nothing], instructions="be brief"))
    session.run("hello there")
    assert [row.name for row in session.context().rows] == ["instructions", "nothing", "user"]


def test_usage_is_learned_and_silent_cuts_are_noticed_also_where_nothing_is_trimmed():
    replies = [ModelResponse(AssistantMessage("fine"), usage=Usage(n, 1, requests=1)) for n in (77, 80)]
    session = Session(Agent(ScriptedModel(replies)))
    session.run("hello there")
    assert (session.context().total, session.context().known_tokens) == (77, 77)
    with session.stream("word " * 5000) as events:
        assert [event.text[:30] for event in events if event.type == "warning"] == [
            "the server counted 80 input tok"[:30]
        ]


def test_an_image_that_a_server_counts_cheap_is_no_silent_cut():
    reply = ModelResponse(AssistantMessage("a cat"), usage=Usage(270, 1, requests=1))
    shown = UserMessage((TextPart("what?"), ImagePart("https://h/cat.png")))
    with Agent(ScriptedModel([reply])).stream(shown) as events:
        assert [event.type for event in events if event.type == "warning"] == []


def test_a_cut_that_goes_on_into_the_next_run_is_told_once():
    session = Session(
        Agent(ScriptedModel(["ok", "ok"]), trim=TokenBudget(40, 20), counter=Words()), messages=history(9)
    )
    with session.stream("and now") as events:
        [cut] = [event.cut for event in events if event.type == "trimmed"]
    with session.stream("and then") as events:
        assert [event.type for event in events if event.type == "trimmed"] == []
    assert session.context().last_cut == cut


def test_what_a_server_said_of_its_limit_holds_for_the_next_run():
    too_long = ContextOverflow("too long", limit=20, prompt_tokens=60)
    model = ScriptedModel([too_long, "ok", "yes"])
    session = Session(Agent(model, trim=TokenBudget(500, 500), counter=Words()), messages=history(9))
    assert [session.run("and now").status, session.run("and then").status] == ["answered", "answered"]
    assert sum(len(message.text.split()) for message in model.requests[2].messages) <= 20


@pytest.mark.parametrize("settings", [{"trim": KeepLast}, {"trim": "last"}, {"counter": len}])
def test_what_is_no_policy_or_counter_is_refused(settings: Any):
    with pytest.raises(ConfigError, match="takes a"):
        Agent(ScriptedModel([]), **settings)


def test_a_counter_learns_also_where_nothing_is_trimmed():
    reply = ModelResponse(AssistantMessage("fine"), usage=Usage(input_tokens=77, output_tokens=1, requests=1))
    session = Session(Agent(ScriptedModel([reply]), counter=EstimateCounter()))
    session.run("hello there")
    assert (session.context().total, session.context().known_tokens) == (77, 77)
