"""A cassette in use: what is on it is played, what is not is recorded, as the mode says."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import httpx

from agentloop.errors import ConfigError
from agentloop.testing.cassettes import Cassette
from agentloop.testing.player import Player, play, recorded_request
from agentloop.testing.recorder import Recorder

__all__ = ["Deck", "DeckTransport", "Mode"]

Mode: TypeAlias = Literal["none", "once", "new", "all"]
MODES = ("none", "once", "new", "all")


class Deck:
    """One cassette file under one mode.

    - "none": play only; the file must be there.
    - "once": record when there is no file, otherwise as "none".
    - "new": play what is there and record what is not; the file grows.
    - "all": record everything anew.

    `recording` says whether real requests may be made. Nothing is written before `save()` or `finish()`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode = "none",
        *,
        ignore: Sequence[str] = (),
        secrets: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if mode not in MODES:
            raise ConfigError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        self.path = Path(path)
        self._secrets = tuple(secrets)
        there = self.path.exists()
        self.recording = mode in ("new", "all") or (mode == "once" and not there)
        self.player: Player | None = None
        if mode == "none" or (there and mode != "all"):
            self.player = Player(Cassette.load(self.path), ignore=ignore, secrets=self._secrets)
        self._recorder = Recorder(clock)

    @property
    def transport(self) -> DeckTransport:
        """A transport for a sync or async client, over httpx's own for what must be recorded."""
        return DeckTransport(self)

    def send(self, request: httpx.Request, inner: httpx.BaseTransport) -> httpx.Response:
        request.read()
        return self._play(request) or self._recorder.send(request, inner)

    async def send_async(self, request: httpx.Request, inner: httpx.AsyncBaseTransport) -> httpx.Response:
        await request.aread()
        return self._play(request) or await self._recorder.send_async(request, inner)

    def _play(self, request: httpx.Request) -> httpx.Response | None:
        if self.player is None:
            return None
        sent = recorded_request(request)
        exchange = self.player.find(sent) if self.recording else self.player.take(sent)
        return None if exchange is None else play(exchange, request)

    @contextmanager
    def attached(self, client: object) -> Generator[None]:
        """Put this deck between a client and its transports for the length of a `with` block."""
        if isinstance(client, (httpx.Client, httpx.AsyncClient)):
            with self._attached_to_httpx(cast("Any", client)):
                yield
            return
        ours = cast("Any", client)
        if not hasattr(ours, "transport"):
            raise ConfigError(f"cannot record {type(client).__name__}: it is neither an httpx nor an agentloop client")
        before = ours.transport
        ours.transport = DeckTransport(self, before)
        try:
            yield
        finally:
            ours.transport = before

    @contextmanager
    def _attached_to_httpx(self, client: Any) -> Generator[None]:
        # httpx has no public way to change the transports of a client that exists.
        transport, mounts = client._transport, client._mounts
        client._transport = DeckTransport(self, transport)
        client._mounts = {key: inner and DeckTransport(self, inner) for key, inner in mounts.items()}
        try:
            yield
        finally:
            client._transport, client._mounts = transport, mounts

    def save(self) -> None:
        """Write what was recorded, if there is any, after what was on the cassette before."""
        recorded = self._recorder.exchanges() if self.recording else ()
        if not recorded:
            return
        before = self.player.cassette if self.player is not None else Cassette(ignore=_rules_of(self.path))
        cassette = Cassette((*before.exchanges, *recorded), before.ignore)
        cassette.save(self.path, secrets=self._secrets)

    def finish(self) -> None:
        """Save; and when nothing could be recorded, raise CassetteMismatch if an exchange was never asked for."""
        self.save()
        if self.player is not None and not self.recording and self.player.mismatch is None:
            self.player.check_all_used()


def _rules_of(path: Path) -> tuple[str, ...]:
    """What the file that is about to be replaced said need not match: a person wrote that."""
    try:
        return Cassette.load(path).ignore
    except ConfigError:
        return ()


class DeckTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """What a client sends goes through the deck. Without an inner transport one of httpx's is made when something has
    to be recorded. Closing it closes the inner transport and no more."""

    def __init__(self, deck: Deck, inner: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None) -> None:
        self.deck = deck
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self._inner is None and self.deck.recording:
            self._inner = httpx.HTTPTransport()
        return self.deck.send(request, cast("httpx.BaseTransport", self._inner))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._inner is None and self.deck.recording:
            self._inner = httpx.AsyncHTTPTransport()
        return await self.deck.send_async(request, cast("httpx.AsyncBaseTransport", self._inner))

    def close(self) -> None:
        if isinstance(self._inner, httpx.BaseTransport):
            self._inner.close()

    async def aclose(self) -> None:
        if isinstance(self._inner, httpx.AsyncBaseTransport):
            await self._inner.aclose()
