"""What a healthy answer becomes under a fault: a list of steps that a server performs on a socket, or a transport in
memory. Both read the same list, so a fault means the same in both."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, TypeAlias

from agentloop.testing.faults import Fault

__all__ = ["Answer", "Cut", "Data", "End", "Head", "Junk", "Pause", "Reset", "Step", "steps"]

Headers: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a healthy server would send: the whole body as one piece, or each event of a stream as a piece.

    `headers` are those without framing (no length, no transfer encoding). `told` puts an error of OpenAI's shape, with
    its status, into the shape of that server.
    """

    status: int
    headers: Headers
    pieces: tuple[bytes, ...]
    stream: bool = False
    told: Callable[[dict[str, Any], int], Mapping[str, Any]] = lambda error, status: error

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers. Without a content length among them the body is sent in chunks."""

    status: int
    headers: Headers


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of the body, flushed at once; an HTTP chunk of its own where the body is chunked."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for that many seconds; None: until the client has gone."""

    seconds: float | None


@dataclass(frozen=True, slots=True)
class End:
    """The body ends as HTTP has it."""


@dataclass(frozen=True, slots=True)
class Junk:
    """Bytes behind the end of the message, after which the connection is closed."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is closed here."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset here (TCP RST)."""


Step: TypeAlias = Head | Data | Pause | End | Junk | Cut | Reset


def steps(answer: Answer, fault: Fault) -> list[Step]:
    """The steps by which this answer is given under this fault."""
    answer = replace(answer, headers=_merged(answer.headers, fault))
    return _KINDS[fault.kind](answer, fault)


def _merged(headers: Headers, fault: Fault) -> Headers:
    named = {name.lower() for name in fault.headers}
    return (*(h for h in headers if h[0].lower() not in named), *fault.headers.items())


def _head(answer: Answer, length: int | None = None) -> Head:
    """The head with its framing: streams are chunked, all else has the length of the body, or the length given."""
    if length is None and answer.stream:
        return Head(answer.status, answer.headers)
    length = len(answer.body) if length is None else length
    return Head(answer.status, (*answer.headers, ("content-length", str(length))))


def _data(pieces: tuple[bytes, ...]) -> list[Step]:
    return [Data(piece) for piece in pieces if piece]


def _healthy(answer: Answer, fault: Fault) -> list[Step]:
    return [_head(answer), *_data(answer.pieces), End()]


