"""The cap on calls at a time: first come, first served, and a waiting caller can be cancelled."""

from __future__ import annotations

import threading
from collections import deque

from agentloop.cancel import CancelSignal

__all__ = ["Slots"]


class Slots:
    """For threads; `AsyncSlots` is the same for tasks."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    def acquire(self, seconds: float, cancel: CancelSignal | None) -> bool:
        """Whether a slot was got within the time, before a cancel."""
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return True
            turn = threading.Event()
            self._waiting.append(turn)
        forget = cancel.on_cancel(turn.set) if cancel else None
        try:
            turn.wait(min(seconds, threading.TIMEOUT_MAX))
        except BaseException:  # Ctrl-C while waiting
            if self._taken(turn):
                self.release()
            raise
        finally:
            if forget:
                forget()
        return self._taken(turn)

    def _taken(self, turn: threading.Event) -> bool:
        """Whoever is no longer in the queue was given the slot by `release`."""
        with self._lock:
            if turn not in self._waiting:
                return True
            self._waiting.remove(turn)
            return False

    def release(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1
