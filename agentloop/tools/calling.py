"""Calling a tool's function: the bound arguments, the place of the context, and what kind of callable it is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentloop.tools.context import ToolContext

__all__ = ["CONTEXT", "Bound", "bind_by_name", "context_parameter", "is_async", "is_context"]

CONTEXT: Any = object()


@dataclass(frozen=True, slots=True)
class Bound:
    """Arguments in the places of the function's parameters; `CONTEXT` marks where the context goes."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def call(self, function: Callable[..., Any], context: ToolContext) -> Any:
        args = [context if value is CONTEXT else value for value in self.args]
        kwargs = {name: context if value is CONTEXT else value for name, value in self.kwargs.items()}
        return function(*args, **kwargs)


def bind_by_name(arguments: Mapping[str, Any], context: str | None) -> Bound:
    """Every argument by keyword; `context` names the parameter that takes the ToolContext, if there is one."""
    return Bound((), dict(arguments) if context is None else {**arguments, context: CONTEXT})


def is_context(annotation: Any) -> bool:
    """Whether an annotation, possibly still a string, is ToolContext."""
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] == "ToolContext"
    return annotation is ToolContext


def context_parameter(function: Callable[..., Any]) -> str | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some callables written in C have no signature
        return None
    return next((each.name for each in parameters if is_context(each.annotation)), None)


def is_async(function: Callable[..., Any]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.iscoroutinefunction(function):
        return True
    return inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - an object with async __call__
