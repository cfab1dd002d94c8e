"""Answering an httpx client from a cassette."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

import httpx

from agentloop.errors import ConfigError
from agentloop.testing.cassettes import Cassette
from agentloop.testing.player import Player, play, recorded_request

__all__ = ["ReplayTransport"]


class ReplayTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport, for sync and async clients, that answers from a cassette and never opens a socket.

    A request that matches no unused exchange raises CassetteMismatch. Closing it (a client does so at its end) raises
    CassetteMismatch when exchanges are left over, unless another error is on its way or a mismatch was raised before.
    `ignore` adds to what the cassette says need not match. `secrets` are keys to mask in what is sent, as they were
    when it was recorded. `chunk_size` cuts streams into pieces of so many bytes instead of the recorded ones.
    """

    def __init__(
        self,
        cassette: str | os.PathLike[str] | Cassette,
        *,
        ignore: Sequence[str] = (),
        secrets: Iterable[str] = (),
        chunk_size: int | None = None,
    ) -> None:
        if chunk_size is not None and chunk_size < 1:
            raise ConfigError(f"chunk_size must be 1 byte or more, not {chunk_size}")
        loaded = cassette if isinstance(cassette, Cassette) else Cassette.load(cassette)
        self.player = Player(loaded, ignore=ignore, secrets=secrets)
        self._chunk_size = chunk_size

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return play(self.player.take(recorded_request(request)), request, self._chunk_size)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return play(self.player.take(recorded_request(request)), request, self._chunk_size)

    def close(self) -> None:
        if sys.exc_info()[0] is None and self.player.mismatch is None:
            self.player.check_all_used()

    async def aclose(self) -> None:
        self.close()
