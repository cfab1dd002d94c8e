"""Taking keys out of a stream: a key may be split between two network chunks, and between two events as well.

Both are looked at joined. A key that spans several pieces becomes one mask in the piece where it begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from agentloop.http.secrets import MASK
from agentloop.testing.bodies import Chunk, Unfaithful, dump_json, load_json

__all__ = ["is_key_field", "masked_spans", "scrub_stream"]

Redact: TypeAlias = Callable[[str], str]
Edit: TypeAlias = tuple[int, int, bytes]
Place: TypeAlias = tuple[Any, ...]

# Fields of JSON bodies whose text is a key, whatever it looks like.
_KEY_FIELDS = frozenset(
    {
        "accesstoken",
        "apikey",
        "authorization",
        "clientsecret",
        "idtoken",
        "password",
        "refreshtoken",
        "xapikey",
    }
)
_LINE = re.compile(rb"^(?:data:[ ]?)?(\{.*\})\r?$", re.MULTILINE)


def is_key_field(name: object) -> bool:
    """Whether the text of a JSON member with this name is a key, whatever it looks like."""
    return isinstance(name, str) and re.sub(r"[^a-z]", "", name.lower()) in _KEY_FIELDS


def scrub_stream(chunks: Sequence[Chunk], redact: Redact) -> tuple[Chunk, ...]:
    """The chunks with their borders and times, without keys."""
    in_texts = _splice(chunks, _edits_of_events(_join(chunks), redact))
    joined = _join(in_texts)
    shown = redact(joined.decode(errors="surrogateescape")).encode(errors="surrogateescape")
    mask = MASK.encode()
    return _splice(in_texts, [(start, end, mask) for start, end in masked_spans(joined, shown)])


def _join(chunks: Sequence[Chunk]) -> bytes:
    return b"".join(chunk.data for chunk in chunks)


def masked_spans(before: bytes, after: bytes) -> list[tuple[int, int]]:
    """Where `after` has a mask in place of something of `before`, which it is otherwise equal to."""
    if before == after:
        return []
    spans: list[tuple[int, int]] = []
    pieces = after.split(MASK.encode())
    end = len(pieces[0])
    for number, piece in enumerate(pieces[1:], start=2):
        start = end
        at = len(before) - len(piece) if number == len(pieces) else before.index(piece, start)
        spans.append((start, at))
        end = at + len(piece)
    return [(start, at) for start, at in spans if before[start:at] != MASK.encode()]


def _splice(chunks: Sequence[Chunk], edits: Sequence[Edit]) -> tuple[Chunk, ...]:
    """Replace spans of the joined bytes. What replaces a span goes to the chunk where the span begins."""
    out: list[Chunk] = []
    offset = number = 0
    for chunk in chunks:
        end = offset + len(chunk.data)
        pieces: list[bytes] = []
        position = offset
        while number < len(edits) and edits[number][0] < end:
            start, stop, new = edits[number]
            if start >= offset:
                pieces += [chunk.data[position - offset : start - offset], new]
            position = max(position, min(stop, end))
            if stop > end:
                break
            number += 1
        pieces.append(chunk.data[position - offset :])
        out.append(replace(chunk, data=b"".join(pieces)))
        offset = end
    return tuple(out)


def _edits_of_events(joined: bytes, redact: Redact) -> list[Edit]:
    """Edits of the JSON lines in which a key stands, whole or as a part of one that goes on in the next event."""
    lines: list[tuple[int, int, Any]] = []
    texts: dict[Place, list[tuple[int, Place, str]]] = {}
    for found in _LINE.finditer(joined):
        try:
            value = load_json(found.group(1))
        except Unfaithful:
            continue
        for place, track, text in _texts(value, (), ()):
            texts.setdefault(track, []).append((len(lines), place, text))
        lines.append((found.start(1), found.end(1), value))
    changed: set[int] = set()
    for pieces in texts.values():
        for (line, place, text), shown in zip(pieces, _redact_pieces([p[2] for p in pieces], redact), strict=True):
            clean = MASK if text and is_key_field(place[-1]) else shown
            if clean != text:
                _put(lines[line][2], place, clean)
                changed.add(line)
    return [(lines[n][0], lines[n][1], dump_json(lines[n][2])) for n in sorted(changed)]


def _redact_pieces(texts: list[str], redact: Redact) -> list[str]:
    chunks = [Chunk(text.encode()) for text in texts]
    joined = _join(chunks)
    shown = redact(joined.decode()).encode()
    spans = [(start, end, MASK.encode()) for start, end in masked_spans(joined, shown)]
    return [chunk.data.decode() for chunk in _splice(chunks, spans)]


def _texts(value: Any, place: Place, track: Place) -> Iterator[tuple[Place, Place, str]]:
    """Each text with its place in the value, and the track to which its pieces belong in all events.

    A track is the place with the indexes that events themselves name (`index`, `output_index`) instead of positions.
    """
    if isinstance(value, str):
        yield place, track, value
    elif isinstance(value, list):
        for position, item in enumerate(cast("list[Any]", value)):
            yield from _texts(item, (*place, position), (*track, "[]"))
    elif isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        own = tuple(item for name, item in members.items() if name.endswith("index") and isinstance(item, int))
        for name, item in members.items():
            yield from _texts(item, (*place, name), (*track, own, name))


def _put(value: Any, place: Place, text: str) -> None:
    for step in place[:-1]:
        value = value[step]
    value[place[-1]] = text
