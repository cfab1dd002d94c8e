"""What an agent takes, and the forms in which it may be asked. Only words: what they name is loaded with an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from agentloop.history.answers import Policy as TrimPolicy
    from agentloop.history.tokens import TokenCounter
    from agentloop.loop.bindings import Accept, AfterTool, BeforeModel, BeforeTool
    from agentloop.loop.limits import Limits
    from agentloop.messages import Message, UserMessage
    from agentloop.model import Options, ToolChoice
    from agentloop.parts import Part, ToolCall
    from agentloop.tools.policy import Decision, Policy
    from agentloop.tools.tool import Tool

__all__ = ["AgentSettings", "Decisions", "History", "Prompt"]

Prompt: TypeAlias = "str | Sequence[Part] | UserMessage | None"
History: TypeAlias = "Iterable[Message | Mapping[str, Any]]"
Decisions: TypeAlias = "Mapping[str, Decision | str]"


class AgentSettings(TypedDict, total=False):
    """What an agent takes beside its model.

    tools            what the model may call: Tool objects, made by `@tool` or by hand
    instructions     head every request; they are no part of the history
    limits           `Limits(max_steps=10)` by default
    request_options  fields for each model call, named as in `Client.respond` (`max_tokens`, `temperature`, ...)
    tool_choice      for the first request of a run only
    on_tool_error    "observe" (the model is told, default) or "stop" (the run ends in `tool_error`)
    strict           any repair of a reply ends the run in `protocol_error`
    accept           checks an answer: None accepts it, a text goes back to the model; `max_refusals` (2) bounds that
    policy           judges each call before it runs: "allow", "ask", "deny" or `deny(reason)`
    trim             a trimming policy of `agentloop.history`: what requests show of a long history
    context_limit    tokens of the model's context; no request passes it less `reserve`, which is for the answer
    counter          a TokenCounter; by default an estimate that corrects itself
    on_prefix_change "warn" (default), "error" or "ignore": when a request does not begin as the one before did, so that
                     the provider's prompt cache is lost; cuts by `trim` do not count
    before_model     functions of a request that return the request to send, in order
    before_tool      functions of a call, in order, before it counts as started
    after_tool       functions of a call and its result that return the result to keep, in order
    approval_key     bytes; then a permission counts only with a digest signed by this key (see `Run.digest`)
    on_progress      called with a call and a text whenever a tool reports progress, in the tool's thread
    max_parallel     how many tools that are `parallel` run at the same time (8)
    clock            seconds that only rise; for tests
    """

    tools: Iterable[Tool]
    instructions: str | None
    limits: Limits
    request_options: Options
    tool_choice: ToolChoice | None
    on_tool_error: Literal["observe", "stop"]
    strict: bool
    accept: Accept | None
    max_refusals: int
    policy: Policy | None
    trim: TrimPolicy | None
    context_limit: int | None
    reserve: int
    counter: TokenCounter | None
    on_prefix_change: Literal["warn", "error", "ignore"]
    before_model: Iterable[BeforeModel]
    before_tool: Iterable[BeforeTool]
    after_tool: Iterable[AfterTool]
    approval_key: bytes | None
    on_progress: Callable[[ToolCall, str], None] | None
    max_parallel: int
    clock: Callable[[], float]
