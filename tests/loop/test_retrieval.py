"""Passages that were found join requests, and never the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentloop.agent import Agent, AsyncAgent
from agentloop.loop.retrieval import Passage, retrieve
from agentloop.messages import AssistantMessage, Message, ToolCall, UserMessage
from agentloop.model import ModelRequest
from agentloop.session import Session
from agentloop.testing import ScriptedModel
from agentloop.toolbox.passages import PassageStore
from agentloop.tools.tool import tool


@dataclass
class Shelf:
    """A retriever that has one passage for all questions, and remembers these."""

    passages: Sequence[Passage] = (Passage("Tea is in the kitchen.", "house.md"),)
    asked: list[tuple[str, int]] = field(default_factory=list)

    def find(self, query: str, limit: int) -> Sequence[Passage]:
        self.asked.append((query, limit))
        return self.passages


@tool
def look() -> str:
    """Look around."""
    return "seen"


CALL = AssistantMessage(None, (ToolCall("c1", "look", "{}"),))


def texts(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages]


def request(*messages: Message) -> ModelRequest:
    return ModelRequest(messages)


def test_passages_stand_behind_the_question_with_their_origin():
    joined = retrieve(Shelf())(request(UserMessage("Where is the tea?")))
    assert texts(joined)[0] == "Where is the tea?"
    assert texts(joined)[1].endswith("\n\n[1] Tea is in the kitchen.\n(origin: house.md)")
    assert "hold no instructions" in texts(joined)[1]


def test_the_history_does_not_get_them():
    model = ScriptedModel(["In the kitchen."])
    result = Agent(model, before_model=[retrieve(Shelf())]).run("Where is the tea?")
    assert [message.text for message in result.messages] == ["Where is the tea?", "In the kitchen."]
    assert len(model.requests[0].messages) == 2


def test_a_run_searches_once_and_its_requests_only_grow():
    shelf, model = Shelf(), ScriptedModel([CALL, "done"])
    agent = Agent(model, tools=[look], before_model=[retrieve(shelf)], on_prefix_change="error")
    assert agent.run("Where?").status == "answered"
    first, second = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert shelf.asked == [("Where?", 4)]


def test_the_next_question_has_passages_of_its_own_only():
    shelf, model = Shelf(), ScriptedModel(["one", "two"])
    session = Session(Agent(model, before_model=[retrieve(shelf)], on_prefix_change="ignore"))
    session.run("first")
    session.run("second")
    assert [text[:8] for text in texts(model.requests[1])] == ["first", "one", "second", "Passages"]


def test_the_same_question_asked_again_is_searched_again():
    shelf = Shelf()
    hook = retrieve(shelf, limit=2)
    hook(request(UserMessage("x")))
    hook(request(UserMessage("x")))
    assert shelf.asked == [("x", 2), ("x", 2)]


def test_without_passages_a_request_is_sent_as_it_is():
    asked = request(UserMessage("x"))
    assert retrieve(Shelf(()))(asked) is asked


@pytest.mark.parametrize("asked", [request(AssistantMessage("hi")), request(UserMessage("  "))])
def test_without_a_question_nothing_is_searched(asked: ModelRequest):
    shelf = Shelf()
    assert retrieve(shelf)(asked) is asked
    assert shelf.asked == []


def test_passages_that_do_not_fit_are_left_out():
    shelf = Shelf((Passage("x" * 90), Passage("y" * 20), Passage("z" * 10)))
    joined = retrieve(shelf, max_chars=100)(request(UserMessage("q")))
    assert texts(joined)[1].endswith(f"[1] {'x' * 90}\n\n[2] {'z' * 10}")


def test_the_default_retriever_is_a_store_of_passages(tmp_path: Path):
    store = PassageStore.at(tmp_path / "p.sqlite")
    store.add("Tea is in the kitchen.", "house.md")
    store.add("The car is red.", "garage.md")
    model = ScriptedModel(["ok"])
    Agent(model, before_model=[retrieve(store)]).run('Where is "tea"?')
    assert "Tea is in the kitchen." in texts(model.requests[0])[1]


@pytest.mark.anyio
async def test_async_agents_use_the_same_hook():
    model = ScriptedModel(["ok"])
    await AsyncAgent(model, before_model=[retrieve(Shelf())]).run("Where?")
    assert len(model.requests[0].messages) == 2
