"""`file.read`, `file.list`, `file.search`, `file.write` and `file.edit`, inside a folder that cannot be left.

What they can do to you: everything in the folder that is not hidden and not named like a key may be read, and may reach
whoever runs the model; with the last two, files may be overwritten (there is no undo). They never follow a link, and
open no pipe and no device. Calls that touch hidden or secret-looking files, or that write files which other programs
run by themselves (Makefile, conftest.py, anything below `.git`), have the risk `danger` whatever the tool's own. Links
that are hard are not told from the file itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from agentloop.errors import ToolError
from agentloop.toolbox.paths import is_secret, parts_of, risk_of_reading, risk_of_writing
from agentloop.toolbox.root import Entry, Root
from agentloop.tools.tool import Tool, tool

__all__ = ["file_tools"]

_MOST_ENTRIES = 500
_MOST_HITS = 100
_MOST_LINES = 2000
_LONGEST_LINE = 300


def file_tools(
    root: str | os.PathLike[str],
    *,
    write: bool = True,
    max_bytes: int = 2_000_000,
    search_seconds: float = 10.0,
    clock: Callable[[], float] = time.monotonic,
) -> list[Tool]:
    """The tools for the files below `root`; without `write` only those that read. `max_bytes` bounds a file that is
    read or written, `search_seconds` a search. Raises ConfigError for a root that is no folder."""
    files = _Files(Root.of(root), max_bytes, search_seconds, clock)
    tools = [
        tool(each, name=name, risk="read", effects="none", risk_of=risk_of_reading)
        for name, each in (("file.read", files.read), ("file.list", files.list), ("file.search", files.search))
    ]
    if write:
        tools += [
            tool(files.write, name="file.write", risk="write", effects="idempotent", risk_of=risk_of_writing),
            tool(files.edit, name="file.edit", risk="write", effects="once", risk_of=risk_of_writing),
        ]
    return tools


@dataclass(frozen=True, slots=True)
class _Files:
    root: Root
    max_bytes: int
    search_seconds: float
    clock: Callable[[], float]

    def read(self, path: str, first_line: int = 1, lines: int = _MOST_LINES) -> str:
        """Read a text file.

        Args:
            path: Relative to the root, such as notes/today.md.
            first_line: The first line to show, counted from 1.
            lines: How many lines to show at most.
        """
        data, _ = self.root.read(path, self.max_bytes)
        found = _lines(_text(path, data))
        first = max(1, first_line)
        last = min(first + max(1, lines) - 1, len(found))
        if found and first > len(found):
            raise ToolError(f"{path} has {len(found)} lines")
        if (first, last) == (1, len(found)):
            return _text(path, data)
        return "\n".join((*found[first - 1 : last], f"[lines {first} to {last} of {len(found)}]"))

    def list(self, path: str = ".", depth: int = 1) -> str:
        """List what is in a folder, with sizes in bytes.

        Args:
            path: The folder, relative to the root; "." is the root.
            depth: How many levels to show.
        """
        lines: list[str] = []
        for entry in self.root.walk(path, max(1, depth)):
            if len(lines) == _MOST_ENTRIES:
                lines.append(f"[only the first {_MOST_ENTRIES} entries are shown]")
                break
            lines.append(_line(entry))
        return "\n".join(lines) or "(an empty folder)"

    def search(self, text: str, path: str = ".", files: str = "*", ignore_case: bool = True) -> str:
        """Search text files line by line. Hidden files and those that look like keys are left out.

        Args:
            text: What to find, as it is; * stands for anything in between. It is no regular expression.
            path: The folder or file to search, relative to the root.
            files: Which file names to look at, such as *.py.
            ignore_case: Whether capitals and small letters are the same.
        """
        pieces = [piece for piece in (text.casefold() if ignore_case else text).split("*") if piece]
        if not pieces:
            raise ToolError("give a text to search for")
        if "/" in files:
            raise ToolError("files is for names, such as *.py; all folders below path are searched")
        search = _Search(self, tuple(pieces), files[:100], ignore_case, self.clock() + self.search_seconds)
        return search.report(path)

    def write(self, path: str, content: str) -> str:
        """Write a text file whole, replacing what it held. Folders on the way are made.

        Args:
            path: Relative to the root.
            content: The whole text of the file.
        """
        data = self._checked(content)
        new = self.root.replace(path, data)
        return f"{'created' if new else 'replaced'} {path} ({len(data)} bytes)"

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace one passage of a text file. The passage must occur exactly once.

        Args:
            path: Relative to the root.
            old: The passage as it stands in the file, blanks and line ends included.
            new: What stands there afterwards.
        """
        data, as_read = self.root.read(path, self.max_bytes)
        text = _text(path, data)
        count = text.count(old) if old else 0
        if count != 1:
            raise ToolError(f"{path} was not changed: {_why_not(text, old, count)}")
        place = text.index(old)
        self.root.replace(path, self._checked(text.replace(old, new)), as_read=as_read)
        return f"changed {path} at line {text.count(chr(10), 0, place) + 1}"

    def _checked(self, text: str) -> bytes:
        data = text.encode()
        if len(data) > self.max_bytes:
            raise ToolError(f"the file would have {len(data)} bytes; at most {self.max_bytes} are written")
        return data


