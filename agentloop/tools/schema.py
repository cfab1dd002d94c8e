"""A JSON Schema from a function's signature, and arguments bound to its parameters; pydantic does the work.

The parameters become the fields of a pydantic model. Fields are named by position, with the parameter's name as alias,
since a parameter may have a name that a model's field must not have (`schema`, `model_config`, `_x`).
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import pydantic
from pydantic_core import ErrorDetails

from agentloop.errors import ConfigError
from agentloop.tools.calling import CONTEXT, Bound
from agentloop.tools.faults import Fault, merged, refuse
from agentloop.tools.parameters import Parameter, Parameters, is_json, read_parameters
from agentloop.tools.strict import drop_absent, strict_schema

__all__ = ["Signature"]


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """What a function takes: `parameters` is the schema for the model, `bind` checks and places the arguments.

    `plain` is the schema before it was made strict; the two are one object when strict was not asked for.
    """

    model: type[pydantic.BaseModel]
    parameters: Mapping[str, Any]
    plain: Mapping[str, Any]
    takes: Parameters
    coerce: bool

    @property
    def is_strict(self) -> bool:
        return self.parameters is not self.plain

    @staticmethod
    def read(
        tool: str,
        function: Callable[..., Any],
        names: Mapping[str, Any],
        about: Mapping[str, str],
        *,
        coerce: bool,
        strict: bool,
    ) -> Signature:
        """Raises ConfigError that names the parameter which a model could not fill.

        `names` are local names that string annotations may use; `about` describes the parameters.
        """
        takes = read_parameters(tool, function, names, about)
        model, plain = _build(tool, takes.slots)
        parameters: Mapping[str, Any] = plain
        if strict:
            made = strict_schema(plain)
            if made.impossible:
                raise ConfigError(f"tool {tool}: a strict schema cannot express {'; '.join(made.impossible)}")
            parameters = made.parameters
        return Signature(model, parameters, plain, takes, coerce)

    def bind(self, tool: str, arguments: Mapping[str, Any]) -> Bound:
        """The arguments in the places of the parameters. Raises ToolError that lists the faults."""
        if self.is_strict:
            arguments = drop_absent(arguments, self.plain)
        try:
            # From JSON text, not from Python objects: only so does pydantic take dates, enums and tuples when strict.
            values = self.model.model_validate_json(json.dumps(arguments), strict=not self.coerce)
        except pydantic.ValidationError as error:
            found = error.errors(include_url=False, include_context=False)
            refuse(tool, merged(_fault(each, arguments) for each in found), self.parameters)
        further = self.takes.reserved.intersection(values.model_extra or ())
        if further:
            refuse(tool, [_no_such((name,)) for name in sorted(further)], self.parameters)
        return self._place(values)

    def bound(self) -> Signature:
        """The same when `self` has been given its object."""
        return replace(self, takes=replace(self.takes, unbound=False))

    def _place(self, values: pydantic.BaseModel) -> Bound:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for slot in self.takes.slots:
            if slot.kind is inspect.Parameter.VAR_KEYWORD:
                kwargs.update(values.model_extra or {})
                continue
            value = CONTEXT if slot.is_context else slot.value_in(values)
            if slot.kind is inspect.Parameter.VAR_POSITIONAL:
                args.extend(value)
            elif slot.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[slot.name] = value
            else:
                args.append(value)
        return Bound(tuple(args), kwargs)


def _build(tool: str, slots: tuple[Parameter, ...]) -> tuple[type[pydantic.BaseModel], dict[str, Any]]:
    try:
        model = _model(slots)
        made: dict[str, Any] = _without_titles(model.model_json_schema())
        return model, {"type": "object", "properties": {}, **made}
    except Exception as error:
        raise _blame(tool, slots, error) from error


def _model(slots: tuple[Parameter, ...]) -> type[pydantic.BaseModel]:
    fields: dict[str, Any] = {slot.field: slot.definition() for slot in slots if slot.in_schema}
    rest = next((slot for slot in slots if slot.kind is inspect.Parameter.VAR_KEYWORD), None)
    if rest is None:
        return pydantic.create_model("Arguments", __config__=pydantic.ConfigDict(extra="forbid"), **fields)
    body = {
        "model_config": pydantic.ConfigDict(extra="allow"),
        "__module__": __name__,
        "__annotations__": {"__pydantic_extra__": dict[str, rest.annotation]},
    }
    base = cast("type[pydantic.BaseModel]", type("Arguments", (pydantic.BaseModel,), body))
    return pydantic.create_model("Arguments", __base__=base, **fields)


def _blame(tool: str, slots: tuple[Parameter, ...], error: Exception) -> ConfigError:
    """Which parameter it was: the first that fails alone, too."""
    for slot in slots:
        try:
            _model((slot,)).model_json_schema()
        except Exception as own:
            reason = str(own).partition("\n")[0].partition(". ")[0]
            return ConfigError(f"tool {tool}: parameter {slot.name} cannot be described as JSON: {reason}")
    return ConfigError(f"tool {tool}: no JSON Schema can be made of its signature: {error}")


_DATA = ("default", "const", "enum", "examples")
_MAPS = ("properties", "$defs", "patternProperties")


def _without_titles(node: Any) -> Any:
    """The schema without the titles that pydantic makes: they repeat the names, and every request would pay for them.

    A property that is named `title` stays, and so does what looks like a title inside a default.
    """
    if isinstance(node, list):
        return [_without_titles(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    out: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", node).items():
        if key in _MAPS:
            out[key] = {name: _without_titles(schema) for name, schema in value.items()}
        elif key in _DATA:
            if is_json(value):  # a default of NaN would make the whole request invalid
                out[key] = value
        elif key != "title":
            out[key] = _without_titles(value)
    return out


def _fault(error: ErrorDetails, arguments: Mapping[str, Any]) -> Fault:
    path, text = _path(error["loc"], arguments), error["msg"]
    match error["type"]:
        case "missing":
            return Fault((*path, error["loc"][-1]), "missing")
        case "extra_forbidden":
            return _no_such(path)
        case "json_invalid":
            return Fault(path, text)
        case _:
            return Fault(path, text.replace("Input should be", "expected", 1), Fault.seen(error["input"]))


def _path(loc: tuple[str | int, ...], value: Any) -> tuple[str | int, ...]:
    """The steps that lead through `value`. Others are pydantic's names for the members of a union, which would make a
    model look for a key of that name."""
    path: list[str | int] = []
    for step in loc:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            continue
        path.append(step)
    return tuple(path)


def _no_such(path: tuple[str | int, ...]) -> Fault:
    return Fault(path, "there is no such argument")
