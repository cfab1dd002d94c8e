"""What a trace comes to: each of its runs with its requests, tools, and where the time went. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agentloop.shapes import as_dict, as_int, as_text

__all__ = ["RunDigest", "digest", "seconds_of"]

_OF_REQUEST = ("step", "purpose", "attempt", "size")
_OF_ATTEMPT = ("status", "error", "rule", "wait", "seconds")
_OF_RESPONSE = ("first_byte", "first_content", "finish_reason", "usage", "request_id")


@dataclass(slots=True)
class RunDigest:
    """One run of a trace. `status` is None when the trace ends before the run does."""

    run: int | None
    provider: str | None
    model: str | None
    status: str | None = None
    steps: int | None = None
    seconds: float | None = None
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    error: dict[str, Any] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tools: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def retries(self) -> int:
        return sum("wait" in request for request in self.requests)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the fields, and `retries` with the seconds of model, waits and tools summed up."""
        return {
            **{name: getattr(self, name) for name in self.__slots__},
            "retries": self.retries,
            "model_seconds": self.model_seconds,
            "wait_seconds": self.wait_seconds,
            "tool_seconds": self.tool_seconds,
        }

    @property
    def model_seconds(self) -> float:
        return _sum(self.requests, "seconds")

    @property
    def wait_seconds(self) -> float:
        return _sum(self.requests, "wait")

    @property
    def tool_seconds(self) -> float:
        """Of all tools; those that ran side by side count each."""
        return _sum(self.tools, "seconds")


def digest(lines: Iterable[dict[str, Any]]) -> list[RunDigest]:
    """The runs that these lines of a trace tell of. Lines before the first run are of none."""
    runs: list[RunDigest] = []
    for line in lines:
        if line["type"] == "run_started":
            runs.append(RunDigest(as_int(line.get("run")), as_text(line.get("provider")), as_text(line.get("model"))))
        elif runs:
            _add(runs[-1], line)
    return runs


def _add(run: RunDigest, line: dict[str, Any]) -> None:
    match line["type"]:
        case "request":
            run.requests.append({"request": line.get("request"), **_some(line, _OF_REQUEST)})
        case "attempt":
            _update(run, line, _OF_ATTEMPT)
        case "response":
            _update(run, line, _OF_RESPONSE)
        case "tool_finished":
            run.tools.append(_some(line, ("id", "name", "seconds", "is_error", "kind")))
        case "run_finished":
            run.status, run.steps = as_text(line.get("status")), as_int(line.get("steps"))
            run.seconds, run.usage = seconds_of(line.get("seconds")), as_dict(line.get("usage"))
            run.error = as_dict(line.get("error")) or None
        case _:
            pass


def _update(run: RunDigest, line: dict[str, Any], names: Iterable[str]) -> None:
    number = line.get("request")
    found = [request for request in reversed(run.requests) if number is not None and request["request"] == number]
    if found:
        found[0].update(_some(line, names))


def _some(line: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: line[name] for name in names if name in line}


def _sum(rows: Iterable[dict[str, Any]], name: str) -> float:
    return round(sum(seconds_of(row.get(name)) or 0.0 for row in rows), 6)


def seconds_of(value: object) -> float | None:
    """A duration, or None for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)
