"""Its tests. Recorded once with `pytest --agentloop-record=once`, they need no server and no key."""

from __future__ import annotations

import pytest
from forecast import BASE_URL, forecast, forecast_async, forecast_live

from agentloop import AsyncClient, Client

KEY = "sk-forecast-0123456789"
cassette_of_any_port = pytest.mark.cassette(ignore=["host"])


@cassette_of_any_port
@pytest.mark.parametrize("city", ["Tokyo", "São Paulo"])
def test_forecast(cassette, city):
    with Client(BASE_URL, model="m", api_key=KEY, transport=cassette.transport) as client:
        assert "18" in forecast(client, city)


@pytest.mark.cassette("live.json", ignore=["host"])
def test_forecast_live(cassette):
    with Client(BASE_URL, model="m", api_key=KEY, transport=cassette.transport) as client:
        assert "18" in forecast_live(client, "Tokyo")


@cassette_of_any_port
@pytest.mark.anyio
async def test_forecast_async(cassette):
    async with AsyncClient(BASE_URL, model="m", api_key=KEY, transport=cassette.transport) as client:
        assert "18" in await forecast_async(client, "Tokyo")


def test_prompt_names_the_city():
    """A test without a cassette is none of the plugin's business."""
    from forecast import PROMPT

    assert PROMPT.format(city="Oslo").endswith("Oslo?")
