"""Timeouts by meaning: each bounds one kind of waiting, and its name is in the error that it raises."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from agentloop.errors import ConfigError

__all__ = ["Timeouts"]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; None means no bound.

    connect         opening the connection, TLS included (each of the two; name lookup is the system's)
    write           sending a piece of the request
    pool            waiting for a free connection, when `max_connections` are in use
    first_byte      from the request sent to the first byte of the response: a whole reply of a slow model is one wait
    idle            silence between bytes; comments and blank lines count as bytes
    first_content   streams: from the start of the attempt to the first text, reasoning, refusal or tool call
    content_idle    streams: from one piece of content to the next; comments do not count
    attempt         one attempt as a whole
    total           the whole call with its retries and their waits
    """

    connect: float | None = 10.0
    write: float | None = 60.0
    pool: float | None = 600.0
    first_byte: float | None = 600.0
    idle: float | None = 300.0
    first_content: float | None = None
    content_idle: float | None = 600.0
    attempt: float | None = None
    total: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (isinstance(value, (int, float)) and value > 0 and not math.isnan(value)):
                raise ConfigError(f"Timeouts({field.name}={value!r}): seconds above 0, or None for no bound")
