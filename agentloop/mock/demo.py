"""The demo tools: plain functions that the weather scenario knows how to use, with a fixed table behind them."""

from __future__ import annotations

from typing import Any

from agentloop.errors import ToolError

__all__ = ["CITIES", "convert_temperature", "get_weather"]

CITIES: dict[str, tuple[float, str]] = {
    "Berlin": (11.0, "rainy"),
    "Cairo": (29.5, "sunny"),
    "London": (12.5, "foggy"),
    "Nairobi": (22.0, "sunny"),
    "New York": (15.0, "windy"),
    "Oslo": (-3.5, "snowy"),
    "Paris": (14.0, "cloudy"),
    "Reykjavík": (2.0, "windy"),
    "São Paulo": (24.5, "rainy"),
    "Sydney": (19.5, "sunny"),
    "Tokyo": (18.0, "cloudy"),
}

_UNITS = {
    "c": "celsius",
    "°c": "celsius",
    "celsius": "celsius",
    "f": "fahrenheit",
    "°f": "fahrenheit",
    "fahrenheit": "fahrenheit",
}


def get_weather(city: str) -> dict[str, Any]:
    """Tell the current weather of a city: temperature in degrees Celsius and the sky.

    Args:
        city: Name of the city in English, such as Tokyo.
    """
    for name, (celsius, sky) in CITIES.items():
        if name.casefold() == city.strip().casefold():
            return {"city": name, "celsius": celsius, "sky": sky}
    raise ToolError(f"there is no weather station in {city!r}; known cities: {', '.join(CITIES)}")


def convert_temperature(value: float, from_unit: str, to_unit: str) -> dict[str, Any]:
    """Convert a temperature between Celsius and Fahrenheit.

    Args:
        value: The temperature to convert.
        from_unit: Unit of the value: celsius or fahrenheit.
        to_unit: Unit wanted: celsius or fahrenheit.
    """
    source, target = _unit(from_unit), _unit(to_unit)
    if source == target:
        return {"value": value, "unit": target}
    converted = value * 9 / 5 + 32 if target == "fahrenheit" else (value - 32) * 5 / 9
    return {"value": round(converted, 1), "unit": target}


def _unit(name: str) -> str:
    unit = _UNITS.get(name.strip().casefold())
    if unit is None:
        raise ToolError(f"unknown unit {name!r}: use celsius or fahrenheit")
    return unit
