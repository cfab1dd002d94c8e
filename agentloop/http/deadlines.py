"""How long the next socket operation may wait, and which timeout it would be that ends it.

httpx's own timeouts bound each read for itself, so a server that drips bytes outlasts them. A `Watch` follows one
attempt; it travels to the network backend inside the request's timeout extension, in `Limit`s: floats, which httpcore
passes on untouched and any other transport takes for plain seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from agentloop.cancel import CancelSignal
from agentloop.http.clock import Clock
from agentloop.http.timeouts import Timeouts

__all__ = ["Limit", "Watch"]

A_WEEK = 604800.0  # stands for "no bound" towards transports that cannot take infinity


class Limit(float):
    """Seconds for one kind of operation ("connect", "read", "write", "pool"), which know their watch."""

    kind: str
    watch: Watch

    @classmethod
    def of(cls, kind: str, seconds: float, watch: Watch) -> Limit:
        limit = cls(min(seconds, A_WEEK))
        limit.kind = kind
        limit.watch = watch
        return limit


class Watch:
    """The deadlines of one attempt.

    Our network backend asks `before` each operation and reads the clock once there. With a transport that does not ask
    (a mock, a cassette) the driver's `overdue` after each chunk does the same. `armed` names the nearest bound.
    """

    __slots__ = (
        "_cancel",
        "_clock",
        "_content_end",
        "_content_name",
        "_ends",
        "_extension",
        "_forget",
        "_heard",
        "_seconds",
        "_socket",
        "answered",
        "armed",
        "governed",
        "reused",
        "started",
        "stirred",
    )

    def __init__(
        self, timeouts: Timeouts, clock: Clock, *, end: float, total: float, cancel: CancelSignal | None, stream: bool
    ) -> None:
        """`end` is when the whole call must be over (monotonic, may be infinite) and `total` how long that was."""
        self._clock = clock
        self.started = self._heard = now = clock.monotonic()
        self._seconds = {
            name: math.inf if (value := getattr(timeouts, name)) is None else float(value)
            for name in ("connect", "write", "pool", "first_byte", "idle", "content_idle", "attempt")
        } | {"total": total, "first_content": timeouts.first_content or math.inf}
        ends = (("attempt", now + self._seconds["attempt"]), ("total", end))
        self._ends = tuple((name, when) for name, when in ends if when != math.inf)
        self._content_name = "first_content"
        self._content_end = now + self._seconds["first_content"] if stream else math.inf
        self.answered = False  # a byte of the response has come
        self.stirred = False  # content was passed on since the last look at the clock
        self.governed = False  # the transport asks us before it waits
        self.reused = False  # the connection had carried a request before
        self.armed = "connect"
        self._extension: dict[str, Limit] = {}
        self._socket: Any = None
        self._cancel = cancel
        self._forget: Callable[[], None] | None = None

    # --- for the driver ------------------------------------------------------------------------------------------

    def extension(self) -> Mapping[str, float]:
        """The request's timeout extension."""
        self._extension = {name: Limit.of(name, self.wait(name), self) for name in ("pool", "connect", "write")}
        self._extension["read"] = Limit.of("read", self.wait("first_byte"), self)
        return self._extension

    def refresh(self) -> None:
        """After each piece of the response: transports that do not ask `before` may look at the extension again."""
        if not self.governed and self._extension:
            self._extension["read"] = Limit.of("read", self.wait("idle"), self)

    def wait(self, name: str) -> float:
        """Seconds that an operation bounded by the timeout `name` may take from now; 0 or less: its time is over."""
        return self._wait(name, self._clock.monotonic())

    def _wait(self, name: str, now: float) -> float:
        if self.stirred:
            self.stirred = False
            self._content_name = "content_idle"
            self._content_end = now + self._seconds["content_idle"]
        wait = self._seconds[name]
        self.armed = name
        for other, end in self._ends:
            if end - now < wait:
                wait, self.armed = end - now, other
        if self._content_end - now < wait:
            wait, self.armed = self._content_end - now, self._content_name
        return wait

    def overdue(self) -> bool:
        """Whether a bound has passed, for transports that do not ask `before`; `armed` says which."""
        if self.governed:
            return False
        now = self._clock.monotonic()
        silence, self._heard = now - self._heard, now
        wait = self._wait("idle" if self.answered else "first_byte", now)
        self.answered = True
        return wait <= 0 or (self.armed in ("idle", "first_byte") and silence >= wait)

    def late(self, usual: str) -> str:
        """Which bound a transport that keeps no deadlines ran into: a passed one of ours, else the usual one."""
        now = self._clock.monotonic()
        ends = (*self._ends, (self._content_name, self._content_end))
        return next((name for name, end in ends if now >= end - 1e-6), usual)  # sums of floats are not exact

    def linger(self, seconds: float) -> None:
        """From now on nothing waits longer than `seconds` in all: the reply is complete."""
        self._ends = (("linger", self._clock.monotonic() + seconds),)
        self._content_end = math.inf

    def seconds_of(self, name: str) -> float:
        return self._seconds[name]

    @property
    def cancelled(self) -> bool:
        return self._cancel is not None and self._cancel.cancelled

    def close(self) -> None:
        """Before the connection goes back to the pool: a later cancel must not reach it."""
        if self._forget is not None:
            self._forget()
            self._forget = None
        self._socket = None

    # --- for the network backend ---------------------------------------------------------------------------------

    def before(self, name: str, socket: Any = None) -> float | None:
        """Seconds for the next operation (None: any), which works on `socket`; 0 or less when it must not begin."""
        self.governed = True
        self._socket = socket
        if self._cancel is not None:
            self._forget = self._forget or self._cancel.on_cancel(self._wake)
            if self._cancel.cancelled:
                return 0.0
        wait = self.wait(name)
        return None if wait == math.inf else wait

    def _wake(self) -> None:
        """Called in the thread that cancels: ends the read that another thread is blocked in."""
        if self._socket is not None:
            shut_down(self._socket)


def shut_down(sock: Any) -> None:
    import socket

    try:
        if isinstance(sock, socket.socket):
            # The plain method: SSLSocket's own would take its TLS object away from under the thread that reads.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
        else:  # asyncio's stand-in for a socket
            sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it was closed already
