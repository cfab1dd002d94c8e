"""What a wire can carry of a message, and what is told of the rest."""

from typing import Any

import pytest

from agentloop.errors import ConfigError
from agentloop.history import pin
from agentloop.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage, messages_from
from agentloop.parts import AudioPart, FilePart, ImagePart, RefusalPart, TextPart, ToolCall, VendorPart
from agentloop.wire.convert import convert

IMAGE = ImagePart("https://example.org/a.png")
CUSTOM = ToolCall("c1", "patch", "free", {"custom": {"name": "patch", "input": "free"}}, "responses:openai")
KEYED = ToolCall("c1", "f", "{}", {"extra_content": 1}, "gemini")


def carried(message: Message, to: Any, provider: str | None = None) -> tuple[Message, list[str]]:
    converted = convert([message], to=to, provider=provider)
    return converted.messages[0], [loss.what for loss in converted.losses]


def test_an_unknown_wire_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match="there are chat, responses, anthropic"):
        convert([], to="telegraph")  # type: ignore[arg-type]


def test_further_keys_of_a_message_are_lost_and_a_pin_is_none_of_them() -> None:
    message = pin(UserMessage("hi", extra={"b": 1, "a": 2}))
    moved, losses = carried(message, "anthropic")
    assert moved == pin(UserMessage("hi"))
    assert losses == ["further keys of a user message were left out: a, b"]


def test_the_name_in_a_result_is_no_loss_since_its_call_says_it_too() -> None:
    assert carried(ToolMessage("c1", "x", extra={"name": "f"}), "responses") == (ToolMessage("c1", "x"), [])


@pytest.mark.parametrize(
    ("message", "to", "text"),
    [
        (
            UserMessage((FilePart(url="https://example.org/a.pdf"),)),
            "chat",
            "[file left out: https://example.org/a.pdf]",
        ),
        (UserMessage((AudioPart("AAAA"),)), "responses", "[input_audio left out: it cannot be shown here]"),
        (SystemMessage((IMAGE,)), "chat", "[image_url left out: it cannot be shown here]"),
        (ToolMessage("c1", (AudioPart("AAAA"),)), "anthropic", "[input_audio left out: it cannot be shown here]"),
    ],
)
def test_media_that_cannot_be_shown_become_a_note(message: Message, to: Any, text: str) -> None:
    moved, losses = carried(message, to)
    assert (moved.content, len(losses)) == ((TextPart(text),), 1)


@pytest.mark.parametrize("to", ["chat", "responses", "anthropic"])
def test_a_part_written_by_hand_goes_to_whoever_is_asked(to: Any) -> None:
    written = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    (message,) = messages_from([{"role": "user", "content": [{"type": "input_text", "text": "see"}, written]}])
    assert carried(message, to, "p") == (message, [])
    assert message.content == (TextPart("see"), VendorPart("", "", written))


@pytest.mark.parametrize(
    ("message", "to"),
    [
        (UserMessage((AudioPart("AAAA"),), name="ann"), "chat"),
        (UserMessage((FilePart(url="https://example.org/a.pdf"), IMAGE)), "anthropic"),
        (UserMessage((VendorPart("responses", "openai", {"type": "input_x"}),)), "responses"),
        (AssistantMessage((TextPart("x"), RefusalPart("no"))), "responses"),
        (AssistantMessage(None, (CUSTOM,)), "responses"),
        (AssistantMessage(None, (KEYED,)), "chat"),
    ],
)
def test_what_the_wire_can_say_is_the_same_object(message: Message, to: Any) -> None:
    moved, losses = carried(message, to)
    assert moved is message
    assert losses == []


@pytest.mark.parametrize(
    ("part", "to"), [(IMAGE, "chat"), (AudioPart("AAAA"), "anthropic"), (VendorPart("chat", "x", {}), "responses")]
)
def test_what_a_model_cannot_have_said_there_is_left_out(part: Any, to: Any) -> None:
    moved, losses = carried(AssistantMessage((TextPart("x"), part)), to)
    assert (moved.content, len(losses)) == ((TextPart("x"),), 1)


@pytest.mark.parametrize(
    ("call", "to", "provider", "arguments"),
    [
        (CUSTOM, "chat", None, '{"input": "free"}'),
        (CUSTOM, "responses", "azure", '{"input": "free"}'),
        (KEYED, "chat", "groq", "{}"),
    ],
)
def test_keys_of_a_call_stay_with_the_wire_and_provider_they_came_from(
    call: ToolCall, to: Any, provider: Any, arguments: str
) -> None:
    moved, losses = carried(AssistantMessage(None, (call,)), to, provider)
    assert isinstance(moved, AssistantMessage)
    assert (moved.tool_calls, len(losses)) == ((ToolCall("c1", call.name, arguments),), 1)


def test_calls_among_the_parts_are_carried_like_the_others() -> None:
    moved, _ = carried(AssistantMessage((ToolCall("a.b", "f"), TextPart("x"))), "anthropic")
    assert isinstance(moved, AssistantMessage)
    assert moved.parts[0] == moved.tool_calls[0] == ToolCall("a_b_" + moved.tool_calls[0].id[4:], "f")
