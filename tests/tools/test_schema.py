"""Schemas from signatures, and arguments bound to them."""

from __future__ import annotations

import dataclasses
import threading
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Required, TypedDict, Union

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field

from agentloop.errors import ToolError
from agentloop.tools.context import ToolContext
from agentloop.tools.tool import Tool, tool


class Node(BaseModel):
    child: "Node | None" = None  # noqa: UP037 - as users write it


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Span(TypedDict):
    start: date
    end: date


def positional_only(a: int, /, b: str = "x"):
    return a, b


def with_rest(x: int, *rest: int):
    return x, rest


def with_keywords(x: int, **kw: str):
    return x, kw


def with_defaults(
    name: str,
    title: str | None = None,
    mode: Literal["r", "w"] = "r",
    tags: list[str] = [],  # noqa: B006
):
    tags.append(name)
    return name, title, mode, tags


def nothing():
    return 1


def unannotated(x):
    return x


def recursive(p: Node):
    return p


def call(made: Tool, arguments: dict[str, Any]) -> Any:
    return made.validate(arguments).call(made.function, ToolContext(run_id="r1"))


@pytest.mark.parametrize(
    ("function", "required", "arguments", "value"),
    [
        (positional_only, ["a"], {"a": 7, "b": "e"}, (7, "e")),
        (positional_only, ["a"], {"a": 7}, (7, "x")),
        (with_rest, ["x"], {"x": 1, "rest": [2, 3]}, (1, (2, 3))),
        (with_rest, ["x"], {"x": 1}, (1, ())),
        (with_keywords, ["x"], {"x": 1, "k": "v"}, (1, {"k": "v"})),
        (with_defaults, ["name"], {"name": "n"}, ("n", None, "r", ["n"])),
        (
            with_defaults,
            ["name"],
            {"name": "n", "title": None, "mode": "w", "tags": ["t"]},
            ("n", None, "w", ["t", "n"]),
        ),
        (nothing, [], {}, 1),
        (unannotated, ["x"], {"x": {"any": [1]}}, {"any": [1]}),
        (recursive, ["p"], {"p": {"child": {"child": None}}}, Node(child=Node())),
    ],
)
def test_an_odd_signature_gives_an_object_schema_and_can_be_called(function, required, arguments, value) -> None:
    made = tool(function)
    assert made.parameters["type"] == "object"
    assert list(made.parameters.get("required", [])) == required
    assert jsonschema_rs.is_valid(made.parameters, arguments)
    assert call(made, arguments) == value


def test_a_literal_is_an_enum() -> None:
    assert tool(with_defaults).parameters["properties"]["mode"] == {
        "type": "string",
        "enum": ["r", "w"],
        "default": "r",
    }


def test_calls_do_not_share_a_default_list() -> None:
    made = tool(with_defaults)
    assert [call(made, {"name": "n"})[3] for _ in range(2)] == [["n"], ["n"]]


