"""The text/event-stream decoder, after the WHATWG HTML standard, section "Server-sent events".

Three deviations, each for servers in the field: `end` also gives the last event when its blank line is missing (the
standard drops it); a data line whose value is a comment, as some proxies wrap them, counts as absent; and an event
above a limit is an error.
"""

from __future__ import annotations

from typing import TypeAlias

from agentloop.errors import ProtocolError

__all__ = ["DEFAULT_LIMIT", "Event", "SSEDecoder"]

Event: TypeAlias = tuple[str, bytes]
"""An event's type, "message" by default, and its data in UTF-8, which may be broken: decode it with replacement."""

DEFAULT_LIMIT = 16 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_CR = 13  # a number, since looking for one takes a tenth of looking for a piece of bytes


class SSEDecoder:
    """Bytes in, events out; how the bytes are split does not matter. Time and memory are linear.

    `limit` bounds the bytes of one event; beyond it `feed` raises ProtocolError. `last_event_id` and `retry`
    (milliseconds, None until given) are kept as the standard says.
    """

    __slots__ = (
        "_after_cr",
        "_data",
        "_data_size",
        "_first_line",
        "_fresh",
        "_limit",
        "_rest",
        "_rest_size",
        "_type",
        "last_event_id",
        "retry",
    )

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.last_event_id = ""
        self.retry: int | None = None
        self._limit = limit
        self._rest: list[bytes] = []  # the pieces of a line that has not ended yet
        self._rest_size = 0
        self._data: list[bytes] = []  # the data lines of an event that has not ended yet
        self._data_size = 0
        self._type = ""
        self._first_line = True
        self._after_cr = False
        self._fresh = False  # between two events, with nothing pending

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end in this chunk."""
        if self._fresh and len(chunk) <= self._limit:
            line, _, rest = chunk.partition(b"\n")
            if rest == b"\n" and line.startswith(b"data: {") and _CR not in line:  # most chunks: an event of one line
                return [("message", line[6:])]
        return self._split(chunk)

    def end(self) -> list[Event]:
        """The event that lacks its blank line, if there is one. For a body that ended well, not for a broken one."""
        return self._split(b"\n\n")

    def _split(self, chunk: bytes) -> list[Event]:
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:  # a CR ends its line at once; an LF after it, perhaps in the next chunk, belongs to it
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = chunk.split(b"\n")
        rest = lines.pop()
        events: list[Event] = []
        if lines:
            if self._rest:
                lines[0] = b"".join((*self._rest, lines[0]))
                self._rest.clear()
                self._rest_size = 0
            self._read(lines, events)
        if rest:
            self._rest.append(rest)
            self._rest_size += len(rest)
        if self._data_size + self._rest_size > self._limit:
            raise ProtocolError(f"an event of the stream is larger than {self._limit} bytes")
        self._fresh = not (self._rest or self._data or self._type or self._after_cr or self._first_line)
        return events

    def _read(self, lines: list[bytes], events: list[Event]) -> None:
        if self._first_line:
            self._first_line = False
            lines[0] = lines[0].removeprefix(_BOM)
        for line in lines:
            if line.startswith(b"data:"):
                self._add(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif not line:
                if self._data:
                    data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                    events.append((self._type or "message", data))
                    self._data.clear()
                    self._data_size = 0
                self._type = ""
            else:
                self._field(line)

    def _add(self, value: bytes) -> None:
        if not value.startswith(b":"):
            self._data.append(value)
            self._data_size += len(value) + 1

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._type = value.decode("utf-8", "replace")
        elif name == b"data":  # without a colon
            self._add(value)
        elif name == b"id" and b"\0" not in value:
            self.last_event_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry = int(value[:18])
