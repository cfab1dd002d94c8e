"""Cutting a long tool result to what a model should read: its head, a note of what is missing, its tail."""

from __future__ import annotations

__all__ = ["Excerpt", "cap"]


def cap(text: str, limit: int | None) -> str:
    """`text`, cut to at most `limit` characters with the note included; None means no limit.

    A text of exactly `limit` characters is unchanged. The note tells how many characters were left out and how many
    there were; three quarters of the room go to the head. When not even the note fits, the head alone is given. Cuts
    fall between code points, so no character is broken; the cut text of a JSON result is not JSON any more.
    """
    if limit is None or len(text) <= limit:
        return text
    return _cut(text, text, len(text), limit)


class Excerpt:
    """The same for a text that comes in pieces and may be longer than the memory: only head and tail are kept."""

    __slots__ = ("_head", "_limit", "_tail", "total")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head = self._tail = ""
        self.total = 0

    def add(self, piece: str) -> None:
        self.total += len(piece)
        self._head += piece[: self._limit - len(self._head)]
        if self._limit:
            self._tail = (self._tail + piece)[-self._limit :]

    def text(self) -> str:
        """What `cap` makes of all that was added."""
        if self.total <= self._limit:
            return self._head
        return _cut(self._head, self._tail, self.total, self._limit)


def _cut(start: str, end: str, total: int, limit: int) -> str:
    # The note tells a number that depends on its own length: reserve room for the longest it can be.
    room = limit - len(_note(total, total))
    if room <= 0:
        return start[:limit]
    tail = room // 4
    head = room - tail
    return start[:head] + _note(total - room, total) + (end[-tail:] if tail else "")


def _note(left_out: int, total: int) -> str:
    return f"\n[... {left_out} of {total} characters left out ...]\n"
