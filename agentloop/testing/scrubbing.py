"""What may enter a cassette: headers on an allow-list, and texts without keys.

Keys are known in three ways: the caller names them, the requests carry them (Authorization, x-api-key, cookies,
`?key=`), and they are shaped like keys. Each is replaced by `***` wherever it stands, in its percent-encoded, JSON and
base64 spellings too, so what a server repeats or a model quotes is clean as well.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from agentloop.errors import ConfigError
from agentloop.http.secrets import MASK, is_sensitive, redact_headers, redact_text, redact_url
from agentloop.testing.bodies import Chunk, Unfaithful, dump_json, load_json
from agentloop.testing.exchanges import Exchange, Failure, RecordedRequest, RecordedResponse
from agentloop.testing.stream_scrubbing import is_key_field, scrub_stream

__all__ = ["keys_in", "scrub", "scrub_content", "scrub_json"]

SHORTEST = 6  # no text below this length can be, or name, a key: "?key=x"

_REQUEST_HEADERS = frozenset({"accept", "content-type", "anthropic-version", "anthropic-beta", "openai-beta"})
_RESPONSE_HEADERS = frozenset(
    {
        "allow",
        "content-type",
        "location",
        "openai-processing-ms",
        "openai-version",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "www-authenticate",
        "x-request-id",
        "x-should-retry",
    }
)
_RESPONSE_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-", "ratelimit")


def scrub(exchanges: Iterable[Exchange], secrets: Iterable[str] = ()) -> tuple[Exchange, ...]:
    """The exchanges as they may be stored. Keys found in one request are taken out of all the exchanges."""
    given = tuple(exchanges)
    keys = set(secrets)
    for exchange in given:
        keys |= keys_in(exchange.request)
    return tuple(_scrub_exchange(exchange, keys) for exchange in given)


def _scrub_exchange(exchange: Exchange, keys: set[str]) -> Exchange:
    error = exchange.error
    return Exchange(
        request=_scrub_request(exchange.request, keys),
        response=None if exchange.response is None else _scrub_response(exchange.response, keys),
        error=None if error is None else Failure(error.type, redact_text(error.message, keys)),
        left=exchange.left,
        note=redact_text(exchange.note, keys),
    )


def _scrub_request(request: RecordedRequest, keys: set[str]) -> RecordedRequest:
    kept = {name: value for name, value in request.headers.items() if name in _REQUEST_HEADERS}
    return RecordedRequest(
        method=request.method,
        url=redact_url(request.url, keys),
        headers=dict(redact_headers(kept, keys)),
        content=scrub_content(request.content, keys),
    )


def _scrub_response(response: RecordedResponse, keys: set[str]) -> RecordedResponse:
    _refuse_unreadable(response.headers)
    kept = {
        name: redact_url(value, keys) if name == "location" else value
        for name, value in response.headers.items()
        if name in _RESPONSE_HEADERS or name.startswith(_RESPONSE_PREFIXES) or name == "content-encoding"
    }
    headers = {name: redact_text(value, keys) for name, value in kept.items()}
    return replace(response, headers=headers, chunks=_scrub_chunks(response.chunks, keys))


def _refuse_unreadable(headers: Mapping[str, str]) -> None:
    """A body that could not be decoded for want of a package may hold a key that nobody can see."""
    coding = headers.get("content-encoding", "gzip")
    if coding not in ("gzip", "deflate"):
        raise ConfigError(
            f"a reply has content-encoding {coding!r}, which cannot be decoded and searched for keys here: install "
            "'httpx[brotli,zstd]', or record with the request header 'accept-encoding: gzip'"
        )


def _scrub_chunks(chunks: tuple[Chunk, ...], keys: Iterable[str]) -> tuple[Chunk, ...]:
    """A body that is one JSON value is scrubbed text by text, anything else as a stream."""
    known = tuple(keys)
    try:
        value = load_json(b"".join(chunk.data for chunk in chunks))
    except Unfaithful:
        return scrub_stream(chunks, lambda text: redact_text(text, known))
    clean = scrub_json(value, known)
    return chunks if clean == value else (Chunk(dump_json(clean), chunks[-1].at),)


def scrub_content(content: bytes, keys: Iterable[str]) -> bytes:
    return b"".join(chunk.data for chunk in _scrub_chunks((Chunk(content),), keys))


def scrub_json(value: Any, keys: tuple[str, ...]) -> Any:
    """The value with every text in it scrubbed, the names of members too."""
    if isinstance(value, str):
        return value if len(value) < SHORTEST else redact_text(value, keys)
    if isinstance(value, list):
        return [scrub_json(item, keys) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {scrub_json(name, keys): _scrub_member(name, item, keys) for name, item in members.items()}
    return value


def _scrub_member(name: str, item: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(item, str) and item and is_key_field(name):
        return MASK
    return scrub_json(item, keys)


def keys_in(request: RecordedRequest) -> set[str]:
    """The keys that a request carries where keys belong: credential headers, cookies, user-info, query parameters."""
    found: set[str] = set()
    for name, value in request.headers.items():
        if is_sensitive(name):
            found |= _keys_in_header(name, value)
    parts = urlsplit(request.url)
    found |= {unquote(part) for part in parts.netloc.rpartition("@")[0].split(":")}
    found |= {value for name, value in parse_qsl(parts.query) if is_sensitive(name)}
    return {key for key in found if key and key != MASK}


def _keys_in_header(name: str, value: str) -> set[str]:
    if name == "cookie":
        return {pair.partition("=")[2].strip() for pair in value.split(";")}
    scheme, _, rest = value.partition(" ")
    if scheme.lower() != "basic":
        return {value, rest}
    try:
        return {rest, *base64.b64decode(rest).decode().split(":", 1)}
    except (binascii.Error, UnicodeDecodeError):
        return {rest}
