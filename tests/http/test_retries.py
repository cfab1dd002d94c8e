"""What is repeated, after how long, and what the caller sees of it."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import httpx
import pytest

from agentloop.errors import (
    AuthError,
    ModelError,
    ProtocolError,
    QuotaExceeded,
    RateLimited,
    RequestRejected,
    ServerError,
    StreamInterrupted,
    TransportError,
)
from agentloop.http.retry import RetryPolicy
from agentloop.testing import FakeClock, FaultTransport
from tests.http.peers import OK, Answers, Driver, error, piece, sse

QUOTA = {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}
OVERLOADED = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
NO_JITTER = RetryPolicy(jitter=0)


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("2", 2),
        ("0", 0.5),
        ("1.5", 1.5),
        ("-1", 0.5),
        ("Wed, 21 Oct 2026 07:28:05 GMT", 5),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.5),
        ("nan", 0.5),
        ("soon", 0.5),
        ("", 0.5),
    ],
)
def test_retry_after_is_waited_for_and_nonsense_means_our_own_wait(driver: Driver, value: str, wait: float) -> None:
    driver.clock = FakeClock(start=1792567680.0)  # Wed, 21 Oct 2026 07:28:00 GMT
    assert driver.respond(Answers(error(429, retry_after=value), OK), retry=NO_JITTER).text == "ok"
    assert driver.clock.sleeps == [wait]


def test_retry_after_in_milliseconds_wins(driver: Driver) -> None:
    driver.respond(Answers(error(429, retry_after_ms="250", retry_after="9"), OK))
    assert driver.clock.sleeps == [0.25]


@pytest.mark.parametrize(("value", "wait"), [("999999999999999999999", 1e21), ("inf", float("inf")), ("61", 61)])
def test_a_wait_beyond_the_cap_fails_at_once_and_tells_the_wait(driver: Driver, value: str, wait: float) -> None:
    transport = Answers(error(429, retry_after=value), OK)
    with pytest.raises(RateLimited) as caught:
        driver.respond(transport)
    assert caught.value.retry_after == wait
    assert driver.clock.sleeps == []
    assert "cap=60" in caught.value.attempts[0].rule


def test_waits_double_up_to_the_cap_and_jitter_only_shortens(driver: Driver) -> None:
    policy = RetryPolicy(attempts=6, cap=4, jitter=0.25, random=lambda: 1.0)
    driver.respond(Answers(*[error(503) for _ in range(5)], OK), retry=policy)
    assert driver.clock.sleeps == [0.375, 0.75, 1.5, 3, 3]


def test_jitter_never_shortens_a_wait_that_the_server_named(driver: Driver) -> None:
    driver.respond(Answers(error(429, retry_after="3"), OK), retry=RetryPolicy(random=lambda: 1.0))
    assert driver.clock.sleeps == [3]


@pytest.mark.parametrize(
    "answer",
    [
        error(429, QUOTA),
        error(429, {"code": "quota_exceeded", "message": "monthly quota"}),
        error(402, {"message": "Insufficient Balance"}),
        error(400, {"message": "Your credit balance is too low to access the API."}),
    ],
)
def test_exhausted_quota_is_sent_once(driver: Driver, answer: httpx.Response) -> None:
    transport = Answers(answer, OK)
    with pytest.raises(QuotaExceeded) as caught:
        driver.respond(transport)
    assert len(transport.requests) == 1
    assert answer.json()["error"]["message"] in str(caught.value)


def test_a_rate_limit_is_sent_again(driver: Driver) -> None:
    transport = Answers(error(429, {"message": "slow down", "code": "rate_limit_exceeded"}), OK)
    assert driver.respond(transport).text == "ok"
    assert len(transport.requests) == 2


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_statuses_that_are_retried(driver: Driver, status: int) -> None:
    transport = Answers(error(status), OK)
    assert driver.respond(transport).text == "ok"
    assert driver.seen[0].type == "attempt_failed"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_statuses_that_are_final(driver: Driver, status: int) -> None:
    transport = Answers(error(status), OK)
    with pytest.raises((RequestRejected, AuthError)):
        driver.respond(transport)
    assert len(transport.requests) == 1


@pytest.mark.parametrize(("status", "wish", "requests"), [(500, "false", 1), (400, "true", 2), (500, "maybe", 2)])
def test_x_should_retry_wins_over_the_status(driver: Driver, status: int, wish: str, requests: int) -> None:
    transport = Answers(error(status, x_should_retry=wish), error(400))
    with pytest.raises(ModelError):
        driver.respond(transport)
    assert len(transport.requests) == requests


def test_retries_are_bounded_and_the_last_real_error_is_raised(driver: Driver) -> None:
    transport = Answers(
        error(503, {"message": "first"}), error(502, {"message": "second"}), error(500, {"message": "3"})
    )
    with pytest.raises(ServerError, match="500: 3") as caught:
        driver.respond(transport)
    assert [attempt.status for attempt in caught.value.attempts] == [503, 502, 500]
    assert caught.value.attempts[-1].rule == "attempts used up (3)"


def test_every_attempt_is_on_the_response(driver: Driver) -> None:
    response = driver.respond(Answers(error(429, retry_after="2"), OK))
    first, second = response.attempts
    assert (first.number, first.status, first.rule, first.wait, first.safe) == (1, 429, "retry-after", 2, True)
    assert (second.number, second.status, second.error) == (2, 200, None)


def test_a_failure_to_connect_is_safe_to_repeat_and_a_broken_answer_is_not(driver: Driver) -> None:
    response = driver.respond(Answers(httpx.ConnectError("refused"), httpx.ReadError("reset"), OK))
    assert [attempt.safe for attempt in response.attempts] == [True, False, False]


def test_no_policy_is_a_single_try(driver: Driver) -> None:
    transport = Answers(error(503), OK)
    with pytest.raises(ServerError):
        driver.respond(transport, retry=None)
    assert len(transport.requests) == 1


def test_a_predicate_decides_instead(driver: Driver) -> None:
    transport = Answers(error(400, {"message": "tool_use_failed"}), OK)
    policy = RetryPolicy(predicate=lambda failed: "tool_use_failed" in failed.message)
    assert driver.respond(transport, retry=policy).text == "ok"


def test_the_budget_bounds_the_sum_of_waits(driver: Driver) -> None:
    transport = Answers(error(429, retry_after="6"), error(429, retry_after="6"), OK)
    with pytest.raises(RateLimited) as caught:
        driver.respond(transport, retry=RetryPolicy(budget=10))
    assert driver.clock.sleeps == [6]
    assert "budget=10" in caught.value.attempts[-1].rule


def test_no_wait_reaches_beyond_the_time_of_the_call(driver: Driver) -> None:
    with pytest.raises(RateLimited) as caught:
        driver.respond(Answers(error(429, retry_after="6"), OK), seconds=5)
    assert driver.clock.sleeps == []
    assert "the call has left" in caught.value.attempts[0].rule


@pytest.mark.parametrize("body", [b"", b"\n\n\n", b" \r\n"])
def test_an_empty_200_is_retried_and_named(driver: Driver, body: bytes) -> None:
    assert driver.respond(Answers(httpx.Response(200, content=body), OK)).text == "ok"
    with pytest.raises(ProtocolError, match="empty response body"):
        driver.respond(Answers(httpx.Response(200, content=body)), retry=None)


def test_blank_lines_before_the_json_are_skipped(driver: Driver) -> None:
    transport = Answers(httpx.Response(200, content=b"\n\n\n\n" + httpx.Response(200, json=OK).content))
    assert driver.respond(transport).text == "ok"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"error": {"message": "Rate limit", "code": 429}}, RateLimited, 429),
        ({"error": {"message": "bad gateway", "code": 502}}, ServerError, 502),
    ],
)
def test_an_error_inside_a_200_is_retried_as_what_it_is(
    driver: Driver, body: dict[str, Any], kind: type[ModelError], status: int
) -> None:
    assert driver.respond(Answers(body, OK)).text == "ok"
    with pytest.raises(kind) as caught:
        driver.respond(Answers(body), retry=None)
    assert (caught.value.status, caught.value.provider) == (status, "model.test")


@pytest.mark.parametrize("body", [{"id": None, "choices": None}, {"choices": []}, {"id": "x"}])
def test_a_200_without_choices_is_retried_within_the_policy(driver: Driver, body: dict[str, Any]) -> None:
    transport = Answers(body, body, body)
    with pytest.raises(ProtocolError, match="choices"):
        driver.respond(transport)
    assert len(transport.requests) == 3


def test_an_error_of_null_is_no_error(driver: Driver) -> None:
    assert driver.respond(Answers({"error": None, **OK})).text == "ok"


def test_an_error_in_a_choice_is_raised(driver: Driver) -> None:
    choice = {"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "x"}, "message": {"content": ""}}
    with pytest.raises(ServerError, match="x") as caught:
        driver.respond(Answers({"choices": [choice]}), retry=None)
    assert caught.value.status == 502


def test_an_error_as_the_first_event_of_a_stream_leaves_no_trace(driver: Driver) -> None:
    first = httpx.Response(200, content=OVERLOADED, headers={"content-type": "text/event-stream"})
    response = driver.stream(Answers(first, sse(piece("Hello", "stop"), "[DONE]")))
    assert response.text == "Hello"
    assert driver.texts() == ["Hello"]


def test_an_error_after_the_first_content_carries_what_came_and_is_not_repeated(driver: Driver) -> None:
    body = sse(piece("Hel")).content + OVERLOADED.encode()
    transport = Answers(httpx.Response(200, content=body, headers={"content-type": "text/event-stream"}))
    with pytest.raises(ServerError, match="Overloaded") as caught:
        driver.stream(transport)
    assert driver.texts() == ["Hel"]  # although both came in one chunk
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hel"
    assert caught.value.attempts[0].rule == "content was passed on"


def broken(fault: str, first: httpx.Response) -> FaultTransport:
    answers = [first, sse(piece("Here is"), piece(" the plan", "stop"), "[DONE]")]
    return FaultTransport(lambda _: answers.pop(0), fault)


def test_a_stream_that_gave_text_is_never_begun_again(driver: Driver) -> None:
    transport = broken("reset-after=1", sse(piece("Here is"), piece(" the plan"), "[DONE]"))
    with pytest.raises(StreamInterrupted) as caught:
        driver.stream(transport, clock=transport.clock)
    assert driver.texts() == ["Here is"]
    assert caught.value.partial.text == "Here is"
    assert not caught.value.retryable


def test_a_stream_that_broke_before_content_is_begun_again(driver: Driver) -> None:
    role = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
    transport = broken("reset-after=1", sse(role, piece("Here is")))
    assert driver.stream(transport, clock=transport.clock).text == "Here is the plan"
    assert driver.texts() == ["Here is", " the plan"]


def test_a_tool_call_that_was_passed_on_is_never_glued_to_another_try(driver: Driver) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a": "pri'}}
    transport = broken("reset-after=1", sse({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}, piece("x")))
    with pytest.raises(StreamInterrupted):
        driver.stream(transport, clock=transport.clock)
    assert driver.types() == ["tool_call_delta"]


def test_a_failed_generation_is_told_and_not_asked_again(driver: Driver) -> None:
    body = {
        "message": "Failed to call a function. See 'failed_generation'.",
        "code": "tool_use_failed",
        "failed_generation": '<function=read={"path": "a.txt"}</function>',
    }
    transport = Answers(error(400, body), OK)
    with pytest.raises(RequestRejected, match="tool_use_failed") as caught:
        driver.respond(transport)
    assert '<function=read={"path": "a.txt"}</function>' in caught.value.message
    assert len(transport.requests) == 1


def test_ten_minutes_of_retries_take_no_time(driver: Driver) -> None:
    clock = FakeClock()
    transport = FaultTransport(lambda _: httpx.Response(200, json=OK), "status=503,times=12", clock=clock)
    policy = RetryPolicy(attempts=13, random=random.Random(4).random)
    assert driver.respond(transport, clock=clock, retry=policy).text == "ok"
    assert 300 < clock.time() < 600


def test_the_cause_is_kept_without_the_request(driver: Driver) -> None:
    transport = Answers(httpx.ConnectError("refused", request=httpx.Request("POST", "http://x")))
    with pytest.raises(TransportError, match=r"cannot connect to http://model\.test/v1: refused") as caught:
        driver.respond(transport, retry=None)
    assert isinstance(caught.value.__cause__, httpx.ConnectError)
    assert caught.value.__cause__._request is None


def test_a_certificate_that_is_not_trusted_is_not_tried_again(driver: Driver) -> None:
    refused = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate")
    transport = Answers(refused, OK)
    with pytest.raises(TransportError, match="SSL_CERT_FILE"):
        driver.respond(transport)
    assert len(transport.requests) == 1


def test_a_call_that_succeeds_at_once_loads_no_retry_machinery() -> None:
    program = (
        "import sys, httpx; from agentloop.http.client import Client\n"
        f"answers = [httpx.Response(200, json={OK!r}), httpx.Response(503), httpx.Response(200, json={OK!r})]\n"
        "client = Client('http://h', model='m', transport=httpx.MockTransport(lambda _: answers.pop(0)))\n"
        "client.respond('hi'); print('tenacity' in sys.modules)\n"
        "next(client.stream('hi')); print('tenacity' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]
