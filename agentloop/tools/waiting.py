"""One event loop for everything async that sync callers wait for: their async tools, hooks and policies."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    import asyncio

__all__ = ["LoopThread", "loop_thread", "wait_for"]

T = TypeVar("T")


class LoopThread:
    """An event loop in a daemon thread, started when first needed.

    One loop serves a whole process, so that what async tools share (an HTTP client with its connections) lives on one
    loop from call to call. It works beside a loop that is running already, as in a notebook, carries the caller's
    context variables, and does not block the interpreter's exit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        import asyncio

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
        import asyncio

        with self._lock:
            # After a fork the thread is gone, and the loop with it.
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="agentloop-async-tools", daemon=True
                )
                self._thread.start()
            return self._loop


_shared = LoopThread()


def loop_thread() -> LoopThread:
    """The shared loop; or, for a caller on that very loop (an async tool that runs a sync agent), one more, since it
    would wait for itself."""
    return LoopThread() if _shared.is_current else _shared


def wait_for(value: T | Awaitable[T]) -> T:
    """The value itself, or what the awaitable gives when it is run on the shared loop; for hooks of sync agents."""
    if not isinstance(value, Awaitable):
        return value
    awaitable = cast("Awaitable[T]", value)

    async def waited() -> T:
        return await awaitable

    future = loop_thread().submit(waited())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
