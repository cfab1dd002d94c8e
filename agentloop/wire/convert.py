"""Moving a conversation: a history begun on one wire goes on on another, and what is lost by that is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentloop.errors import ConfigError
from agentloop.messages import Message, messages_from
from agentloop.wire.carry import ABILITIES, Carrier

__all__ = ["Converted", "Loss", "WireName", "convert"]

WireName: TypeAlias = Literal["chat", "responses", "anthropic"]


@dataclass(frozen=True, slots=True)
class Loss:
    """What could not be carried of the message at that place in the history, in words."""

    message: int
    what: str


@dataclass(frozen=True, slots=True)
class Converted:
    messages: tuple[Message, ...]
    losses: tuple[Loss, ...] = ()


def convert(messages: Iterable[Message | Mapping[str, Any]], *, to: WireName, provider: str | None = None) -> Converted:
    """The history as the wire `to` can say it, and what that loses.

    Dropped are items that only another vendor understands (signatures, encrypted reasoning), reasoning in clear where
    the wire takes none, and names and further keys that it has no place for. Media that cannot be shown become notes in
    the text, refusals plain text, and custom calls function calls; call ids are rewritten where their letters are
    refused. With `provider` only the items of that provider count as understood. Nothing needs to be converted before
    it is sent: a client does the same with each message, and tells it in the reply's `notes`.

    Raises ConfigError for an unknown wire, HistoryError for a dict that is no message.
    """
    if to not in ABILITIES:
        raise ConfigError(f"unknown wire {to!r}: there are {', '.join(ABILITIES)}")
    carrier = Carrier(to, ABILITIES[to], provider)
    out: list[Message] = []
    losses: list[Loss] = []
    for place, message in enumerate(messages_from(messages)):
        out.append(carrier.carry(message))
        losses += [Loss(place, what) for what in dict.fromkeys(carrier.losses)]
        carrier.losses.clear()
    return Converted(tuple(out), tuple(losses))
