"""What the tests of agents share: tools, a call, and a run through either driver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentloop import Agent, AsyncAgent, RunResult, tool
from agentloop.parts import ToolCall
from agentloop.testing import ScriptedModel

RunIt = Callable[..., RunResult]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def slow_add(a: int, b: int) -> int:
    return a + b


@tool
def boom() -> str:
    raise ValueError("no")


ADD = ToolCall("c1", "add", '{"a":1,"b":2}')


def run_sync(model: ScriptedModel, prompt: Any = "go", *, messages: Any = (), **settings: Any) -> RunResult:
    return Agent(model, **settings).run(prompt, messages=messages)


def run_async(model: ScriptedModel, prompt: Any = "go", *, messages: Any = (), **settings: Any) -> RunResult:
    return asyncio.run(AsyncAgent(model, **settings).run(prompt, messages=messages))


both = pytest.mark.parametrize("run_it", [run_sync, run_async])
