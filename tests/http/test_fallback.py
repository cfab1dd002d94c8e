"""Several models as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from agentloop.errors import ConfigError, ModelError, RequestRejected, ServerError, StreamInterrupted
from agentloop.http.async_client import AsyncClient
from agentloop.http.client import Client
from agentloop.http.fallback import AsyncFallback, Fallback
from agentloop.messages import UserMessage
from agentloop.model import ModelEvent, ModelRequest
from agentloop.testing import FakeClock, FaultTransport
from tests.http.peers import OK, Answers, error, piece, sse

HI = ModelRequest(messages=(UserMessage("hi"),))
STREAMED = ModelRequest(messages=(UserMessage("hi"),), stream=True)
Events = Callable[..., list[ModelEvent]]


def threads(*transports: Any, request: ModelRequest = HI, **settings: Any) -> list[ModelEvent]:
    models = [Client("http://h/v1", model=f"m{n}", transport=t, retry=None) for n, t in enumerate(transports, 1)]
    return list(Fallback(*models, **settings).events(request))


def tasks(*transports: Any, request: ModelRequest = HI, **settings: Any) -> list[ModelEvent]:
    models = [AsyncClient("http://h/v1", model=f"m{n}", transport=t, retry=None) for n, t in enumerate(transports, 1)]

    async def collect() -> list[ModelEvent]:
        async with aclosing(AsyncFallback(*models, **settings).events(request)) as events:
            return [event async for event in events]

    return asyncio.run(collect())


@pytest.fixture(params=[threads, tasks])
def ask(request: pytest.FixtureRequest) -> Events:
    return request.param


def test_the_next_model_answers_when_one_cannot(ask: Events) -> None:
    second = Answers(OK)
    failed, done = ask(Answers(error(503)), second)
    assert failed.attempt.rule.endswith("the next model is asked")
    assert done.response.text == "ok"
    assert b'"m2"' in second.requests[0].content


def test_the_response_tells_all_tries(ask: Events) -> None:
    done = ask(Answers(error(503)), Answers(httpx.ConnectError("refused")), Answers(OK))[-1]
    assert [attempt.status for attempt in done.response.attempts] == [503, None, 200]


def test_a_request_that_is_wrong_in_itself_goes_to_no_other_model(ask: Events) -> None:
    second = Answers(OK)
    with pytest.raises(RequestRejected):
        ask(Answers(error(400)), second)
    assert second.requests == []


def test_when_decides_which_errors_go_on(ask: Events) -> None:
    done = ask(Answers(error(400)), Answers(OK), when=lambda failed: isinstance(failed, RequestRejected))[-1]
    assert done.response.text == "ok"


def test_after_the_first_content_no_other_model_is_asked(ask: Events) -> None:
    cut = FaultTransport(lambda _: sse(piece("half"), piece("x")), "reset-after=1", clock=FakeClock())
    second = Answers(OK)
    with pytest.raises(StreamInterrupted) as caught:
        ask(cut, second, request=STREAMED)
    assert caught.value.partial.text == "half"
    assert second.requests == []


def test_the_last_error_is_raised_with_all_tries(ask: Events) -> None:
    with pytest.raises(ServerError) as caught:
        ask(Answers(error(503)), Answers(error(502)))
    assert [attempt.status for attempt in caught.value.attempts] == [503, 502]


def test_a_fallback_of_fallbacks_works() -> None:
    models = [Client("http://h/v1", model="m", transport=Answers(error(503)), retry=None) for _ in range(2)]
    good = Client("http://h/v1", model="m", transport=Answers(OK))
    done = list(Fallback(Fallback(*models), good).events(HI))[-1]
    assert len(done.response.attempts) == 3


def test_no_model_is_a_config_error() -> None:
    for kind in (Fallback, AsyncFallback):
        with pytest.raises(ConfigError):
            kind()


def test_errors_of_other_kinds_are_not_caught(ask: Events) -> None:
    second = Answers(OK)
    with pytest.raises(KeyError):
        ask(Answers(KeyError("bug")), second)
    assert second.requests == []
    assert not issubclass(KeyError, ModelError)
