"""A site without a network: its answers, its addresses, and what it was asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import httpx

PUBLIC = "93.184.216.34"


class Site:
    """A transport that remembers its requests, and a resolver that remembers what it was asked."""

    def __init__(self, *answers: Any, addresses: Iterable[Sequence[str]] = ()) -> None:
        self.requests: list[httpx.Request] = []
        self.asked: list[tuple[str, int]] = []
        self._answers = list(answers)
        self._addresses = iter(addresses)
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._answers.pop(0)

    def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return next(self._addresses, (PUBLIC,))


class Body(httpx.SyncByteStream):
    """Raw bytes in pieces, counted as they are taken."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.taken += 1
            yield piece


def raw(pieces: Iterable[bytes], **headers: str) -> tuple[httpx.Response, Body]:
    body = Body(pieces)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(200, headers={"content-type": "text/plain", **named}, stream=body), body


def page(text: str = "hi", status: int = 200, kind: str = "text/plain") -> httpx.Response:
    return httpx.Response(status, headers={"content-type": kind}, stream=Body([text.encode()]))


def moved(where: str) -> httpx.Response:
    return httpx.Response(302, headers={"location": where})
