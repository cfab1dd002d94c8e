"""A client without proxies, and the two demo tools as a request offers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=20) as client:
        yield client


@pytest.fixture
def tools() -> list[dict[str, Any]]:
    number, word = {"type": "number"}, {"type": "string"}
    weather = {"type": "object", "properties": {"city": word}, "required": ["city"]}
    convert = {
        "type": "object",
        "properties": {"value": number, "from_unit": word, "to_unit": word},
        "required": ["value", "from_unit", "to_unit"],
    }
    return [
        {"type": "function", "function": {"name": "get_weather", "parameters": weather}},
        {"type": "function", "function": {"name": "convert_temperature", "parameters": convert}},
    ]
