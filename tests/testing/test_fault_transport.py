"""FaultTransport: time on a clock that does not wait, and the accounts that it keeps."""

from __future__ import annotations

from contextlib import suppress

import httpx
import pytest

from agentloop.mock import mock_handler
from agentloop.testing import FakeClock, Fault, FaultTransport

URL = "http://mock/v1/chat/completions"
HI = {"model": "m", "messages": [{"role": "user", "content": "hi there"}]}


def plain(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"asked": request.content.decode()})


def test_without_faults_it_answers_as_the_inner_one_does() -> None:
    with httpx.Client(transport=FaultTransport(plain)) as client:
        response = client.post(URL, content=b"hi")
    assert (response.json(), response.headers["content-type"]) == ({"asked": "hi"}, "application/json")


def test_another_transport_can_be_the_inner_one() -> None:
    with httpx.Client(transport=FaultTransport(httpx.MockTransport(plain), "status=503;ok")) as client:
        assert [client.post(URL).status_code for _ in range(2)] == [503, 200]


def test_a_compressed_inner_response_is_decoded_first() -> None:
    inner = FaultTransport(mock_handler("echo"), "gzip")
    with httpx.Client(transport=FaultTransport(inner)) as client:
        response = client.post(URL, json=HI)
    assert "content-encoding" not in response.headers
    assert response.json()["choices"][0]["message"]["content"] == "hi there"


@pytest.mark.parametrize("fault", ["status=503", "html", "close", "reset"])
def test_a_fault_in_place_of_an_answer_does_not_ask_for_one(fault: str) -> None:
    asked: list[httpx.Request] = []

    def inner(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return plain(request)

    with httpx.Client(transport=FaultTransport(inner, fault)) as client:
        with suppress(httpx.TransportError):
            client.post(URL)
        assert asked == []
        assert client.post(URL).status_code == 200
    assert len(asked) == 1


def test_a_pause_takes_its_time_on_the_clock_only() -> None:
    clock = FakeClock()
    with httpx.Client(transport=FaultTransport(plain, "stall,seconds=600", clock=clock), timeout=None) as client:
        assert client.post(URL).status_code == 200
    assert (clock.time(), clock.sleeps) == (600, [600])


def test_a_pause_longer_than_the_read_timeout_ends_in_it() -> None:
    transport = FaultTransport(plain, "stall,seconds=600")
    with httpx.Client(transport=transport, timeout=30) as client, pytest.raises(httpx.ReadTimeout):
        client.post(URL)
    assert transport.clock.time() == 30


@pytest.mark.parametrize(("spec", "events"), [("stall=content", 1), ("stall=chunks,after=3", 3), ("drip,seconds=9", 0)])
def test_a_stall_inside_a_stream_ends_in_the_read_timeout(spec: str, events: int) -> None:
    found: list[bytes] = []

    def read() -> None:
        with client.stream("POST", URL, json={**HI, "stream": True}) as response:
            for data in response.iter_raw():
                found.append(data)  # noqa: PERF402 - what came before the error must stay

    with httpx.Client(transport=FaultTransport(mock_handler("echo"), spec)) as client, pytest.raises(httpx.ReadTimeout):
        read()
    assert b"".join(found).count(b"\n\n") == events


def test_an_endless_stall_without_a_read_timeout_is_an_error_and_no_hang() -> None:
    with (
        httpx.Client(transport=FaultTransport(plain, "stall"), timeout=None) as client,
        pytest.raises(RuntimeError, match="it would hang for ever"),
    ):
        client.post(URL)


def test_ten_minutes_of_refusals_take_no_time() -> None:
    clock = FakeClock()
    faults = [Fault("status", status=429, headers={"retry-after": "60"}, times=10)]
    with httpx.Client(transport=FaultTransport(plain, faults, clock=clock)) as client:
        while (response := client.post(URL)).status_code == 429:
            clock.sleep(float(response.headers["retry-after"]))
    assert clock.time() == 600


def test_requests_are_kept() -> None:
    transport = FaultTransport(plain, "reset")
    with httpx.Client(transport=transport) as client, pytest.raises(httpx.ReadError):
        client.post(URL, content=b"hi")
    assert [request.content for request in transport.requests] == [b"hi"]


def test_open_responses_are_counted_until_they_are_closed() -> None:
    transport = FaultTransport(mock_handler("echo"))
    with httpx.Client(transport=transport) as client:
        with client.stream("POST", URL, json={**HI, "stream": True}) as response:
            next(response.iter_raw())
            assert transport.open_responses == 1
        assert transport.open_responses == 0


@pytest.mark.anyio
async def test_the_async_client_meets_the_same_faults() -> None:
    transport = FaultTransport(mock_handler("echo"), "stall,seconds=2;reset;stall=content,seconds=2;cut-after=2")
    async with httpx.AsyncClient(transport=transport) as client:
        assert (await client.post(URL, json=HI)).json()["choices"][0]["message"]["content"] == "hi there"
        with pytest.raises(httpx.ReadError):
            await client.post(URL, json=HI)
        assert (await client.post(URL, json={**HI, "stream": True})).text.endswith("data: [DONE]\n\n")
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(URL, json={**HI, "stream": True})
    assert (transport.clock.time(), transport.open_responses) == (4, 0)


@pytest.mark.anyio
async def test_an_async_inner_transport_serves_an_async_client_only() -> None:
    class Inner(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return plain(request)

    transport = FaultTransport(Inner())
    async with httpx.AsyncClient(transport=transport) as client:
        assert (await client.post(URL)).status_code == 200
    with httpx.Client(transport=transport) as client, pytest.raises(TypeError, match="both be sync, or both async"):
        client.post(URL)


@pytest.mark.anyio
async def test_closing_it_closes_the_inner_one() -> None:
    class Inner(httpx.MockTransport):
        closed = 0

        def close(self) -> None:
            self.closed += 1

        async def aclose(self) -> None:
            self.closed += 1

    inner = Inner(plain)
    with httpx.Client(transport=FaultTransport(inner)):
        pass
    async with httpx.AsyncClient(transport=FaultTransport(inner)):
        pass
    assert inner.closed == 2


def test_the_clock_refuses_to_go_back() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        FakeClock().sleep(-1)