def _text(path: str, data: bytes) -> str:
    try:
        if b"\0" not in data:
            return data.decode()
    except UnicodeDecodeError:
        pass
    raise ToolError(f"{path} is no text in UTF-8 ({len(data)} bytes)")


def _lines(text: str) -> list[str]:
    """By line feeds only, as editors count them; a carriage return stays at its line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _line(entry: Entry) -> str:
    if entry.is_folder:
        return f"{entry.path}/"
    return f"{entry.path}  {entry.info.st_size}" if entry.is_file else f"{entry.path}  ({entry.kind}, not opened)"


def _why_not(text: str, old: str, count: int) -> str:
    if not old:
        return "old is empty"
    if count:
        return f"the passage occurs {count} times, so give more of what stands around it"
    if "\r\n" in text and old.replace("\r\n", "\n").replace("\n", "\r\n") in text:
        return "its lines end in \\r\\n, and those of the passage in \\n"
    return "it does not hold this passage; read it again"


@dataclass(slots=True)
class _Search:
    """One search. Finding pieces in their order takes time in proportion to the text, whatever the pieces are."""

    files: _Files
    pieces: tuple[str, ...]
    names: str
    ignore_case: bool
    deadline: float
    hits: list[str] = field(default_factory=list[str])
    left_out: int = 0
    is_late: bool = False

    def report(self, path: str) -> str:
        for entry in self._entries(path):
            self._look_into(entry)
            if self._is_over():
                break
        told = [f"[only the first {_MOST_HITS} lines are shown]"] if len(self.hits) >= _MOST_HITS else []
        told += [f"[stopped after {self.files.search_seconds:g} s: search a smaller folder]"] if self.is_late else []
        told += [f"[{self.left_out} hidden, secret-looking, large or binary files left out]"] if self.left_out else []
        return "\n".join((*(self.hits[:_MOST_HITS] or ["nothing found"]), *told))

    def _entries(self, path: str) -> Iterator[Entry]:
        given = parts_of(path)
        asked_for = is_secret(given)  # then the call had the risk `danger`, and was allowed
        for entry in self.files.root.walk(path, 40):
            if self._is_over():
                return
            if not entry.is_file or not fnmatchcase(entry.parts[-1], self.names):
                continue
            if is_secret(entry.parts) and not asked_for:
                self.left_out += 1
            else:
                yield entry

    def _look_into(self, entry: Entry) -> None:
        try:
            text = _text(entry.path, entry.read(self.files.max_bytes))
        except (ToolError, OSError):
            self.left_out += 1
            return
        for number, line in enumerate(_lines(text), 1):
            if self._matches(line):
                self.hits.append(f"{entry.path}:{number}: {line.strip()[:_LONGEST_LINE]}")
            if len(self.hits) >= _MOST_HITS or (number % 1000 == 0 and self._is_over()):
                return

    def _is_over(self) -> bool:
        self.is_late = self.is_late or self.files.clock() >= self.deadline
        return self.is_late or len(self.hits) >= _MOST_HITS

    def _matches(self, line: str) -> bool:
        line = line.casefold() if self.ignore_case else line
        at = 0
        for piece in self.pieces:
            found = line.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return True
