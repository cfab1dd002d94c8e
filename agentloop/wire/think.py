"""Splitting a leading `<think>` block off a text, as it comes."""

from __future__ import annotations

__all__ = ["ThinkSplitter"]

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Feed pieces of text; get back (reasoning, text) for each.

    Only a block at the start counts, after blanks at most; the blanks around it belong to neither side. Nothing is
    held back but what may be the beginning of a tag. A block that is never closed is reasoning to the end.
    """

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"  # start -> inside -> after -> text

    @property
    def done(self) -> bool:
        """All that follows is text: the splitter need not be asked again."""
        return self._state == "text"

    def feed(self, piece: str) -> tuple[str, str]:
        self._held += piece
        reasoning = ""
        if self._state == "start":
            self._look_for_the_block()
        if self._state == "inside":
            reasoning = self._read_the_block()
        if self._state == "after" and (rest := self._held.lstrip()):
            self._held, self._state = rest, "text"
        text = ""
        if self._state == "text":
            text, self._held = self._held, ""
        return reasoning, text

    def end(self) -> tuple[str, str]:
        """What was held back, once nothing more comes."""
        held, self._held = self._held, ""
        if self._state == "inside":
            return held, ""
        return "", "" if self._state == "after" else held

    def _look_for_the_block(self) -> None:
        start = self._held.lstrip()
        if start.startswith(_OPEN):
            self._held, self._state = start[len(_OPEN) :], "inside"
        elif not _OPEN.startswith(start):
            self._state = "text"

    def _read_the_block(self) -> str:
        inside, tag, rest = self._held.partition(_CLOSE)
        if tag:
            self._held, self._state = rest, "after"
            return inside
        keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if inside.endswith(_CLOSE[:n])), 0)
        self._held = inside[len(inside) - keep :]
        return inside[: len(inside) - keep]
