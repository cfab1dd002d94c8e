"""One signal that stops a call or a run from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["CancelSignal"]


class CancelSignal:
    """Set once, seen everywhere: `cancel()` may be called from any thread and any number of times.

    Whoever blocks registers what would wake it (`on_cancel`); callbacks run once, in the thread that cancels, or at
    once when the signal is set already. A callback must not raise.
    """

    __slots__ = ("_callbacks", "_cancelled", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._callbacks: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback; returns a function that takes it back."""
        with self._lock:
            if not self._cancelled:
                self._callbacks.append(callback)
                return lambda: self._forget(callback)
        callback()
        return lambda: None

    def _forget(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
