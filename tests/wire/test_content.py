"""Reasoning, refusals, and content that is more than text."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.messages import AssistantMessage
from agentloop.model import ModelEvent, ModelResponse, ReasoningDelta
from agentloop.parts import ReasoningPart, RefusalPart, TextPart, VendorPart
from agentloop.wire.think import ThinkSplitter

Read = Callable[..., ModelResponse]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_kept_apart_from_the_text(decode: Read, deltas: Read, key: str) -> None:
    whole = decode({"content": "42", key: "6 times 7"})
    streamed = deltas({"role": "assistant", key: ""}, {key: "6 times"}, {"content": None, key: " 7"}, {"content": "42"})
    assert (whole.text, whole.reasoning) == ("42", "6 times 7")
    assert streamed.message == whole.message


def test_the_same_reasoning_under_two_keys_is_read_once(
    decode: Read, deltas: Read, events: Callable[..., list[ModelEvent]]
) -> None:
    both = {"reasoning": "hm", "reasoning_content": "hm"}
    assert decode({"content": "x", **both}).reasoning == "hm"
    assert deltas(both, {"content": "x"}).reasoning == "hm"
    body = b'data: {"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}\n\n'
    assert events(body, b"data: [DONE]\n\n")[0] == ReasoningDelta("hm")


def test_reasoning_beside_calls_with_the_deltas_joined(deltas: Read) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "date", "arguments": "{}"}}
    response = deltas({"reasoning_content": "I need "}, {"reasoning_content": "the date."}, {"tool_calls": [call]})
    assert response.reasoning == "I need the date."
    assert response.tool_calls[0].name == "date"


def test_reasoning_details_are_kept_whole(decode: Read, deltas: Read) -> None:
    details = [
        {"type": "reasoning.text", "text": "let me see", "signature": "S", "index": 0},
        {"type": "reasoning.encrypted", "data": "OPAQUE", "id": "e1", "index": 1},
    ]
    pieces = [
        [{"type": "reasoning.text", "text": "let me ", "index": 0}],
        [{"type": "reasoning.text", "text": "see", "index": 0}],
        [{"type": "reasoning.text", "text": "", "signature": "S", "index": 0}],
        [{"type": "reasoning.encrypted", "data": "OPAQUE", "id": "e1", "index": 1}],
    ]
    whole = decode({"content": "x", "reasoning_details": details})
    assert whole.reasoning == "let me see"
    assert VendorPart("chat", "custom", {"reasoning_details": details}) in whole.message.parts
    assert deltas(*({"reasoning_details": piece} for piece in pieces), {"content": "x"}).message == whole.message


def test_reasoning_details_with_other_ids_are_other_items(deltas: Read) -> None:
    items = [
        {"type": "reasoning.encrypted", "data": "A", "id": "1"},
        {"type": "reasoning.encrypted", "data": "B", "id": "2"},
    ]
    response = deltas(*({"reasoning_details": [item]} for item in items), {"content": "x"})
    assert VendorPart("chat", "custom", {"reasoning_details": items}) in response.message.parts


def test_content_as_parts(decode: Read) -> None:
    reference = {"type": "reference", "reference_ids": [3]}
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "1+1..."}]}
    response = decode({"content": [thinking, {"type": "text", "text": "It is 2."}, reference]})
    assert (response.text, response.reasoning) == ("It is 2.", "1+1...")
    assert response.message.parts[-1] == VendorPart("chat", "custom", reference)


def test_content_as_parts_in_deltas(deltas: Read) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    response = deltas({"content": [thinking]}, {"content": "It is"}, {"content": [{"type": "text", "text": " 2."}]})
    assert response.message == AssistantMessage((ReasoningPart("hm"), TextPart("It is 2.")))


def test_content_parts_give_deltas_of_their_kind(events: Callable[..., list[ModelEvent]]) -> None:
    body = b'data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":"a"},{"text":"b"},"c"]}}]}\n\n'
    told = [(event.type, event.text) for event in events(body, b"data: [DONE]\n\n")[:-1]]  # type: ignore[union-attr]
    assert told == [("reasoning_delta", "a"), ("text_delta", "b"), ("text_delta", "c")]


@pytest.mark.parametrize(
    ("content", "text"), [(17, "17"), (True, "true"), ({"type": "text", "text": "x"}, "x"), ([], "")]
)
def test_content_of_an_odd_type_is_not_lost(decode: Read, content: Any, text: str) -> None:
    assert decode({"content": content}).text == text


def test_a_refusal_is_no_answer(decode: Read) -> None:
    response = decode({"role": "assistant", "content": None, "refusal": "I can't help with that."})
    assert (response.refusal, response.text) == ("I can't help with that.", "")
    assert response.message == AssistantMessage((RefusalPart("I can't help with that."),))


def test_a_streamed_refusal(deltas: Read) -> None:
    assert deltas({"refusal": "I can't "}, {"refusal": "help."}).refusal == "I can't help."


def test_a_refusal_of_null_is_none(decode: Read) -> None:
    assert (decode({"content": "ok", "refusal": None}).text, decode({"content": "ok"}).refusal) == ("ok", None)


def test_spoken_audio_can_be_referred_to_later(decode: Read, deltas: Read) -> None:
    whole = decode({"content": None, "audio": {"id": "a1", "data": "QUJD", "transcript": "hi"}})
    streamed = deltas({"audio": {"id": "a1", "data": "QU"}}, {"audio": {"data": "JD", "transcript": "hi"}})
    assert whole.message == AssistantMessage((VendorPart("chat", "custom", {"audio": {"id": "a1"}}),))
    assert streamed.message == whole.message
    assert streamed.raw is not None
    assert streamed.raw["choices"][0]["message"]["audio"] == {"id": "a1", "data": "QUJD", "transcript": "hi"}


# --- <think> ---------------------------------------------------------------------------------------------------------


def split(*pieces: str) -> tuple[str, str]:
    splitter = ThinkSplitter()
    both = [*(splitter.feed(piece) for piece in pieces), splitter.end()]
    return "".join(reasoning for reasoning, _ in both), "".join(text for _, text in both)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think>b", ("a", "b")),
        ("\n <think>a\nb</think>\n\nc", ("a\nb", "c")),
        ("<think>a", ("a", "")),
        ("<think></think>b", ("", "b")),
        ("b <think>a</think>", ("", "b <think>a</think>")),
        ("<thi", ("", "<thi")),
        ("<thinker>", ("", "<thinker>")),
        ("<think>a</th", ("a</th", "")),
        ("<think>a</think>b<think>c</think>", ("a", "b<think>c</think>")),
        ("  plain ", ("", "  plain ")),
        ("", ("", "")),
    ],
)
def test_a_leading_think_block_is_split_off_at_any_split(text: str, expected: tuple[str, str]) -> None:
    assert split(text) == expected
    assert split(*text) == expected


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "ink>", "/", " ", "\n", "a"])))
def test_how_the_text_is_cut_into_pieces_does_not_matter(pieces: list[str]) -> None:
    assert split(*pieces) == split("".join(pieces))


def test_without_the_switch_a_text_stays_byte_for_byte(decode: Read, deltas: Read) -> None:
    assert decode({"content": "<think>a</think>\n\nb"}).text == "<think>a</think>\n\nb"
    assert deltas({"content": "<think>a"}, {"content": "</think>\n\nb"}).text == "<think>a</think>\n\nb"
