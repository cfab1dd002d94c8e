"""What a tool may know of the call it serves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agentloop.cancel import CancelSignal
from agentloop.messages import Message

__all__ = ["ToolContext"]


def _ignore(text: str) -> None:
    del text


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Given to a tool that has a parameter annotated with `ToolContext`; the model does not see that parameter.

    `idempotency_key` is the same when one call is executed again after a crash or a retry, and differs between calls.
    `deadline` is the `time.monotonic()` at which the caller stops waiting, or None. `cancel` is set when the caller has
    stopped waiting; a long tool should look at `cancel.cancelled`, or register `cancel.on_cancel(callback)`.
    `progress(text)` tells whoever watches the run; it never reaches the model. `messages()` is the history so far.
    """

    run_id: str = ""
    call_id: str = ""
    idempotency_key: str = ""
    deadline: float | None = None
    cancel: CancelSignal = field(default_factory=CancelSignal, repr=False, compare=False)
    progress: Callable[[str], None] = field(default=_ignore, repr=False, compare=False)
    messages: Callable[[], tuple[Message, ...]] = field(default=tuple, repr=False, compare=False)

    def seconds_left(self) -> float | None:
        """Seconds until the deadline, 0.0 when it has passed, None when there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
