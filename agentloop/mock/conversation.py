"""What a scenario sees and says, in no vendor's words: dialects read requests into a `Question` and render a `Reply`.

These are the mock's own values, and nothing of `agentloop.wire` is used: a second implementation of a wire finds
mistakes that a shared one would hide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

__all__ = ["Call", "Offer", "Question", "Reply", "Scenario", "Turn", "limited", "tokens_of"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. `arguments` is the text as it goes over the wire; an empty `id` is filled in by the server."""

    name: str
    arguments: str = "{}"
    id: str = ""

    @staticmethod
    def of(name: str, **arguments: Any) -> Call:
        return Call(name, json.dumps(arguments, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the request. `role` is system, user, assistant or tool; `call_id` is set for tool results."""

    role: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that the request offers. `parameters` is its JSON Schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Question:
    """A request for a reply. `must_call` means that a call is demanded; `tools` are only those that may be called.

    `output_schema` is the JSON Schema that the answer's text must follow, if one was asked for; `max_tokens` and `stop`
    bound the reply; `parallel_calls` allows more than one call in it.
    """

    turns: tuple[Turn, ...]
    tools: tuple[Offer, ...] = ()
    must_call: bool = False
    parallel_calls: bool = True
    output_schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()

    @property
    def last_user(self) -> int:
        """Index of the last user turn, or -1."""
        return max((i for i, turn in enumerate(self.turns) if turn.role == "user"), default=-1)

    @property
    def prompt(self) -> str:
        """The text of the last user turn, or an empty string."""
        return self.turns[self.last_user].text if self.last_user >= 0 else ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered. `finish` is stop, tool_calls, length or any other word; empty means that the reply decides."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    finish: str = ""

    @property
    def finish_word(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")


Scenario: TypeAlias = Callable[[Question], Reply]


def tokens_of(text: str) -> list[str]:
    """The mock's tokens: a word with the blanks before it, or at most eight characters. Joined they are the text."""
    return re.findall(r"\s*\S{1,8}|\s+", text)


def limited(reply: Reply, question: Question) -> Reply:
    """The reply within the bounds of the question: call ids given, text cut at a stop sequence and at `max_tokens`."""
    before = sum(len(turn.calls) for turn in question.turns)
    calls = tuple(replace(c, id=c.id or f"call_{before + i}") for i, c in enumerate(reply.calls, 1))
    calls = calls if question.parallel_calls else calls[:1]
    text = reply.text
    for word in question.stop:
        text = text.partition(word)[0] if word else text
    reply = replace(reply, text=text, calls=calls)
    return reply if question.max_tokens is None else _cut(reply, question.max_tokens)


def _cut(reply: Reply, left: int) -> Reply:
    """What fits into `left` tokens, in the order reasoning, text, calls. A cut call has broken arguments."""
    reasoning, left = _fit(reply.reasoning, left)
    text, left = _fit(reply.text, left)
    calls: list[Call] = []
    for call in reply.calls:
        if left > 0:
            arguments, left = _fit(call.arguments, left)
            calls.append(replace(call, arguments=arguments))
    if (reasoning, text, tuple(calls)) == (reply.reasoning, reply.text, reply.calls):
        return reply
    return Reply(text, tuple(calls), reasoning, finish="length")


def _fit(text: str, left: int) -> tuple[str, int]:
    tokens = tokens_of(text)
    return "".join(tokens[:left]), max(0, left - len(tokens))
