"""The rules of the weather scenario, on questions without any wire."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop.errors import ToolError
from agentloop.mock.conversation import Call, Offer, Question, Turn, limited
from agentloop.mock.demo import convert_temperature, get_weather
from agentloop.mock.weather import weather

STATION = Offer("get_weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})
CONVERTER = Offer(
    "convert_temperature",
    parameters={"properties": {"value": {"type": "number"}, "from_unit": {}, "to_unit": {}}},
)
BOTH = (STATION, CONVERTER)


def ask(prompt: str, *turns: Turn, tools: tuple[Offer, ...] = BOTH, **fields: Any) -> Question:
    return Question((Turn("user", prompt), *turns), tools, **fields)


def step(*calls_and_results: tuple[Call, str]) -> tuple[Turn, ...]:
    calls = tuple(call for call, _ in calls_and_results)
    return (Turn("assistant", calls=calls), *(Turn("tool", text, call_id=call.id) for call, text in calls_and_results))


TOKYO = Call("get_weather", '{"city": "Tokyo"}', "call_1")
TOKYO_FOUND = (TOKYO, '{"city": "Tokyo", "celsius": 18.0, "sky": "cloudy"}')
OSLO_FOUND = (Call("get_weather", '{"city": "Oslo"}', "call_2"), '{"city": "Oslo", "celsius": -3.5, "sky": "snowy"}')


def calls_of(question: Question) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, json.loads(call.arguments)) for call in weather(question).calls]


def test_a_question_about_a_city_calls_the_weather_tool() -> None:
    assert calls_of(ask("What is the weather in Tokyo?")) == [("get_weather", {"city": "Tokyo"})]


def test_two_cities_are_two_calls_in_the_order_of_the_question() -> None:
    found = calls_of(ask("Compare Oslo and Berlin."))
    assert found == [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Berlin"})]


def test_a_city_that_no_table_knows_is_asked_for_too() -> None:
    assert calls_of(ask("How warm is it in Ulan Bator?")) == [("get_weather", {"city": "Ulan Bator"})]


def test_the_schema_says_how_the_argument_is_called() -> None:
    tool = Offer(
        "forecast", parameters={"properties": {"days": {"type": "integer"}, "location": {}}, "required": ["days"]}
    )
    assert calls_of(ask("Weather in Paris?", tools=(tool,))) == [("forecast", {"days": 1, "location": "Paris"})]


def test_fahrenheit_calls_the_converter_with_the_celsius_of_the_result() -> None:
    question = ask("What is the weather in Tokyo, in Fahrenheit?", *step(TOKYO_FOUND))
    wanted = {"value": 18.0, "from_unit": "celsius", "to_unit": "fahrenheit"}
    assert calls_of(question) == [("convert_temperature", wanted)]


def test_units_are_spelled_as_the_schema_lists_them() -> None:
    unit = {"enum": ["C", "F"]}
    tool = Offer("convert", parameters={"properties": {"degrees": {}, "from": unit, "to": unit}})
    question = ask("Tokyo weather in Fahrenheit", *step(TOKYO_FOUND), tools=(STATION, tool))
    assert calls_of(question) == [("convert", {"degrees": 18.0, "from": "C", "to": "F"})]


def test_the_answer_comes_from_the_results() -> None:
    converted = (Call("convert_temperature", "{}", "call_2"), '{"value": 64.4, "unit": "fahrenheit"}')
    question = ask("Weather in Tokyo, in Fahrenheit?", *step(TOKYO_FOUND), *step(converted))
    assert weather(question).text == "In Tokyo it is 64.4 °F (18.0 °C) and cloudy."


def test_a_converter_that_answers_a_bare_number_is_understood() -> None:
    question = ask("Tokyo in Fahrenheit?", *step(TOKYO_FOUND), *step((Call("convert", "{}", "call_2"), "64.4")))
    assert "64.4 °F" in weather(question).text


def test_without_a_converter_the_answer_says_so() -> None:
    question = ask("Weather in Tokyo, in Fahrenheit?", *step(TOKYO_FOUND), tools=(STATION,))
    assert weather(question).text == "In Tokyo it is 18.0 °C (I have no tool to convert it to Fahrenheit) and cloudy."


def test_two_results_give_two_sentences() -> None:
    question = ask("Weather in Tokyo and Oslo?", *step(TOKYO_FOUND, OSLO_FOUND))
    assert weather(question).text == "In Tokyo it is 18.0 °C and cloudy. In Oslo it is -3.5 °C and snowy."


def test_a_result_without_a_temperature_is_told_and_not_asked_for_again() -> None:
    question = ask("Weather in Tokyo?", *step((TOKYO, "the user does not allow it")))
    assert weather(question).text == "I could not find that out: the user does not allow it"


def test_results_before_the_last_question_are_not_used_again() -> None:
    question = ask("Weather in Tokyo?", *step(TOKYO_FOUND), Turn("assistant", "18"), Turn("user", "And in Oslo?"))
    assert calls_of(question) == [("get_weather", {"city": "Oslo"})]


def test_without_a_weather_tool_the_answer_is_plain() -> None:
    assert weather(ask("Weather in Tokyo?", tools=())).text == "I have no tool to look up the weather in Tokyo."


@pytest.mark.parametrize("prompt", ["hi", "Who are you?", ""])
def test_any_other_prompt_is_answered_plainly(prompt: str) -> None:
    reply = weather(ask(prompt))
    assert reply.calls == ()
    assert "rule-driven stand-in" in reply.text


def test_a_demanded_call_is_made_even_when_no_rule_wants_one() -> None:
    assert calls_of(ask("hi", must_call=True)) == [("get_weather", {"city": "example"})]


def test_an_output_schema_is_followed() -> None:
    schema = {"type": "object", "properties": {"city": {"enum": ["Tokyo"]}, "warm": {"type": "boolean"}}}
    assert json.loads(weather(ask("hi", output_schema=schema)).text) == {"city": "Tokyo", "warm": True}


def test_call_ids_are_counted_from_the_history() -> None:
    question = ask("Weather in Tokyo and Oslo?", *step(TOKYO_FOUND, OSLO_FOUND), Turn("user", "Paris? Cairo?"))
    assert [call.id for call in limited(weather(question), question).calls] == ["call_3", "call_4"]


def test_without_parallel_calls_there_is_one_call() -> None:
    question = ask("Weather in Tokyo and Oslo?", parallel_calls=False)
    assert len(limited(weather(question), question).calls) == 1


def test_the_demo_tools_know_tokyo_and_the_conversion() -> None:
    assert get_weather("tokyo") == {"city": "Tokyo", "celsius": 18.0, "sky": "cloudy"}
    assert convert_temperature(18.0, "celsius", "F") == {"value": 64.4, "unit": "fahrenheit"}
    assert convert_temperature(64.4, "fahrenheit", "celsius") == {"value": 18.0, "unit": "celsius"}


def test_the_demo_tools_refuse_what_they_do_not_know() -> None:
    with pytest.raises(ToolError, match="no weather station in 'Atlantis'"):
        get_weather("Atlantis")
    with pytest.raises(ToolError, match="unknown unit 'kelvin'"):
        convert_temperature(1, "kelvin", "celsius")


WORDS = ["weather", "in", "Tokyo", "Oslo", "Atlantis", "New York", "Fahrenheit", "and", "?", "for", "Celsius", "of"]
DEMO = {"get_weather": get_weather, "convert_temperature": convert_temperature}


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), st.booleans())
def test_every_question_is_answered_after_a_few_steps(prompt: str, parallel: bool) -> None:
    question = ask(prompt, parallel_calls=parallel)
    for _ in range(12):
        reply = limited(weather(question), question)
        if not reply.calls:
            break
        found = step(*((call, run_demo(call)) for call in reply.calls))
        question = ask(prompt, *question.turns[1:], *found, parallel_calls=parallel)
    assert reply.text


def run_demo(call: Call) -> str:
    try:
        return json.dumps(DEMO[call.name](**json.loads(call.arguments)))
    except ToolError as error:
        return str(error)
