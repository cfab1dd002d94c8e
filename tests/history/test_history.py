"""The append-only history: what it takes, what it refuses, and when it can be sent."""

from __future__ import annotations

import pytest

from agentloop.errors import HistoryError
from agentloop.history import History, PairedMessages
from agentloop.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

TURN = AssistantMessage(None, (ToolCall("a", "f"), ToolCall("b", "f")))


def test_messages_are_known_to_be_paired_and_the_same_tuple_until_something_is_added():
    history = History([UserMessage("hi")])
    first = history.messages
    assert isinstance(first, PairedMessages)
    assert history.messages is first
    history.append(AssistantMessage("yes"))
    assert history.messages == (UserMessage("hi"), AssistantMessage("yes"))


def test_an_open_turn_takes_only_its_results():
    history = History([UserMessage("hi"), TURN])
    with pytest.raises(HistoryError, match="the calls a, b have no result yet"):
        history.append(UserMessage("and?"))
    with pytest.raises(HistoryError, match=r"no open call 'c' .*open: a, b"):
        history.append(ToolMessage("c", "1"))
    assert len(history) == 2


def test_an_open_history_cannot_be_sent():
    history = History([TURN, ToolMessage("b", "2")])
    assert [call.id for call in history.open_calls] == ["a"]
    with pytest.raises(HistoryError, match=r"the calls a have no result yet.*close\(\)"):
        _ = history.messages


def test_closing_answers_the_open_calls_with_the_reason():
    history = History([TURN, ToolMessage("a", "1")])
    (added,) = history.close("the run was cancelled")
    assert added == ToolMessage("b", "the run was cancelled", is_error=True, kind="not_run")
    assert history.messages == (TURN, ToolMessage("a", "1"), added)
    assert history.close() == ()


def test_a_second_result_is_refused():
    history = History([TURN, ToolMessage("a", "1")])
    with pytest.raises(HistoryError, match="no open call 'a'"):
        history.append(ToolMessage("a", "1"))


@pytest.mark.parametrize(
    "turn",
    [
        AssistantMessage(None, (ToolCall("", "f"),)),
        AssistantMessage(None, (ToolCall("a", "f"), ToolCall("a", "g"))),
        AssistantMessage(""),
    ],
)
def test_a_turn_that_no_server_takes_is_refused(turn: AssistantMessage):
    history = History()
    with pytest.raises(HistoryError, match="not a sendable history"):
        history.append(turn)
    assert len(history) == 0


def test_loading_broken_messages_is_refused():
    with pytest.raises(HistoryError, match="no open call 'a'"):
        History([UserMessage("hi"), ToolMessage("a", "1")])


def test_an_id_may_come_again_once_it_was_answered():
    one = AssistantMessage(None, (ToolCall("a", "f"),))
    assert len(History([one, ToolMessage("a", "1"), one, ToolMessage("a", "2")]).messages) == 4


def test_dicts_are_read_and_held_to_the_same_rules():
    history = History([{"role": "user", "content": "hi"}])
    history.append({"role": "assistant", "content": "yes"})
    assert history.messages == (UserMessage("hi"), AssistantMessage("yes"))
    with pytest.raises(HistoryError, match="no open call 'a'"):
        history.append({"role": "tool", "tool_call_id": "a", "content": "1"})
