"""Messages as they are sent, and what providers want otherwise."""

import json
import re
from typing import Any

import pytest

from agentloop.errors import ConfigError
from agentloop.messages import (
    AssistantMessage,
    AudioPart,
    FilePart,
    ImagePart,
    Message,
    ReasoningPart,
    RefusalPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    VendorPart,
    message_from_dict,
)
from agentloop.model import ModelRequest
from agentloop.wire.chat import ChatWire
from agentloop.wire.quirks import Quirks, preset

TOOL = {"type": "function", "function": {"name": "f"}}


def sent(*messages: Message, quirks: Quirks | None = None, tools: bool = False, **given: Any) -> list[dict[str, Any]]:
    wire = ChatWire("m", "here", quirks or Quirks())
    request = ModelRequest(messages, tools=(TOOL,) if tools else (), **given)
    return json.loads(wire.encode(request).body)["messages"]


def turn(*parts: Any, arguments: str = "{}", **call: Any) -> tuple[Message, Message]:
    """A turn with one call, and its result."""
    made = ToolCall("c1", "f", arguments, **call)
    return AssistantMessage(tuple(parts) or None, (made,)), ToolMessage("c1", "done")


# --- plain messages --------------------------------------------------------------------------------------------------


def test_each_role_in_its_form() -> None:
    assert sent(SystemMessage("s"), UserMessage("u", name="ann"), AssistantMessage("a"), *turn()) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u", "name": "ann"},
        {"role": "assistant", "content": "a"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]


def test_parts_of_a_user_message() -> None:
    parts = (
        TextPart("look", extra={"prompt_cache_breakpoint": {"mode": "explicit"}}),
        ImagePart("https://x/a.png", detail="low"),
        AudioPart("QUJD", "mp3"),
        FilePart(file_id="f1"),
        FilePart(data=b"A", filename="a.pdf"),
    )
    assert sent(UserMessage(parts))[0]["content"] == [
        {"prompt_cache_breakpoint": {"mode": "explicit"}, "type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ==", "filename": "a.pdf"}},
    ]


def test_a_file_by_url_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="use data= or file_id="):
        sent(UserMessage((FilePart(url="https://x/a.pdf"),)))


def test_a_part_that_a_role_cannot_have_is_an_error() -> None:
    with pytest.raises(ConfigError, match="a user message cannot hold a part of type reasoning"):
        sent(UserMessage((ReasoningPart("hm"),)))


def test_keys_that_a_user_wrote_by_hand_are_sent() -> None:
    assert sent(message_from_dict({"role": "assistant", "content": "x", "prefix": True}))[0]["prefix"] is True


def test_an_empty_tool_result_gets_a_placeholder() -> None:
    call, _ = turn()
    assert sent(call, ToolMessage("c1", ""))[1]["content"] == "(no output)"


def test_a_tool_result_is_text_and_tells_what_else_there_was() -> None:
    call, _ = turn()
    result = ToolMessage("c1", (TextPart("a"), ImagePart("https://x/a.png"), TextPart("b")))
    encoded = ChatWire("m", "here", Quirks()).encode(ModelRequest((call, result)))
    content = json.loads(encoded.body)["messages"][1]["content"]
    assert content == "a\n[image_url left out: only text can be shown here]\nb"
    assert len(encoded.notes) == 1


# --- the model's turns -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("quirks", "content"), [(Quirks(), None), (Quirks(empty_content=""), "")])
def test_the_content_of_a_turn_with_only_calls_is_switchable_and_always_there(quirks: Quirks, content: Any) -> None:
    assert sent(*turn(), quirks=quirks)[0]["content"] == content
    assert sent(*turn(TextPart("wait")), quirks=quirks)[0]["content"] == "wait"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        (" \n", "{}"),
        ("null", "{}"),
        ('{"k":"A"}}', '{"k":"A"}'),
        ('{"t": "a\nb"}', '{"t":"a\\nb"}'),
        ('{"k":', '{"INVALID_JSON":"{\\"k\\":"}'),
    ],
)
def test_arguments_go_back_as_an_object(raw: str, value: str) -> None:
    assert sent(*turn(arguments=raw))[0]["tool_calls"][0]["function"]["arguments"] == value


