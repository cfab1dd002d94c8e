"""Cutting a long tool result to what a model should read: its head, a note of what is missing, its tail."""

from __future__ import annotations

__all__ = ["cap"]


def cap(text: str, limit: int | None) -> str:
    """`text`, cut to at most `limit` characters with the note included; None means no limit.

    A text of exactly `limit` characters is unchanged. The note tells how many characters were left out and how many
    there were; three quarters of the room go to the head. When not even the note fits, the head alone is given. Cuts
    fall between code points, so no character is broken; the cut text of a JSON result is not JSON any more.
    """
    if limit is None or len(text) <= limit:
        return text
    # The note grows with the number it tells, and that number depends on the note: reserve room for the largest.
    room = limit - len(_note(len(text), len(text)))
    if room <= 0:
        return text[: max(limit, 0)]
    tail = room // 4
    head = room - tail
    return text[:head] + _note(len(text) - room, len(text)) + (text[-tail:] if tail else "")


def _note(left_out: int, total: int) -> str:
    return f"\n[... {left_out} of {total} characters left out ...]\n"
