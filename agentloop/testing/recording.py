"""Recording what a client sends and gets: `record` for a block of code, `RecordTransport` for a client's whole life."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

import httpx

from agentloop.testing.deck import Deck, DeckTransport, Mode

__all__ = ["RecordTransport", "record"]


@contextmanager
def record(
    path: str | os.PathLike[str],
    client: object,
    mode: Mode = "once",
    *,
    ignore: Sequence[str] = (),
    secrets: Iterable[str] = (),
) -> Generator[Deck]:
    """`with record("x.json", client):` records what the client does in the block, or replays it (see Deck for modes).

    The client is one of ours or of httpx, sync or async. The file is written at the end of the block, also when an
    Exception ends it, since a failure is worth recording; not when the program is being stopped. In the modes that
    replay, an unmatched request and an unused exchange raise CassetteMismatch. `secrets` are keys that the requests
    themselves do not show; `ignore` is as for ReplayTransport.
    """
    deck = Deck(path, mode, ignore=ignore, secrets=secrets)
    with deck.attached(client):
        try:
            yield deck
        except Exception:
            deck.save()
            raise
    deck.finish()


class RecordTransport(DeckTransport):
    """Records all that goes through `inner`, a sync or an async transport, and writes the cassette when it is closed.

    The file is replaced whole; without a request nothing is written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        inner: httpx.BaseTransport | httpx.AsyncBaseTransport,
        *,
        secrets: Iterable[str] = (),
    ) -> None:
        super().__init__(Deck(path, "all", secrets=secrets), inner)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self.deck.save()

    async def aclose(self) -> None:
        try:
            await super().aclose()
        finally:
            self.deck.save()
