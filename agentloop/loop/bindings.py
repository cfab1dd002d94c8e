"""What a driver needs besides the run: who answers, what may be executed, and whom to ask."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Literal, TypeAlias, TypeVar

from agentloop.cancel import CancelSignal
from agentloop.errors import ConfigError
from agentloop.loop.actions import Ask, Decide, Execute, Resolve, Resolved
from agentloop.loop.result import RunResult
from agentloop.loop.run import Run
from agentloop.messages import ToolCall, ToolResult
from agentloop.model import ModelRequest
from agentloop.tools.context import ToolContext
from agentloop.tools.policy import Allow, Decision, Policy, ToolRequest, decide
from agentloop.tools.toolbox import Prepared, Toolbox, prepare

__all__ = ["Accept", "AfterTool", "BeforeModel", "BeforeTool", "Bindings", "returned"]

Accept: TypeAlias = Callable[[RunResult], "str | Awaitable[str | None] | None"]
BeforeModel: TypeAlias = Callable[[ModelRequest], ModelRequest | Awaitable[ModelRequest]]
BeforeTool: TypeAlias = Callable[[ToolCall], "Awaitable[None] | None"]
AfterTool: TypeAlias = Callable[[ToolCall, ToolResult], ToolResult | Awaitable[ToolResult]]

M = TypeVar("M")
R = TypeVar("R", ModelRequest, ToolResult)


@dataclass(frozen=True, slots=True)
class Bindings(Generic[M]):
    """`before_model` and `after_tool` are called in order, and each gets what the one before it returned. What stands
    before an action is called before the machine is told that it started: nothing has happened when it raises. `clock`
    gives seconds that only rise. `summariser` answers requests for summaries; None leaves them to `model`."""

    model: M
    toolbox: Toolbox
    summariser: M | None = None
    policy: Policy | None = None
    accept: Accept | None = None
    before_model: tuple[BeforeModel, ...] = ()
    before_tool: tuple[BeforeTool, ...] = ()
    after_tool: tuple[AfterTool, ...] = ()
    on_prefix_change: Literal["warn", "error", "ignore"] = "warn"
    max_parallel: int = 8
    on_progress: Callable[[ToolCall, str], None] | None = None
    clock: Callable[[], float] = time.monotonic

    def model_for(self, ask: Ask) -> M:
        return self.summariser if ask.purpose == "summary" and self.summariser is not None else self.model

    def prepare(self, action: Execute) -> Prepared | ToolResult:
        return prepare(self.toolbox, action.call)

    def context(self, run: Run, action: Execute, cancel: CancelSignal) -> ToolContext:
        deadline = None if action.seconds is None else time.monotonic() + action.seconds
        context = ToolContext(
            run.id, action.call.id, f"{run.id}:{action.key}", deadline, cancel, messages=lambda: run.messages
        )
        if self.on_progress is None:
            return context
        return replace(context, progress=partial(self.on_progress, action.call))

    def decide(self, action: Decide) -> Decision | Awaitable[Decision | None] | None:
        """The policy's decision, None when a person has to decide, or an awaitable of these. A call that cannot run at
        all is let through: executing it tells the model why."""
        if self.policy is None or isinstance(prepare(self.toolbox, action.call), ToolResult):
            return Allow()
        return decide(self.policy, ToolRequest.of(action.call, self.toolbox.get(action.call.name)))

    def judge_prefix(self, run: Run, request: ModelRequest) -> str | None:
        """What to say when the provider's prompt cache will not serve this request; None when all is well."""
        if self.on_prefix_change == "ignore":
            return None
        path = run.moved(request)
        if path is None:
            return None
        return f"the request does not go on from the last one: {path} changed, so the provider's prompt cache is lost"

    def resolve(self, action: Resolve) -> Resolved:
        """A call in doubt runs again if its tool says that this does no harm; else the model is told of the doubt."""
        tool = self.toolbox.get(action.call.name)
        if tool is not None and tool.effects in ("none", "idempotent"):
            return Resolved(action.key)
        text = "this call was started before the program ended; it may have taken effect, and its result is lost"
        return Resolved(action.key, ToolResult(text, is_error=True, kind="cancelled"))


def returned(kind: type[R], hook: object, answer: object) -> R:
    """What a hook returned. ConfigError when it is no such thing: a hook that only looks on forgets to return."""
    if isinstance(answer, kind):
        return answer
    name = getattr(hook, "__name__", type(hook).__name__)
    raise ConfigError(f"the hook {name} returned {answer!r:.80}: it must return the {kind.__name__} to go on with")