def test_references_of_a_recursive_model_resolve_from_the_root() -> None:
    schema = tool(recursive).parameters
    assert schema["properties"]["p"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"]["child"]["anyOf"][0] == {"$ref": "#/$defs/Node"}


def test_rich_types_arrive_as_python_values() -> None:
    @tool
    def paint(c: Colour, p: Point, s: Span, t: tuple[int, str], d: dict[str, int], u: Union[int, str]):  # noqa: UP007
        return c, p, s, t, d, u

    arguments = {
        "c": "red",
        "p": {"x": 1},
        "s": {"start": "2024-01-02", "end": "2024-01-03"},
        "t": [1, "a"],
        "d": {"k": 2},
        "u": "x",
    }
    span = {"start": date(2024, 1, 2), "end": date(2024, 1, 3)}
    assert call(paint, arguments) == (Colour.RED, Point(1), span, (1, "a"), {"k": 2}, "x")


class Loose(TypedDict, total=False):
    """A place."""

    name: Required[str]
    tags: list[str]


def test_typed_dicts_inside_other_types_keep_their_optional_keys() -> None:
    def go(stops: list[Loose], last: Loose | None = None):
        return stops, last

    made = tool(go)
    assert made.parameters["$defs"]["Loose"]["required"] == ["name"]
    assert call(made, {"stops": [{"name": "a"}], "last": {"name": "b", "tags": ["t"]}})[1]["tags"] == ["t"]
    with pytest.raises(ToolError, match=r"stops\[0\].name: missing"):
        made.validate({"stops": [{"tags": []}]})


def test_string_annotations_may_name_a_local_class() -> None:
    class Local(BaseModel):
        n: int

    @tool
    def take(it: Local) -> int:
        return it.n

    assert call(take, {"it": {"n": 3}}) == 3


def test_numbers_in_strings_are_taken_when_coerced_and_refused_otherwise() -> None:
    def half(n: int):
        return n

    assert call(tool(half), {"n": "10"}) == 10
    with pytest.raises(ToolError, match='n: expected a valid integer, got "10"'):
        tool(half, coerce=False).validate({"n": "10"})


def test_without_coercion_dates_and_enums_are_still_read_from_their_json_text() -> None:
    def plan(day: date, colour: Colour):
        return day, colour

    assert call(tool(plan, coerce=False), {"day": "2024-01-02", "colour": "red"}) == (date(2024, 1, 2), Colour.RED)


@pytest.mark.parametrize("coerce", [True, False])
def test_an_argument_that_does_not_exist_is_refused(coerce: bool) -> None:
    with pytest.raises(ToolError, match="citty: there is no such argument"):
        tool(unannotated, coerce=coerce).validate({"x": 1, "citty": "Tokyo"})


def test_descriptions_come_from_annotations_first_and_then_from_the_docstring() -> None:
    @tool
    def weather(city: Annotated[str, "which city"], unit: Annotated[str, Field(description="C or F")], day: int = 0):
        """Tell the weather.

        Args:
            city: not this one
            day: days from today
        """

    properties = weather.parameters["properties"]
    assert weather.description == "Tell the weather."
    assert [properties[name]["description"] for name in ("city", "unit", "day")] == [
        "which city",
        "C or F",
        "days from today",
    ]


@pytest.mark.parametrize(
    "doc",
    [
        "Do it.\n\nArgs:\n    x (int): the number",
        "Do it.\n\nParameters\n----------\nx : int\n    the number",
        "Do it.\n\n:param x: the number\n:type x: int",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_docstrings_of_three_forms_are_read(doc: str) -> None:
    def do(x: int):
        return x

    do.__doc__ = doc
    made = tool(do)
    assert (made.description, made.parameters["properties"]["x"]["description"]) == ("Do it.", "the number")


def test_names_that_a_model_field_must_not_have_are_fine() -> None:
    @tool
    def odd(schema: int, model_config: int, _x: int, copy: int, json: int):
        return schema, model_config, _x, copy, json

    arguments = {"schema": 1, "model_config": 2, "_x": 3, "copy": 4, "json": 5}
    assert call(odd, arguments) == (1, 2, 3, 4, 5)


def test_a_property_named_title_stays_and_made_up_titles_go() -> None:
    assert "title" in tool(with_defaults).parameters["properties"]
    assert "Node" not in str(tool(recursive).parameters).replace("#/$defs/Node", "").replace("'Node':", "")


def test_an_alias_is_the_name_in_json() -> None:
    @tool
    def trip(start: Annotated[str, Field(alias="from")]):
        return start

    assert list(trip.parameters["properties"]) == ["from"]
    assert call(trip, {"from": "Rome"}) == "Rome"


def test_a_field_as_default_brings_its_limits_and_its_default() -> None:
    @tool
    def count(n: int = Field(3, ge=1, description="how many")):
        return n

    assert count.parameters["properties"]["n"] == {
        "type": "integer",
        "default": 3,
        "minimum": 1,
        "description": "how many",
    }
    assert call(count, {}) == 3


def test_none_as_default_lets_the_model_send_null() -> None:
    def find(text: str = None):  # noqa: RUF013 - as users write it
        return text

    assert call(tool(find), {"text": None}) is None


def test_a_default_that_is_no_json_is_kept_from_the_schema_and_passed_as_it_is() -> None:
    lock = threading.Lock()

    def guard(limit: float = float("nan"), lock: Any = lock):
        return limit, lock

    made = tool(guard)
    assert made.parameters["properties"] == {"limit": {"type": "number"}, "lock": {}}
    assert call(made, {})[1] is lock


def test_what_the_members_of_a_union_wanted_is_told_as_one_fault() -> None:
    def pick(u: int | list[int] | Node) -> None: ...

    with pytest.raises(ToolError) as caught:
        tool(pick).validate({"u": "x"})
    assert str(caught.value).startswith("Bad arguments for pick: u: expected a valid integer, unable to parse")
    assert " or a valid array or " in str(caught.value)
    assert str(caught.value).count("u: ") == 1


def test_a_fault_inside_a_member_of_a_union_is_told_by_its_path_in_the_arguments() -> None:
    def pick(u: int | list[Point]) -> None: ...

    with pytest.raises(ToolError, match=r"u\[0\]\.x: missing"):
        tool(pick).validate({"u": [{"y": 1}]})


def test_a_function_of_a_module_means_the_names_of_that_module() -> None:
    Colour = int  # noqa: F841 - a local name that must not count

    assert tool(paint).parameters["$defs"]["Colour"]["enum"] == ["red", "blue"]


def paint(c: Colour) -> None: ...
