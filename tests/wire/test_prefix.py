"""What was sent once is sent as the same bytes again, and is not encoded again."""

import os
import subprocess
import sys

import pytest

from agentloop.errors import ConfigError
from agentloop.messages import AssistantMessage, FilePart, Message, ToolCall, ToolMessage, UserMessage
from agentloop.model import ModelRequest
from agentloop.pairing import PairedMessages
from agentloop.wire.chat import ChatWire
from agentloop.wire.prefix import EncodedHistories
from agentloop.wire.quirks import PRESETS, Quirks

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def history(steps: int) -> list[Message]:
    messages: list[Message] = [UserMessage("begin")]
    for i in range(steps):
        messages += [AssistantMessage(None, (ToolCall(f"c{i}", "f", f'{{"i": {i}}}'),)), ToolMessage(f"c{i}", "x")]
    return messages


@pytest.mark.parametrize("provider", PRESETS)
def test_each_request_repeats_the_bytes_of_the_one_before(provider: str) -> None:
    wire = ChatWire("m", provider, PRESETS[provider])
    before = b""
    for steps in range(4):
        choice = None if steps else "required"
        request = ModelRequest(tuple(history(steps)), tools=(TOOL,), tool_choice=choice, instructions="i")
        body = wire.encode(request).body
        head = body[: body.rindex(b"]", 0, body.rindex(b"tool_choice") if b"tool_choice" in body else None)]
        assert body.startswith(before)
        before = head


def test_the_bytes_are_the_same_in_another_process() -> None:
    code = (
        "from agentloop.wire.chat import ChatWire; from agentloop.wire.quirks import Quirks;"
        "from agentloop.model import ModelRequest; from agentloop.messages import UserMessage;"
        "request = ModelRequest((UserMessage('hi'),), options={'seed': 1, 'top_p': 1, 'extra_body': {'b': 1, 'a': 2}});"
        "print(ChatWire('m', 'custom', Quirks()).encode(request).body)"
    )
    bodies = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(bodies) == 1
    assert b"hi" in bodies.pop()


class Counted:
    """An encoder that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self._histories = EncodedHistories()

    def body(self, messages: tuple[Message, ...], variant: str = "") -> bytes:
        return self._histories.body(messages, variant, self._encode, head=b"[", tail=b"]")

    def _encode(self, message: Message) -> bytes:
        self.calls += 1
        return message.text.encode() or b"-"


def users(*texts: str) -> tuple[Message, ...]:
    return tuple(UserMessage(text) for text in texts)


def test_a_message_is_encoded_once_while_its_history_grows() -> None:
    encoder, messages = Counted(), users(*"abcd")
    assert [encoder.body(messages[:n]) for n in range(5)] == [b"[]", b"[a]", b"[a,b]", b"[a,b,c]", b"[a,b,c,d]"]
    assert encoder.calls == 4


def test_a_view_that_was_trimmed_at_the_front_takes_the_bytes_it_has() -> None:
    encoder, messages = Counted(), users(*"abcd")
    encoder.body(messages)
    assert encoder.body((*users("s"), *messages[2:])) == b"[s,c,d]"
    assert encoder.calls == 5


def test_a_history_that_became_shorter_or_took_another_way() -> None:
    encoder, messages = Counted(), users(*"abcd")
    encoder.body(messages)
    assert encoder.body(messages[:2]) == b"[a,b]"
    assert encoder.body((*messages[:1], *users("x"))) == b"[a,x]"
    assert encoder.body(messages) == b"[a,b,c,d]"


def test_several_histories_at_once() -> None:
    encoder, one, other = Counted(), users(*"ab"), users(*"cd")
    for n in (1, 2):
        assert encoder.body(one[:n]) == b"[" + b",".join([b"a", b"b"][:n]) + b"]"
        assert encoder.body(other[:n]) == b"[" + b",".join([b"c", b"d"][:n]) + b"]"
    assert encoder.calls == 4


def test_equal_messages_that_are_other_objects_give_the_same_bytes() -> None:
    encoder = Counted()
    assert encoder.body(users("a", "b")) == encoder.body(users("a", "b")) == b"[a,b]"


def test_variants_do_not_mix() -> None:
    encoder, messages = Counted(), users("a")
    encoder.body(messages, "with tools")
    encoder.body(messages, "without")
    assert encoder.calls == 2


def test_only_a_few_histories_are_kept() -> None:
    encoder, first = Counted(), users("first")
    encoder.body(first)
    kept = [users(str(i)) for i in range(20)]
    for messages in kept:
        encoder.body(messages)
    encoder.body(first)
    assert encoder.calls == 22


def test_a_message_that_cannot_be_encoded_leaves_the_bytes_of_the_others_alone(wire: ChatWire) -> None:
    good = PairedMessages(users("a", "b"))
    body = wire.encode(ModelRequest(good)).body
    bad = PairedMessages((*good, UserMessage("c"), UserMessage((FilePart(url="https://x"),))))
    with pytest.raises(ConfigError):
        wire.encode(ModelRequest(bad))
    assert wire.encode(ModelRequest(good)).body == body
    assert wire.encode(ModelRequest(PairedMessages((*good, UserMessage("d"))))).body.count(b'"content"') == 3


def test_reasoning_that_goes_back_only_with_tools_is_not_taken_from_a_request_without() -> None:
    wire = ChatWire("m", "here", Quirks(reasoning="when_tools_offered", reasoning_filler=""))
    messages = (UserMessage("u"), AssistantMessage("a"))
    assert b"reasoning_content" not in wire.encode(ModelRequest(messages)).body
    assert b"reasoning_content" in wire.encode(ModelRequest(messages, tools=(TOOL,))).body
