"""A clock that only moves when someone sleeps on it, so that minutes of waiting take no time."""

from __future__ import annotations

import asyncio
import threading

__all__ = ["FakeClock"]


class FakeClock:
    """Time as a number of seconds that `sleep` moves on at once. Usable from several threads and tasks.

    `sleeps` lists what was slept, in order. `time` serves for both a monotonic and a wall clock: it starts at `start`.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._lock = threading.Lock()
        self.sleeps: list[float] = []

    def time(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float, cancel: object = None) -> None:
        """Let that much time pass. ValueError for a negative number, as `time.sleep` has it. A real clock would wake
        early at `cancel`; here nobody waits."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        with self._lock:
            self._now += seconds
            self.sleeps.append(seconds)

    async def asleep(self, seconds: float, cancel: object = None) -> None:
        """As `sleep`; other tasks get their turn."""
        self.sleep(seconds)
        await asyncio.sleep(0)
