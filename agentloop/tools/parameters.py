"""The parameters of a callable, each with the pydantic field that stands for it."""

from __future__ import annotations

import functools
import inspect
import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pydantic
import pydantic_core
from pydantic.fields import FieldInfo

from agentloop.errors import ConfigError
from agentloop.tools.calling import is_context
from agentloop.tools.context import ToolContext
from agentloop.tools.typed_dicts import with_readable_dicts

__all__ = ["Parameter", "Parameters", "is_json", "read_parameters"]

_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """One parameter. `field` is its name in the pydantic model, `alias` its name in JSON."""

    field: str
    alias: str
    name: str
    kind: Any
    annotation: Any
    default: Any
    description: str | None
    is_context: bool

    @property
    def in_schema(self) -> bool:
        return not self.is_context and self.kind is not inspect.Parameter.VAR_KEYWORD

    def definition(self) -> tuple[Any, Any]:
        """Annotation and field, as `pydantic.create_model` takes them."""
        about: dict[str, Any] = {"alias": self.alias}
        if self.description:
            about["description"] = self.description
        if self.kind is inspect.Parameter.VAR_POSITIONAL:
            return list[self.annotation], pydantic.Field(default=[], **about)
        if isinstance(self.default, FieldInfo):
            return Annotated[self.annotation, self.default], pydantic.Field(**about)
        if self.default is _EMPTY:
            return self.annotation, pydantic.Field(**about)
        if not self._default_is_json:
            return self.annotation, pydantic.Field(default_factory=lambda: None, **about)
        annotation = self.annotation if self.default is not None else self.annotation | None
        return annotation, pydantic.Field(default=self.default, **about)

    def value_in(self, values: pydantic.BaseModel) -> Any:
        """The argument to pass. A default is pydantic's copy, so that calls do not share a list; one that is not JSON
        (a lock, a connection) is the object itself."""
        given = self.field in values.model_fields_set
        return getattr(values, self.field) if given or self._default_is_json else self.default

    @property
    def _default_is_json(self) -> bool:
        return self.default is _EMPTY or isinstance(self.default, FieldInfo) or is_json(self.default)


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """All that a callable takes. `reserved` are names that no further argument may have, since the caller's program has
    filled them in. `unbound` tells that its first parameter, `self`, waits for an object."""

    slots: tuple[Parameter, ...]
    reserved: frozenset[str]
    unbound: bool


def is_json(value: Any) -> bool:
    """Whether `value` can be written as strict JSON, which knows no NaN."""
    try:
        json.dumps(pydantic_core.to_jsonable_python(value), allow_nan=False)
    except (ValueError, TypeError, RecursionError):  # a PydanticSerializationError is a ValueError
        return False
    return True


def read_parameters(
    tool: str, function: Callable[..., Any], names: Mapping[str, Any], about: Mapping[str, str]
) -> Parameters:
    """The parameters that a caller has to fill, in order. Raises ConfigError that names the one which cannot be."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"tool {tool}: its signature cannot be read ({error}); wrap it in a def") from error
    inner, fixed = _unwrap(function)
    scope = getattr(inner, "__globals__", {})
    if "<locals>" not in getattr(inner, "__qualname__", ""):
        names = {}  # a function of a module means the names of that module, whoever makes a tool of it
    unbound = bool(found) and found[0].name == "self" and found[0].annotation is _EMPTY
    slots = [
        _parameter(f"p{place}", each, _resolve(tool, each, scope, names), about)
        for place, each in enumerate(found)
        if each.name not in fixed and not (unbound and place == 0)
    ]
    return Parameters(tuple(slots), fixed.union(each.name for each in found), unbound)


def _parameter(field: str, each: inspect.Parameter, annotation: Any, about: Mapping[str, str]) -> Parameter:
    text, alias = _annotated(annotation)
    if isinstance(each.default, FieldInfo):
        text, alias = each.default.description or text, each.default.alias or alias
    return Parameter(
        field=field,
        alias=alias or each.name,
        name=each.name,
        kind=each.kind,
        annotation=annotation,
        default=each.default,
        description=text or about.get(each.name),
        is_context=any(is_context(option) for option in _options(annotation)),
    )


def _unwrap(function: Callable[..., Any]) -> tuple[Any, frozenset[str]]:
    """The function whose module the annotations are read in, and the names that partials have fixed."""
    fixed: set[str] = set()
    while isinstance(function, functools.partial):
        fixed.update(function.keywords)
        function = function.func
    if not isinstance(function, (types.FunctionType, types.MethodType, type)):
        function = type(function).__call__
    return inspect.unwrap(function), frozenset(fixed)


def _resolve(tool: str, parameter: inspect.Parameter, scope: dict[str, Any], names: Mapping[str, Any]) -> Any:
    if parameter.annotation is _EMPTY:
        return Any
    if is_context(parameter.annotation):  # also where the name is imported for type checkers only
        return ToolContext
    holder = types.SimpleNamespace(__annotations__={"it": parameter.annotation})
    try:
        annotation = typing.get_type_hints(holder, scope, dict(names), include_extras=True)["it"]
    except Exception as error:
        text = f"tool {tool}: the annotation of {parameter.name} cannot be read: {error}"
        raise ConfigError(text) from error
    if typing.get_origin(annotation) is typing.Unpack:
        raise ConfigError(f"tool {tool}: {parameter.name} uses Unpack; declare its keys as parameters of their own")
    return with_readable_dicts(annotation)


def _annotated(annotation: Any) -> tuple[str | None, str | None]:
    """Description and alias that `Annotated` gives: a bare string is a description."""
    text = alias = None
    for item in getattr(annotation, "__metadata__", ()):
        if isinstance(item, str):
            text = item
        elif isinstance(item, FieldInfo):
            text, alias = item.description or text, item.alias or alias
    return text, alias


def _options(annotation: Any) -> Iterator[Any]:
    """The annotation itself, without Annotated, and the members of a union."""
    if typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    yield annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        yield from typing.get_args(annotation)
