"""Daemon threads for work that may have to be left behind; they do not block the interpreter's exit."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["in_thread"]

T = TypeVar("T")


def in_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Run `work` in a daemon thread of its own, with the caller's context variables. The future cannot be cancelled,
    since a thread cannot be stopped."""
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
