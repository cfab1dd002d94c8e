"""Messages: values that can be written down and read again, whatever form their content was given in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentloop import (
    AssistantMessage,
    ImagePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agentloop.errors import HistoryError
from agentloop.messages import Message, ReasoningPart, RefusalPart, VendorPart, message_from_dict

MESSAGES: list[Message] = [
    SystemMessage("Be brief."),
    UserMessage((TextPart("what is this?"), ImagePart("https://h/a.png", detail="low"))),
    AssistantMessage((ReasoningPart("hm"), TextPart("a cat"), VendorPart("chat", "p", {"sign": "x"}))),
    AssistantMessage((RefusalPart("no"),), (ToolCall("c1", "f", '{"a": 1', extra={"odd": 1}, vendor="p"),)),
    ToolMessage("c1", "boom", is_error=True, kind="raised"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.role)
def test_a_message_that_was_written_down_is_read_as_the_same(message: Message) -> None:
    assert message_from_dict(json.loads(json.dumps(message.to_dict()))) == message


def test_keys_from_the_future_survive() -> None:
    stored = {**UserMessage("hi").to_dict(), "mood": {"level": 3}}
    assert UserMessage.from_dict(stored).to_dict() == stored


def test_a_schema_from_the_future_is_refused() -> None:
    with pytest.raises(HistoryError, match="update agentloop"):
        UserMessage.from_dict({"schema": 99, "role": "user", "content": "hi"})


@pytest.mark.parametrize(
    "content", [[TextPart("hi")], [{"type": "text", "text": "hi"}], ({"type": "text", "text": "hi"},), ["hi"]]
)
def test_parts_may_come_in_a_list_and_as_dicts(content: Any) -> None:
    assert UserMessage(content) == UserMessage((TextPart("hi"),))
    assert ToolResult(content).content == (TextPart("hi"),)


@pytest.mark.parametrize("content", [None, 5, b"hi", [5], [UserMessage("hi")], {"type": "text", "text": "hi"}])
def test_content_that_is_neither_text_nor_parts_is_refused(content: Any) -> None:
    with pytest.raises(HistoryError, match="content"):
        UserMessage(content)


@pytest.mark.parametrize("part", [{"type": "image_url"}, {"type": "file", "file": {"filename": "a.pdf"}}])
def test_an_image_or_a_file_from_nowhere_is_refused(part: Any) -> None:
    with pytest.raises(HistoryError, match="needs"):
        message_from_dict({"role": "user", "content": [part]})
