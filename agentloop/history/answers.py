"""What a trimming policy answers, and what it may rely on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agentloop.history.tokens import TokenCounter
from agentloop.messages import PINNED, Message, SystemMessage

__all__ = ["Answer", "Cut", "Impossible", "NeedSummary", "Pinned", "Policy", "Send", "is_kept", "is_pinned", "pin"]


@dataclass(frozen=True, slots=True)
class Cut:
    """The request is not the one before plus what is new.

    `left` are the messages that it leaves out or shows shortened. The request would have had `tokens_before` tokens and
    has `tokens_after`; `cached_lost` tokens of the request before stood behind the place of the cut, where a prefix
    cache of the provider is of no use.
    """

    left: tuple[Message, ...]
    tokens_before: int
    tokens_after: int
    cached_lost: int


@dataclass(frozen=True, slots=True)
class Send:
    """Send `view`: legal, and in the order of the history. The other fields are filled in by `plan_view`: `upto` is
    the length of the history that was planned; `tokens` is None where no limit asked for a count."""

    view: Sequence[Message]
    upto: int = 0
    tokens: int | None = None
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class NeedSummary:
    """Nothing is sent before `messages` are summarised, in at most `room` tokens; the summary then stands for all that
    lies before position `upto`, except for instructions and pins."""

    messages: Sequence[Message]
    upto: int
    room: int = 1000


@dataclass(frozen=True, slots=True)
class Impossible:
    """Nothing legal fits. `reason` says by how much, and what to change."""

    reason: str


Answer: TypeAlias = Send | NeedSummary | Impossible
Policy: TypeAlias = Callable[[Sequence[Message], TokenCounter], Answer]
Pinned: TypeAlias = Callable[[Message], bool]


def pin(message: Message) -> Message:
    """The message with `extra[PINNED]` set: no policy leaves it out. The mark is for trimming only."""
    extra: Mapping[str, object] = {**message.extra, PINNED: True}
    return replace(message, extra=extra)


def is_pinned(message: Message) -> bool:
    return bool(message.extra) and message.extra.get(PINNED) is True


def is_kept(message: Message, pinned: Pinned) -> bool:
    """Whether a message stays whatever is cut: instructions and pins do."""
    return isinstance(message, SystemMessage) or pinned(message)
