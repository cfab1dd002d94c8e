"""Tool calls put together from deltas, in all the shapes that servers send."""

from collections.abc import Callable
from typing import Any

import pytest

from agentloop.messages import UserMessage
from agentloop.model import ModelRequest, ModelResponse, ToolCallDelta
from agentloop.wire.chat import ChatWire

Calls = Callable[..., list[tuple[str, str, str]]]


def fn(name: str | None = None, arguments: Any = None, **entry: Any) -> dict[str, Any]:
    """One entry of `tool_calls`, with only the keys that are given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**entry, "function": function}


def request(*tools: str) -> ModelRequest:
    offered = tuple({"type": "function", "function": {"name": name}} for name in tools)
    return ModelRequest((UserMessage("hi"),), tools=offered)


def test_the_specified_form_keys_calls_by_index(calls: Calls) -> None:
    assert calls(
        [fn("get", "", index=0, id="c1", type="function")],
        [fn(None, '{"q":', index=0)],
        [fn("get", "", index=1, id="c2", type="function")],
        [fn(None, '"dogs"}', index=0), fn(None, "{}", index=1)],
    ) == [("c1", "get", '{"q":"dogs"}'), ("c2", "get", "{}")]


@pytest.mark.parametrize("index", [{}, {"index": None}])
def test_without_an_index_a_new_id_starts_a_call_and_the_rest_goes_to_the_latest(calls: Calls, index: Any) -> None:
    assert calls(
        [fn("get", '{"q":', id="c1", **index)],
        [fn(None, '"cats"}', **index)],
        [fn("get", '{"q":"dogs"}', id="c2", **index)],
    ) == [("c1", "get", '{"q":"cats"}'), ("c2", "get", '{"q":"dogs"}')]


def test_without_index_and_ids_a_name_after_complete_arguments_starts_a_call(calls: Calls) -> None:
    made = calls([fn("get", '{"q":1}')], [fn("get", '{"q":')], [fn(None, "2}")])
    assert [call[1:] for call in made] == [("get", '{"q":1}'), ("get", '{"q":2}')]


def test_several_entries_of_one_delta_are_several_calls(calls: Calls) -> None:
    made = calls([fn("ping", ""), fn("ping", ""), fn("get", "{}", id="c3")])
    assert [call[1:] for call in made] == [("ping", ""), ("ping", ""), ("get", "{}")]


def test_index_zero_for_every_call(calls: Calls) -> None:
    assert calls(
        [fn("write", '{"p":"a"}', index=0, id="x1")],
        [fn("write", '{"p":"b"}', index=0, id="x2")],
        [fn("read", "{}", index=0, id="x3")],
    ) == [("x1", "write", '{"p":"a"}'), ("x2", "write", '{"p":"b"}'), ("x3", "read", "{}")]


def test_index_zero_for_every_call_with_pieces_that_take_turns(calls: Calls) -> None:
    assert calls(
        [fn("f", '{"a":', index=0, id="x1")],
        [fn("g", '{"b":', index=0, id="x2")],
        [fn(None, "1}", index=0, id="x1")],
        [fn(None, "2}", index=0, id="x2")],
    ) == [("x1", "f", '{"a":1}'), ("x2", "g", '{"b":2}')]


def test_index_zero_for_every_call_and_no_ids(calls: Calls) -> None:
    made = calls([fn("f", '{"a":1}', index=0)], [fn("f", '{"a":2}', index=0)])
    assert [call[1:] for call in made] == [("f", '{"a":1}'), ("f", '{"a":2}')]


def test_id_and_name_repeated_in_every_delta(calls: Calls) -> None:
    assert calls(
        [fn("read_file", "", index=0, id="c1")],
        [fn("read_file", '{"a"', index=0, id="c1")],
        [fn("read_file", ":1}", index=0, id="c1")],
        [fn("read_file", "", index=0, id="c1")],
    ) == [("c1", "read_file", '{"a":1}')]


def test_a_name_split_in_two(calls: Calls) -> None:
    made = calls([fn("edit_ex", index=0, id="c1")], [fn("isting_file", "{}", index=0)])
    assert made == [("c1", "edit_existing_file", "{}")]


def test_a_name_that_grows(calls: Calls) -> None:
    assert calls([fn("edit", index=0, id="c1")], [fn("edit_file", "{}", index=0)]) == [("c1", "edit_file", "{}")]


@pytest.mark.parametrize(("offered", "name"), [("gogo", "gogo"), ("go", "go")])
def test_a_doubled_name_is_settled_by_the_tools_that_were_offered(calls: Calls, offered: str, name: str) -> None:
    made = calls([fn("go", index=0, id="c1")], [fn("go", "{}", index=0)], request=request(offered))
    assert made == [("c1", name, "{}")]


def test_a_new_id_on_each_delta_is_one_call(calls: Calls) -> None:
    assert calls(
        [fn("f", '{"a":', index=0, id="r1")],
        [fn(None, "1", index=0, id="r2")],
        [fn(None, "}", index=0, id="r3")],
    ) == [("r1", "f", '{"a":1}')]


def test_a_new_id_on_each_delta_with_the_name_repeated_is_one_call(calls: Calls) -> None:
    made = calls([fn("f", '{"a":', id="r1")], [fn("f", "1", id="r2")], [fn("f", "}", id="r3")])
    assert made == [("r1", "f", '{"a":1}')]


def test_an_index_that_counts_the_deltas(calls: Calls) -> None:
    made = calls([fn("f", '{"a":', index=0, id="c1")], [fn(None, "1}", index=1, id="c1")])
    assert made == [("c1", "f", '{"a":1}')]


def test_the_same_id_for_two_calls_is_made_two_ids(calls: Calls) -> None:
    made = calls([fn("f", '{"a":1}', index=0, id="f")], [fn("f", '{"a":2}', index=1, id="f")])
    assert made == [("f", "f", '{"a":1}'), ("call_1_2", "f", '{"a":2}')]


def test_the_same_id_for_two_calls_whose_pieces_come_by_index(calls: Calls) -> None:
    assert calls(
        [fn("f", "", index=0, id="f")],
        [fn("f", "", index=1, id="f")],
        [fn(None, '{"a":1}', index=0)],
        [fn(None, '{"a":2}', index=1)],
    ) == [("f", "f", '{"a":1}'), ("call_1_2", "f", '{"a":2}')]


def test_a_new_id_after_complete_arguments_is_a_new_call_whose_name_comes_late(calls: Calls) -> None:
    made = calls([fn("f", "{}", index=0, id="a")], [fn(None, "{}", index=0, id="b")], [fn("g", index=0)])
    assert made == [("a", "f", "{}"), ("b", "g", "{}")]


def test_a_name_that_is_a_tool_replaces_a_beginning_that_is_none(calls: Calls) -> None:
    made = calls([fn("tool", index=0, id="c1")], [fn("get", "{}", index=0)], request=request("get"))
    assert made == [("c1", "get", "{}")]


@pytest.mark.parametrize("late", [{"id": None}, {"id": ""}, {}])
def test_an_id_that_comes_late(calls: Calls, late: Any) -> None:
    made = calls([fn("f", "", index=0, **late)], [fn(None, "{}", index=0, id="c1")])
    assert made == [("c1", "f", "{}")]


def test_a_name_that_comes_late(calls: Calls) -> None:
    assert calls([fn(None, "", index=0, id="c1")], [fn("f", "{}", index=0)]) == [("c1", "f", "{}")]


def test_ids_that_never_come_are_made(calls: Calls) -> None:
    made = calls([fn("f", "{}", index=0)], [fn("g", "{}", index=1)])
    assert [call[0] for call in made] == ["call_1_1", "call_1_2"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({"city": "Zürich", "n": 2}, '{"city":"Zürich","n":2}'), ({}, "{}"), (None, ""), ("", ""), ([], "[]")],
)
def test_arguments_that_are_no_string(calls: Calls, arguments: Any, text: str) -> None:
    entry = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": arguments}}
    assert calls([entry]) == [("c1", "f", text)]


@pytest.mark.parametrize("entries", [[None], [{}], ["x"], [17], {}, None])
def test_entries_that_are_none_are_passed_over(calls: Calls, entries: Any) -> None:
    assert calls(entries, [fn("f", "{}", index=0, id="c1")]) == [("c1", "f", "{}")]


def test_one_entry_that_is_not_in_a_list(calls: Calls) -> None:
    assert calls(fn("f", "{}", index=0, id="c1")) == [("c1", "f", "{}")]


def test_the_deprecated_function_call(deltas: Callable[..., ModelResponse]) -> None:
    response = deltas({"function_call": {"name": "f", "arguments": "{"}}, {"function_call": {"arguments": "}"}})
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [("call_1_1", "f", "{}")]


def test_vendor_keys_of_a_call_are_kept(deltas: Callable[..., ModelResponse]) -> None:
    signed = fn("f", "{}", index=0, id="c1", extra_content={"google": {"thought_signature": "S"}})
    call = deltas({"tool_calls": [signed]}).tool_calls[0]
    assert (call.extra, call.vendor) == ({"extra_content": {"google": {"thought_signature": "S"}}}, "custom")


def test_deltas_say_which_call_they_belong_to(wire: ChatWire) -> None:
    assembler = wire.assembler(request())
    entries = (
        b'[{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}},{"index":1,"id":"c2","function":{"name":"g"}}]'
    )
    told = assembler.feed(b'data: {"choices":[{"index":0,"delta":{"tool_calls":' + entries + b"}}]}\n\n")
    assert told == [ToolCallDelta(0, "c1", "f", "{"), ToolCallDelta(1, "c2", "g", "")]
    more = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}\n\n'
    assert assembler.feed(more) == [ToolCallDelta(0, "c1", "f", "}")]


def test_a_missing_index_is_noted(deltas: Callable[..., ModelResponse]) -> None:
    assert deltas({"tool_calls": [fn("f", "{}", id="c1")]}).notes == ("a tool call delta without an index",)
