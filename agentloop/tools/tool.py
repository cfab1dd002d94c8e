"""`Tool`, the value that a model is told of and an agent runs, and `@tool`, which makes one from a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, overload

from agentloop.errors import ConfigError
from agentloop.tools.calling import Bound, bind_by_name, context_parameter, is_async

if TYPE_CHECKING:
    from agentloop.tools.rawschema import RawSchema
    from agentloop.tools.schema import Signature
    from agentloop.tools.strict import StrictSchema

__all__ = ["MAX_RESULT", "Effects", "Risk", "RiskOf", "Tool", "ToolOptions", "tool"]

Risk: TypeAlias = Literal["read", "write", "danger"]
Effects: TypeAlias = Literal["none", "idempotent", "once"]
RiskOf: TypeAlias = Callable[[Mapping[str, Any]], Risk | None]

MAX_RESULT = 50_000


class ToolOptions(TypedDict, total=False):
    """What `tool()` takes beside the function; see `Tool` for the meaning of the fields not named here.

    `name` and `description` replace what the function's name and docstring say. `coerce=False` refuses "10" where a
    number is wanted. `strict=True` makes `parameters` a strict schema (every property required, none added), in which
    null stands for "not given"; what cannot be put that way is a ConfigError.
    """

    name: str
    description: str
    coerce: bool
    strict: bool
    risk: Risk | None
    risk_of: RiskOf | None
    effects: Effects | None
    parallel: bool
    timeout: float | None
    max_result: int | None
    isolate: Literal["process"] | None
    retries: int


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool. Calling it calls its function, as if it had never been wrapped.

    Made by hand, `parameters` is a JSON Schema of type object (empty: any object), checked by jsonschema-rs, which
    never fetches a remote `$ref`; the function gets the arguments by keyword. `tool()` fills `parameters` from the
    function's signature.

    `risk` and `effects` are the owner's word on what a call can do: `effects="none"` changes nothing, `"idempotent"`
    may be repeated, `"once"` must not be. Unset is None, which a policy treats as danger. `risk_of` judges one call by
    its arguments, where calls differ: writing a note is `write`, writing a file that runs by itself is `danger`; None
    is the tool's own risk. `parallel` lets calls of one step run at the same time. `timeout` is in seconds per try.
    `max_result` caps the result's text in characters (None: no cap). `isolate="process"` runs each call in a child
    process, which is killed at the timeout; the function must be one that a new process can import. `retries` is how
    often a call that raised or timed out is tried again, at once; it needs `effects` none or idempotent, and a
    ToolError is never retried.

    Raises ConfigError when any of this cannot work.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    function: Callable[..., Any] | None = field(default=None, repr=False)
    risk: Risk | None = None
    effects: Effects | None = None
    parallel: bool = False
    timeout: float | None = None
    max_result: int | None = MAX_RESULT
    isolate: Literal["process"] | None = None
    retries: int = 0
    risk_of: RiskOf | None = field(default=None, repr=False)
    signature: Signature | None = field(default=None, repr=False)
    is_async: bool = field(init=False, repr=False)
    """Whether calling the function gives a coroutine."""
    _raw: RawSchema | None = field(init=False, repr=False)
    _context: str | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.name or self.name != self.name.strip():
            raise ConfigError(f"a tool's name must be text without blanks around it, not {self.name!r}")
        if not any(letter.isalnum() for letter in self.name):
            raise ConfigError(f"a tool's name needs a letter or digit, as providers demand, not {self.name!r}")
        self._check_options()
        raw = None
        if self.signature is None:
            from agentloop.tools.rawschema import RawSchema

            raw = RawSchema.compile(self.name, self.parameters)
            object.__setattr__(self, "parameters", raw.schema)
        object.__setattr__(self, "_raw", raw)
        function = self.function
        object.__setattr__(self, "is_async", function is not None and is_async(function))
        object.__setattr__(self, "_context", None if function is None else context_parameter(function))

    def _check_options(self) -> None:
        if self.risk not in (None, "read", "write", "danger"):
            raise ConfigError(f"tool {self.name}: risk must be read, write or danger, not {self.risk!r}")
        if self.effects not in (None, "none", "idempotent", "once"):
            raise ConfigError(f"tool {self.name}: effects must be none, idempotent or once, not {self.effects!r}")
        if self.timeout is not None and not (_is_number(self.timeout) and self.timeout > 0):
            raise ConfigError(f"tool {self.name}: timeout must be above 0 seconds, or None; it is {self.timeout!r}")
        if self.max_result is not None and not (_is_number(self.max_result) and self.max_result >= 0):
            raise ConfigError(f"tool {self.name}: max_result must be 0 or more characters, or None")
        if not (_is_number(self.retries) and self.retries >= 0) or (
            self.retries and self.effects not in ("none", "idempotent")
        ):
            raise ConfigError(f'tool {self.name}: retries needs effects="none" or "idempotent", and 0 or more of them')
        if self.isolate is not None:
            from agentloop.tools.isolate import check_importable

            check_importable(self.name, self.isolate, self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.function is None:
            raise ConfigError(f"tool {self.name} has no function to call: pass function= when you make it")
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        """A tool made from a method in a class body becomes, on an object of the class, the tool of that object."""
        if instance is None or self.function is None or self.signature is None or not self.is_unbound:
            return self
        return replace(self, function=MethodType(self.function, instance), signature=self.signature.bound())

    @property
    def is_unbound(self) -> bool:
        """Whether this was made from a method that still lacks its object, so that it cannot run."""
        return self.signature is not None and self.signature.takes.unbound

    def validate(self, arguments: Mapping[str, Any]) -> Bound:
        """The call that `arguments` amount to: checked, converted, with defaults filled in.

        Raises ToolError with a short text for the model: each fault with its path, what was expected and what came.
        """
        if self.signature is not None:
            return self.signature.bind(self.name, arguments)
        if self._raw is not None:
            self._raw.check(self.name, arguments)
        return bind_by_name(arguments, self._context)

    def risk_for(self, arguments: Mapping[str, Any] | None) -> Risk | None:
        """The risk of a call with these arguments. Danger when `risk_of` cannot judge them; None when nobody says."""
        if self.risk_of is None or arguments is None:
            return self.risk
        try:
            return self.risk_of(arguments) or self.risk
        except Exception:  # arguments that no schema has checked yet
            return "danger"

    def strict_schema(self) -> StrictSchema:
        """`parameters` in the form that providers with strict schemas want, and what got lost on the way."""
        from agentloop.tools.strict import strict_schema

        return strict_schema(self.parameters)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


@overload
def tool(function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> Tool: ...
@overload
def tool(function: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a Tool from a function, a method of an object, a partial or any callable: `@tool`, `@tool(...)`, `tool(f)`.

    The schema comes from the annotations; descriptions from `Annotated[..., "text"]` or `Field`, and from a docstring
    in Google, NumPy or Sphinx form. A parameter annotated with `ToolContext` is filled in by the runtime, and arguments
    that a partial has fixed stay out of the schema. Raises ConfigError for a signature that a model cannot call.
    """
    # Annotations may be strings that name classes of the function we are called in.
    names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]  # inspect offers no other way
    if function is not None:
        return _make(function, names, options)

    def decorate(function: Callable[..., Any]) -> Tool:
        return _make(function, names, options)

    return decorate


