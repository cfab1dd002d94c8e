"""What may become a tool: functions with a context, partials, methods, objects; and what may not."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentloop.errors import ConfigError, ToolError
from agentloop.tools.context import ToolContext
from agentloop.tools.tool import Tool, tool


def call(made: Tool, arguments: dict[str, Any]) -> Any:
    return made.validate(arguments).call(made.function, ToolContext(run_id="r1"))


def nothing():
    return 1


def test_the_context_is_hidden_from_the_model_and_filled_in() -> None:
    @tool
    def who(x: int, context: ToolContext, y: int = 2):
        return x, context.run_id, y

    assert list(who.parameters["properties"]) == ["x", "y"]
    assert call(who, {"x": 1}) == (1, "r1", 2)


def test_an_optional_context_is_hidden_too() -> None:
    @tool
    def who(context: ToolContext | None = None):
        return context.run_id if context else "nobody"

    assert who.parameters["properties"] == {}
    assert (call(who, {}), who()) == ("r1", "nobody")


def test_further_keywords_cannot_take_the_place_of_the_context() -> None:
    @tool
    def who(context: ToolContext, **kw: str):
        return kw

    with pytest.raises(ToolError, match="context: there is no such argument"):
        who.validate({"context": "forged"})


def test_what_a_partial_fixes_is_neither_shown_nor_settable() -> None:
    def send(text: str, key: str, **kw: str):
        return text, key

    made = tool(functools.partial(send, key="sk-secret"))
    assert "secret" not in str(made.parameters) + repr(made)
    assert call(made, {"text": "hi"}) == ("hi", "sk-secret")
    with pytest.raises(ToolError, match="key: there is no such argument"):
        made.validate({"text": "hi", "key": "mine"})


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    def bound(self, n: int):
        return self.name, n

    @tool
    def price(self, item: str):
        """The price of an item."""
        return self.name, item

    def __call__(self, q: str):
        """Ask the shop."""
        return self.name, q


def test_a_bound_method_is_a_tool() -> None:
    assert call(tool(Shop("a").bound), {"n": 1}) == ("a", 1)


def test_a_decorated_method_belongs_to_its_object() -> None:
    first, second = Shop("a").price, Shop("b").price
    assert list(first.parameters["properties"]) == ["item"]
    assert (call(first, {"item": "x"}), call(second, {"item": "x"})) == (("a", "x"), ("b", "x"))
    assert Shop("c").price("y") == ("c", "y")


def test_an_object_with_a_call_method_is_a_tool() -> None:
    made = tool(Shop("a"), name="ask")
    assert (made.name, made.description, call(made, {"q": "?"})) == ("ask", "Ask the shop.", ("a", "?"))


def test_async_callables_are_recognised() -> None:
    async def wait(n: int):
        return n

    class Later:
        async def __call__(self):
            return 1

    made = tool(functools.partial(wait, 3), name="later")
    assert [each.is_async for each in (made, tool(wait), tool(Later()), tool(nothing))] == [True, True, True, False]
    assert asyncio.run(made()) == 3


def with_lock(lock: threading.Lock): ...
def with_callback(done: Callable[[int], int]): ...
def with_typo(x: "Nowhere"): ...  # noqa: F821, UP037


@pytest.mark.parametrize(("function", "name"), [(with_lock, "lock"), (with_callback, "done"), (with_typo, "x")])
def test_a_parameter_that_a_model_cannot_fill_is_named_at_definition(function: Any, name: str) -> None:
    with pytest.raises(ConfigError, match=rf"(parameter|annotation of) {name} cannot"):
        tool(function)


def test_a_callable_without_a_readable_signature_is_refused() -> None:
    with pytest.raises(ConfigError, match="signature cannot be read"):
        tool(max)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ConfigError, match="pass name="):
        tool(lambda: 1)
    assert tool(lambda: 1, name="one").name == "one"
