"""A small program that somebody wrote with agentloop."""

from __future__ import annotations

import os
from typing import Any

from agentloop import Agent, AsyncAgent, tool

BASE_URL = os.environ.get("FORECAST_BASE_URL", "http://127.0.0.1:1/v1")
PROMPT = "What is the weather in {city}?"


@tool
def get_weather(city: str) -> dict[str, Any]:
    """Tell the weather of a city.

    Args:
        city: Its name in English.
    """
    return {"city": city, "celsius": 18.0, "sky": "cloudy"}


def forecast(client: Any, city: str) -> str | None:
    return Agent(client, tools=[get_weather]).run(PROMPT.format(city=city)).raise_for_status().text


async def forecast_async(client: Any, city: str) -> str | None:
    result = await AsyncAgent(client, tools=[get_weather]).run(PROMPT.format(city=city))
    return result.raise_for_status().text


def forecast_live(client: Any, city: str) -> str:
    """The text of the answer, put together from what was streamed."""
    with Agent(client, tools=[get_weather]).stream(PROMPT.format(city=city)) as events:
        return "".join(event.text for event in events if event.type == "text_delta")
