"""Ids of the calls of one reply."""

from hypothesis import given
from hypothesis import strategies as st

from agentloop.callids import settle_ids
from agentloop.messages import ToolCall

ids = st.sampled_from(["", " ", "a", "b", "call_1_1", "call_1_2", "call_1_2_2"])
calls_of_a_reply = st.lists(st.builds(ToolCall, ids, st.sampled_from(["f", "g"]), st.sampled_from(["{}", "1"])))


def test_ids_that_are_unique_stay() -> None:
    calls = (ToolCall("a", "f"), ToolCall("b", "f"))
    assert settle_ids(calls, step=3) == (calls, ())


def test_a_missing_id_is_made_from_step_and_position() -> None:
    settled, repairs = settle_ids([ToolCall("a", "f"), ToolCall("", "g"), ToolCall(" ", "g")], step=3)
    assert [call.id for call in settled] == ["a", "call_3_2", "call_3_3"]
    assert [repair.after for repair in repairs] == ["call_3_2", "call_3_3"]


def test_the_same_call_twice_is_one_call() -> None:
    settled, repairs = settle_ids([ToolCall("a", "f", "{}"), ToolCall("a", "f", "{}")], step=1)
    assert settled == (ToolCall("a", "f", "{}"),)
    assert len(repairs) == 1


def test_two_calls_without_ids_are_two_calls_though_they_are_alike() -> None:
    settled, _ = settle_ids([ToolCall("", "f", "{}"), ToolCall("", "f", "{}")], step=1)
    assert [call.id for call in settled] == ["call_1_1", "call_1_2"]


def test_an_id_with_other_arguments_is_another_call_with_an_id_of_its_own() -> None:
    settled, _ = settle_ids([ToolCall("a", "f", "{}"), ToolCall("a", "f", '{"x":1}')], step=2)
    assert settled == (ToolCall("a", "f", "{}"), ToolCall("call_2_2", "f", '{"x":1}'))


def test_an_id_used_before_in_the_run_is_replaced() -> None:
    settled, repairs = settle_ids([ToolCall("a", "f")], step=2, used={"a"})
    assert settled == (ToolCall("call_2_1", "f"),)
    assert (repairs[0].before, repairs[0].after) == ("a", "call_2_1")


def test_a_made_id_never_meets_one_that_is_there() -> None:
    settled, _ = settle_ids([ToolCall("", "f"), ToolCall("call_1_1", "g")], step=1, used={"call_1_1_2"})
    assert [call.id for call in settled] == ["call_1_1_3", "call_1_1"]


@given(calls_of_a_reply, st.sets(ids))
def test_settled_ids_are_unique_unused_and_settle_to_themselves(calls: list[ToolCall], used: set[str]) -> None:
    settled, _ = settle_ids(calls, step=1, used=used)
    found = [call.id for call in settled]
    assert len({*found}) == len(found)
    assert not used & {*found}
    assert settle_ids(settled, step=1, used=used) == (settled, ())
