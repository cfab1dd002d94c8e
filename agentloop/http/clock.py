"""Time as the client sees it: an object, so that a test can hand in one that does not wait."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from agentloop.cancel import CancelSignal

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """`monotonic` measures, `time` is Unix time, the sleeps end early when the signal is set."""

    def monotonic(self) -> float: ...
    def time(self) -> float: ...
    def sleep(self, seconds: float, cancel: CancelSignal | None = None) -> None: ...
    async def asleep(self, seconds: float, cancel: CancelSignal | None = None) -> None: ...


class SystemClock:
    """The real one."""

    __slots__ = ()

    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    def sleep(self, seconds: float, cancel: CancelSignal | None = None) -> None:
        if cancel is None:
            time.sleep(seconds)
            return
        woken = threading.Event()
        forget = cancel.on_cancel(woken.set)
        try:
            woken.wait(seconds)
        finally:
            forget()

    async def asleep(self, seconds: float, cancel: CancelSignal | None = None) -> None:
        import asyncio

        if cancel is None:
            await asyncio.sleep(seconds)
            return
        woken = asyncio.Event()
        loop = asyncio.get_running_loop()
        forget = cancel.on_cancel(lambda: loop.call_soon_threadsafe(woken.set) and None)
        try:
            async with asyncio.timeout(seconds):
                await woken.wait()
        except TimeoutError:
            pass
        finally:
            forget()