def _chunks(answer: Answer, fault: Fault) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The chunks before and after the fault. A whole body counts as two chunks, its halves, and the fault comes
    between them at the latest."""
    pieces, number = answer.pieces, fault.n or 0
    if not answer.stream:
        half = len(answer.body) // 2
        pieces, number = (answer.body[:half], answer.body[half:]), min(number, 1)
    return pieces[:number], pieces[number:]


# --- other answers ---------------------------------------------------------------------------------------------------


def _told(answer: Answer, fault: Fault, status: int) -> Mapping[str, Any]:
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else f"status {status}"
    message = fault.message if fault.message is not None else f"{phrase} (made by a fault)"
    kind = fault.type or ("server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error"))
    error = {"error": {"message": message, "type": kind, "param": None, "code": fault.code}}
    told = answer.told(error, status)
    return {**told, "error": {**told["error"], "type": fault.type}} if fault.type else told


_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


def _other(answer: Answer, fault: Fault, status: int, body: bytes, content_type: str) -> list[Step]:
    kept = tuple(h for h in answer.headers if h[0].lower() != "content-type")
    headers = _merged((*kept, ("content-type", content_type)), fault)
    return _healthy(Answer(status, headers, (body,)), fault)


def _status(answer: Answer, fault: Fault) -> list[Step]:
    status = fault.status or 500
    if status in (204, 304):  # HTTP gives these no body
        return _healthy(Answer(status, answer.headers, ()), fault)
    if fault.body is None:
        return _other(answer, fault, status, json.dumps(_told(answer, fault, status)).encode(), "application/json")
    looks_like_json = fault.body.lstrip().startswith(("{", "["))
    return _other(
        answer,
        fault,
        status,
        fault.body.encode(),
        "application/json" if looks_like_json else "text/plain; charset=utf-8",
    )


def _html(answer: Answer, fault: Fault) -> list[Step]:
    page = fault.body or "<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>"
    return _other(answer, fault, fault.status or 200, page.encode(), "text/html; charset=utf-8")


def _error(answer: Answer, fault: Fault) -> list[Step]:
    told = _told(answer, fault, 500)
    body = json.dumps(told).encode()
    if not answer.stream:
        return _other(answer, fault, 200, body, "application/json")
    before, _ = _chunks(answer, fault)
    name = b"event: error\n" if told.get("type") == "error" else b""
    return [_head(answer), *_data(before), Data(name + b"data: " + body + b"\n\n"), End()]


# --- time ------------------------------------------------------------------------------------------------------------


def _stall(answer: Answer, fault: Fault) -> list[Step]:
    pause = Pause(fault.seconds)
    if fault.where == "first-byte":
        return [pause, *_healthy(answer, fault)]
    if fault.where == "content":
        fault = replace(fault, n=1 if answer.stream else 0)
    before, after = _chunks(answer, fault)
    return [_head(answer), *_data(before), pause, *_data(after), End()]


def _drip(answer: Answer, fault: Fault) -> list[Step]:
    size, body = max(1, fault.n or 1), answer.body
    dripped: list[Step] = [_head(answer)]
    for at in range(0, len(body), size):
        dripped += [Data(body[at : at + size]), Pause(fault.seconds)]
    return [*dripped, End()]


def _keepalive(answer: Answer, fault: Fault) -> list[Step]:
    blank = Data(b": keep-alive\n\n" if answer.stream else b"\n")
    pause: list[Step] = [Pause(fault.seconds)] if fault.seconds else []
    # A server that sends blank lines while it works cannot know the length yet: the body is chunked.
    head = Head(answer.status, answer.headers)
    return [head, *([blank, *pause] * (fault.n or 0)), *_data(answer.pieces), End()]


# --- broken connections ----------------------------------------------------------------------------------------------


def _broken(end: Step) -> Callable[[Answer, Fault], list[Step]]:
    def broken(answer: Answer, fault: Fault) -> list[Step]:
        before, _ = _chunks(answer, fault)
        return [_head(answer), *_data(before), end]

    return broken


def _cut_inside(answer: Answer, fault: Fault) -> list[Step]:
    before, after = _chunks(answer, replace(fault, n=max(0, (fault.n or 1) - 1)))
    inside = after[0][: len(after[0]) // 2] if after else b""
    return [_head(answer), *_data((*before, inside)), Cut()]


def _end_after(answer: Answer, fault: Fault) -> list[Step]:
    before, _ = _chunks(answer, fault)
    return _healthy(replace(answer, pieces=before), fault)


def _reset(answer: Answer, fault: Fault) -> list[Step]:
    return [Reset()]


def _close(answer: Answer, fault: Fault) -> list[Step]:
    return [Cut()]


# --- wrong bytes -----------------------------------------------------------------------------------------------------


def _duplicate(answer: Answer, fault: Fault) -> list[Step]:
    at = min(max(0, (fault.n or 1) - 1), len(answer.pieces) - 1)
    return _healthy(replace(answer, pieces=(*answer.pieces[: at + 1], *answer.pieces[at:])), fault)


def _bad_json(answer: Answer, fault: Fault) -> list[Step]:
    at = min(max(0, (fault.n or 1) - 1), len(answer.pieces) - 1)
    piece = answer.pieces[at]
    broken = piece[: len(piece) // 2] + (b"\n\n" if answer.stream else b"")
    return _healthy(replace(answer, pieces=(*answer.pieces[:at], broken, *answer.pieces[at + 1 :])), fault)


def _wrong_length(answer: Answer, fault: Fault) -> list[Step]:
    body, difference = answer.body, fault.n or 0
    length = max(0, len(body) + difference)
    if difference >= 0:
        return [_head(answer, length), *_data(answer.pieces), Cut()]
    # What is left over must not be taken for the answer to another request on the same connection.
    answer = replace(answer, headers=(*answer.headers, ("connection", "close")))
    return [_head(answer, length), *_data((body[:length],)), End(), Junk(body[length:])]


def _gzip(answer: Answer, fault: Fault) -> list[Step]:
    packer = zlib.compressobj(wbits=31)
    packed = [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in answer.pieces]
    headers = _merged((*answer.headers, ("content-encoding", "gzip")), fault)
    return _healthy(replace(answer, headers=headers, pieces=(*packed, packer.flush())), fault)


_KINDS: dict[str, Callable[[Answer, Fault], list[Step]]] = {
    "ok": _healthy,
    "status": _status,
    "error": _error,
    "stall": _stall,
    "drip": _drip,
    "cut-after": _broken(Cut()),
    "cut-inside": _cut_inside,
    "end-after": _end_after,
    "close": _close,
    "reset": _reset,
    "reset-after": _broken(Reset()),
    "duplicate": _duplicate,
    "bad-json": _bad_json,
    "html": _html,
    "keepalive": _keepalive,
    "wrong-length": _wrong_length,
    "gzip": _gzip,
}
