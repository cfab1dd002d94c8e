"""Telling a model what is wrong with its arguments, in a few short lines that even a small model can act on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from agentloop.errors import ToolError
from agentloop.shapes import as_dict

__all__ = ["Fault", "merged", "refuse"]

_MOST = 5
_GOT = 60
_TEXT = 160


@dataclass(frozen=True, slots=True)
class Fault:
    """`path` leads to the place in the arguments, `wanted` says what belongs there, `got` is the JSON text of what
    came, or None where showing it would not help (a missing argument)."""

    path: tuple[str | int, ...]
    wanted: str
    got: str | None = None

    def __str__(self) -> str:
        text = f"{_join(self.path)}: {_short(self.wanted, _TEXT)}"
        return text if self.got is None else f"{text}, got {_short(self.got, _GOT)}"

    @staticmethod
    def seen(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, default=repr)


def merged(faults: Iterable[Fault]) -> list[Fault]:
    """One fault for each place: what the members of a union wanted is joined by `or`."""
    out: dict[tuple[tuple[str | int, ...], str | None], Fault] = {}
    for fault in faults:
        known = out.get((fault.path, fault.got))
        if known is None:
            out[fault.path, fault.got] = fault
        elif fault.wanted not in known.wanted:
            out[fault.path, fault.got] = replace(
                known, wanted=f"{known.wanted} or {fault.wanted.removeprefix('expected ')}"
            )
    return list(out.values())


def refuse(name: str, faults: Sequence[Fault], schema: Mapping[str, Any]) -> NoReturn:
    """Raise the ToolError that lists the first faults, the number of the others, and the arguments there are."""
    lines = [str(fault) for fault in faults[:_MOST]]
    if len(faults) > _MOST:
        lines.append(f"and {len(faults) - _MOST} more")
    required = set(schema.get("required", ()))
    known = [f"{key} (required)" if key in required else key for key in as_dict(schema.get("properties"))]
    takes = f"It takes: {', '.join(known)}." if known else "It takes no arguments."
    raise ToolError(f"Bad arguments for {name}: {'; '.join(lines)}. {_short(takes, 400)}")


def _join(path: tuple[str | int, ...]) -> str:
    out = ""
    for step in path:
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out or "arguments"


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
