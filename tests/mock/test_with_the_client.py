"""The mock and our own client meet: two implementations of one wire, written apart."""

from __future__ import annotations

import pytest

from agentloop import Agent, AsyncAgent, AsyncClient, Client, tool
from agentloop.mock import MockProvider
from agentloop.mock.demo import convert_temperature, get_weather

TOOLS = [tool(get_weather), tool(convert_temperature)]
PROMPT = "What is the weather in Tokyo, in Fahrenheit?"
ANSWER = "In Tokyo it is 64.4 °F (18.0 °C) and cloudy."


def test_an_agent_answers_in_three_steps() -> None:
    with MockProvider() as mock, Client(mock.base_url, model=mock.model) as client:
        result = Agent(client, tools=TOOLS).run(PROMPT)
    assert (result.status, result.steps, result.text) == ("answered", 3, ANSWER)
    assert [request.connection for request in mock.requests] == [1, 1, 1]


def test_a_streamed_run_is_the_same_run() -> None:
    with (
        MockProvider() as mock,
        Client(mock.base_url, model=mock.model) as client,
        Agent(client, tools=TOOLS).stream(PROMPT) as stream,
    ):
        text = "".join(event.text for event in stream if event.type == "text_delta")
        result = stream.result
    assert (result.status, result.steps, result.text, text) == ("answered", 3, ANSWER, ANSWER)


@pytest.mark.anyio
async def test_an_async_agent_answers_too() -> None:
    async with MockProvider() as mock, AsyncClient(mock.base_url, model=mock.model) as client:
        result = await AsyncAgent(client, tools=TOOLS).run(PROMPT)
    assert (result.status, result.steps, result.text) == ("answered", 3, ANSWER)


def test_an_unknown_city_is_told_in_the_answer() -> None:
    with MockProvider() as mock, Client(mock.base_url, model=mock.model) as client:
        result = Agent(client, tools=TOOLS).run("What is the weather in Atlantis?")
    assert "no weather station in 'Atlantis'" in result.text
