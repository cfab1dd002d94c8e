"""The tools that a command offers."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from agentloop.cli.settings import Settings
from agentloop.errors import ConfigError

if TYPE_CHECKING:
    from agentloop.tools.tool import Tool

__all__ = ["MEMORY_FILE", "demo_tools", "load_tool", "toolbox_tools", "tools_of"]

MEMORY_FILE = ".agentloop-memory.sqlite"


def tools_of(settings: Settings) -> list[Tool]:
    """All tools that the options name. Raises ConfigError for one that cannot be loaded."""
    ready = [tool for name in settings.toolbox for tool in toolbox_tools(name, settings.root)]
    return [*(demo_tools() if settings.demo_tools else ()), *ready, *map(load_tool, settings.tools)]


def toolbox_tools(name: str, root: Path | None) -> list[Tool]:
    """The tools of one room of the toolbox. Raises ConfigError for an unknown one, and for one that lacks its root."""
    match name:
        case "files":
            from agentloop.toolbox.files import file_tools

            return file_tools(_needed(root, name))
        case "web":
            from agentloop.toolbox.web import web_tool

            return [web_tool()]
        case "python":
            from agentloop.toolbox.python import python_tool

            return [python_tool()]
        case "calc":
            from agentloop.toolbox.calc import calc_tool

            return [calc_tool()]
        case "time":
            from agentloop.toolbox.clock import time_tool

            return [time_tool()]
        case "memory":
            from agentloop.toolbox.memory import memory_tools

            return memory_tools(_needed(root, name) / MEMORY_FILE)
        case _:
            raise ConfigError(f"--toolbox {name}: there are files, web, python, calc, time and memory")


def _needed(root: Path | None, name: str) -> Path:
    if root is None:
        raise ConfigError(f"--toolbox {name} needs --root DIR: the folder that these tools work in")
    return root


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
