"""Arguments checked against a JSON Schema that was written by hand, or came from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentloop.errors import ConfigError
from agentloop.tools.faults import Fault, refuse

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["RawSchema"]


def _never_fetch(uri: str) -> Any:
    raise ValueError(f"remote references are not fetched: put {uri} into $defs")


@dataclass(frozen=True, slots=True)
class RawSchema:
    """`schema` as it is sent to the model; `problems(arguments)` gives the faults that jsonschema-rs finds."""

    schema: Mapping[str, Any]
    problems: Callable[[Any], Iterator[jsonschema_rs.ValidationError]]

    @staticmethod
    def compile(name: str, parameters: Mapping[str, Any]) -> RawSchema:
        """Raises ConfigError for what is no JSON Schema, is not of type object, or refers to another document."""
        import jsonschema_rs

        schema: dict[str, Any] = {"type": "object", **(parameters or {})}
        if schema["type"] != "object":
            raise ConfigError(f"tool {name}: parameters must be a JSON Schema of type object, not {schema['type']!r}")
        schema.setdefault("properties", {})  # some servers refuse an object schema without it
        try:
            validator = jsonschema_rs.validator_for(schema, retriever=_never_fetch)
        except ValueError as error:
            why = str(error).partition("\n")[0][:300]  # below it the schema is printed again
            raise ConfigError(f"tool {name}: parameters are not a usable JSON Schema: {why}") from error
        return RawSchema(schema, validator.iter_errors)

    def check(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Raises ToolError that lists the faults."""
        faults = [_fault(error) for error in self.problems(arguments)]
        if faults:
            refuse(name, faults, self.schema)


def _fault(error: jsonschema_rs.ValidationError) -> Fault:
    path, kind = tuple(error.instance_path), error.kind
    if kind.name == "required":
        return Fault((*path, str(kind.value)), "missing")
    if kind.name == "additionalProperties":
        return Fault(path, f"there is no argument {', '.join(map(str, kind.value))}")
    got = Fault.seen(error.instance)
    # The message tells the whole value again, which may be long.
    return Fault(path, error.message.replace(got, "value", 1), got)
