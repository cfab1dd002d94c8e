"""A call run to its end by either driver: tests that take `run` hold for both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentloop.messages import ToolCall, ToolResult
from agentloop.tools.context import ToolContext
from agentloop.tools.execute import execute, execute_async
from agentloop.tools.tool import Tool, tool
from agentloop.tools.toolbox import Toolbox, prepare


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Callable[..., ToolResult]:
    def run_call(made: Any, arguments: str = "{}", context: ToolContext | None = None) -> ToolResult:
        found = made if isinstance(made, Tool) else tool(made)
        prepared = prepare(Toolbox([found]), ToolCall("c1", found.name, arguments))
        if isinstance(prepared, ToolResult):
            return prepared
        context = context or ToolContext()
        if request.param == "sync":
            return execute(prepared, context=context)
        return asyncio.run(execute_async(prepared, context=context))

    return run_call
