"""The other wires of a real server: as `make live`, for servers such as llama.cpp that speak all three."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from agentloop import Agent, Client, Limits, Timeouts, tool
from agentloop.errors import StatusError
from agentloop.pairing import check

pytestmark = pytest.mark.skipif(
    not os.environ.get("AGENTLOOP_BASE_URL"), reason="AGENTLOOP_BASE_URL names no server to try"
)


@pytest.fixture(params=["responses", "anthropic"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with Client.from_env(wire=request.param, timeouts=Timeouts(first_byte=120, total=300)) as client:
        try:
            client.respond("Say hello.", max_tokens=16)
        except StatusError as error:
            if error.status in (404, 405, 501):
                pytest.skip(f"the server does not speak {request.param}")
            raise
        yield client


def test_a_whole_reply_has_text_and_usage(client: Client):
    reply = client.respond("Say hello.", max_tokens=40)
    assert reply.text
    assert reply.finish_reason in ("stop", "length")
    assert (reply.usage.input_tokens or 0) > 0


def test_a_stream_is_its_pieces(client: Client):
    with client.stream("Count from one to five.", max_tokens=40) as events:
        pieces = [event.text for event in events if event.type == "text_delta"]
    assert events.response is not None
    assert "".join(pieces) == events.response.text
    assert events.response.usage.output_tokens


def test_an_agent_with_a_tool_ends_in_a_sendable_history(client: Client):
    @tool
    def word_count(text: str) -> int:
        """Count the words of a text."""
        return len(text.split())

    agent = Agent(client, tools=[word_count], limits=Limits(max_steps=3), request_options={"max_tokens": 100})
    result = agent.run("How many words has 'to be or not to be'? Use the tool.")
    check(result.messages)
    assert result.usage.requests >= 1
