"""Which part of a streamed text can be shown at once, and which has to wait because a call may begin there.

Calls begin at the start of a line, so all else is passed on as it comes. Held back are a fence that may hold JSON, a
`<tool_call>` block, and JSON with which a reply begins, until it is clear that they are no calls, or until the end;
and the blanks before a line. Nothing is lost by a wrong guess: what was held comes at the end at the latest.
"""

from __future__ import annotations

import re
from typing import Literal

from agentloop.wire.text_calls import CALL_FENCES, CLOSE_TAG, OPEN_TAG

__all__ = ["TextHold"]

_THINK, _THOUGHT = "<think>", "</think>"
_FENCE = re.compile(r"(`{3,})[ \t]*([^\n]*)(\n\s*)?(\S)?")
_KEY_TO_COME = re.compile(r"[\[{\s]*(\"[^\"]{,20})?")
_FIRST_KEY = re.compile(r"[\[{\s]*\"([^\"]*)\"")
_CALL_KEYS = frozenset({"name", "tool", "arguments", "parameters", "id", "type", "function", "tool_calls"})


class TextHold:
    """Feed pieces of text, get back what may be shown; `rest` gives what was held, once nothing more comes."""

    def __init__(self) -> None:
        self._held = ""
        self._later: list[str] = []  # what comes while only the end of a block is awaited
        self._awaited = ""  # the last letter of that end
        self._at = 0  # where in `_held` the block begins that is looked at
        self._seen = 0  # up to where its end was looked for
        self._first = True  # nothing but blanks and thoughts came before
        self._fence = "\n```"  # what ends the code that is passed on
        self._state: Literal["line", "text", "think", "code", "block", "end"] = "line"

    def feed(self, piece: str) -> str:
        self._later.append(piece)
        if self._state == "end" or (self._awaited and self._awaited not in piece):
            return ""  # a long call comes in many pieces: they are joined once
        self._held += "".join(self._later)
        self._later.clear()
        out: list[str] = []
        while (shown := self._step()) is not None:
            out.append(shown)
        return "".join(out)

    def rest(self) -> str:
        held = self._held + "".join(self._later)
        self._held, self._later = "", []
        return held

    def _step(self) -> str | None:
        """One step forward: what it shows, or None when more must come first."""
        match self._state:
            case "line":
                return self._begin_line()
            case "text":
                return self._pass_text()
            case "think":
                return self._pass_until(_THOUGHT, "line")
            case "code":
                return self._pass_until(self._fence, "text")
            case "block":
                return self._look_at_block()
            case "end":
                return None

    def _show(self, length: int) -> str:
        shown, self._held = self._held[:length], self._held[length:]
        self._at = 0
        return shown

    def _begin_line(self) -> str | None:
        rest = self._held[self._at :].lstrip()
        openers = ("```", OPEN_TAG, *(("{", "[", _THINK) if self._first else ()))
        if any(opener.startswith(rest) and opener != rest for opener in (*openers, _THOUGHT)):
            return None
        if rest.startswith(_THOUGHT):  # of a thought that began in the prompt: the reply begins behind it
            self._first = True
            return self._show(len(self._held) - len(rest) + len(_THOUGHT))
        if rest.startswith(_THINK) and self._first:
            self._state = "think"
            return ""
        if rest.startswith(openers):
            self._state = "block"
            self._at = self._seen = len(self._held) - len(rest)
            return ""
        self._state, self._first = "text", False
        return self._show(len(self._held) - len(rest))

    def _pass_text(self) -> str | None:
        line, newline, _ = self._held.partition("\n")
        shown = self._show(len(line.rstrip()))
        if newline:
            self._state = "line"
        return shown if shown or newline else None

    def _pass_until(self, end: str, then: Literal["line", "text"]) -> str | None:
        place = self._held.find(end)
        if place >= 0:
            self._state = then
            return self._show(place + len(end))
        return self._show(len(self._held) - len(end)) if len(self._held) > len(end) else None

    def _look_at_block(self) -> str | None:
        block = self._held[self._at : self._at + 300]
        if block.startswith(("{", "[")):
            return self._look_at_json(block)
        if opening := _FENCE.match(block):
            return self._look_at_fence(*opening.groups(default=""))
        return self._look_for(CLOSE_TAG)

    def _look_at_fence(self, marks: str, info: str, newline: str, ink: str) -> str | None:
        info = info.strip().lower()
        if not newline and marks == "```" and any(word.startswith(info) for word in CALL_FENCES):
            return None
        if not newline and marks != "```" and not info:
            return None  # the marks may go on
        if "`" in info:
            return self._free("text")
        if marks != "```" or info not in CALL_FENCES or (ink and ink not in "{["):
            self._fence = "\n" + marks
            return self._free("code")
        return self._look_for("\n```")

    def _look_for(self, close: str) -> str | None:
        """The end of a block that may be a call; another may follow it."""
        place = self._held.find(close, self._seen)
        if place < 0:
            self._seen, self._awaited = max(self._at, len(self._held) - len(close)), close[-1]
            return None
        self._at, self._awaited = place + len(close), ""
        self._state = "line"
        return ""

    def _look_at_json(self, block: str) -> str | None:
        if _KEY_TO_COME.fullmatch(block) and len(block) < 200:
            return None
        key = _FIRST_KEY.match(block)
        if key is None or key[1] not in _CALL_KEYS:
            return self._free("text")
        self._state = "end"
        return None

    def _free(self, state: Literal["code", "text"]) -> str:
        """It is no call: show it up to where the block begins and the mark of its beginning."""
        self._state, self._first = state, False
        mark = len(self._held[self._at :]) - len(self._held[self._at :].lstrip("`{["))
        return self._show(self._at + mark)
