"""An agent's settings, made ready: its tools, the spec of its runs, and what a driver needs."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from agentloop.errors import ConfigError
from agentloop.loop.actions import Decided
from agentloop.loop.bindings import Bindings
from agentloop.loop.limits import Limits
from agentloop.loop.result import RunEvent, RunResult
from agentloop.loop.run import Run
from agentloop.loop.settings import AgentSettings, Decisions, History, Prompt
from agentloop.loop.state import RunSpec
from agentloop.messages import UserMessage, messages_from
from agentloop.model import Options
from agentloop.parts import Part
from agentloop.tools.policy import Decision, Deny, Edit, read_decision
from agentloop.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from agentloop.history.answers import Policy as TrimPolicy
    from agentloop.loop.trimming import Trimming
    from agentloop.tools.tool import Tool

__all__ = ["Bundle"]

M = TypeVar("M")


class Bundle(Generic[M]):
    """What `Agent` and `AsyncAgent` are made of. Raises ConfigError for settings that make no sense."""

    def __init__(self, model: M, settings: AgentSettings) -> None:
        _check(model, settings)
        trim = settings.get("trim")
        self.toolbox = Toolbox((*(settings.get("tools") or ()), *_reader(trim)))
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
            before_model=_hooks(settings, "before_model"),
            before_tool=_hooks(settings, "before_tool"),
            after_tool=_hooks(settings, "after_tool"),
            on_prefix_change=settings.get("on_prefix_change", "warn"),
            max_parallel=settings.get("max_parallel", 8),
            on_progress=settings.get("on_progress"),
            clock=settings.get("clock", time.monotonic),
        )
        self.trimming = _trimming(settings)
        self.approval_key = settings.get("approval_key")

    def start(self, prompt: Prompt, messages: History, after: Run | None) -> Run:
        given = list(messages_from(messages))
        if prompt is not None:
            given.append(prompt if isinstance(prompt, UserMessage) else UserMessage(_content(prompt)))
        if not given:
            raise ConfigError("nothing to ask: give a text, or messages= that end in a user message")
        return Run(given, spec=self.spec, id=secrets.token_hex(8), after=after)

    def open(
        self, prompt: Prompt | Run | RunResult, messages: History, decisions: Decisions | None, *, stream: bool
    ) -> tuple[Run, list[RunEvent]]:
        """A run to drive, new or to be gone on with, and the events of the decisions."""
        if isinstance(prompt, RunResult):
            prompt = prompt.run
        run = prompt if isinstance(prompt, Run) else self.start(prompt, messages, None)
        headers = self.spec.options.get("extra_headers")
        run.equip(tools=self.toolbox.specs, stream=stream, trimming=self.trimming, headers=headers)
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


def _trimming(settings: AgentSettings) -> Trimming | None:
    if not settings.keys() & {"trim", "context_limit", "reserve", "counter"}:
        return None
    from agentloop.loop.trimming import Trimming  # loads history/, which an agent that does not trim can do without

    return Trimming.of(
        settings.get("trim"), settings.get("context_limit"), settings.get("reserve", 0), settings.get("counter")
    )


def _reader(trim: TrimPolicy | None) -> Sequence[Tool]:
    """The tool that reads in full what the policy shortens, if there is one."""
    if trim is None:
        return ()
    from agentloop.loop.reader import reader_tool

    reader = reader_tool(trim)
    return (reader,) if reader else ()


def _content(prompt: str | Sequence[Part]) -> str | tuple[Part, ...]:
    return prompt if isinstance(prompt, str) else tuple(prompt)


def _check(model: object, settings: Mapping[str, object]) -> None:
    """Raises ConfigError for what can be seen to be wrong; callers may be untyped."""
    if not hasattr(model, "events"):
        raise ConfigError(f"an agent needs a model such as Client(base_url, model=...), not {model!r:.80}")
    unknown = set(settings) - AgentSettings.__annotations__.keys()
    if unknown:
        raise ConfigError(f"unknown agent setting {', '.join(sorted(unknown))}: see AgentSettings")
    for name, words in (("on_tool_error", ("observe", "stop")), ("on_prefix_change", ("warn", "error", "ignore"))):
        if settings.get(name, words[0]) not in words:
            raise ConfigError(f"{name} is one of {', '.join(words)}, not {settings.get(name)!r}")
    tools, limits = settings.get("tools") or (), settings.get("limits") or Limits()
    if not isinstance(tools, Iterable):
        raise ConfigError(f"an agent's tools are given as a list, not as {tools!r:.80}")
    if not isinstance(limits, Limits):
        raise ConfigError(f"limits are given as Limits(max_steps=...), not as {limits!r:.80}")
    for name in ("policy", "accept"):
        if settings.get(name) is not None and not callable(settings[name]):
            raise ConfigError(f"{name} is a function, not {settings[name]!r:.80}")
    if not isinstance(settings.get("approval_key") or b"", bytes):
        raise ConfigError("approval_key is bytes, such as secrets.token_bytes(32)")


def _hooks(settings: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    hooks = settings.get(name) or ()
    made = tuple(cast("Iterable[object]", hooks)) if isinstance(hooks, Iterable) else None
    if made is None or not all(map(callable, made)):
        raise ConfigError(f"{name} is a list of functions, not {hooks!r:.80}")
    return made
