"""The repair of call/result pairs: what is mended, what is left alone, and that servers then accept it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import HistoryError
from agentloop.messages import (
    AssistantMessage,
    Message,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    VendorPart,
)
from agentloop.mock.checks import check_chat_request
from agentloop.pairing import PairedMessages, check, groups, repair


def call(id: str, name: str = "f", arguments: str = "{}") -> ToolCall:
    return ToolCall(id, name, arguments)


def asks(*calls: ToolCall) -> AssistantMessage:
    return AssistantMessage(None, calls)


HELLO = UserMessage("hello")


def whats(messages: list[Any]) -> list[str]:
    return [made.what for made in repair(messages).repairs]


def test_a_right_history_comes_back_as_the_same_objects():
    history = [SystemMessage("s"), HELLO, asks(call("a"), call("b")), ToolMessage("a", "1"), ToolMessage("b", "2")]
    repaired = repair(history)
    assert repaired.repairs == ()
    assert all(given is kept for given, kept in zip(history, repaired.messages, strict=True))


def test_results_in_another_order_than_the_calls_are_right():
    history = [asks(call("a"), call("b")), ToolMessage("b", "2"), ToolMessage("a", "1")]
    assert repair(history).messages == tuple(history)


def test_an_id_that_comes_again_in_a_later_turn_is_right():
    history = [asks(call("a")), ToolMessage("a", "1"), asks(call("a")), ToolMessage("a", "2")]
    assert repair(history).repairs == ()


def test_an_unanswered_call_gets_a_result_that_says_it_was_not_run():
    repaired = repair([asks(call("a"), call("b")), ToolMessage("b", "2"), HELLO])
    added = repaired.messages[1]
    assert isinstance(added, ToolMessage)
    assert (added.tool_call_id, added.is_error, added.kind) == ("a", True, "not_run")
    assert repaired.messages[2:] == (ToolMessage("b", "2"), HELLO)
    assert repaired.repairs[0].after is added


def test_a_late_result_moves_up_to_its_call():
    repaired = repair([asks(call("a")), HELLO, ToolMessage("a", "1")])
    assert repaired.messages == (asks(call("a")), ToolMessage("a", "1"), HELLO)
    assert [made.what for made in repaired.repairs] == ["message 2: a late tool result was moved up to its call"]


def test_of_two_results_the_first_counts():
    repaired = repair([asks(call("a")), ToolMessage("a", "1"), HELLO, ToolMessage("a", "2")])
    assert repaired.messages == (asks(call("a")), ToolMessage("a", "1"), HELLO)
    assert repaired.repairs[0].before == ToolMessage("a", "2")


def test_a_result_without_a_call_is_left_out():
    assert repair([ToolMessage("a", "1"), HELLO]).messages == (HELLO,)
    assert whats([ToolMessage("a", "1"), HELLO]) == ["message 0: a tool result without a call was left out"]


def test_a_result_never_goes_to_an_older_turn_with_the_same_id():
    history = [asks(call("a")), HELLO, asks(call("a")), ToolMessage("a", "1"), ToolMessage("a", "2")]
    mended = repair(history).messages
    assert mended[1].text.startswith("Not run")
    assert mended[4:] == (ToolMessage("a", "1"),)


def test_results_without_an_id_go_to_the_open_calls_in_order():
    history = [asks(call("a"), call("b"), call("c")), ToolMessage("", "1"), ToolMessage("b", "2"), ToolMessage("", "3")]
    assert repair(history).messages[1:] == (ToolMessage("a", "1"), ToolMessage("b", "2"), ToolMessage("c", "3"))


def test_a_result_without_an_id_but_with_a_name_goes_to_the_call_of_that_name():
    named = ToolMessage("", "sunny", extra={"name": "weather"})
    mended = repair([asks(call("a", "time"), call("b", "weather")), named]).messages
    assert mended[2] == ToolMessage("b", "sunny", extra={"name": "weather"})


def test_a_result_without_an_id_or_an_open_call_is_left_out():
    history = [asks(call("a")), ToolMessage("a", "1"), ToolMessage("", "2")]
    assert repair(history).messages == tuple(history[:2])


def test_calls_without_an_id_get_one_made_from_their_positions():
    mended = repair([HELLO, asks(call(""), call("")), ToolMessage("", "1"), ToolMessage("", "2")]).messages
    assert mended[1] == asks(call("call_1_1"), call("call_1_2"))
    assert mended[2:] == (ToolMessage("call_1_1", "1"), ToolMessage("call_1_2", "2"))


def test_one_id_for_two_different_calls_is_parted_with_its_results():
    mended = repair([asks(call("a", "f"), call("a", "g")), ToolMessage("a", "1"), ToolMessage("a", "2")]).messages
    assert mended[0] == asks(call("a", "f"), call("call_0_2", "g"))
    assert mended[1:] == (ToolMessage("a", "1"), ToolMessage("call_0_2", "2"))


def test_the_same_call_twice_in_a_turn_is_one_call_with_one_result():
    mended = repair([asks(call("a"), call("a")), ToolMessage("a", "1"), ToolMessage("a", "1")]).messages
    assert mended == (asks(call("a")), ToolMessage("a", "1"))


def test_calls_among_the_parts_are_mended_in_their_places():
    turn = AssistantMessage((TextPart("x"), call(""), TextPart("y"), call("")))
    mended = repair([turn]).messages[0]
    assert mended.content == (TextPart("x"), call("call_0_1"), TextPart("y"), call("call_0_2"))
    assert mended == AssistantMessage(mended.content)


@pytest.mark.parametrize("content", [None, "", (), (TextPart(""),), (ReasoningPart("hm"),)])
def test_an_assistant_turn_that_says_nothing_is_left_out(content: Any):
    assert repair([HELLO, AssistantMessage(content)]).messages == (HELLO,)
    assert whats([AssistantMessage(content)]) == ["message 0: an assistant turn that says nothing was left out"]


def test_a_turn_of_vendor_items_or_speech_says_something():
    history = [AssistantMessage((VendorPart("chat", "x", {}),)), AssistantMessage(None, extra={"audio": {"id": "a1"}})]
    assert repair(history).repairs == ()


def test_paired_messages_are_returned_without_a_look():
    claimed = PairedMessages([ToolMessage("no such call", "1")])
    assert repair(claimed).messages is claimed
    assert not isinstance(claimed[:1], PairedMessages)


def test_dicts_are_read_as_messages():
    assert repair([{"role": "user", "content": "hello"}]).messages == (HELLO,)


def test_check_names_each_fault_and_the_way_out():
    with pytest.raises(HistoryError, match=r"message 0: call a had no result.*repair\(messages\) mends it"):
        check([asks(call("a"))])
    check([asks(call("a")), ToolMessage("a", "1")])


def test_a_turn_and_its_results_are_one_group():
    history = [HELLO, asks(call("a"), call("b")), ToolMessage("a", "1"), ToolMessage("b", "2"), AssistantMessage("ok")]
    assert groups(history) == [(0, 1), (1, 4), (4, 5)]


def test_a_turn_that_goes_on_after_reasoning_is_one_group():
    thought = AssistantMessage((ReasoningPart("hm"), TextPart("wait")))
    assert groups([HELLO, thought, asks(call("a")), ToolMessage("a", "1"), HELLO]) == [(0, 1), (1, 4), (4, 5)]


ids = st.sampled_from(["", "a", "b", "c", "call_1_1", "call_0_2"])
texts = st.sampled_from(["", "x", "some text"])
calls = st.builds(ToolCall, ids, st.sampled_from(["f", "g"]), st.sampled_from(["{}", '{"n": 1}']))
parts = st.one_of(st.builds(TextPart, texts), st.builds(ReasoningPart, texts), calls)
contents = st.one_of(st.none(), texts, st.lists(parts, max_size=3).map(tuple))
turns = st.builds(AssistantMessage, contents, st.lists(calls, max_size=3).map(tuple))
names = st.one_of(st.just({}), st.sampled_from([{"name": "f"}, {"name": "g"}]))
results = st.builds(ToolMessage, ids, texts, extra=names)
said = st.one_of(st.builds(UserMessage, texts), st.builds(SystemMessage, texts))
histories = st.lists(st.one_of(said, turns, results), max_size=12)


def chat_form(message: Message) -> dict[str, Any]:
    """A message as Chat Completions spells it, written here by hand so that no encoder can help the repair."""
    out: dict[str, Any] = {"role": message.role, "content": message.text}
    if isinstance(message, ToolMessage):
        out["tool_call_id"] = message.tool_call_id
    if isinstance(message, AssistantMessage) and message.tool_calls:
        out["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in message.tool_calls
        ]
    return out


@given(histories)
def test_any_list_of_messages_is_accepted_by_a_strict_server_once_repaired(history: list[Message]):
    mended = [UserMessage("first"), *repair(history).messages]
    assert check_chat_request({"model": "m", "messages": [chat_form(m) for m in mended]}) is None
    for message in mended:
        if isinstance(message, AssistantMessage):
            inside = tuple(part for part in message.parts if isinstance(part, ToolCall))
            assert inside == message.tool_calls


@given(histories)
def test_nothing_a_user_wrote_is_lost_or_reordered(history: list[Message]):
    def written(messages: Any) -> list[Message]:
        return [m for m in messages if isinstance(m, (UserMessage, SystemMessage))]

    assert written(repair(history).messages) == written(history)


@given(histories)
def test_repairing_again_changes_nothing(history: list[Message]):
    once = repair(history).messages
    again = repair(list(once))
    assert (again.messages, again.repairs) == (once, ())


@given(histories)
def test_what_is_not_reported_was_not_changed(history: list[Message]):
    repaired = repair(history)
    assert (repaired.messages == tuple(history)) == (not repaired.repairs)


@given(histories)
def test_groups_cover_all_messages_and_never_part_a_call_from_its_result(history: list[Message]):
    messages = repair(history).messages
    spans = groups(messages)
    assert [i for start, stop in spans for i in range(start, stop)] == list(range(len(messages)))
    for start, stop in spans:
        check(messages[start:stop])
