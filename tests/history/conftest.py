"""Histories and a plain counter for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentloop.messages import AssistantMessage, Message, ToolCall, ToolMessage
from agentloop.pairing import check


class WordCounter:
    """One token per word and nothing else; a tool is 100 tokens. Keeps what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[Message, ...]] = []

    def count(self, messages: Sequence[Message], tools: Sequence[Any] = ()) -> int:
        check(messages)
        self.asked.append(tuple(messages))
        return sum(len(message.text.split()) for message in messages) + 100 * len(tools)


@pytest.fixture
def words() -> WordCounter:
    return WordCounter()


@pytest.fixture
def turn():
    """Make one turn of tool use: an assistant message with calls, and a result of `words` words for each."""

    def make(*ids: str, words: int = 10) -> list[Message]:
        calls = tuple(ToolCall(id, "look", "{}") for id in ids)
        return [AssistantMessage(None, calls), *(ToolMessage(id, "r " * words) for id in ids)]

    return make
