"""A cassette as the source of a respx router."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from agentloop.testing import Cassette, CassetteMismatch

Write = Callable[..., Path]
URL = "https://api.test/v1/chat/completions"


def test_a_mounted_cassette_answers(write: Write, asked: Any, ask: Any) -> None:
    router = respx.Router()
    player = Cassette.load(write(asked(answer="one"), asked(answer="two"))).mount(router)
    client = httpx.Client(transport=httpx.MockTransport(router.handler))
    assert [ask(client).json()["answer"], ask(client).json()["answer"]] == ["one", "two"]
    player.check_all_used()


def test_earlier_routes_come_first(write: Write, asked: Any, ask: Any) -> None:
    router = respx.Router()
    router.get("https://x/").respond(418)
    Cassette.load(write(asked())).mount(router)
    client = httpx.Client(transport=httpx.MockTransport(router.handler))
    assert client.get("https://x/").status_code == 418
    assert ask(client).status_code == 200


def test_a_mounted_cassette_is_strict(write: Write, asked: Any, ask: Any) -> None:
    router = respx.Router()
    player = Cassette.load(write(asked("a"))).mount(router)
    client = httpx.Client(transport=httpx.MockTransport(router.handler))
    with pytest.raises(CassetteMismatch, match="messages"):
        ask(client, "b")
    with pytest.raises(CassetteMismatch, match="1 of 1 exchanges"):
        player.check_all_used()


def test_a_recorded_error_is_raised(write: Write) -> None:
    router = respx.Router()
    Cassette.load(write({"request": {"url": URL}, "error": {"type": "ConnectTimeout"}})).mount(router)
    with pytest.raises(httpx.ConnectTimeout):
        httpx.Client(transport=httpx.MockTransport(router.handler)).get(URL)


@pytest.mark.anyio
async def test_streams_come_in_chunks_for_async_clients_too(write: Write) -> None:
    router = respx.Router()
    Cassette.load(write({"request": {"url": URL}, "response": {"chunks": ["a", "b"]}})).mount(router)
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client,
        client.stream("GET", URL) as response,
    ):
        assert [chunk async for chunk in response.aiter_raw()] == [b"a", b"b"]
