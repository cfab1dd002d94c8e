"""Finding keys in files that are about to be committed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agentloop.errors import ConfigError
from agentloop.http.secrets import redact_headers, redact_text
from agentloop.testing.cassettes import Cassette
from agentloop.testing.matching import ABSENT, Difference, compare
from agentloop.testing.scrubbing import scrub

__all__ = ["Leak", "check"]


@dataclass(frozen=True, slots=True)
class Leak:
    """A place in a file where something stands that no cassette should hold. It never shows the key itself."""

    path: Path
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.where}: {self.what}"


def check(paths: Iterable[str | os.PathLike[str]], *, secrets: Iterable[str] = ()) -> list[Leak]:
    """The leaks in cassettes, and in any other text file by its lines; in folders all *.json files are looked at.

    A leak is a header that carries keys, or any text that scrubbing would change; the chunks of a stream are joined and
    base64 is decoded before. `secrets` are keys to look for besides. A path that does not exist raises ConfigError.
    """
    keys = tuple(secrets)
    return [leak for path in _files(paths) for leak in _leaks_of(path, keys)]


def _files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    for given in map(Path, paths):
        if given.is_dir():
            yield from sorted(given.rglob("*.json"))
        elif given.exists():
            yield given
        else:
            raise ConfigError(f"{given}: there is no such file or folder")


def _leaks_of(path: Path, secrets: tuple[str, ...]) -> Iterator[Leak]:
    try:
        cassette = Cassette.load(path)
    except ConfigError:
        yield from _leaks_of_text(path, secrets)
        return
    try:
        clean = scrub(cassette.exchanges, secrets)
    except ConfigError as error:
        yield Leak(path, "response", str(error))
        return
    for number, (given, scrubbed) in enumerate(zip(cassette.exchanges, clean, strict=True), start=1):
        for difference in compare(given.to_dict(), scrubbed.to_dict(), f"exchange {number}"):
            yield from _leaks_at(path, difference, secrets)


def _leaks_at(path: Path, difference: Difference, secrets: tuple[str, ...]) -> Iterator[Leak]:
    if difference.recorded is ABSENT:
        return  # a member whose name was a key, under its masked name
    where = redact_text(difference.where, secrets)
    _, is_header, name = difference.where.partition(".headers.")
    if not is_header or difference.sent is not ABSENT:
        yield Leak(path, where, "a key")
    elif redact_headers([(name, difference.recorded)]) != [(name, difference.recorded)]:
        yield Leak(path, where, "a header that carries keys")


def _leaks_of_text(path: Path, secrets: tuple[str, ...]) -> Iterator[Leak]:
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if redact_text(line, secrets) != line:
            yield Leak(path, f"line {number}", "a key")
