"""A cassette: the recorded exchanges of one scenario, in one JSON file.

JSON and not YAML: the bodies are JSON already, it is read without a further dependency, and no value changes its type
on the way ("no", 1e3, 12:30). The layout is made for review: each flat object with at most two members and each chunk
of a stream stands on one line. The file is

    {"version": 1, "ignore": ["$.metadata"], "exchanges": [...]}

where `ignore` (optional) names what need not match when it is replayed (see `agentloop.testing.matching`) and each
exchange is as `agentloop.testing.exchanges` describes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentloop.errors import ConfigError
from agentloop.testing.exchanges import Exchange
from agentloop.testing.scrubbing import scrub

if TYPE_CHECKING:
    import respx

    from agentloop.testing.player import Player

__all__ = ["VERSION", "Cassette"]

VERSION = 1
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Cassette:
    """Recorded exchanges in their order. `path` is where they were loaded from, for messages."""

    exchanges: tuple[Exchange, ...] = ()
    ignore: tuple[str, ...] = ()
    path: Path | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Cassette:
        """Read a file. Raises ConfigError, with the place in the file, when it is missing or not a cassette."""
        place = Path(path)
        try:
            data = json.loads(place.read_bytes())
        except FileNotFoundError:
            raise ConfigError(f"{place}: there is no such cassette; record it first") from None
        except (OSError, ValueError) as error:
            raise ConfigError(f"{place}: cannot be read as JSON: {error}") from error
        try:
            return replace(cls.from_dict(data), path=place)
        except ConfigError as error:
            raise ConfigError(f"{place}: {error}") from error

    @classmethod
    def from_dict(cls, data: object) -> Cassette:
        fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        exchanges, ignore = fields.get("exchanges"), fields.get("ignore", [])
        if not isinstance(exchanges, list):
            raise ConfigError("is not a cassette: it has no list of exchanges")
        if fields.get("version", VERSION) != VERSION:
            raise ConfigError(f"has version {fields['version']!r}; this agentloop reads version {VERSION}")
        unknown = sorted(fields.keys() - {"version", "ignore", "exchanges"})
        if unknown:
            raise ConfigError(f"unknown key {unknown[0]!r}; known are exchanges, ignore, version")
        if not isinstance(ignore, list) or not all(isinstance(rule, str) for rule in cast("list[object]", ignore)):
            raise ConfigError("ignore must be a list of strings")
        items = cast("list[object]", exchanges)
        read = tuple(Exchange.from_dict(item, f"exchange {n}") for n, item in enumerate(items, start=1))
        return cls(read, tuple(cast("list[str]", ignore)))

    def to_dict(self) -> dict[str, Any]:
        ignore = {"ignore": list(self.ignore)} if self.ignore else {}
        return {"version": VERSION, **ignore, "exchanges": [exchange.to_dict() for exchange in self.exchanges]}

    def save(self, path: str | os.PathLike[str], *, secrets: Iterable[str] = ()) -> None:
        """Write the file whole or not at all, without keys: `secrets`, those found in the requests' headers and
        URLs, and whatever is shaped like one are masked, and headers that are not on the allow-list are left out."""
        place = Path(path)
        clean = replace(self, exchanges=scrub(self.exchanges, secrets))
        text = _layout(clean.to_dict()) + "\n"
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}.{os.getpid()}.tmp")
        try:
            draft.write_text(text, encoding="utf-8", newline="\n")
            os.replace(draft, place)
        finally:
            draft.unlink(missing_ok=True)

    def mount(self, router: respx.Router, *, ignore: Sequence[str] = (), secrets: Iterable[str] = ()) -> Player:
        """Answer what a respx router gets and no earlier route of it takes. An unmatched request raises
        CassetteMismatch. respx cannot ask whether all exchanges were used: call `check_all_used()` of the player that
        this returns at the end."""
        from agentloop.testing.player import Player

        player = Player(self, ignore=ignore, secrets=secrets)
        router.route().mock(side_effect=player.respond)
        return player


def _layout(value: object, indent: int = 0, *, line_per_item: bool = False) -> str:
    flat = _flat(value)
    members = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    items = cast("list[object]", value) if isinstance(value, list) else [*members.values()]
    nested = line_per_item or any(isinstance(item, (dict, list)) for item in items)
    if not items or (not nested and (len(flat) + indent <= WIDTH or (members and len(items) <= 2))):
        return flat
    pad = " " * (indent + 2)
    opened, closed = "{}" if members else "[]"
    lines = [
        f"{_flat(key)}: {_layout(item, indent + 2, line_per_item=key == 'chunks')}" for key, item in members.items()
    ] or [_flat(item) if line_per_item else _layout(item, indent + 2) for item in items]
    return f"{opened}\n{pad}" + f",\n{pad}".join(lines) + f"\n{' ' * indent}{closed}"


def _flat(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