@pytest.mark.parametrize(
    ("name", "past"),
    [
        ("f", "f"),
        ("functions.get sites", "functions__get_sites"),
        ("", "tool_e3b0c442"),
        ("x" * 80, "x" * 55 + "_d929cdee"),
    ],
)
def test_a_name_the_model_made_up_is_sent_in_a_form_servers_take(name: str, past: str) -> None:
    turns = (AssistantMessage(None, (ToolCall("c1", name),)), ToolMessage("c1", "unknown tool"))
    assert sent(*turns)[0]["tool_calls"][0]["function"]["name"] == past


def test_a_refusal_goes_back_as_text() -> None:
    assert sent(UserMessage("x"), AssistantMessage((RefusalPart("No."),)))[1] == {"role": "assistant", "content": "No."}


def test_vendor_keys_of_a_call_go_back_to_their_vendor_only() -> None:
    signed = {"extra": {"extra_content": {"sig": "S"}}}
    assert sent(*turn(**signed, vendor="here"))[0]["tool_calls"][0]["extra_content"] == {"sig": "S"}
    assert "extra_content" not in sent(*turn(**signed, vendor="elsewhere"))[0]["tool_calls"][0]
    assert "extra_content" in sent(*turn(**signed))[0]["tool_calls"][0]


def test_vendor_items_of_a_turn_go_back_to_their_vendor_only() -> None:
    details = {"reasoning_details": [{"type": "reasoning.encrypted", "data": "X"}]}
    reference = {"type": "reference", "reference_ids": [3]}

    def message(provider: str, wire: str = "chat") -> Message:
        return AssistantMessage(
            (VendorPart(wire, provider, details), TextPart("a"), VendorPart(wire, provider, reference))
        )

    ours = {"role": "assistant", "content": [{"type": "text", "text": "a"}, reference], **details}
    assert sent(message("here")) == [ours]
    assert sent(message("elsewhere")) == [{"role": "assistant", "content": "a"}]
    assert sent(message("here", "responses")) == [{"role": "assistant", "content": "a"}]


def test_what_only_another_vendor_understands_is_noted() -> None:
    part = VendorPart("anthropic", "anthropic", {"type": "redacted_thinking"})
    request = ModelRequest((AssistantMessage((part, TextPart("a"))),))
    assert ChatWire("m", "here", Quirks()).encode(request).notes == (
        "an item that only anthropic understands was left out",
    )


def test_a_custom_call_goes_back_as_it_came() -> None:
    custom = {"custom": {"name": "sql", "input": "select 1"}}
    turns = (AssistantMessage(None, (ToolCall("c1", "sql", "select 1", custom, "here"),)), ToolMessage("c1", "1"))
    assert sent(*turns)[0]["tool_calls"] == [{"id": "c1", "type": "custom", **custom}]


# --- reasoning -------------------------------------------------------------------------------------------------------

THOUGHT = ReasoningPart("hm")


@pytest.mark.parametrize(
    ("policy", "tools", "plain", "with_call"),
    [
        ("always", False, True, True),
        ("when_tools_offered", True, True, True),
        ("when_tools_offered", False, False, False),
        ("tool_turns", True, False, True),
        ("tool_turns", False, False, True),
        ("never", True, False, False),
    ],
)
def test_which_turns_go_back_with_their_reasoning(policy: Any, tools: bool, plain: bool, with_call: bool) -> None:
    history = (AssistantMessage((THOUGHT, TextPart("a"))), UserMessage("u"), *turn(THOUGHT))
    messages = sent(*history, quirks=Quirks(reasoning=policy), tools=tools)
    assert messages[0].get("reasoning_content") == ("hm" if plain else None)
    assert messages[2].get("reasoning_content") == ("hm" if with_call else None)
    assert messages[0]["content"] == "a"


