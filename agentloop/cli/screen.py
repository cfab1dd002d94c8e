"""Where a command writes and asks: answers on stdout, everything about them on stderr."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

from agentloop.cli.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Line", "Look", "Screen"]

Look: TypeAlias = Literal["plain", "step", "call", "result", "error", "note", "done"]

_STYLES: dict[Look, str] = {
    "plain": "",
    "step": "bold",
    "call": "cyan",
    "result": "green",
    "error": "red",
    "note": "dim",
    "done": "bold",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line for stderr. Its text is safe to show; `look` says what colour it has, where there is colour."""

    text: str
    look: Look = "plain"


class Screen:
    """stdout, stderr and stdin of a command.

    Colour needs a terminal at stderr and no NO_COLOR in the environment. Where a stream's encoding lacks a character,
    its escape is written.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None, source: TextIO | None = None) -> None:
        self.out, self.err, self.source = out or sys.stdout, err or sys.stderr, source or sys.stdin
        self._mid_line = False

    @property
    def can_ask(self) -> bool:
        """Whether a person is there to be asked: stdin and stderr are a terminal."""
        return self.source.isatty() and self.err.isatty()

    def answer(self, text: str) -> None:
        """Write a piece of the answer to stdout as it is, or made printable when stdout is a terminal."""
        if text:
            _write(self.out, printable(text) if self.out.isatty() else text)
            self._mid_line = not text.endswith("\n")

    def end_answer(self) -> None:
        """Finish the line of the answer, if one is open."""
        if self._mid_line:
            _write(self.out, "\n")
            self._mid_line = False

    def lines(self, *lines: Line) -> None:
        """Write lines to stderr, below what stdout has shown on the same terminal."""
        if lines:
            self._break_line()
        for line in lines:
            if self.err.isatty():
                self._console.out(line.text, style=_STYLES[line.look], highlight=False)
            else:
                _write(self.err, line.text + "\n")

    def note(self, text: str, look: Look = "note") -> None:
        """Write a text of one or more lines to stderr, made printable."""
        self.lines(*(Line(line, look) for line in printable(text).split("\n")))

    def ask(self, question: str, prefill: str = "") -> str | None:
        """One line from the person, without its end; None when the input has ended. With stdin and stdout at a terminal
        the line can be edited, and begins with `prefill` where the platform can do that."""
        self._break_line()
        if self.source is sys.stdin and self.source.isatty() and self.out.isatty():
            return _edit(question, prefill)
        _write(self.err, question)
        line = self.source.readline()
        if question and not self.source.isatty():
            _write(self.err, "\n")  # nobody typed the end of the line
        return line.rstrip("\r\n") if line else None

    def _break_line(self) -> None:
        if self.out.isatty():
            self.end_answer()

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=self.err, highlight=False, soft_wrap=True)


def _edit(question: str, prefill: str) -> str | None:
    try:
        import readline
    except ImportError:  # Windows: its console edits lines by itself, but cannot be given one
        readline = None
    if readline and prefill:
        readline.set_startup_hook(lambda: readline.insert_text(prefill))
    try:
        return input(question)
    except EOFError:
        return None
    finally:
        if readline:
            readline.set_startup_hook(None)


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
