"""Requests: what is sent, field by field."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentloop.errors import ConfigError
from agentloop.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from agentloop.model import ModelRequest
from agentloop.wire.chat import ChatWire
from agentloop.wire.quirks import Quirks, preset

Sent = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Spec:
    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


@pytest.fixture
def sent() -> Sent:
    """sent(options, field=...): the JSON body of a request with the text "hi"."""

    def body(options: Any = None, *, quirks: Quirks | None = None, **given: Any) -> dict[str, Any]:
        request = ModelRequest((UserMessage("hi"),), options=options or {}, **given)
        return json.loads(ChatWire("m", "custom", quirks or Quirks()).encode(request).body)

    return body


def test_the_least_request(sent: Sent) -> None:
    assert sent() == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


OPTIONS: dict[str, Any] = {
    "temperature": 0,
    "top_p": 0.5,
    "stop": ("a", "b"),
    "seed": 1,
    "n": 2,
    "frequency_penalty": -1,
    "presence_penalty": 1,
    "logit_bias": {"17": -100},
    "logprobs": True,
    "top_logprobs": 3,
    "response_format": {"type": "json_object"},
    "reasoning_effort": "low",
    "verbosity": "low",
    "modalities": ["text"],
    "audio": {"voice": "x"},
    "prediction": {"type": "content", "content": "x"},
    "metadata": {"k": "v"},
    "store": False,
    "user": "u",
    "safety_identifier": "s",
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "implicit"},
    "prompt_cache_retention": "24h",
    "service_tier": "flex",
    "moderation": {"model": "x"},
    "web_search_options": {},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_sent_under_its_name(sent: Sent, name: str) -> None:
    assert sent({name: OPTIONS[name]})[name] == json.loads(json.dumps(OPTIONS[name]))


@pytest.mark.parametrize("name", [*OPTIONS, "max_tokens", "parallel_tool_calls", "stream_options"])
def test_an_option_of_none_is_not_sent(sent: Sent, name: str) -> None:
    assert sent({name: None}, tools=(Spec("f"),)).keys() == {"model", "tools", "messages"}


def test_the_bound_on_a_reply_has_the_providers_name(sent: Sent) -> None:
    assert sent({"max_tokens": 5})["max_tokens"] == 5
    openai = sent({"max_tokens": 5}, quirks=preset("openai"))
    assert (openai["max_completion_tokens"], "max_tokens" in openai) == (5, False)


def test_an_unknown_option_is_an_error_that_names_it(sent: Sent) -> None:
    with pytest.raises(ConfigError, match=r"unknown option 'temprature' \(did you mean temperature\?\).*extra_body"):
        sent({"temprature": 1})


def test_extra_body_is_merged_over_the_top(sent: Sent) -> None:
    body = sent({"temperature": 1, "extra_body": {"temperature": 0, "top_k": 5, "model": "other", "messages": []}})
    assert body == {"model": "other", "messages": [], "temperature": 0, "top_k": 5}


def test_extra_headers_are_not_in_the_body(sent: Sent) -> None:
    assert sent({"extra_headers": {"x": "y"}}).keys() == {"model", "messages"}


def test_a_stream_is_asked_for_with_its_usage(sent: Sent) -> None:
    body = sent(stream=True)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert "stream_options" not in sent(stream=True, quirks=preset("mistral"))
    assert sent({"stream_options": {"include_usage": False}}, stream=True)["stream_options"] == {"include_usage": False}
    assert "stream_options" not in sent({"stream_options": {"include_usage": True}})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), b"x"])
def test_what_json_cannot_say_is_an_error_that_names_it(sent: Sent, value: Any) -> None:
    with pytest.raises(ConfigError, match="the options cannot be written as JSON"):
        sent({"extra_body": {"x": value}})


# --- tools -----------------------------------------------------------------------------------------------------------


def test_a_tool_becomes_a_function_and_a_dict_goes_as_it_is(sent: Sent) -> None:
    custom = {"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}, "x": 1}
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    body = sent(tools=(Spec("weather", "The weather", parameters), custom))
    function = {"name": "weather", "description": "The weather", "parameters": parameters}
    assert body["tools"] == [{"type": "function", "function": function}, custom]


def test_tools_keep_the_order_they_are_given_in(sent: Sent) -> None:
    body = sent(tools=(Spec("b"), Spec("a"), Spec("c")))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["b", "a", "c"]


def test_a_dict_that_was_changed_is_sent_as_it_is_now(wire: ChatWire) -> None:
    tool: dict[str, Any] = {"type": "function", "function": {"name": "f"}}
    request = ModelRequest((UserMessage("hi"),), tools=(tool,))
    wire.encode(request)
    tool["function"]["name"] = "g"
    assert b'"name":"g"' in wire.encode(request).body


@pytest.mark.parametrize("name", ["", "---", ". .", "\n"])
def test_a_name_without_a_letter_or_digit_is_an_error_that_names_it(sent: Sent, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sent(tools=(Spec(name),))
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("f", {"type": "function", "function": {"name": "f"}}),
        ({"type": "custom", "custom": {"name": "x"}}, {"type": "custom", "custom": {"name": "x"}}),
    ],
)
def test_tool_choice_by_word_name_or_object(sent: Sent, choice: Any, value: Any) -> None:
    assert sent(tools=(Spec("f"),), tool_choice=choice)["tool_choice"] == value


def test_a_tool_choice_that_is_not_offered_is_an_error(sent: Sent) -> None:
    with pytest.raises(ConfigError, match=r"tool_choice='g' .*\(f\)"):
        sent(tools=(Spec("f"),), tool_choice="g")
    with pytest.raises(ConfigError, match="needs tools"):
        sent(tool_choice="required")


def test_words_about_tools_are_not_sent_without_tools(sent: Sent) -> None:
    assert sent({"parallel_tool_calls": False}, tool_choice="auto").keys() == {"model", "messages"}
    assert sent({"parallel_tool_calls": False}, tools=(Spec("f"),))["parallel_tool_calls"] is False


# --- the whole -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("quirks", "role"), [(Quirks(), "system"), (preset("openai"), "developer")])
def test_instructions_head_the_messages(sent: Sent, quirks: Quirks, role: str) -> None:
    body = sent(instructions="Be brief.", quirks=quirks)
    assert body["messages"] == [{"role": role, "content": "Be brief."}, {"role": "user", "content": "hi"}]


def test_instructions_alone_are_a_request_and_nothing_is_none(wire: ChatWire) -> None:
    assert json.loads(wire.encode(ModelRequest((), instructions="Go.")).body)["messages"][0]["content"] == "Go."
    with pytest.raises(ConfigError, match="at least one message"):
        wire.encode(ModelRequest(()))


def test_text_is_sent_as_utf8_and_lone_surrogates_are_escaped(wire: ChatWire) -> None:
    body = wire.encode(ModelRequest((UserMessage("Zürich 你好 \U0001f30d \ud800 \u2028"),))).body
    assert "Zürich 你好 \U0001f30d \\ud800 \u2028".encode() in body
    assert json.loads(body)["messages"][0]["content"] == "Zürich 你好 \U0001f30d \ud800 \u2028"


def test_a_broken_history_is_repaired_and_the_repairs_are_told(wire: ChatWire) -> None:
    call = AssistantMessage(None, (ToolCall("c1", "f"),))
    encoded = wire.encode(ModelRequest((UserMessage("hi"), call, ToolMessage("c9", "?"))))
    assert [m["role"] for m in json.loads(encoded.body)["messages"]] == ["user", "assistant", "tool"]
    assert len(encoded.repairs) == 2


def test_the_order_in_which_options_are_given_does_not_matter(wire: ChatWire) -> None:
    one = ModelRequest((UserMessage("hi"),), options={"seed": 1, "top_p": 1})
    other = ModelRequest((UserMessage("hi"),), options={"top_p": 1, "seed": 1})
    assert wire.encode(one).body == wire.encode(other).body