def _make(function: Callable[..., Any], names: Mapping[str, Any], options: ToolOptions) -> Tool:
    from agentloop.tools.describe import describe
    from agentloop.tools.schema import Signature

    if not callable(function):
        raise ConfigError(f"tool() wraps a callable, not {type(function).__name__}")
    if isinstance(function, Tool):
        raise ConfigError(f"{function.name} is a tool already")
    about = describe(function)
    unknown = options.keys() - ToolOptions.__annotations__.keys()
    if unknown:
        known = ", ".join(ToolOptions.__annotations__)
        raise ConfigError(f"tool {about.name}: unknown option {', '.join(sorted(unknown))}; there are {known}")
    name = options.get("name", about.name)
    if not name.isidentifier() and "name" not in options:
        raise ConfigError(f"{name} has no name that a model could call: pass name= to tool()")
    coerce, strict = options.pop("coerce", True), options.pop("strict", False)
    signature = Signature.read(name, function, names, about.parameters, coerce=coerce, strict=strict)
    return Tool(
        name=name,
        description=options.get("description", about.text),
        parameters=signature.parameters,
        function=function,
        risk=options.get("risk"),
        effects=options.get("effects"),
        parallel=options.get("parallel", False),
        timeout=options.get("timeout"),
        max_result=options.get("max_result", MAX_RESULT),
        isolate=options.get("isolate"),
        retries=options.get("retries", 0),
        risk_of=options.get("risk_of"),
        signature=signature,
    )
