"""Recording: modes, what is written and when, and the clients that can be recorded."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentloop.errors import ConfigError
from agentloop.testing import Cassette, CassetteMismatch, RecordTransport, ReplayTransport, record
from agentloop.testing.exchanges import Failure

Write = Callable[..., Path]
URL = "https://api.test/v1/chat/completions"


def counting() -> httpx.MockTransport:
    """Answers 1, 2, 3, ..."""
    numbers = iter(range(1, 1000))
    return httpx.MockTransport(lambda _: httpx.Response(200, json={"n": next(numbers)}))


def urls(path: Path) -> list[str]:
    return [exchange.request.url for exchange in Cassette.load(path).exchanges]


def test_once_records_and_then_replays(tmp_path: Path) -> None:
    for _ in range(2):
        client = httpx.Client(transport=counting())
        with record(tmp_path / "x.json", client, mode="once"):
            assert client.get("https://x/a").json() == {"n": 1}
    with record(tmp_path / "x.json", client, mode="once"), pytest.raises(CassetteMismatch):
        client.get("https://x/b")


def test_none_never_asks_the_server(write: Write, asked: Any, ask: Any) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError("a real request was made")

    client = httpx.Client(transport=httpx.MockTransport(refuse))
    with record(write(asked()), client, mode="none"):
        assert ask(client).json() == {"answer": "hello"}


def test_none_needs_a_file(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="no such cassette; record it first"),
        record(tmp_path / "x.json", httpx.Client(), mode="none"),
    ):
        pass


def test_new_replays_what_is_there_and_adds_the_rest(tmp_path: Path) -> None:
    client = httpx.Client(transport=counting())
    with record(tmp_path / "x.json", client, mode="new"):
        client.get("https://x/a")
    with record(tmp_path / "x.json", client, mode="new"):
        assert client.get("https://x/b").json() == {"n": 2}
        assert client.get("https://x/a").json() == {"n": 1}
    assert urls(tmp_path / "x.json") == ["https://x/a", "https://x/b"]


def test_all_records_anew_and_keeps_the_rules_of_the_file(write: Write, asked: Any) -> None:
    path = write(asked(), ignore=["$.seed"])
    client = httpx.Client(transport=counting())
    with record(path, client, mode="all"):
        client.get("https://x/a")
    assert urls(path) == ["https://x/a"]
    assert Cassette.load(path).ignore == ("$.seed",)


def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="one of none, once, new, all, not 'always'"),
        record(tmp_path / "x.json", httpx.Client(), mode="always"),  # pyright: ignore[reportArgumentType]
    ):
        pass


def test_unused_exchanges_fail_at_the_end_of_the_block(write: Write, asked: Any) -> None:
    with pytest.raises(CassetteMismatch, match="1 of 1 exchanges"), record(write(asked()), httpx.Client(), mode="once"):
        pass


def test_errors_and_timeouts_are_recorded_as_what_they_were(tmp_path: Path) -> None:
    outcomes = iter([httpx.Response(503, text="busy"), httpx.ReadTimeout("slow"), httpx.ConnectError("down")])

    def answer(request: httpx.Request) -> httpx.Response:
        outcome = next(outcomes)
        if isinstance(outcome, httpx.Response):
            return outcome
        raise outcome

    client = httpx.Client(transport=httpx.MockTransport(answer))

    def live() -> None:
        with record(tmp_path / "x.json", client):
            client.get(URL)
            with pytest.raises(httpx.ReadTimeout):
                client.get(URL)
            client.get(URL)

    with pytest.raises(httpx.ConnectError):
        live()
    with httpx.Client(transport=ReplayTransport(tmp_path / "x.json")) as replaying:
        assert replaying.get(URL).status_code == 503
        with pytest.raises(httpx.ReadTimeout, match="slow"):
            replaying.get(URL)
        with pytest.raises(httpx.ConnectError, match="down"):
            replaying.get(URL)


@pytest.mark.anyio
async def test_async_failures_are_recorded_before_and_within_the_answer(tmp_path: Path) -> None:
    class Broken(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"half"
            raise httpx.ReadError("reset")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/down":
            raise httpx.ConnectError("down")
        return httpx.Response(200, stream=Broken())

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    with record(tmp_path / "x.json", client):
        for path, error in (("/down", httpx.ConnectError), ("/broken", httpx.ReadError)):
            with pytest.raises(error):
                await client.get(f"https://x{path}")
    down, broken = Cassette.load(tmp_path / "x.json").exchanges
    assert (down.response, down.error) == (None, Failure("ConnectError", "down"))
    assert broken.response is not None
    assert (broken.response.content, broken.error) == (b"half", Failure("ReadError", "reset"))


def test_nothing_is_written_before_the_end(tmp_path: Path) -> None:
    client = httpx.Client(transport=counting())
    with record(tmp_path / "x.json", client):
        client.get(URL)
        assert list(tmp_path.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_nothing_is_written_when_the_program_is_stopped(tmp_path: Path) -> None:
    client = httpx.Client(transport=counting())

    def stop_in_the_middle() -> None:
        with record(tmp_path / "x.json", client):
            client.get(URL)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_in_the_middle()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_when_nothing_was_sent(tmp_path: Path) -> None:
    with record(tmp_path / "x.json", httpx.Client(transport=counting())):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()  # a folder cannot be replaced by a file
    client = httpx.Client(transport=counting())
    with pytest.raises(OSError, match=r"x\.json"), record(tmp_path / "x.json", client, mode="all"):
        client.get(URL)
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_missing_folders_are_made(tmp_path: Path) -> None:
    client = httpx.Client(transport=counting())
    with record(tmp_path / "a" / "b" / "x.json", client):
        client.get(URL)
    assert (tmp_path / "a" / "b" / "x.json").exists()


def test_the_client_gets_its_own_transports_back(tmp_path: Path) -> None:
    transport, mounted = counting(), counting()
    client = httpx.Client(transport=transport, mounts={"https://m/": mounted})
    with record(tmp_path / "x.json", client):
        client.get("https://x/a")
        client.get("https://m/b")
    assert urls(tmp_path / "x.json") == ["https://x/a", "https://m/b"]
    assert client.get("https://x/a").json() == {"n": 2}
    assert client.get("https://m/b").json() == {"n": 2}
    assert len(urls(tmp_path / "x.json")) == 2


def test_what_is_no_client_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot record str"), record(tmp_path / "x.json", "client"):
        pass


@pytest.mark.anyio
async def test_an_async_client_is_recorded_by_a_plain_with(tmp_path: Path) -> None:
    client = httpx.AsyncClient(transport=counting())
    with record(tmp_path / "x.json", client):
        assert (await client.get(URL)).json() == {"n": 1}
    async with httpx.AsyncClient(transport=ReplayTransport(tmp_path / "x.json")) as replaying:
        assert (await replaying.get(URL)).json() == {"n": 1}


@pytest.mark.anyio
async def test_a_record_transport_writes_when_an_async_client_is_closed(tmp_path: Path) -> None:
    async with httpx.AsyncClient(transport=RecordTransport(tmp_path / "x.json", counting())) as client:
        await client.get(URL)
        assert not (tmp_path / "x.json").exists()
    assert urls(tmp_path / "x.json") == [URL]


def test_a_record_transport_replaces_the_file_and_closes_what_it_wraps(write: Write, asked: Any) -> None:
    closed: list[bool] = []

    class Inner(httpx.MockTransport):
        def close(self) -> None:
            closed.append(True)

    path = write(asked())
    with httpx.Client(transport=RecordTransport(path, Inner(lambda _: httpx.Response(200)))) as client:
        client.get("https://x/a")
    assert closed == [True]
    assert urls(path) == ["https://x/a"]


def test_a_redirect_is_two_exchanges(tmp_path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        moved = request.url.path == "/a"
        return httpx.Response(307, headers={"location": "https://x/b"}) if moved else httpx.Response(200)

    client = httpx.Client(transport=httpx.MockTransport(answer), follow_redirects=True)
    with record(tmp_path / "x.json", client):
        client.get("https://x/a")
    with httpx.Client(transport=ReplayTransport(tmp_path / "x.json"), follow_redirects=True) as replaying:
        assert replaying.get("https://x/a").url == "https://x/b"


def record_in_parallel(path: Path, questions: list[str]) -> str:
    """All requests are under way before the first is answered."""
    barrier = threading.Barrier(len(questions))

    def answer(request: httpx.Request) -> httpx.Response:
        barrier.wait(5)
        return httpx.Response(200, json={"echo": json.loads(request.content)["q"]})

    client = httpx.Client(transport=httpx.MockTransport(answer))
    with record(path, client, mode="all"), ThreadPoolExecutor(len(questions)) as pool:
        list(pool.map(lambda question: client.post(URL, json={"q": question}), questions))
    return path.read_text("utf-8")


def test_parallel_requests_give_the_same_file_in_any_order(tmp_path: Path) -> None:
    first = record_in_parallel(tmp_path / "x.json", ["a", "b", "c", "d"])
    assert record_in_parallel(tmp_path / "x.json", ["d", "b", "a", "c"]) == first


def test_requests_one_after_the_other_keep_their_order(tmp_path: Path) -> None:
    client = httpx.Client(transport=counting())
    with record(tmp_path / "x.json", client):
        for name in ("c", "a", "b"):
            client.get(f"https://x/{name}")
    assert urls(tmp_path / "x.json") == ["https://x/c", "https://x/a", "https://x/b"]
