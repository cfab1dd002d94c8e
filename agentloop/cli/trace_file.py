"""The file of a trace: one JSON object per line, written as things happen.

The first line is `{"type": "trace", "schema": 1, ...}`. Each further one has a `type` and `at`, the seconds since the
first. A reader ignores types and members that it does not know. What a value does not have is left out.

    run_started       run, provider, model, ask, messages (how many were given), instructions, limits, tools
    step_started      step
    request           request (its number in the file, from 1), step, purpose (step or summary), attempt, method, url,
                      headers (pairs), size, and the body as in a cassette: body (parsed), text or base64
    response_started  request, status, seconds, headers (those that matter)
    attempt           request, attempt, seconds; status, and what was wrong: error, rule, wait, safe
    response          request, model, seconds, first_byte, first_content, finish_reason, raw_finish_reason, usage,
                      request_id, message, notes
    decision          id, name, decision (allow, ask, deny or edit), by (policy or person), reason, arguments
    tool_started      id, name, arguments
    tool_progress     id, text
    tool_finished     id, name, seconds, content, is_error, kind
    repaired          repairs
    trimmed           messages (how many were left out or shortened), tokens_before, tokens_after, cached_lost
    warning           text
    run_finished      run, status, text, steps, usage, seconds, error
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from agentloop._version import __version__
from agentloop.cli.printable import printable
from agentloop.errors import ConfigError
from agentloop.shapes import as_int
from agentloop.testing.scrubbing import scrub_json

__all__ = ["SCHEMA", "RecordedTrace", "TraceWriter", "read_trace"]

SCHEMA = 1


class TraceWriter:
    """Writes lines to a file, from any thread, each as soon as it is known. Keys do not get in: those that `hide` was
    told, and what is shaped like one.

    When the file takes no more, `on_failure` is told so once, and the rest is not written: a run is worth more than its
    trace. Raises ConfigError when the file cannot be opened.
    """

    def __init__(
        self, path: Path, *, on_failure: Callable[[OSError], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._keys: tuple[str, ...] = ()
        self._began = clock()
        try:
            self._file = path.open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise ConfigError(f"{path}: the trace cannot be written: {error.strerror}") from error
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._put({"type": "trace", "schema": SCHEMA, "agentloop": __version__, "started": now})

    def hide(self, keys: Iterable[str]) -> None:
        """From now on these texts are masked wherever they stand."""
        self._keys = tuple({*self._keys, *keys})

    def write(self, type: str, /, **fields: Any) -> None:
        """Write one line; fields that are None are left out."""
        at = round(self.clock() - self._began, 6)
        known = {name: value for name, value in fields.items() if value is not None}
        self._put({"type": type, "at": at, **scrub_json(known, self._keys)})

    def _put(self, value: dict[str, Any]) -> None:
        line = json.dumps(value, ensure_ascii=False)
        if printable(line) != line:
            line = json.dumps(value)
        with self._lock:
            if self._file.closed:
                return
            try:
                self._file.write(line + "\n")
                self._file.flush()
            except OSError as error:
                self._close()
                self._on_failure(error)

    def _close(self) -> None:
        with suppress(OSError):  # what could not be written was told
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()


@dataclass(frozen=True, slots=True)
class RecordedTrace:
    """A trace that was read: its first line, the lines after it, and the numbers of those that are damaged."""

    head: dict[str, Any]
    lines: tuple[dict[str, Any], ...]
    damaged: tuple[int, ...] = ()


def read_trace(path: Path) -> RecordedTrace:
    """Read a trace, also one whose program crashed: damaged lines are left out and told.

    Raises ConfigError for a file that cannot be read, that is no trace, or that a newer agentloop wrote.
    """
    try:
        raw = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    head = _line(raw[0]) or {}
    schema = as_int(head.get("schema"))
    if head.get("type") != "trace" or schema is None:
        raise ConfigError(f"{path}: is no trace; 'agentloop run ... --trace FILE' writes one")
    if schema > SCHEMA:
        raise ConfigError(f"{path}: has schema {schema}, and this agentloop reads up to {SCHEMA}: use a newer one")
    read = [(number, _line(line)) for number, line in enumerate(raw[1:], start=2) if line.strip()]
    damaged = tuple(number for number, line in read if line is None)
    return RecordedTrace(head, tuple(line for _, line in read if line is not None), damaged)


def _line(raw: bytes) -> dict[str, Any] | None:
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    line = cast("dict[str, Any]", value)
    return line if isinstance(line.get("type"), str) else None
