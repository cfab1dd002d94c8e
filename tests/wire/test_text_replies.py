"""Tools as text: recorded replies of a real model, and streams."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.model import ModelRequest, ReasoningDelta, ResponseDone, TextDelta, ToolCallDelta
from agentloop.wire.text_hold import TextHold
from tests.wire.text_cases import ASK, CLICK, DOUBTS, PLAIN, RUNS, TOOLS, answer, calls, wire

RECORDINGS = Path(__file__).parent.parent / "recordings" / "llama-server-plain-template"

RECORDED = {
    "06-tools-named.200.json": [("add_numbers", {"a": 17, "b": 25})],
    "07-tools-named-stream.200.sse": [("add_numbers", {"a": 17, "b": 25})],
    "08-tools-auto.200.json": [("get_weather", {"city": "Paris", "unit": "celsius"})],
    "09-tools-auto-stream.200.sse": [("get_weather", {"city": "Paris", "unit": "celsius"})],
    "12-parallel-auto.200.json": [("get_weather", {"city": "Paris", "unit": "celsius"})],
    # cut by the limit of tokens
    "04-tools-required.200.json": [],
    "05-tools-required-stream.200.sse": [],
    "10-parallel-required.200.json": [],
    "11-parallel-required-stream.200.sse": [],
    "13-second-turn.200.json": [],
    "14-second-turn-stream.200.sse": [],
    "42-utf8-tool-args-stream.200.sse": [],
    "44-tools-length-cut.200.json": [],
    "45-tools-length-cut-stream.200.sse": [],
    "55-tool-orphan.200.json": [],
}


def test_every_recorded_reply_is_in_the_table():
    assert {path.name for path in RECORDINGS.glob("*.200.*")} == {*RECORDED, "35-tool-choice-none.200.json"}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_reply_of_a_real_model(name: str):
    body = (RECORDINGS / name).read_bytes()
    if name.endswith(".json"):
        response = wire().decode(body, ASK)
    else:
        assembler = wire().assembler(ASK)
        done = [*assembler.feed(body), *assembler.end()][-1]
        assert isinstance(done, ResponseDone)
        response = done.response
    assert calls(response) == RECORDED[name]
    assert response.finish_reason == ("tool_calls" if RECORDED[name] else "length")


def test_a_recorded_reply_to_a_request_that_forbids_calls():
    body = (RECORDINGS / "35-tool-choice-none.200.json").read_bytes()
    assert wire().decode(body, ModelRequest(ASK.messages, TOOLS, "none")).tool_calls == ()


# --- streams ---------------------------------------------------------------------------------------------------------

TEXTS = [text for text, *_ in RUNS.values()] + list(PLAIN.values()) + [text for text, _ in DOUBTS.values()]


def streamed(*pieces: Any, finish: str = "stop", request: ModelRequest = ASK) -> list[Any]:
    deltas = [piece if isinstance(piece, dict) else {"content": piece} for piece in pieces]
    chunks = [
        *({"choices": [{"delta": delta}]} for delta in deltas),
        {"choices": [{"delta": {}, "finish_reason": finish}]},
    ]
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
    assembler = wire().assembler(request)
    return [*assembler.feed(body), *assembler.end()]


@given(st.sampled_from(TEXTS), st.lists(st.integers(0, 120), max_size=6))
def test_what_was_shown_is_the_text_of_the_reply_however_it_came(text: str, cuts: list[int]):
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    events = streamed(*(text[a:b] for a, b in pairwise(places)))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == events[-1].response.text
    assert events[-1].response.message == answer(text).message


@pytest.mark.parametrize("text", TEXTS)
def test_a_stream_of_single_letters_gives_the_same(text: str):
    events = streamed(*text)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == events[-1].response.text
    assert events[-1].response.message == answer(text).message


def test_plain_text_is_passed_on_as_it_comes():
    events = streamed("Hel", "lo\n", "you", " {a}")
    assert [event.text for event in events[:-1]] == ["Hel", "lo", "\nyou", " {a}"]


def test_code_in_a_language_is_passed_on_as_it_comes():
    events = streamed("Look:\n```py", "thon\n", "x = 1", "\ny = 2\n", "```\nok")
    assert [event.text for event in events[:4]] == ["Look:\n```", "pyt", "hon\nx", " = 1\ny "]


def test_json_that_is_no_call_is_passed_on_as_soon_as_its_first_key_shows_it():
    events = streamed('{"city":', '"Paris",', '"x":1}')
    assert len(events) == 4


def test_a_call_is_an_event_of_its_own_and_its_text_is_not_shown():
    events = streamed("Saving.\n<tool_", "call>", CLICK, "</tool_call>")
    assert events[0] == TextDelta("Saving.")
    assert events[1] == ToolCallDelta(0, "text_1_1", "click", '{"text": "Save"}')
    assert len(events) == 3


def test_with_a_native_call_the_held_text_is_shown():
    native = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "bash", "arguments": "{}"}}]}
    events = streamed(CLICK, native, finish="tool_calls")
    assert events[0] == TextDelta(CLICK)
    assert [call.name for call in events[-1].response.tool_calls] == ["bash"]


def test_reasoning_is_passed_on():
    assert streamed({"reasoning_content": CLICK}, "Done.")[0] == ReasoningDelta(CLICK)


def test_a_call_of_a_megabyte_in_small_pieces_is_held_without_joining_it_again_and_again():
    hold = TextHold()
    pieces = ["<tool_call>", *["aaaaaaaaa "] * 100_000]
    assert {hold.feed(piece) for piece in pieces} == {""}
    assert hold.rest() == "".join(pieces)


def test_nothing_counts_as_seen_while_all_is_held():
    assembler = wire().assembler(ASK)
    assembler.feed(b"data: " + json.dumps({"choices": [{"delta": {"content": CLICK}}]}).encode() + b"\n\n")
    assert assembler.content_seen is False
    assert assembler.partial() is not None
