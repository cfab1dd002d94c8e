"""The tools that a command offers."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from agentloop.cli.settings import Settings
from agentloop.errors import ConfigError

if TYPE_CHECKING:
    from agentloop.tools.tool import Tool

__all__ = ["demo_tools", "load_tool", "tools_of"]


def tools_of(settings: Settings) -> list[Tool]:
    """All tools that the options name. Raises ConfigError for one that cannot be loaded."""
    return [*(demo_tools() if settings.demo_tools else ()), *map(load_tool, settings.tools)]


def demo_tools() -> list[Tool]:
    """The tools that the stand-in knows how to use: they look a temperature up in a table, and convert it."""
    from agentloop.mock.demo import convert_temperature, get_weather
    from agentloop.tools.tool import tool

    return [tool(function, risk="read", effects="none") for function in (get_weather, convert_temperature)]


def load_tool(name: str) -> Tool:
    """The tool "module:name": a Tool as it is, a function made into one. The working directory is searched first.

    Raises ConfigError when there is none; what the module itself raises passes through.
    """
    from agentloop.tools.tool import Tool, tool

    module_name, colon, attribute = name.partition(":")
    if not (colon and module_name and attribute):
        raise ConfigError(f"--tool {name}: write it as MODULE:NAME, for example weather:get_weather")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: object = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise ConfigError(f"--tool {name}: there is no module {error.name!r} here or on the Python path") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"--tool {name}: {module_name} has no {attribute!r}")
        found = getattr(found, part)
    if isinstance(found, Tool):
        return found
    if not callable(found):
        raise ConfigError(f"--tool {name}: it is neither a Tool nor a function, but {type(found).__name__}")
    return tool(found)
