"""Playing a cassette: order, what is left over, errors, threads, sync and async."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from agentloop.errors import ConfigError
from agentloop.testing import Cassette, CassetteMismatch, ReplayTransport

Write = Callable[..., Path]
URL = "https://api.test/v1/chat/completions"


def test_identical_requests_get_their_answers_in_order_and_then_none(write: Write, asked: Any, ask: Any) -> None:
    busy = asked(status=429, headers={"retry-after": "0"})
    path = write(busy, asked(answer="one"), asked(answer="two"))
    with httpx.Client(transport=ReplayTransport(path)) as client:
        assert ask(client).status_code == 429
        assert [ask(client).json()["answer"], ask(client).json()["answer"]] == ["one", "two"]
        with pytest.raises(CassetteMismatch) as caught:
            ask(client)
    assert f"{path} has no exchange left for POST {URL}" in str(caught.value)
    assert "It was recorded 3 times (exchange 3) and is used up." in str(caught.value)


def test_different_requests_may_come_in_any_order(write: Write, asked: Any, ask: Any) -> None:
    path = write(asked("a", "1"), asked("b", "2"))
    with httpx.Client(transport=ReplayTransport(path)) as client:
        assert [ask(client, "b").json()["answer"], ask(client, "a").json()["answer"]] == ["2", "1"]


def test_threads_get_the_answers_to_their_own_requests(write: Write, asked: Any, ask: Any) -> None:
    path = write(*(asked(str(n), f"answer {n}") for n in range(40)))
    with httpx.Client(transport=ReplayTransport(path)) as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: ask(client, str(n)).json()["answer"], reversed(range(40))))
    assert answers == [f"answer {n}" for n in reversed(range(40))]


def test_an_unused_exchange_fails_when_the_client_is_closed(write: Write, asked: Any, ask: Any) -> None:
    path = write(asked("a"), asked("b"))
    with (
        pytest.raises(CassetteMismatch, match=r"1 of 2 exchanges of .*x\.json were never asked for:\n  POST https"),
        httpx.Client(transport=ReplayTransport(path)) as client,
    ):
        ask(client, "a")


@pytest.mark.anyio
async def test_an_unused_exchange_fails_an_async_client_too(write: Write, asked: Any) -> None:
    with pytest.raises(CassetteMismatch, match="1 of 1 exchanges"):
        async with httpx.AsyncClient(transport=ReplayTransport(write(asked()))):
            pass


def test_the_report_of_unused_exchanges_does_not_hide_an_error(write: Write, asked: Any) -> None:
    with pytest.raises(ZeroDivisionError), httpx.Client(transport=ReplayTransport(write(asked()))):
        _ = 1 / 0


def test_after_a_mismatch_closing_is_quiet(write: Write, asked: Any, ask: Any) -> None:
    with httpx.Client(transport=ReplayTransport(write(asked("a")))) as client, pytest.raises(CassetteMismatch):
        ask(client, "b")


def test_one_transport_serves_sync_and_async_clients(write: Write, asked: Any, ask: Any) -> None:
    transport = ReplayTransport(write(asked(answer="sync"), asked(answer="async")))

    async def ask_async() -> httpx.Response:
        client = httpx.AsyncClient(transport=transport)
        return await client.post(URL, json=asked()["request"]["body"])

    assert ask(httpx.Client(transport=transport)).json() == {"answer": "sync"}
    assert anyio.run(ask_async).json() == {"answer": "async"}


def test_a_cassette_may_be_given_instead_of_a_path(write: Write, asked: Any, ask: Any) -> None:
    cassette = Cassette.load(write(asked()))
    for _ in range(2):
        with httpx.Client(transport=ReplayTransport(cassette)) as client:
            assert ask(client).json() == {"answer": "hello"}


@pytest.mark.parametrize("name", ["ConnectError", "ConnectTimeout", "ReadTimeout", "RemoteProtocolError"])
def test_a_recorded_failure_is_raised_again(write: Write, name: str) -> None:
    path = write({"request": {"url": "https://x/"}, "error": {"type": name, "message": "because"}})
    with httpx.Client(transport=ReplayTransport(path)) as client, pytest.raises(httpx.TransportError) as caught:
        client.get("https://x/")
    assert type(caught.value).__name__ == name
    assert str(caught.value) == "because"


def test_a_request_that_was_given_up_is_a_timeout(write: Write) -> None:
    path = write({"request": {"url": "https://x/"}, "left": True})
    with httpx.Client(transport=ReplayTransport(path)) as client, pytest.raises(httpx.ReadTimeout, match="given up"):
        client.get("https://x/")


def test_a_streamed_upload_is_read_and_matched(write: Write) -> None:
    path = write({"request": {"url": "https://x/", "body": {"a": 1}}, "response": {"status": 201}})
    with httpx.Client(transport=ReplayTransport(path)) as client:
        assert client.post("https://x/", content=iter([b'{"a"', b": 1}"])).status_code == 201


def test_pieces_of_no_size_are_refused(write: Write) -> None:
    with pytest.raises(ConfigError, match="chunk_size must be 1 byte or more, not 0"):
        ReplayTransport(write(), chunk_size=0)
