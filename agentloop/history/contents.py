"""What fills the context: tokens by instruction, tool schema and message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from agentloop.history.answers import Cut
from agentloop.history.estimate import estimate_tokens
from agentloop.history.meter import Meter
from agentloop.history.sizes import message_tokens, tool_tokens
from agentloop.messages import AssistantMessage, Message, ToolMessage
from agentloop.model import ToolSpec
from agentloop.shapes import as_dict

__all__ = ["Ledger", "LedgerRow", "ledger"]

Kind: TypeAlias = Literal["instructions", "tool", "message"]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One thing that is sent. `name` is a role, a tool, or what was called; `index` a message's place in the view."""

    kind: Kind
    name: str
    tokens: int
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """The context of one request. `total` counts it as a whole; rows are shares of it, and add up to it. The first
    `known_messages` messages, with instructions and tools, are `known_tokens` by the provider's own report; the rest is
    the counter's word. `last_cut` is what was left out last, if anything was.
    """

    rows: tuple[LedgerRow, ...]
    total: int
    known_messages: int = 0
    known_tokens: int = 0
    last_cut: Cut | None = None

    @property
    def estimated_tokens(self) -> int:
        return self.total - self.known_tokens

    def by_kind(self) -> dict[Kind, int]:
        sums: dict[Kind, int] = {"instructions": 0, "tool": 0, "message": 0}
        for row in self.rows:
            sums[row.kind] += row.tokens
        return sums


def ledger(view: Sequence[Message], meter: Meter, *, last_cut: Cut | None = None) -> Ledger:
    """The ledger of a request that sends `view` with the meter's instructions and tools.

    A counter need not know single messages or tools: what it says of a group, and of all that heads a request, is
    shared out in proportion to their estimated sizes.
    """
    parts = meter.fresh()
    parts.track(view)
    rows = _head_rows(parts)
    for (start, stop), size in zip(parts.spans, parts.sizes, strict=True):
        group = parts.messages[start:stop]
        shares = _shares(size, [message_tokens(message, estimate_tokens) for message in group])
        rows += [
            LedgerRow("message", _name(message), tokens, start + at)
            for at, (message, tokens) in enumerate(zip(group, shares, strict=True))
        ]
    known_messages, known_tokens = meter.known(parts.messages)
    # A counter builds on a report only for what was added to it; here the whole of it may be reported.
    total = known_tokens if known_messages == len(view) else meter.count(view)
    shares = _shares(total, [row.tokens for row in rows])
    sized = tuple(replace(row, tokens=share) for row, share in zip(rows, shares, strict=True))
    return Ledger(sized, total, known_messages, known_tokens, last_cut)


def _head_rows(meter: Meter) -> list[LedgerRow]:
    head: list[tuple[Kind, str, float]] = []
    if meter.instructions:
        head.append(("instructions", "instructions", estimate_tokens(meter.instructions)))
    head.extend(("tool", _tool_name(tool), tool_tokens(tool, estimate_tokens)) for tool in meter.tools)
    shares = _shares(meter.fixed, [weight for _, _, weight in head])
    return [LedgerRow(kind, name, tokens) for (kind, name, _), tokens in zip(head, shares, strict=True)]


def _shares(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to the weights, with exactly this sum."""
    whole = sum(weights)
    shares: list[int] = []
    before = running = 0.0
    for weight in weights:
        running += weight
        upto = round(total * running / whole) if whole else 0
        shares.append(upto - int(before))
        before = upto
    return shares


def _name(message: Message) -> str:
    if isinstance(message, ToolMessage):
        return f"tool {message.tool_call_id}"
    called = ", ".join(call.name for call in message.tool_calls) if isinstance(message, AssistantMessage) else ""
    return f"assistant calls {called}" if called else message.role


def _tool_name(tool: ToolSpec | Mapping[str, Any]) -> str:
    if not isinstance(tool, Mapping):
        return tool.name
    return str(as_dict(tool.get("function")).get("name") or tool.get("name") or "")
