"""A cache of encoded messages: each message is encoded once, and a history that grew is copied, not walked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from agentloop.messages import Message

__all__ = ["EncodedHistories"]

_KEPT = 8  # histories: each holds its messages and their bytes for as long as it is kept


@dataclass(slots=True)
class _History:
    """`joined` is the encoded messages with what stands between them; message i is from `starts[i]` to `ends[i]`."""

    variant: Hashable
    messages: tuple[Message, ...] = ()
    joined: bytearray = field(default_factory=bytearray)
    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])

    def append(self, piece: bytes | bytearray, joint: bytes) -> None:
        if self.ends:
            self.joined += joint
        self.starts.append(len(self.joined))
        self.joined += piece
        self.ends.append(len(self.joined))

    def piece(self, index: int) -> bytearray:
        return self.joined[self.starts[index] : self.ends[index]]


class EncodedHistories:
    """The bytes of the last few histories that were sent.

    Messages are frozen, so the same object has the same bytes, and equal ones too. `variant` stands for all else that
    the bytes of a message depend on. `joint` gives what stands between two neighbours. Safe to use from many threads.
    """

    def __init__(self, joint: Callable[[Message, Message], bytes] = lambda before, after: b",") -> None:
        self._joint = joint
        self._lock = threading.Lock()
        self._histories: dict[tuple[int, Hashable], _History] = {}  # by their first message; the latest is last

    def body(
        self,
        messages: tuple[Message, ...],
        variant: Hashable,
        encode: Callable[[Message], bytes],
        *,
        head: bytes,
        tail: bytes,
    ) -> bytes:
        """`head`, the messages and their joints, `tail`. `encode` is called for messages not seen before."""
        if not messages:
            return head + tail
        with self._lock:
            history = self._history(messages, variant, encode)
            return b"".join((head, history.joined, tail))

    def _history(
        self, messages: tuple[Message, ...], variant: Hashable, encode: Callable[[Message], bytes]
    ) -> _History:
        key = (id(messages[0]), variant)
        known = self._histories.pop(key, None) or self._latest(variant)
        if known is None or messages[: len(known.messages)] != known.messages:
            known = self._rebuilt(known, messages, variant, encode)
        new = len(known.messages)
        for place, piece in enumerate(
            [encode(message) for message in messages[new:]], new
        ):  # all of them, or it raises
            known.append(piece, self._joint(messages[place - 1], messages[place]))
        known.messages = messages
        self._histories[key] = known
        if len(self._histories) > _KEPT:
            del self._histories[next(iter(self._histories))]
        return known

    def _latest(self, variant: Hashable) -> _History | None:
        """For a view whose front was trimmed: it has most messages in common with the one sent before."""
        return next((h for h in reversed(self._histories.values()) if h.variant == variant), None)

    def _rebuilt(
        self,
        known: _History | None,
        messages: tuple[Message, ...],
        variant: Hashable,
        encode: Callable[[Message], bytes],
    ) -> _History:
        history = _History(variant, messages)
        places = {id(message): i for i, message in enumerate(known.messages)} if known else {}
        before = messages[0]
        for message in messages:
            place = places.get(id(message))
            piece = encode(message) if known is None or place is None else known.piece(place)
            history.append(piece, self._joint(before, message))
            before = message
        return history
