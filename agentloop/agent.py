"""Agents: a model, its tools, its instructions and its limits, bundled. An agent holds no conversation."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, Unpack

from agentloop.cancel import CancelSignal
from agentloop.errors import ConfigError
from agentloop.history.answers import Policy as TrimPolicy
from agentloop.history.tokens import TokenCounter
from agentloop.loop.actions import Decided
from agentloop.loop.asking import Trimming
from agentloop.loop.bindings import Accept, AfterTool, BeforeModel, BeforeTool, Bindings
from agentloop.loop.drive import Driver
from agentloop.loop.limits import Limits
from agentloop.loop.reader import reader_tool
from agentloop.loop.result import RunEvent, RunResult
from agentloop.loop.run import Run
from agentloop.loop.state import RunSpec
from agentloop.messages import Message, UserMessage, messages_from
from agentloop.model import AsyncModel, Model, Options, ToolChoice
from agentloop.parts import Part, ToolCall
from agentloop.tools.policy import Decision, Deny, Edit, Policy, read_decision
from agentloop.tools.tool import Tool
from agentloop.tools.toolbox import Toolbox

__all__ = ["Agent", "AgentSettings", "AsyncAgent", "AsyncRunStream", "RunStream"]

M = TypeVar("M")
Prompt: TypeAlias = str | Sequence[Part] | UserMessage | None
History: TypeAlias = Iterable[Message | Mapping[str, Any]]
Decisions: TypeAlias = Mapping[str, Decision | str]


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


class _Bundle(Generic[M]):
    """What both agents are made of."""

    def __init__(self, model: M, settings: AgentSettings) -> None:
        unknown = set(settings) - AgentSettings.__annotations__.keys()
        if unknown:
            raise ConfigError(f"unknown agent setting {', '.join(sorted(unknown))}: see AgentSettings")
        for name, words in (("on_tool_error", ("observe", "stop")), ("on_prefix_change", ("warn", "error", "ignore"))):
            if settings.get(name, words[0]) not in words:
                raise ConfigError(f"{name} is one of {', '.join(words)}, not {settings.get(name)!r}")
        trim = settings.get("trim")
        reader = reader_tool(trim)
        self.toolbox = Toolbox((*settings.get("tools", ()), *([reader] if reader else [])))
        self.spec = RunSpec(
            instructions=settings.get("instructions"),
            limits=settings.get("limits") or Limits(),
            options=Options(**settings.get("request_options") or {}),
            tool_choice=settings.get("tool_choice"),
            on_tool_error=settings.get("on_tool_error", "observe"),
            strict=settings.get("strict", False),
            max_refusals=settings.get("max_refusals", 2),
            decides=settings.get("policy") is not None,
            checks=settings.get("accept") is not None,
            parallel=frozenset(tool.name for tool in self.toolbox.specs if tool.parallel),
        )
        self.bindings: Bindings[M] = Bindings(
            model=model,
            toolbox=self.toolbox,
            summariser=getattr(trim, "model", None),
            policy=settings.get("policy"),
            accept=settings.get("accept"),
            before_model=tuple(settings.get("before_model", ())),
            before_tool=tuple(settings.get("before_tool", ())),
            after_tool=tuple(settings.get("after_tool", ())),
            on_prefix_change=settings.get("on_prefix_change", "warn"),
            max_parallel=settings.get("max_parallel", 8),
            on_progress=settings.get("on_progress"),
            clock=settings.get("clock", time.monotonic),
        )
        self.trimming = Trimming.of(
            trim, settings.get("context_limit"), settings.get("reserve", 0), settings.get("counter")
        )
        self.approval_key = settings.get("approval_key")

    def start(self, prompt: Prompt, messages: History, after: Run | None) -> Run:
        given = list(messages_from(messages))
        if prompt is not None:
            given.append(prompt if isinstance(prompt, UserMessage) else UserMessage(_content(prompt)))
        if not given:
            raise ConfigError("nothing to ask: give a text, or messages= that end in a user message")
        return Run(given, spec=self.spec, id=secrets.token_hex(8), after=after)

    def reopen(self, run: Run | RunResult, decisions: Decisions | None, *, stream: bool) -> tuple[Run, list[RunEvent]]:
        run = run.run if isinstance(run, RunResult) else run
        run.equip(tools=self.toolbox.specs, stream=stream, trimming=self.trimming)
        events: list[RunEvent] = []
        for call_id, decision in (decisions or {}).items():
            key, decided = run.key_of(call_id), read_decision(decision)
            self._check_digest(run, call_id, decided)
            events += run.receive(Decided(key, decided), self.bindings.clock())
        return run, events

    def _check_digest(self, run: Run, call_id: str, decision: Decision) -> None:
        """A permission with a digest, or any when there is an approval key, must be for the call as it stands."""
        if isinstance(decision, Deny) or (decision.digest is None and self.approval_key is None):
            return
        arguments = decision.arguments if isinstance(decision, Edit) else None
        wanted = run.digest(call_id, arguments=arguments, key=self.approval_key)
        if not hmac.compare_digest(wanted, decision.digest or ""):
            how = "is not signed with the approval key, or " if self.approval_key else ""
            raise ConfigError(f"the approval of {call_id} {how}is for another call than the one that waits: ask again")


def _content(prompt: str | Sequence[Part]) -> str | tuple[Part, ...]:
    return prompt if isinstance(prompt, str) else tuple(prompt)


class Agent:
    """Asks the model, runs the tools it asks for, and asks again, until it answers or a limit is reached.

    `Agent(model, tools=[...], instructions="...", limits=Limits(...))`; see `AgentSettings` for the rest. An agent may
    run in many threads at once; runs share nothing but the model.
    """

    def __init__(self, model: Model, **settings: Unpack[AgentSettings]) -> None:
        self._bundle = _Bundle(model, settings)
        self.model = model

    def start(self, prompt: Prompt, *, messages: History = (), after: Run | None = None) -> Run:
        """A run that has not begun: nothing is sent until it is given to `resume` or `stream`. `after` is
        the run that `messages` come from, so that its summary goes on serving."""
        return self._bundle.start(prompt, messages, after)

    def run(self, prompt: Prompt, *, messages: History = ()) -> RunResult:
        """Run to the end and return the result, whatever its status. `messages` is the history to continue from."""
        return self.resume(self.start(prompt, messages=messages))

    def resume(self, run: Run | RunResult, decisions: Decisions | None = None) -> RunResult:
        """Go on with a run that is paused, loaded or new. `decisions` maps the ids of `result.pending` to "allow",
        `deny(reason)` or `edit(arguments)`; calls that are left out keep waiting."""
        return self.stream(run, decisions=decisions, stream=False).finish()

    def stream(
        self,
        prompt: Prompt | Run | RunResult,
        *,
        messages: History = (),
        decisions: Decisions | None = None,
        stream: bool = True,
    ) -> RunStream:
        """The same, event by event: `with agent.stream("...") as events: for event in events: ...`. Use the `with`: it
        closes the HTTP response when you leave early. `stream=False` asks for whole replies."""
        run = prompt if isinstance(prompt, (Run, RunResult)) else self.start(prompt, messages=messages)
        run, first = self._bundle.reopen(run, decisions, stream=stream)
        return RunStream(run, self._bundle.bindings, first)


class AsyncAgent:
    """`Agent` for `async`: the same settings, and `await agent.run(...)`."""

    def __init__(self, model: AsyncModel, **settings: Unpack[AgentSettings]) -> None:
        self._bundle = _Bundle(model, settings)
        self.model = model

    def start(self, prompt: Prompt, *, messages: History = (), after: Run | None = None) -> Run:
        """As `Agent.start`; it is not a coroutine, since nothing is sent."""
        return self._bundle.start(prompt, messages, after)

    async def run(self, prompt: Prompt, *, messages: History = ()) -> RunResult:
        """As `Agent.run`."""
        return await self.resume(self.start(prompt, messages=messages))

    async def resume(self, run: Run | RunResult, decisions: Decisions | None = None) -> RunResult:
        """As `Agent.resume`."""
        return await self.stream(run, decisions=decisions, stream=False).finish()

    def stream(
        self,
        prompt: Prompt | Run | RunResult,
        *,
        messages: History = (),
        decisions: Decisions | None = None,
        stream: bool = True,
    ) -> AsyncRunStream:
        """As `Agent.stream`, with `async with` and `async for`."""
        run = prompt if isinstance(prompt, (Run, RunResult)) else self.start(prompt, messages=messages)
        run, first = self._bundle.reopen(run, decisions, stream=stream)
        return AsyncRunStream(run, self._bundle.bindings, first)


def _close_unless_paused(run: Run) -> None:
    """A generator that never began does not see that it is closed."""
    if run.status is None:
        run.cancel()


class RunStream:
    """The events of a run. `cancel()` may be called from any thread; `result` is there once the events have ended."""

    def __init__(self, run: Run, bindings: Bindings[Model], first: Sequence[RunEvent] = ()) -> None:
        self.run = run
        self._cancel = CancelSignal()
        self._first = list(first)
        self._events = Driver(run, bindings, self._cancel).events()

    def __iter__(self) -> RunStream:
        return self

    def __next__(self) -> RunEvent:
        return self._first.pop(0) if self._first else next(self._events)

    def __enter__(self) -> RunStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def result(self) -> RunResult:
        """The run's result; ValueError while it goes on."""
        return self.run.result()

    def cancel(self) -> None:
        """Stop the run where it is; its events end with status "cancelled"."""
        self._cancel.cancel()

    def close(self) -> None:
        """Leave now: an unfinished run is closed as cancelled."""
        self._events.close()
        _close_unless_paused(self.run)

    def finish(self) -> RunResult:
        """Read the remaining events and return the result."""
        for _ in self:
            pass
        return self.result


class AsyncRunStream:
    """`RunStream` for `async with` and `async for`."""

    def __init__(self, run: Run, bindings: Bindings[AsyncModel], first: Sequence[RunEvent] = ()) -> None:
        self.run = run
        self._cancel = CancelSignal()
        self._first = list(first)
        from agentloop.loop.drive_async import AsyncDriver  # asyncio is a third of what importing httpx costs

        self._events = AsyncDriver(run, bindings, self._cancel).events()

    def __aiter__(self) -> AsyncRunStream:
        return self

    async def __anext__(self) -> RunEvent:
        return self._first.pop(0) if self._first else await anext(self._events)

    async def __aenter__(self) -> AsyncRunStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def result(self) -> RunResult:
        """The run's result; ValueError while it goes on."""
        return self.run.result()

    def cancel(self) -> None:
        """Stop the run where it is, from any thread; its events end with status "cancelled"."""
        self._cancel.cancel()

    async def aclose(self) -> None:
        """Leave now: an unfinished run is closed as cancelled."""
        await self._events.aclose()
        _close_unless_paused(self.run)

    async def finish(self) -> RunResult:
        """Read the remaining events and return the result."""
        async for _ in self:
            pass
        return self.result
