"""Limits: what bounds a run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run. None means no bound.

    max_steps         model calls; the tools of the last one still run, then the run ends in `step_limit`
    max_tool_steps    rounds of tools; after the last one the model is asked once more, and only a further request for
                      tools ends in `tool_limit`; 0 lets the model answer, and runs nothing
    max_total_tokens  input plus output of all model calls, as reported; once reached, only an answer is accepted
    max_seconds       wall time of the run; waiting for an approval does not count
    max_repeats       rounds in a row with the same calls and the same results; then the model is told, and once more
                      ends the run in `stuck`
    """

    max_steps: int = 10
    max_tool_steps: int | None = None
    max_total_tokens: int | None = None
    max_seconds: float | None = None
    max_repeats: int | None = 5

    def __post_init__(self) -> None:
        if self.max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, not {self.max_steps}")
        if self.max_tool_steps is not None and self.max_tool_steps < 0:
            raise ValueError(f"max_tool_steps must be 0 or more, or None for no bound, not {self.max_tool_steps}")
        for name in ("max_total_tokens", "max_seconds", "max_repeats"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be more than 0, or None for no bound, not {value}")
