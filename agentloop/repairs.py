"""The record of a change of meaning, shared by all that mend: histories, arguments, replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Repair"]


@dataclass(frozen=True, slots=True)
class Repair:
    """A change of meaning that was made to a reply or a history: `what` in words, with the value before and after."""

    what: str
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        return f"{self.what}: {self.before!r} -> {self.after!r}"
