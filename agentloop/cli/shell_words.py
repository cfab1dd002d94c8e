"""Reading a pasted command as bash would, without running anything: quotes, continued lines, here-documents.

Variables stay variables. What bash would have to run to know the words (`$(...)`, backticks) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from agentloop.errors import ConfigError

__all__ = ["Command", "Variable", "Word", "filled", "joined", "plain", "read_commands"]


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


Word: TypeAlias = tuple[str | Variable, ...]


@dataclass(slots=True)
class Command:
    """The words of one command; `document` is its here-document, if it has one; `joint` is what stands behind it:
    "|", ";", "&&" and the like, or "" at the end."""

    words: list[Word] = field(default_factory=list[Word])
    document: Word | None = None
    joint: str = ""


def plain(word: Word) -> str:
    """The word as text, with variables as they are written."""
    return "".join(piece if isinstance(piece, str) else f"${piece.name}" for piece in word)


def filled(word: Word, environment: Mapping[str, str]) -> str:
    """The word as text, with the values of its variables. Raises ConfigError for one that is not set."""
    for piece in word:
        if isinstance(piece, Variable) and not environment.get(piece.name):
            raise ConfigError(f"the pasted line uses ${piece.name}: set this variable first")
    return "".join(piece if isinstance(piece, str) else environment[piece.name] for piece in word)


def read_commands(text: str) -> list[Command]:
    """The commands of a line of bash. Raises ConfigError for what cannot be read without a shell."""
    if re.search(r"\^\r?\n", text):
        raise ConfigError("this line is written for cmd (^ at the ends of lines): copy it as curl for bash")
    return _Reader(text.replace("\r\n", "\n")).read()


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})"
    r"|x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([0-7]{1,3})|(.))",
    re.DOTALL,
)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))")
_JOINT = re.compile(r"\|\|?|&&?|;|\n")
_PLAIN = re.compile(r"[^\s'\"\\$`|&;<>()]+")


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._commands = [Command()]
        self._pending: tuple[Command, str, bool] | None = None  # a here-document that begins on the next line

    def read(self) -> list[Command]:
        while self._at < len(self._text):
            self._next()
        if self._pending:
            raise ConfigError(f"the here-document does not come: its end {self._pending[1]!r} is missing")
        return [command for command in self._commands if command.words]

    def _next(self) -> None:
        command = self._commands[-1]
        if self._take(r"[ \t]+|\\\n|#[^\n]*"):
            return
        if self._take("<<<|<<-"):
            self._refuse("this redirection")
        if self._take(r"<<[ \t]*"):
            quoted = self._text[self._at : self._at + 1] in "'\"\\"
            self._pending = (command, plain(self._word()), quoted)
        elif joint := self._take(_JOINT.pattern):
            self._end_command(command, joint)
        elif self._take("[<>()]"):
            self._refuse(f"'{self._text[self._at - 1]}'")
        else:
            command.words.append(self._word())

    def _end_command(self, command: Command, joint: str) -> None:
        if joint == "\n" and self._pending:
            self._read_document()
        if command.words:
            command.joint = ";" if joint == "\n" else joint
            self._commands.append(Command())

    def _read_document(self) -> None:
        assert self._pending
        command, end, quoted = self._pending
        found = re.compile(rf"^{re.escape(end)}$", re.MULTILINE).search(self._text, self._at)
        if found is None:
            return
        text, self._at, self._pending = self._text[self._at : found.start()], found.end(), None
        command.document = (text,) if quoted else _Reader(text).expanded()

    def expanded(self) -> Word:
        """The whole text as within double quotes, where `"` itself means nothing."""
        return joined(self._quoted(None))

    def _word(self) -> Word:
        pieces: list[str | Variable] = []
        while self._at < len(self._text):
            if found := self._take(_PLAIN.pattern):
                pieces.append(found)
            elif self._take(r"\$'"):
                pieces.append(_unescaped(self._up_to_quote(r"((?:[^'\\]|\\.)*)'")))
            elif self._take("'"):
                pieces.append(self._up_to_quote("([^']*)'"))
            elif self._take(r'\$?"'):
                pieces += self._quoted('"')
            elif self._take(r"\\\n"):
                pass
            elif self._take(r"\\"):
                pieces.append(self._take("(?s:.)"))
            elif self._text[self._at] in "$`":
                pieces.append(self._dollar())
            else:
                break
        return joined(pieces)

    def _quoted(self, end: str | None) -> list[str | Variable]:
        """What is within double quotes, or up to the end of the text."""
        pieces: list[str | Variable] = []
        while self._at < len(self._text):
            if end and self._take(end):
                return pieces
            if self._take(r"\\\n"):
                continue
            if found := self._take(rf"\\[\\$`{end or ''}]"):
                pieces.append(found[1])
            elif self._text[self._at] in "$`":
                pieces.append(self._dollar())
            else:
                pieces.append(self._take(r"(?s:\\|[^\\$`\"]+|.)"))
        if end:
            self._refuse('a " without its end')
        return pieces

    def _dollar(self) -> str | Variable:
        found = _VARIABLE.match(self._text, self._at)
        if found is None:
            if self._take(r"\$(?![({])"):
                return "$"
            self._refuse("what bash would have to run or expand, such as $(...),")
        self._at = found.end()
        return Variable(found.group(1) or found.group(2))

    def _up_to_quote(self, pattern: str) -> str:
        found = re.compile(pattern, re.DOTALL).match(self._text, self._at)
        if found is None:
            self._refuse("a ' without its end")
        self._at = found.end()
        return found.group(1)

    def _take(self, pattern: str) -> str:
        found = re.compile(pattern).match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found.group() if found else ""

    def _refuse(self, what: str) -> NoReturn:
        raise ConfigError(f"{what} near character {self._at + 1} cannot be read: take it out of the pasted line")


def joined(pieces: Iterable[str | Variable]) -> Word:
    """Neighbouring texts as one; an empty word is one empty text."""
    out: list[str | Variable] = []
    for piece in pieces:
        last = out[-1] if out else None
        if piece == "":
            continue
        if isinstance(piece, str) and isinstance(last, str):
            out[-1] = last + piece
        else:
            out.append(piece)
    return tuple(out) or ("",)


def _unescaped(text: str) -> str:
    """The text of $'...'. Browsers write characters beyond U+FFFF as two escapes, which bash would not join."""

    def one(found: re.Match[str]) -> str:
        high, low, byte, short, long, octal, other = found.groups()
        if high:
            return bytes.fromhex(high + low).decode("utf-16-be")
        if byte or octal:
            return bytes([int(byte, 16) if byte else int(octal, 8) & 0xFF]).decode("utf-8", "surrogateescape")
        if short or long:
            code = int(short or long, 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        return _ESCAPES.get(other, other)

    # bytes that make up a character together are joined here
    return _ESCAPE.sub(one, text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
