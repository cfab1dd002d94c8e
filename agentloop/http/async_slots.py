"""The cap on calls at a time, for asyncio."""

from __future__ import annotations

import asyncio
from collections import deque

from agentloop.cancel import CancelSignal

__all__ = ["AsyncSlots"]


class AsyncSlots:
    """For tasks of one event loop."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self, seconds: float, cancel: CancelSignal | None) -> bool:
        """Whether a slot was got within the time, before a cancel."""
        if self._free > 0:
            self._free -= 1
            return True
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        forget = cancel.on_cancel(lambda: loop.call_soon_threadsafe(turn.cancel) and None) if cancel else None
        try:
            await asyncio.wait((turn,), timeout=None if seconds == float("inf") else seconds)
        except asyncio.CancelledError:
            if not self._left(turn):
                self.release()  # it was given to us in the same moment
            raise
        finally:
            if forget:
                forget()
        return not self._left(turn)

    def _left(self, turn: asyncio.Future[None]) -> bool:
        """Leave the queue; False when the slot was given to us already."""
        if turn not in self._waiting:
            return False
        self._waiting.remove(turn)
        return True

    def release(self) -> None:
        if self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
        else:
            self._free += 1
