"""Timeouts without sockets and without waiting: time passes on the transport's clock."""

from __future__ import annotations

import httpx
import pytest

from agentloop.errors import ModelTimeout
from agentloop.http.deadlines import Watch
from agentloop.http.retry import RetryPolicy
from agentloop.http.timeouts import Timeouts
from agentloop.testing import FakeClock, FaultTransport
from tests.http.peers import OK, Answers, Driver, piece, sse

ROLE = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
STREAM = (ROLE, piece("a"), piece("b"), piece("c", "stop"), "[DONE]")


def late(
    driver: Driver, fault: str, *, stream: bool = False, seconds: float | None = None, **bounds: float
) -> ModelTimeout:
    transport = FaultTransport(lambda _: sse(*STREAM) if stream else httpx.Response(200, json=OK), fault)
    driver.clock = transport.clock
    with pytest.raises(ModelTimeout) as caught:
        (driver.stream if stream else driver.respond)(
            transport, timeouts=Timeouts(**bounds), retry=None, seconds=seconds
        )
    return caught.value


def test_defaults_let_a_slow_model_think_and_catch_a_hung_one(driver: Driver) -> None:
    transport = FaultTransport(lambda _: httpx.Response(200, json=OK), "stall=first-byte,seconds=500")
    assert driver.respond(transport, clock=transport.clock).text == "ok"
    assert late(driver, "stall=first-byte").timeout == "first_byte"
    assert driver.clock.time() == 600


def test_a_hung_stream_is_caught_after_the_idle_time(driver: Driver) -> None:
    found = late(driver, "stall=chunks", stream=True)
    assert (found.timeout, found.seconds, driver.clock.time()) == ("idle", 300, 300)
    assert found.partial.text == "a"
    assert not found.retryable


def test_each_timeout_says_which_after_how_long_and_what_to_raise(driver: Driver) -> None:
    found = late(driver, "stall=first-byte", first_byte=30)
    assert str(found) == (
        "model.test m: no byte of a response came within 30 s "
        "(first_byte timeout; raise Timeouts(first_byte=) to wait longer)"
    )


@pytest.mark.parametrize(
    ("fault", "stream", "bounds", "name"),
    [
        ("stall=first-byte", False, {"attempt": 20}, "attempt"),
        ("stall=first-byte", False, {"total": 20}, "total"),
        ("stall=content", True, {"first_content": 20}, "first_content"),
        ("stall=chunks", True, {"content_idle": 20}, "content_idle"),
        ("drip=1,seconds=1", False, {"attempt": 20}, "attempt"),
        ("drip=1,seconds=1", True, {"total": 20}, "total"),
        ("keepalive=100,seconds=1", True, {"first_content": 20}, "first_content"),
    ],
)
def test_the_nearest_bound_fires(driver: Driver, fault: str, stream: bool, bounds: dict[str, float], name: str) -> None:
    found = late(driver, fault, stream=stream, **bounds)
    assert (found.timeout, found.seconds) == (name, 20)
    assert 20 <= driver.clock.time() <= 21


def test_the_seconds_of_a_request_bound_the_whole_call(driver: Driver) -> None:
    transport = FaultTransport(lambda _: httpx.Response(200, json=OK), "then=stall=first-byte")
    with pytest.raises(ModelTimeout) as caught:
        driver.respond(transport, clock=transport.clock, seconds=25, timeouts=Timeouts(first_byte=10, total=99))
    assert [attempt.rule for attempt in caught.value.attempts] == ["back-off", "back-off", "not retryable"]
    assert (caught.value.timeout, caught.value.seconds) == ("total", 25)
    assert transport.clock.time() == pytest.approx(25)


def test_a_timeout_before_content_is_retried(driver: Driver) -> None:
    transport = FaultTransport(lambda _: sse(*STREAM), "stall=content")
    response = driver.stream(transport, clock=transport.clock, timeouts=Timeouts(first_content=20))
    assert response.text == "abc"
    assert "first_content" in response.attempts[0].error


@pytest.mark.parametrize(
    ("raised", "name"),
    [
        (httpx.ConnectTimeout("x"), "connect"),
        (httpx.WriteTimeout("x"), "write"),
        (httpx.PoolTimeout("x"), "pool"),
        (httpx.ReadTimeout("x"), "first_byte"),
    ],
)
def test_timeouts_of_any_transport_are_named(driver: Driver, raised: httpx.TimeoutException, name: str) -> None:
    with pytest.raises(ModelTimeout) as caught:
        driver.respond(Answers(raised), retry=None)
    assert caught.value.timeout == name


def test_a_slow_retry_is_bounded_by_the_total(driver: Driver) -> None:
    transport = FaultTransport(lambda _: httpx.Response(200, json=OK), "status=503,times=9")
    with pytest.raises(Exception, match="503") as caught:
        driver.respond(transport, clock=transport.clock, retry=RetryPolicy(attempts=10, jitter=0), seconds=10)
    assert "the call has left" in caught.value.attempts[-1].rule
    assert transport.clock.time() <= 10


class CountingClock(FakeClock):
    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def monotonic(self) -> float:
        self.reads += 1
        return super().monotonic()


def test_the_clock_is_read_once_for_a_read_of_the_socket() -> None:
    clock = CountingClock()
    watch = Watch(Timeouts(total=9), clock, end=9, total=9, cancel=None, stream=True)
    clock.reads = 0
    watch.stirred = True
    assert watch.before("idle") == 9
    assert not watch.overdue()
    assert clock.reads == 1
