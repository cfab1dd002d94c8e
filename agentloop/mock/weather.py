"""The weather scenario: rules that use the tools which a request offers, and answer from their results.

Asked for the weather of a city, it calls a tool whose name speaks of weather; asked for Fahrenheit, it hands each
temperature found to a tool whose name speaks of converting; then it answers. The tools of the toolbox are used too,
see `agentloop.mock.errands`. All is read from the turns since the last user turn, so the same request always gets the
same reply.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from agentloop.mock.conversation import Call, Offer, Question, Reply
from agentloop.mock.demo import CITIES
from agentloop.mock.errands import errand_answer, errands
from agentloop.mock.sample import sample

__all__ = ["weather"]

_GREETING = "Hello! I am a rule-driven stand-in for a model. Ask me about the weather in a city."
_NAMED_CITY = re.compile(r"\b(?:in|for|at|of)\s+((?:[^\W\d_a-z][\w'’.-]*\s?)+)")
_ABOUT_WEATHER = re.compile(
    r"weather|temperature|forecast|degrees|how (?:warm|cold|hot)|rain|snow|sunny", re.IGNORECASE
)
_FAHRENHEIT = re.compile(r"fahrenheit|°\s?f\b|\bdegrees f\b", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class _Finding:
    """What a call since the last user turn has brought: `celsius` is None when its result held no temperature."""

    call: Call
    result: str
    fields: dict[str, Any]

    @property
    def celsius(self) -> float | None:
        for key in ("celsius", "temp_c", "temperature"):
            if isinstance(self.fields.get(key), int | float):
                return float(self.fields[key])
        return None


def weather(question: Question) -> Reply:
    """The reply of the rules; see the module's description."""
    calls = _wanted_calls(question) or errands(question)
    if not calls and question.must_call and question.tools:
        tool = question.tools[0]
        calls = [Call(tool.name, json.dumps(sample(tool.parameters), ensure_ascii=False))]
    if calls:
        return Reply(calls=tuple(calls))
    if question.output_schema is not None:
        return Reply(json.dumps(sample(question.output_schema), ensure_ascii=False))
    return Reply(errand_answer(question) or _answer(question))


def _wanted_calls(question: Question) -> list[Call]:
    """The calls that are still to be made: first those for the weather, then those for converting."""
    cities, station = _cities(question.prompt), _offer(question, "weather", "forecast")
    found = _findings(question)
    if station and cities:
        missing = [city for city in cities if not any(_asks_for(f.call, city) for f in found)]
        if missing:
            return [_weather_call(station, city) for city in missing]
    converter = _offer(question, "convert", "fahrenheit")
    if not converter or not _FAHRENHEIT.search(question.prompt):
        return []
    readings = [f.celsius for f in found if f.celsius is not None and not _is_conversion(f.call)]
    done = sum(_is_conversion(f.call) for f in found)
    return [_convert_call(converter, celsius) for celsius in readings[done:]]


def _cities(prompt: str) -> list[str]:
    """The cities that the prompt names, in its order: those of the table, else what follows "in" with a capital."""
    lower = prompt.casefold()
    known = [(lower.find(city.casefold()), city) for city in CITIES]
    names = [city for at, city in sorted(known) if at >= 0]
    if names or not _ABOUT_WEATHER.search(prompt):
        return names
    others = [name.strip(" .") for name in _NAMED_CITY.findall(prompt)]
    return [name for name in others if name.casefold() not in ("fahrenheit", "celsius")]


def _offer(question: Question, *words: str) -> Offer | None:
    return next((t for t in question.tools if any(word in t.name.lower() for word in words)), None)


def _is_conversion(call: Call) -> bool:
    return any(word in call.name.lower() for word in ("convert", "fahrenheit"))


def _findings(question: Question) -> list[_Finding]:
    recent = question.turns[question.last_user + 1 :]
    results = {turn.call_id: turn.text for turn in recent if turn.role == "tool"}
    made = [call for turn in recent for call in turn.calls if call.id in results]
    return [_Finding(call, results[call.id], _fields(results[call.id])) for call in made]


def _fields(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _asks_for(call: Call, city: str) -> bool:
    return any(str(value).casefold() == city.casefold() for value in _fields(call.arguments).values())


# --- arguments by the offered schema ---------------------------------------------------------------------------------


def _weather_call(tool: Offer, city: str) -> Call:
    properties: dict[str, Any] = tool.parameters.get("properties") or {"city": {}}
    named = [name for name in properties if any(word in name.lower() for word in ("city", "location", "place"))]
    return _call(tool, {next(iter(named or properties)): city})


def _convert_call(tool: Offer, celsius: float) -> Call:
    properties: dict[str, Any] = tool.parameters.get("properties") or {"value": {}, "from_unit": {}, "to_unit": {}}
    arguments: dict[str, Any] = {}
    for name, schema in properties.items():
        if "from" in name.lower():
            arguments[name] = _unit("celsius", schema)
        elif "to" in name.lower().split("_"):
            arguments[name] = _unit("fahrenheit", schema)
        elif celsius not in arguments.values():
            arguments[name] = celsius
    return _call(tool, arguments)


def _unit(word: str, schema: dict[str, Any]) -> str:
    """The word as the schema spells it, when it lists the units that it takes."""
    return next((str(e) for e in schema.get("enum") or () if str(e).lower().startswith(word[0])), word)


def _call(tool: Offer, arguments: dict[str, Any]) -> Call:
    required = sample({**tool.parameters, "type": "object"}, only_required=True)
    return Call(tool.name, json.dumps({**required, **arguments}, ensure_ascii=False))


# --- the answer ------------------------------------------------------------------------------------------------------


def _answer(question: Question) -> str:
    found = _findings(question)
    stations = [f for f in found if not _is_conversion(f.call)]
    if not stations:
        cities = _cities(question.prompt)
        return f"I have no tool to look up the weather in {' or '.join(cities)}." if cities else _GREETING
    conversions = [f for f in found if _is_conversion(f.call)]
    sentences: list[str] = []
    for finding in stations:
        converted = conversions.pop(0) if conversions and finding.celsius is not None else None
        sentences.append(_sentence(finding, converted, bool(_FAHRENHEIT.search(question.prompt))))
    return " ".join(sentences)


def _sentence(finding: _Finding, converted: _Finding | None, fahrenheit: bool) -> str:
    if finding.celsius is None:
        return f"I could not find that out: {finding.result}"
    place = finding.fields.get("city") or next(iter(_fields(finding.call.arguments).values()), "that place")
    degrees = f"{finding.celsius:g} °C" if finding.celsius % 1 else f"{finding.celsius:.1f} °C"
    if converted is not None:
        value = converted.fields.get("value", _number(converted.result))
        degrees = f"{value} °F ({degrees})" if value is not None else f"{degrees} ({converted.result})"
    elif fahrenheit:
        degrees += " (I have no tool to convert it to Fahrenheit)"
    sky = f" and {finding.fields['sky']}" if finding.fields.get("sky") else ""
    return f"In {place} it is {degrees}{sky}."


def _number(text: str) -> str | None:
    found = _NUMBER.search(text)
    return found.group() if found else None
