"""A pasted curl command as a call: what curl would send, and what it would do that needs a person's consent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from agentloop.cli.shell_words import Command, Variable, Word, joined, plain, read_commands
from agentloop.errors import ConfigError
from agentloop.http.secrets import redact_text, redact_url

__all__ = ["Consent", "CurlCall", "Header", "read_curl"]

Header: TypeAlias = tuple[str, Word]
Consent: TypeAlias = Literal["read", "write", "insecure"]

_DATA = ("--data", "--data-raw", "--data-binary", "--json")
_WITH_VALUE = {
    "-X": "--request", "-H": "--header", "-d": "--data", "--data-ascii": "--data", "-u": "--user", "-A": "--user-agent",
    "-e": "--referer", "-b": "--cookie", "-m": "--max-time", "-o": "--output",
    **{name: name for name in (*_DATA, "--request", "--header", "--user", "--user-agent", "--referer", "--cookie",
                               "--max-time", "--connect-timeout", "--output", "--url")},
}  # fmt: skip
_FLAGS = {
    "-k": "--insecure", "-N": "--no-buffer", "-s": "--silent", "-S": "--show-error", "-f": "--fail", "-i": "--include",
    "-v": "--verbose", "-g": "--globoff", "-L": "--location",
    **{name: name for name in ("--insecure", "--no-buffer", "--silent", "--show-error", "--fail", "--fail-with-body",
                               "--include", "--verbose", "--globoff", "--location", "--compressed", "--http1.1",
                               "--http2", "--no-progress-meter")},
}  # fmt: skip
_AS_HEADER = {"--user-agent": "User-Agent", "--referer": "Referer", "--cookie": "Cookie"}


@dataclass(slots=True)
class CurlCall:
    """What a command asks for. `login` is the user and password of -u; `output` the file of -o; `seconds` the bound of
    -m; `notes` name what was left out."""

    url: Word = ()
    method: str = ""
    headers: list[Header] = field(default_factory=list[Header])
    body: Word | None = None
    login: Word | None = None
    insecure: bool = False
    follow: bool = False
    output: str | None = None
    seconds: float | None = None
    notes: list[str] = field(default_factory=list[str])

    @property
    def host(self) -> str:
        return urlsplit(plain(self.url)).hostname or ""

    def header(self, name: str) -> Word | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)


def read_curl(text: str, consents: frozenset[Consent] = frozenset()) -> CurlCall:
    """The call of a pasted command. `consents` allow reading files, writing one, and skipping the check of
    certificates. Raises ConfigError for anything that would be ignored otherwise, and names it."""
    commands = read_commands(text)
    if commands and commands[0].words[0] == ("$",):
        commands[0].words.pop(0)  # the prompt, copied along
    place = next((i for i, command in enumerate(commands) if command.words[:1] == [("curl",)]), None)
    if place is None:
        raise ConfigError("this is no curl command: paste a line that begins with curl")
    command = commands[place]
    builder = _Builder(consents, _stdin(commands[:place], command))
    call = builder.build(command.words[1:])
    for left in commands[place + 1 :]:
        call.notes.append(f"left out, since it is no part of the call: {_shown(left)}")
    return call


def _stdin(before: Sequence[Command], command: Command) -> Word | None:
    """What the command reads: its here-document, or one that `cat` or `head -c` hands to it."""
    if not before:
        return command.document
    source = before[-1]
    words = [plain(word) for word in source.words]
    if len(before) == 1 and source.joint == "|" and source.document is not None:
        if words == ["cat"]:
            return source.document
        counted = len(words) == 3 and words[:2] == ["head", "-c"] and words[2].isdigit()
        if counted and not any(isinstance(piece, Variable) for piece in source.document):
            return (plain(source.document).encode()[: int(words[2])].decode("utf-8", "ignore"),)
    raise ConfigError(f"what stands before curl cannot be read: {_shown(source)}")


def _shown(command: Command) -> str:
    return redact_text(" ".join(map(plain, command.words)))


class _Builder:
    def __init__(self, consents: frozenset[Consent], stdin: Word | None) -> None:
        self._consents = consents
        self._stdin = stdin
        self._call = CurlCall()
        self._data: list[tuple[str, Word]] = []
        self._compressed = False

    def build(self, words: Sequence[Word]) -> CurlCall:
        for option, value in _options(words):
            self._set(option, value)
        call = self._call
        self._finish_url()
        if self._data:
            self._finish_body()
        call.method = call.method or ("POST" if self._data else "GET")
        if self._compressed:
            self._finish_encodings()
        if call.header("accept") is None:
            call.headers.append(("Accept", ("*/*",)))
        call.headers = [(name, value) for name, value in call.headers if value]
        return call

    def _set(self, option: str, value: Word) -> None:
        call = self._call
        match option:
            case "--url" if call.url:
                raise ConfigError(f"there are two URLs: {redact_url(plain(call.url))} and {redact_url(plain(value))}")
            case "--url":
                call.url = value
            case "--request":
                call.method = plain(value)
            case "--header":
                call.headers += self._headers(value)
            case "--user" if ":" not in plain(value) and not any(isinstance(piece, Variable) for piece in value):
                raise ConfigError("-u has no password, for which curl would ask: write -u 'USER:PASSWORD'")
            case "--user":
                call.login = value
            case "--compressed":
                self._compressed = True
            case "--max-time":
                call.seconds = _seconds(plain(value))
            case "--output":
                self._need("write", f"-o {plain(value)} writes a file", "--allow-write")
                call.output = plain(value)
            case "--insecure":
                self._need("insecure", "-k skips the check of certificates", "--allow-insecure")
                call.insecure = True
            case "--location":
                call.follow = True
            case "--cookie" if "=" not in plain(value):
                raise ConfigError(f"-b {plain(value)} names a file of cookies, which is not read: write NAME=VALUE")
            case _ if option in _AS_HEADER:
                call.headers.append((_AS_HEADER[option], value))
            case _ if option in _DATA:
                self._data.append((option, self._content(option, value)))
            case _:
                pass  # flags about what curl shows, and how it reads what comes

    def _headers(self, value: Word) -> Iterator[Header]:
        if plain(value).startswith("@"):
            for line in self._file(plain(value)[1:]).splitlines():
                yield from self._headers((line,))
            return
        head = value[0] if isinstance(value[0], str) else ""
        name, colon, rest = head.partition(":")
        if not colon and head.endswith(";") and len(value) == 1:
            yield head[:-1], ("",)
        elif not colon or not name.strip():
            raise ConfigError("-H: a header is NAME: VALUE")
        else:
            tail: Word = (rest.lstrip(), *value[1:])
            empty = tail == ("",)
            yield name.strip(), () if empty else tuple(piece for piece in tail if piece != "")

    def _content(self, option: str, value: Word) -> Word:
        text = plain(value)
        if option == "--data-raw" or not text.startswith("@"):
            return value
        if text == "@-":
            if self._stdin is None:
                raise ConfigError(f"{option} @- reads what is piped into curl: paste the here-document along with it")
            return _without_breaks(self._stdin) if option == "--data" else self._stdin
        content: Word = (self._file(text[1:]),)
        return _without_breaks(content) if option == "--data" else content

    def _file(self, name: str) -> str:
        self._need("read", f"@{name} reads a file", "--allow-read")
        try:
            return Path(name).read_text("utf-8")
        except OSError as error:
            raise ConfigError(f"{name}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError:
            raise ConfigError(f"{name}: is not text in UTF-8") from None

    def _need(self, consent: Consent, what: str, flag: str) -> None:
        if consent not in self._consents:
            raise ConfigError(f"{what}: pass {flag} if that is meant")

    def _finish_url(self) -> None:
        call = self._call
        if not call.url:
            raise ConfigError("the curl command has no URL")
        if isinstance(call.url[0], Variable):
            return  # its value has the scheme, or lacks it, as the value may
        if not re.match(r"https?://", plain(call.url)):
            if "://" in plain(call.url):
                raise ConfigError(f"only http and https are read: {plain(call.url).split('://')[0]} is neither")
            call.url = joined(["http://", *call.url])
        login = re.match(r"(https?://)([^/?#@]+)@", call.url[0]) if isinstance(call.url[0], str) else None
        if login:
            call.login = call.login or (unquote(login[2]),)
            call.url = (login[1] + str(call.url[0])[login.end() :], *call.url[1:])

    def _finish_encodings(self) -> None:
        """With --compressed the answer must be readable, so only what can be undone is asked for."""
        from agentloop.http.endpoint import accepted_encodings

        call = self._call
        known = accepted_encodings().split(", ")
        asked = [name.strip() for name in plain(call.header("accept-encoding") or (", ".join(known),)).split(",")]
        if dropped := [name for name in asked if name not in known]:
            call.notes.append(f"not asked for, since it cannot be undone here: {', '.join(dropped)}")
        call.headers = [(name, value) for name, value in call.headers if name.lower() != "accept-encoding"]
        call.headers.append(("Accept-Encoding", (", ".join(name for name in asked if name in known) or "identity",)))

    def _finish_body(self) -> None:
        joint: Word = ("",) if all(option == "--json" for option, _ in self._data) else ("&",)
        pieces = [piece for _, value in self._data for piece in (*joint, *value)][len(joint) :]
        self._call.body = tuple(pieces)
        is_json = any(option == "--json" for option, _ in self._data)
        kind = "application/json" if is_json else "application/x-www-form-urlencoded"
        for name, value in (("Content-Type", kind), *([("Accept", kind)] if is_json else [])):
            if not any(known.lower() == name.lower() for known, _ in self._call.headers):
                self._call.headers.append((name, (value,)))


def _options(words: Sequence[Word]) -> Iterator[tuple[str, Word]]:
    """Each option by its long name, with its value; a word that is none is a URL."""
    rest = iter(words)
    for word in rest:
        text = plain(word)
        if not text.startswith("-") or text == "-":
            yield "--url", word
        elif text.startswith("--"):
            yield from _long(word, text, lambda: next(rest, None))
        else:
            yield from _short(word, text, lambda: next(rest, None))


def _long(word: Word, text: str, following: Callable[[], Word | None]) -> Iterator[tuple[str, Word]]:
    if text in _FLAGS:
        yield _FLAGS[text], ()
    elif text in _WITH_VALUE:
        yield _WITH_VALUE[text], _value(text, following())
    else:
        raise ConfigError(f"curl's option {text} is not known here: take it out if the call does not need it")


def _short(word: Word, text: str, following: Callable[[], Word | None]) -> Iterator[tuple[str, Word]]:
    """Short options may be joined (-sS), and a value may follow directly (-XPOST)."""
    for place in range(1, len(text)):
        name = f"-{text[place]}"
        if name in _FLAGS:
            yield _FLAGS[name], ()
        elif name in _WITH_VALUE:
            head = word[0] if isinstance(word[0], str) else ""
            attached: Word = (*((head[place + 1 :],) if head[place + 1 :] else ()), *word[1:])
            yield _WITH_VALUE[name], attached or _value(name, following())
            return
        else:
            raise ConfigError(f"curl's option {name} is not known here: take it out if the call does not need it")


def _value(option: str, word: Word | None) -> Word:
    if word is None:
        raise ConfigError(f"curl's option {option} has no value")
    return word


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"-m {text}: is no number of seconds") from None


def _without_breaks(word: Word) -> Word:
    """As curl's -d reads files."""
    return tuple(re.sub("[\r\n]", "", piece) if isinstance(piece, str) else piece for piece in word)
