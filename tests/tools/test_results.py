"""What tools return, and what the model reads of it."""

from __future__ import annotations

import dataclasses
import json
from collections import namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentloop.messages import ToolResult
from agentloop.parts import ImagePart, TextPart
from agentloop.tools.results import error_text, to_result


class Colour(Enum):
    RED = "red"


class Place(pydantic.BaseModel):
    name: str
    seen: date | None = None


@dataclasses.dataclass
class Reading:
    celsius: Decimal
    sky: Colour


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05+00:00"),
        (date(2024, 1, 2), "2024-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(minutes=1), "60.0"),
        (Decimal("1.10"), "1.10"),
        ({1, 2}, "[1,2]"),
        ({2, 10, 1}, "[1,2,10]"),
        (frozenset({"b", "a"}), '["a","b"]'),
        ({1, "a"}, '["a",1]'),
        (b"\xff\x00", "/wA="),
        (float("nan"), "NaN"),
        ({"x": float("inf")}, '{"x":"Infinity"}'),
        ([float("-inf")], '["-Infinity"]'),
        ({(1, 2): "t"}, '{"[1,2]":"t"}'),
        ({1: "a", None: "b", False: "c"}, '{"1":"a","null":"b","false":"c"}'),
        (None, "null"),
        ("", ""),
        ("plain", "plain"),
        ("ü\u2028", "ü\u2028"),
        ({"é": "中"}, '{"é":"中"}'),
        (True, "true"),
        (1.5, "1.5"),
        (2**70, "1180591620717411303424"),
        (Reading(Decimal("1.10"), Colour.RED), '{"celsius":"1.10","sky":"red"}'),
        (Place(name="Zürich", seen=date(2024, 1, 2)), '{"name":"Zürich","seen":"2024-01-02"}'),
        ([Place(name="a")], '[{"name":"a","seen":null}]'),
        (Point(1, 2), '{"x":1,"y":2}'),
        (PurePosixPath("/a/b"), "/a/b"),
        (UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        (Colour.RED, "red"),
        (range(3), "[0,1,2]"),
    ],
)
def test_a_value_becomes_text(value: Any, text: str) -> None:
    assert to_result(value) == ToolResult(text)


def test_a_list_that_contains_itself_is_an_error_with_its_place() -> None:
    value: list[Any] = [1]
    value.append({"me": value})
    result = to_result(value)
    assert (result.is_error, result.kind) == (True, "raised")
    assert "result[1]['me'] contains itself" in str(result.content)


def test_the_same_list_twice_is_no_loop() -> None:
    shared = [1]
    assert to_result([shared, shared]).content == "[[1],[1]]"


def test_a_very_deep_list_is_an_error() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert "nested too deeply" in str(to_result(value).content)


@pytest.mark.parametrize("value", [object(), {"x": object()}, (n for n in "ab"), int, print, [10**5000]])
def test_what_cannot_be_written_is_an_error_and_not_an_exception(value: Any) -> None:
    result = to_result(value)
    assert (result.is_error, result.kind) == (True, "raised")
    assert "the result cannot be sent" in str(result.content) or "its result cannot be sent" in str(result.content)


def test_the_error_names_the_type_the_place_and_what_to_return() -> None:
    text = str(to_result({"x": [object()]}).content)
    assert "result['x'][0] is of type object; return text, numbers" in text


def test_two_keys_that_read_the_same_are_an_error_since_one_would_be_lost() -> None:
    assert "two keys that both read '1'" in str(to_result({1: "a", "1": "b"}).content)


def test_a_tool_result_passes_through() -> None:
    given = ToolResult("no", is_error=True, kind="exit_status")
    assert to_result(given) is given


def test_parts_stay_parts_and_strings_among_them_become_text() -> None:
    image = ImagePart(data=b"png")
    assert to_result(["see:", image]).content == (TextPart("see:"), image)
    assert to_result(image).content == (image,)


class Text(str, Enum):  # noqa: UP042 - as older programs write it
    A = "a"


def test_a_string_enum_gives_its_plain_value() -> None:
    content = to_result(Text.A).content
    assert (content, type(content)) == ("a", str)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.dates(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.sets(st.integers() | st.text())
    ),
)


@settings(deadline=None)
@given(plain)
def test_every_result_that_is_no_text_is_strict_json(value: Any) -> None:
    result = to_result([value])
    if not result.is_error:
        json.loads(str(result.content), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError(), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
        (ExceptionGroup("two", [ValueError("a"), KeyError("k")]), "ExceptionGroup: two: ValueError: a; KeyError: 'k'"),
    ],
)
def test_an_error_text_names_the_type_and_is_never_empty(error: BaseException, text: str) -> None:
    assert error_text(error) == text


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_error_that_cannot_be_printed_still_has_a_text() -> None:
    assert error_text(Unprintable()) == "Unprintable"
