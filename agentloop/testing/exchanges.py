"""One recorded HTTP exchange as a value, and its form in a cassette file.

    {
      "note": "why this exchange is here (optional)",
      "request": {"method": "POST", "url": "https://...", "headers": {...}, "body": {...}},
      "response": {"status": 200, "headers": {...}, "chunks": [{"at": 0.4, "data": {...}}, ...]},
      "error": {"type": "ReadError", "message": "..."},
      "left": true
    }

Only `request` with its `url` must be there. The method is POST when there is a body and GET when there is none; the
status is 200. `error` is how the transport failed, named as in httpx: before the answer when there is no `response`,
otherwise after its last chunk. `left` says that the reader stopped there, so nobody knows what would have followed.
Bodies are described in `agentloop.testing.bodies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import httpx

from agentloop.errors import ConfigError
from agentloop.testing.bodies import Chunk, body_from_dict, body_to_dict

__all__ = ["Exchange", "Failure", "RecordedRequest", "RecordedResponse"]


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """What was sent. Header names are lower case."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """What came back, decoded: `chunks` hold the body without its content-encoding. Header names are lower case."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    chunks: tuple[Chunk, ...] = ()

    @property
    def content(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Failure:
    """How the transport failed: the name of an `httpx.TransportError` class, and its message."""

    type: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request with what became of it. `left` without a response: the client gave up before an answer came."""

    request: RecordedRequest
    response: RecordedResponse | None = None
    error: Failure | None = None
    left: bool = False
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"note": self.note} if self.note else {}
        request = self.request
        out["request"] = {
            "method": request.method,
            "url": request.url,
            "headers": dict(request.headers),
            **body_to_dict((Chunk(request.content),), request.headers),
        }
        if self.response is not None:
            broken = self.left or self.error is not None
            out["response"] = {
                "status": self.response.status,
                "headers": dict(self.response.headers),
                **body_to_dict(self.response.chunks, self.response.headers, broken=broken),
            }
        if self.error is not None:
            out["error"] = {"type": self.error.type, "message": self.error.message}
        return {**out, "left": True} if self.left else out

    @classmethod
    def from_dict(cls, data: object, where: str = "exchange") -> Exchange:
        """Read one exchange; `where` names it in errors. Raises ConfigError for whatever it does not know."""
        fields = _object(data, where, {"note", "request", "response", "error", "left"})
        if "request" not in fields:
            raise ConfigError(f"{where}: has no request; add at least {{'request': {{'url': ...}}}}")
        response = fields.get("response")
        error = fields.get("error")
        left = _typed(fields, "left", bool, False, where)
        if response is None and error is None and not left:
            raise ConfigError(f"{where}: has neither a response nor an error")
        return cls(
            request=_request(fields["request"], f"{where}: request"),
            response=None if response is None else _response(response, f"{where}: response"),
            error=None if error is None else _failure(error, f"{where}: error"),
            left=left,
            note=_typed(fields, "note", str, "", where),
        )


_T = TypeVar("_T")
_BODY = frozenset({"body", "text", "base64", "chunks"})


def _request(data: object, where: str) -> RecordedRequest:
    fields = _object(data, where, {"method", "url", "headers"} | _BODY)
    url = _typed(fields, "url", str, "", where)
    if not url:
        raise ConfigError(f"{where}: has no url")
    headers = _headers(fields, where)
    content = b"".join(chunk.data for chunk in body_from_dict(fields, headers, where))
    method = _typed(fields, "method", str, "POST" if content else "GET", where)
    return RecordedRequest(method.upper(), url, headers, content)


def _response(data: object, where: str) -> RecordedResponse:
    fields = _object(data, where, {"status", "headers"} | _BODY)
    headers = _headers(fields, where)
    chunks = body_from_dict(fields, headers, where)
    return RecordedResponse(_typed(fields, "status", int, 200, where), headers, chunks)


def _failure(data: object, where: str) -> Failure:
    fields = _object(data, where, {"type", "message"})
    failure = Failure(_typed(fields, "type", str, "ReadError", where), _typed(fields, "message", str, "", where))
    if not is_transport_error(getattr(httpx, failure.type, None)):
        raise ConfigError(f"{where}: {failure.type!r} is no error of a transport; use a name such as 'ReadTimeout'")
    return failure


def is_transport_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, httpx.TransportError)


def _headers(fields: Mapping[str, Any], where: str) -> dict[str, str]:
    headers = _typed(fields, "headers", dict, cast("dict[Any, Any]", {}), where)
    for name, value in headers.items():
        if not isinstance(value, str):
            raise ConfigError(f"{where}: header {name!r} must be a string, not {value!r}")
    return {name.lower(): value for name, value in headers.items()}


def _object(data: object, where: str, known: set[str] | frozenset[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: must be an object, not {data!r:.80}")
    fields = cast("dict[str, Any]", data)
    unknown = sorted(set(fields) - known)
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")
    return fields


def _typed(fields: Mapping[str, Any], key: str, kind: type[_T], default: _T, where: str) -> _T:
    value = fields.get(key, default)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"{where}: {key} must be {kind.__name__}, not {value!r:.80}")
    return value
