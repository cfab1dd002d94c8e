"""Bodies as they are stored: without their content-encoding, with the borders and times of the chunks as they came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec

import httpx

from agentloop.testing.bodies import Chunk

__all__ = ["decode_body"]

_PACKAGES = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}


def decode_body(headers: Mapping[str, str], chunks: Sequence[Chunk]) -> tuple[dict[str, str], tuple[Chunk, ...]]:
    """Headers (lower case) and chunks with the encoding taken off both. A body that is not what its header says, or
    whose encoding this installation cannot decode, is left as it is, header included."""
    kept = {name: value for name, value in headers.items() if name not in ("content-encoding", "content-length")}
    coding = headers.get("content-encoding", "").strip().lower()
    if not coding or not any(chunk.data for chunk in chunks):
        return kept, tuple(chunk for chunk in chunks if chunk.data)
    try:
        if all(_is_decodable(name.strip()) for name in coding.split(",")):
            return kept, tuple(_decoded(coding, chunks))
    except httpx.DecodingError:
        pass
    return {**kept, "content-encoding": coding}, tuple(chunks)


def _is_decodable(coding: str) -> bool:
    return coding in ("gzip", "deflate", "identity") or any(find_spec(name) for name in _PACKAGES.get(coding, ()))


def _decoded(coding: str, chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    source = _Source(chunks)
    response = httpx.Response(200, headers={"content-encoding": coding}, stream=source)
    for data in response.iter_bytes():
        yield Chunk(data, source.at)


class _Source(httpx.SyncByteStream):
    """Hands out the chunks and remembers when the last one came."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self.at: float | None = None

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self.at = chunk.at
            yield chunk.data
