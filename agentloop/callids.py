"""Ids of tool calls: unique and never empty. New ones are made from step and position, so a replay makes the same."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from agentloop.parts import Part, ToolCall
from agentloop.repairs import Repair

__all__ = ["placed", "settle_ids"]


def settle_ids(
    calls: Sequence[ToolCall], *, step: int, used: Set[str] = frozenset()
) -> tuple[tuple[ToolCall, ...], tuple[Repair, ...]]:
    """The calls of one reply with ids that are unique, and what was changed for that.

    The same id with the same name and arguments twice is one call, at its first place. A call whose id is blank, in
    `used`, or taken by an earlier and different call of the reply gets `call_{step}_{position}`, position counted from
    1 in `calls`; every other id stays as it is. `step` is the number of the model call within the run.
    """
    taken = {call.id for call in calls}
    own: set[str] = set()
    first: dict[tuple[str, str, str], ToolCall] = {}
    repairs: list[Repair] = []
    for position, call in enumerate(calls, start=1):
        known = bool(call.id.strip())
        key = (call.id, call.name, call.arguments) if known else ("", "", str(position))
        if key in first:
            repairs.append(Repair("the same tool call twice in one reply is one call", call.id, first[key].id))
            continue
        if known and call.id not in used and call.id not in own:
            first[key] = call
        else:
            what = "tool call id used before" if known else "tool call without an id"
            first[key] = replace(call, id=_fresh(step, position, used, taken))
            repairs.append(Repair(what, call.id, first[key].id))
        own.add(first[key].id)
    return tuple(first.values()), tuple(repairs)


def placed(parts: Sequence[Part], settled: Sequence[ToolCall]) -> tuple[Part, ...]:
    """The parts of a reply with each call as `settle_ids` left it; the repetition of a call has no place."""
    out: list[Part] = []
    waiting = list(settled)
    for part in parts:
        if not isinstance(part, ToolCall):
            out.append(part)
        elif waiting and (waiting[0].name, waiting[0].arguments) == (part.name, part.arguments):
            out.append(waiting.pop(0))
    return tuple(out)


def _fresh(step: int, position: int, used: Set[str], taken: set[str]) -> str:
    base = new = f"call_{step}_{position}"
    turn = 1
    while new in taken or new in used:
        turn += 1
        new = f"{base}_{turn}"
    taken.add(new)
    return new