def test_what_is_sent_when_there_is_no_reasoning() -> None:
    assert "reasoning_content" not in sent(*turn())[0]
    assert sent(*turn(), quirks=preset("deepseek"), tools=True)[0]["reasoning_content"] == ""


def test_reasoning_goes_back_under_the_key_it_came_in_unless_the_provider_has_one() -> None:
    came = ReasoningPart("hm", {"field": "reasoning"})
    assert sent(*turn(came))[0]["reasoning"] == "hm"
    assert sent(*turn(came), quirks=preset("deepseek"), tools=True)[0]["reasoning_content"] == "hm"


def test_a_thinking_turn_with_a_call_goes_back_to_deepseek_as_it_came() -> None:
    wire = ChatWire("m", "deepseek", preset("deepseek"))
    call = {"id": "c1", "type": "function", "function": {"name": "date", "arguments": "{}"}}
    message = {"role": "assistant", "content": "", "reasoning_content": "I need the date.", "tool_calls": [call]}
    body = json.dumps({"choices": [{"finish_reason": "tool_calls", "message": message}]}).encode()
    reply = wire.decode(body, ModelRequest(()))
    request = ModelRequest((UserMessage("hi"), reply.message, ToolMessage("c1", "Monday")), tools=(TOOL,))
    assert json.loads(wire.encode(request).body)["messages"][1] == message


# --- provider shapes -------------------------------------------------------------------------------------------------


def test_call_ids_of_nine_characters_for_both_sides_of_a_pair() -> None:
    ids = ["call_PTLP8xhu3uwZk4l3nlnrrJha", "turn1_0", "2968-LWy3uasib", "call_PTLP8xhu3uwZk4l3nlnrrJhb", "abcDEF123"]
    history = [m for i in ids for m in (AssistantMessage(None, (ToolCall(i, "f"),)), ToolMessage(i, "x"))]
    messages = sent(*history, quirks=preset("mistral"))
    made = [m["tool_calls"][0]["id"] for m in messages if m["role"] == "assistant"]
    assert made == [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", i) for i in made)
    assert len(set(made)) == 5
    assert made[-1] == "abcDEF123"
    assert made == [m["tool_calls"][0]["id"] for m in sent(*history, quirks=preset("mistral")) if "tool_calls" in m]


def test_all_system_messages_in_one_at_the_front() -> None:
    history = (SystemMessage("a"), UserMessage("u"), SystemMessage("b"), UserMessage("v"))
    assert sent(*history, instructions="i", quirks=Quirks(single_system=True)) == [
        {"role": "system", "content": "i\n\na\n\nb"},
        {"role": "user", "content": "u"},
        {"role": "user", "content": "v"},
    ]


def test_neighbours_of_one_role_are_joined_and_the_history_is_left_alone() -> None:
    history = (
        UserMessage("a"),
        UserMessage("b"),
        AssistantMessage("c"),
        AssistantMessage("d"),
        *turn(),
        UserMessage("e"),
    )
    messages = sent(*history, quirks=Quirks(alternate_roles=True))
    assert [(m["role"], m["content"]) for m in messages] == [
        ("user", "a\n\nb"),
        ("assistant", "c\n\nd"),
        ("tool", "done"),
        ("user", "e"),
    ]
    assert history[0] == UserMessage("a")


def test_neighbours_with_parts_are_joined_as_parts() -> None:
    image = ImagePart("https://x/a.png")
    messages = sent(UserMessage("a"), UserMessage((image,)), quirks=Quirks(alternate_roles=True))
    assert [part["type"] for part in messages[0]["content"]] == ["text", "image_url"]


def test_the_mark_of_a_pinned_message_stays_at_home():
    pinned = UserMessage("keep me", extra={"pinned": True, "other": 1})
    encoded = ChatWire("m", "p", Quirks()).encode(ModelRequest((pinned,)))
    assert json.loads(encoded.body)["messages"] == [{"role": "user", "content": "keep me", "other": 1}]
