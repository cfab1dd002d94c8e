"""A store of short texts that can be searched by their words: SQLite's full-text index in one file.

It is the default `Retriever`, and what the memory tools write to. Words are those of Unicode, without accents and
letter case; a word of the query also finds words that begin with it. Scripts that put no blanks between words, such as
Chinese, are found by the beginning of a run only.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentloop.errors import ConfigError
from agentloop.loop.retrieval import Passage

if TYPE_CHECKING:
    import sqlite3

__all__ = ["PassageStore"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, saved REAL NOT NULL
);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    text, content='passages', content_rowid='id', tokenize="unicode61 remove_diacritics 2"
);
"""
_FIND = """
SELECT passages.text, origin, saved FROM words JOIN passages ON passages.id = words.rowid
WHERE words MATCH ? ORDER BY bm25(words), passages.id DESC LIMIT ?
"""
_MOST_WORDS = 32


@dataclass(frozen=True, slots=True)
class PassageStore:
    """The store in the file at `path`, which is made when it is first written to. Safe for threads and processes."""

    path: Path
    clock: Callable[[], float] = time.time

    @staticmethod
    def at(path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> PassageStore:
        """Raises ConfigError for a path in a folder that is not there."""
        found = Path(path).expanduser().absolute()
        if not found.parent.is_dir():
            raise ConfigError(f"the folder of {found} does not exist: make it, or name another file")
        return PassageStore(found, clock)

    def add(self, text: str, origin: str) -> bool:
        """Keep a text, with a word on where it comes from; False when the very text is there already."""
        with self._open() as store:
            row = (text, origin, self.clock())
            added = store.execute("INSERT OR IGNORE INTO passages (text, origin, saved) VALUES (?, ?, ?)", row)
            if added.rowcount != 1:
                return False
            store.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (added.lastrowid, text))
            return True

    def find(self, query: str, limit: int) -> Sequence[Passage]:
        """The texts that share words with `query`, the best first. No character of it has a meaning of its own."""
        words = dict.fromkeys(re.findall(r"\w+", query.casefold()))
        if not words or not self.path.exists():
            return ()
        quoted = " OR ".join(f'"{word}"*' for word in [*words][:_MOST_WORDS])
        with self._open() as store:
            return [
                Passage(text, f"{origin}, {_day(saved)}")
                for text, origin, saved in store.execute(_FIND, (quoted, limit))
            ]

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        import sqlite3

        with closing(sqlite3.connect(self.path, timeout=10.0)) as store:
            try:
                store.executescript(_SCHEMA)
            except sqlite3.Error as error:
                raise ConfigError(f"{self.path} is no store of passages: {error}") from error
            with store:  # one transaction
                yield store


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))
