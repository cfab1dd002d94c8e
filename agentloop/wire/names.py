"""Names of tools on a wire. Every name that is sent or received passes through here.

Inside, a tool may have any name, such as `file.read`. Providers take 1 to 64 of the characters a-z A-Z 0-9 _ -, so that
others get a spelling of their own, `file__read`. It follows from the name alone, unless two tools of one request would
share it; then it has a few letters of a hash as well, whatever the order of the tools. So a run that is loaded and goes
on sends the same bytes as before.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from agentloop.errors import ConfigError
from agentloop.messages import AssistantMessage
from agentloop.model import ModelEvent, ModelResponse, ResponseDone, ToolCallDelta, ToolSpec
from agentloop.parts import Part, ToolCall
from agentloop.shapes import as_dict
from agentloop.wire.dialect import Assembler

__all__ = ["Names", "legal_call_id", "tool_name"]

_LONGEST = 64
_HASH = 8
_LEGAL = re.compile(r"(?=[_-]*[a-zA-Z0-9])[a-zA-Z0-9_-]{1,64}")


def tool_name(tool: ToolSpec | Mapping[str, Any]) -> str:
    """A tool's own name; empty for a tool that only a vendor knows by its type."""
    if not isinstance(tool, Mapping):
        return tool.name
    inner = as_dict(tool.get("function")) or as_dict(tool.get("custom")) or tool
    return str(inner.get("name", ""))


@dataclass(frozen=True, slots=True)
class Names:
    """How the tools of one request are spelled: `spellings` has those whose wire name is another than their own."""

    spellings: Mapping[str, str] = field(default_factory=dict[str, str])
    _tools: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @staticmethod
    def of(tools: Iterable[ToolSpec | Mapping[str, Any]]) -> Names:
        """Raises ConfigError for a name without a letter or digit."""
        return _told_apart(tuple(map(_own_name, tools)))

    @property
    def exceptions(self) -> frozenset[tuple[str, str]]:
        """The spellings that do not follow from the name alone, for caches of what was written with them."""
        return frozenset(pair for pair in self.spellings.items() if pair[1] != _spelled(pair[0]))

    def to_wire(self, name: str) -> str:
        """The spelling of a name, also of one that is not offered: a history may hold what a model made up."""
        if _LEGAL.fullmatch(name):
            return name
        return self.spellings.get(name) or _spelled(name)

    def from_wire(self, name: str) -> str:
        """The tool that a model means. A prefix such as `functions.`, which some put before the name, may go along;
        names that are not known stay as they are."""
        if not self._tools:
            return name
        return self._tools.get(name) or self._tools.get(name.strip().rpartition(".")[2], name)

    def offer(self, tool: Mapping[str, Any]) -> Mapping[str, Any]:
        """A tool, or a choice of one, in Chat Completions form with its name as it is spelled; other forms as they
        are."""
        function = as_dict(tool.get("function"))
        name = function.get("name")
        if not isinstance(name, str) or (spelling := self.to_wire(name)) == name:
            return tool
        return {**tool, "function": {**function, "name": spelling}}

    def read(self, response: ModelResponse) -> ModelResponse:
        """A reply with its calls under the tools' own names."""
        message = response.message
        if not self._tools or not message.tool_calls:
            return response
        content = message.content
        if isinstance(content, tuple):
            content = tuple(map(self._part, content))
        calls = tuple(map(self._call, message.tool_calls))
        return replace(response, message=AssistantMessage(content, calls, message.name, message.extra))

    def follow(self, assembler: Assembler) -> Assembler:
        """A streamed reply with its calls under the tools' own names."""
        return _Renaming(assembler, self) if self._tools else assembler

    def _part(self, part: Part) -> Part:
        return self._call(part) if isinstance(part, ToolCall) else part

    def _call(self, call: ToolCall) -> ToolCall:
        name = self.from_wire(call.name)
        return call if name == call.name else replace(call, name=name)


_AS_THEY_ARE = Names()


class _Renaming:
    """An assembler whose events name the tools as they are called inside."""

    def __init__(self, assembler: Assembler, names: Names) -> None:
        self._assembler = assembler
        self._names = names

    @property
    def finished(self) -> bool:
        return self._assembler.finished

    @property
    def content_seen(self) -> bool:
        return self._assembler.content_seen

    def feed(self, chunk: bytes) -> Sequence[ModelEvent]:
        return self._renamed(self._assembler.feed(chunk))

    def end(self) -> Sequence[ModelEvent]:
        return self._renamed(self._assembler.end())

    def partial(self) -> ModelResponse | None:
        return self._assembler.partial()

    def _renamed(self, events: Sequence[ModelEvent]) -> Sequence[ModelEvent]:
        for event in events:
            if isinstance(event, ToolCallDelta):
                event.name = self._names.from_wire(event.name)
            elif isinstance(event, ResponseDone):
                event.response = self._names.read(event.response)
        return events


def _own_name(tool: ToolSpec | Mapping[str, Any]) -> str | None:
    """None for a tool that only a vendor knows by its type: it needs no name."""
    if not isinstance(tool, Mapping):
        return tool.name
    return tool_name(tool) or ("" if "function" in tool else None)


@lru_cache(maxsize=64)  # the same tools are offered in each request of an agent
def _told_apart(own: tuple[str | None, ...]) -> Names:
    odd = [name for name in own if name is not None and not _LEGAL.fullmatch(name)]
    if not odd:
        return _AS_THEY_ARE
    for name in odd:
        if not any(letter.isalnum() for letter in name):
            raise ConfigError(f"tool name {name!r}: a name needs at least one letter or digit")
    spellings = _unshared({name: _spelled(name) for name in odd}, {name for name in own if name} - set(odd))
    # Some models call a tool by its own name, which no spelling can be.
    return Names(spellings, {spelling: name for name, spelling in spellings.items()} | {name: name for name in odd})


def _unshared(plain: Mapping[str, str], legal: Set[str]) -> dict[str, str]:
    """Each name with a spelling of its own. More of the hash is used where a tool is named like a hashed spelling."""
    spellings = dict(plain)
    for letters in range(_HASH, _LONGEST, _HASH):
        taken = Counter([*legal, *spellings.values()])
        shared = [name for name, spelling in spellings.items() if taken[spelling] > 1]
        if not shared:
            break
        spellings |= {name: _with_hash(plain[name], name, letters) for name in shared}
    return spellings


def _spelled(name: str) -> str:
    """Dots become `__`, accents go, all else that is not legal becomes `_`. What is too long is cut, and what would be
    left without a letter or digit is called `tool`; both are told apart by a hash."""
    letters = (c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    spelling = re.sub(r"[^a-zA-Z0-9_-]", "_", "".join(letters).replace(".", "__"))
    if not spelling.strip("_-"):
        return _with_hash("tool", name)
    return spelling if len(spelling) <= _LONGEST else _with_hash(spelling, name)


def _with_hash(spelling: str, name: str, letters: int = _HASH) -> str:
    return f"{spelling[: _LONGEST - letters - 1]}_{_hash(name)[:letters]}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def legal_call_id(call_id: str) -> str:
    """A call's id for a wire that takes letters, digits, `_` and `-` only: always the same for the same id, and
    different for different ones."""
    cleaned = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)
    if cleaned == call_id and call_id:
        return call_id
    return f"{cleaned[:40]}_{_hash(call_id)[:12]}"
