"""What a driver needs besides the run: who answers, what may be executed, and whom to ask."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from agentloop.cancel import CancelSignal
from agentloop.loop.actions import Decide, Execute, Resolve, Resolved
from agentloop.loop.result import RunResult
from agentloop.loop.run import Run
from agentloop.messages import ToolCall, ToolResult
from agentloop.model import ModelRequest
from agentloop.tools.context import ToolContext
from agentloop.tools.toolbox import Toolbox, prepare
from agentloop.tools.policy import Allow, Decision, Policy, ToolRequest

__all__ = ["Accept", "AfterTool", "BeforeModel", "Bindings"]

Accept: TypeAlias = Callable[[RunResult], "str | Awaitable[str | None] | None"]
BeforeModel: TypeAlias = Callable[[ModelRequest], ModelRequest | Awaitable[ModelRequest]]
AfterTool: TypeAlias = Callable[[ToolCall, ToolResult], ToolResult | Awaitable[ToolResult]]

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Bindings(Generic[M]):
    """`before_model` and `after_tool` are called in order, and each gets what the one before it returned. `clock` gives
    seconds that only rise."""

    model: M
    toolbox: Toolbox
    policy: Policy | None = None
    accept: Accept | None = None
    before_model: tuple[BeforeModel, ...] = ()
    after_tool: tuple[AfterTool, ...] = ()
    max_parallel: int = 8
    clock: Callable[[], float] = time.monotonic
