"""Daemon threads for work that may have to be left behind, and one event loop for the async tools of sync agents.

Neither blocks the interpreter's exit. Both carry the context variables of the caller.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["LoopThread", "in_thread"]

T = TypeVar("T")


def in_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Run `work` in a daemon thread of its own. The future cannot be cancelled: a thread cannot be stopped."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    variables = contextvars.copy_context()

    def body() -> None:
        try:
            future.set_result(variables.run(work))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=body, name=f"agentloop-tool-{name}", daemon=True).start()
    return future


class LoopThread:
    """An event loop in a daemon thread, started when first needed.

    One loop serves all async tools of a process, so that what they share (an HTTP client with its connections) lives
    on one loop from call to call. It works beside a loop that is running already, as in a notebook.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._running())

    @property
    def is_current(self) -> bool:
        """Whether the caller is on this very loop, and would wait for itself."""
        return self._thread is threading.current_thread()

    def replace(self) -> None:
        """Leave the loop behind, because something blocks it; the next call starts another."""
        with self._lock:
            self._loop = self._thread = None

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # After a fork the thread is gone, and the loop with it.
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="agentloop-async-tools", daemon=True
                )
                self._thread.start()
            return self._loop
