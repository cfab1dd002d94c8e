"""The same calls against a real server: set AGENTLOOP_BASE_URL (API_KEY, MODEL) and `make live`.

What a small model says is its own affair: these tests ask whether the protocol holds, not whether the answer is good.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from agentloop import Agent, AsyncAgent, AsyncClient, Client, Limits, Session, Timeouts, tool
from agentloop.errors import StatusError
from agentloop.pairing import check

pytestmark = pytest.mark.skipif(
    not os.environ.get("AGENTLOOP_BASE_URL"), reason="AGENTLOOP_BASE_URL names no server to try"
)
PATIENT = Timeouts(first_byte=120, total=300)


@pytest.fixture
def client() -> Iterator[Client]:
    with Client.from_env(timeouts=PATIENT) as client:
        yield client


def test_a_reply_has_text_usage_and_a_finish_reason(client: Client):
    reply = client.respond("Say hello.", max_tokens=40)
    assert reply.text
    assert reply.finish_reason in ("stop", "length")
    assert (reply.usage.input_tokens or 0) > 0


def test_a_stream_gives_the_text_in_pieces_and_the_usage_at_its_end(client: Client):
    with client.stream("Count from one to five.", max_tokens=40) as events:
        pieces = [event.text for event in events if event.type == "text_delta"]
    assert events.response is not None
    assert "".join(pieces) == events.response.text
    assert len(pieces) > 1
    assert events.response.usage.output_tokens


def test_a_reply_that_hits_its_bound_says_so(client: Client):
    assert client.respond("Write a long story.", max_tokens=5).finish_reason == "length"


def test_the_connection_is_used_again_after_a_stream_that_was_left(client: Client):
    with client.stream("Count from one to a hundred.", max_tokens=200) as events:
        next(event for event in events if event.type == "text_delta")
    assert client.respond("Say hello.", max_tokens=10).text


def test_a_request_that_makes_no_sense_is_a_typed_error(client: Client):
    with pytest.raises(StatusError) as caught:
        client.respond("hi", tools=[{"type": "nonsense"}], max_tokens=5)
    assert caught.value.status is not None
    assert caught.value.status >= 400


def test_an_agent_with_a_tool_ends_in_a_sendable_history(client: Client):
    @tool
    def word_count(text: str) -> int:
        """Count the words of a text."""
        return len(text.split())

    agent = Agent(client, tools=[word_count], limits=Limits(max_steps=3), request_options={"max_tokens": 100})
    result = agent.run("How many words has 'to be or not to be'? Use the tool.")
    check(result.messages)
    assert result.usage.requests >= 1


def test_a_session_goes_on(client: Client):
    session = Session(Agent(client, request_options={"max_tokens": 30}))
    session.run("My name is Ada.")
    assert session.run("What is my name?").usage.requests == 1
    assert len(session.messages) == 4


def test_the_async_client_gives_the_same_kind_of_answer():
    async def ask() -> str:
        async with AsyncClient.from_env(timeouts=PATIENT) as client:
            return (await AsyncAgent(client, request_options={"max_tokens": 30}).run("Say hello.")).text

    assert asyncio.run(ask())
