"""Putting tool calls together from the deltas of a stream.

The specification: each call has an `index`; id and name come once, in its first delta; the argument pieces of one
index are joined. Servers in the field leave the index out, give 0 to every call, repeat id and name in each delta, make
up a new id per delta, split the name, or send it late. So a delta is matched by index and id together, and where these
do not settle it, by the arguments: what comes with a name after complete arguments is a new call.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from agentloop.arguments import read_arguments
from agentloop.model import ToolCallDelta
from agentloop.shapes import as_dict
from agentloop.wire.codec import argument_text

__all__ = ["CallAssembler"]

_KNOWN_KEYS = frozenset({"id", "index", "type", "function", "custom"})


@dataclass(slots=True)
class _Piece:
    """What one delta says of a call; "" for what it does not say."""

    index: int | None
    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    custom: bool = False

    def begun(self) -> bool:
        return any(self.arguments)

    def complete(self) -> bool:
        """The arguments are an object that has ended. The whole is read only when its last piece may end one."""
        last = self.arguments[-1] if self.arguments else ""
        return last.rstrip().endswith("}") and read_arguments("".join(self.arguments)).value is not None

    def to_dict(self) -> dict[str, Any]:
        text = "".join(self.arguments)
        if self.custom:
            return {"id": self.id, "type": "custom", "custom": {"name": self.name, "input": text}, **self.extra}
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": text}, **self.extra}


class CallAssembler:
    """The calls of one reply. `tools` are the names that were offered: they settle how a split name is joined."""

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._tools = tools
        self._calls: list[_Call] = []
        self._latest: dict[int, int] = {}  # the position of the latest call under an index
        self._by_id: dict[str, int] = {}  # the position of the first call with an id
        self.notes: dict[str, None] = {}  # an ordered set

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, entries: list[Any]) -> list[ToolCallDelta]:
        """The `tool_calls` of one delta."""
        deltas: list[ToolCallDelta] = []
        touched: set[int] = set()
        for entry in map(as_dict, entries):
            if entry:
                piece = _piece(entry)
                position = self._place(piece, touched)
                touched.add(position)
                deltas.append(self._extend(position, piece, entry))
        return deltas

    def to_list(self) -> list[dict[str, Any]]:
        """The calls as a whole reply has them."""
        return [call.to_dict() for call in self._calls]

    # --- which call does it belong to? -------------------------------------------------------------------------------

    def _place(self, piece: _Piece, touched: set[int]) -> int:
        if piece.index is None:
            self.notes["a tool call delta without an index"] = None
            position = self._by_id_or_last(piece, touched)
        else:
            position = self._by_index(piece.index, piece)
        if position is not None and self._starts_another(self._calls[position], piece):
            position = None
        if position is None:
            position = len(self._calls)
            self._calls.append(_Call())
        if piece.index is not None:
            self._latest[piece.index] = position
        return position

    def _by_index(self, index: int, piece: _Piece) -> int | None:
        latest = self._latest.get(index)
        if not piece.id or (latest is not None and self._calls[latest].id == piece.id):
            return latest
        known = self._by_id.get(piece.id)
        if known is not None and (latest is not None or not piece.name):
            return known  # calls that share an index take turns, or the index counts the deltas and not the calls
        return latest

    def _by_id_or_last(self, piece: _Piece, touched: set[int]) -> int | None:
        known = self._by_id.get(piece.id)
        if known is not None:
            return known
        last = len(self._calls) - 1
        return None if last < 0 or (piece.name and last in touched) else last

    def _starts_another(self, call: _Call, piece: _Piece) -> bool:
        """Whether a delta that would go to `call`, by its index or for want of one, begins a new call instead."""
        if piece.id and call.id and piece.id != call.id:
            if piece.name:  # shared index; but the same name amid the arguments is a repetition with a new id
                return not (piece.name == call.name and call.begun() and not call.complete())
            if call.complete():
                return True
            self.notes["a tool call whose id changes from delta to delta"] = None
            return False
        return bool(piece.name and piece.arguments) and call.complete()

    # --- what does it add? -------------------------------------------------------------------------------------------

    def _extend(self, position: int, piece: _Piece, entry: dict[str, Any]) -> ToolCallDelta:
        call = self._calls[position]
        if piece.id and not call.id:
            call.id = piece.id
            self._by_id.setdefault(piece.id, position)
        if piece.name:
            call.name = self._joined_name(call.name, piece.name)
        if piece.arguments:
            call.arguments.append(piece.arguments)
        call.custom = call.custom or entry.get("type") == "custom"
        if not entry.keys() <= _KNOWN_KEYS:
            call.extra |= {key: value for key, value in entry.items() if key not in _KNOWN_KEYS}
        return ToolCallDelta(position, call.id, call.name, piece.arguments)

    def _joined_name(self, so_far: str, piece: str) -> str:
        joined = so_far + piece
        if joined in self._tools:
            return joined
        if piece.startswith(so_far):  # repeated, or grown
            return piece
        return piece if piece in self._tools and so_far not in self._tools else joined


def _piece(entry: dict[str, Any]) -> _Piece:
    inner = as_dict(entry.get("function")) or as_dict(entry.get("custom"))
    index, call_id, name = entry.get("index"), entry.get("id"), inner.get("name")
    arguments = inner.get("arguments", inner.get("input"))
    return _Piece(
        index if isinstance(index, int) else None,
        "" if call_id is None else str(call_id).strip(),
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, str) else argument_text(arguments),
    )
