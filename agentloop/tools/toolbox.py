"""An agent's tools by name, and what a call to one of them amounts to before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agentloop.arguments import read_arguments
from agentloop.errors import ConfigError, ToolError
from agentloop.messages import ToolCall, ToolResult
from agentloop.repairs import Repair
from agentloop.tools.calling import Bound
from agentloop.tools.results import error_text
from agentloop.tools.tool import Tool

__all__ = ["Prepared", "Toolbox", "prepare"]

# What models put before a tool's name; seen in calls of models that were trained on such a notation.
_PREFIXES = ("functions.", "function.", "tools.", "default_api.")
_MOST_NAMES = 20


class Toolbox:
    """Tools by name, in the order given. Raises ConfigError for two of one name and for one without a function."""

    __slots__ = ("_by_name", "specs")

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._by_name: dict[str, Tool] = {}
        for tool in tools:
            if not isinstance(tool, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers may be untyped
                raise ConfigError(
                    f"an agent's tools are Tool objects, not {tool!r:.80}: wrap functions with tool(), "
                    "or make a Tool(name, description, parameters, function=...)"
                )
            if tool.function is None:
                raise ConfigError(f"tool {tool.name} has no function, so an agent cannot run it: pass function=")
            if tool.is_unbound:
                raise ConfigError(f"tool {tool.name} was made from a method: pass an_object.{tool.name}")
            if tool.name in self._by_name:
                raise ConfigError(f"two tools are named {tool.name}: pass name= to one of them")
            self._by_name[tool.name] = tool
        self.specs: tuple[Tool, ...] = tuple(self._by_name.values())

    def get(self, name: str) -> Tool | None:
        """The tool that a model means by `name`: the exact one, or the one that is left without blanks around the name
        or a prefix such as `functions.`; letter case counts."""
        found = self._by_name.get(name)
        if found is not None:
            return found
        name = name.strip()
        for prefix in _PREFIXES:
            if name.startswith(prefix) and name not in self._by_name:
                name = name.removeprefix(prefix)
        return self._by_name.get(name)

    def unknown(self, name: str) -> str:
        """What to tell a model that called a tool which is not there."""
        import difflib

        names = list(self._by_name)
        head = f"There is no tool named {name[:80]!r}." if name.strip() else "The call names no tool."
        if not names:
            return f"{head} There are no tools: answer without one."
        lower = {each.lower(): each for each in names}
        near = [lower[each] for each in difflib.get_close_matches(name.strip().lower(), lower, n=3, cutoff=0.6)]
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"{head}{hint} Known tools: {', '.join(names[:_MOST_NAMES])}{more}."


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that may run: its tool, and its arguments checked and in place. `repair` tells that they were mended."""

    call: ToolCall
    tool: Tool
    bound: Bound = field(repr=False)
    repair: Repair | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as the model wrote them, read anew each time: a tool may change what it was given."""
        return read_arguments(self.call.arguments).value or {}

    def again(self) -> Prepared:
        """The same call with fresh arguments, for another try."""
        return Prepared(self.call, self.tool, self.tool.validate(self.arguments), self.repair)


def prepare(toolbox: Toolbox, call: ToolCall) -> Prepared | ToolResult:
    """Find the tool and check the arguments; no function runs.

    Gives an error result of kind `unknown_tool` or `bad_arguments` instead when the call cannot run. Arguments that had
    to be mended never run a tool whose effects are `once`.
    """
    tool = toolbox.get(call.name)
    if tool is None:
        return ToolResult(toolbox.unknown(call.name), is_error=True, kind="unknown_tool")
    read = read_arguments(call.arguments)
    if read.value is None:
        return _bad(read.error or "The arguments must be a JSON object.")
    if read.repair is not None and tool.effects == "once":
        return _bad(
            f"The arguments were not valid JSON ({read.repair.what}), and {tool.name} acts only once, so it did not "
            "run on a guess. Call it again with one valid JSON object."
        )
    try:
        return Prepared(call, tool, tool.validate(read.value), read.repair)
    except ToolError as error:
        return _bad(str(error), error)
    except Exception as error:  # a validator of the tool's own types may raise anything
        return _bad(f"Bad arguments for {tool.name}: {error_text(error)[:300]}", error)


def _bad(text: str, cause: Exception | None = None) -> ToolResult:
    return ToolResult(text, is_error=True, kind="bad_arguments", cause=cause)
