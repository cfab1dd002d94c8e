"""From options to an agent that can be followed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentloop.agent import Agent, AgentSettings
from agentloop.cli.approval import Approval
from agentloop.cli.conversations import load
from agentloop.cli.following import Follower, Stepper
from agentloop.cli.models import STAND_IN, open_client
from agentloop.cli.screen import Screen
from agentloop.cli.settings import Settings
from agentloop.cli.toolset import tools_of
from agentloop.history.tokens import EstimateCounter
from agentloop.history.trim import TokenBudget
from agentloop.loop.actions import Ask
from agentloop.loop.limits import Limits
from agentloop.loop.result import RunResult
from agentloop.loop.run import Run
from agentloop.messages import Message
from agentloop.model import Model, ModelRequest
from agentloop.tools.tool import Tool

if TYPE_CHECKING:
    from agentloop.cli.tracing import Trace

__all__ = ["Assembly"]


@dataclass(slots=True)
class Assembly:
    """A model, its tools and who watches. `provider` says who answers, `loaded` is the conversation that --load names,
    and `instructions` may be changed between runs."""

    model: Model
    provider: str
    tools: Sequence[Tool]
    loaded: tuple[Message, ...]
    instructions: str | None
    _follower: Follower
    _settings: AgentSettings
    _trace: Trace | None

    @staticmethod
    @contextmanager
    def open(
        settings: Settings, screen: Screen, *, quiet: bool = False, unsent: bool = False, trace: Path | None = None
    ) -> Generator[Assembly]:
        """Everything is checked before the model is asked: raises ConfigError for what cannot be used. `quiet` keeps
        stdout free; `unsent` says that nobody will be asked; `trace` is the file to write a trace to."""
        tools = tools_of(settings)
        approval = Approval.of(settings, screen)
        loaded = load(settings.load) if settings.load else ()
        streams = (screen.out.isatty() and not quiet) if settings.stream is None else settings.stream
        with ExitStack() as stack:
            client = stack.enter_context(open_client(settings, screen, unsent=unsent))
            provider = STAND_IN if settings.mock else client.provider
            traced = stack.enter_context(_traced(trace, screen)) if trace else None
            if traced:
                approval.watch = traced.decided
            follower = Follower(screen, approval, text=streams, trace=traced, quiet=quiet, verbose=settings.verbose)
            model = traced.watch(client) if traced else client
            chosen = _agent_settings(settings, screen, tools, approval, follower)
            yield Assembly(model, provider, tools, loaded, settings.system, follower, chosen, traced)

    def follow(self, text: str, messages: Sequence[Message], after: Run | None = None) -> RunResult:
        """One run with this text after these messages, shown as it goes. `after` is the run that they come from."""
        agent = self._agent()
        run = agent.start(text, messages=messages, after=after)
        if self._trace:
            self._trace.run_started(run, self.model, self.tools)
        result = self._follower.follow(agent, run)
        if self._trace:
            self._trace.run_finished(result)
        return result

    def first_request(self, text: str, messages: Sequence[Message], *, stream: bool) -> ModelRequest:
        """What the first step of a run would ask; nothing is sent."""
        with self._agent().stream(text, messages=messages, stream=stream) as events:
            asks = [action for action in events.run.next() if isinstance(action, Ask)]
        return asks[0].request

    def _agent(self) -> Agent:
        settings = self._settings.copy()
        settings["instructions"] = self.instructions
        return Agent(self.model, **settings)


def _agent_settings(
    settings: Settings, screen: Screen, tools: Sequence[Tool], approval: Approval, follower: Follower
) -> AgentSettings:
    stepper = Stepper(screen) if settings.step else None
    return AgentSettings(
        tools=tools,
        limits=Limits(settings.max_steps, settings.max_tool_steps, max_seconds=settings.timeout),
        policy=approval.policy,
        before_model=[stepper.before_model] if stepper else (),
        before_tool=[stepper.before_tool] if stepper else (),
        on_progress=follower.progress,
        trim=_trim(settings.context_limit),
        context_limit=settings.context_limit,
        counter=EstimateCounter(),  # one for all runs, since it learns
    )


@contextmanager
def _traced(path: Path, screen: Screen) -> Generator[Trace]:
    from agentloop.cli.trace_file import TraceWriter
    from agentloop.cli.tracing import Trace

    def failed(error: OSError) -> None:
        screen.note(f"  the trace ends here: {path}: {error.strerror}", "error")

    with TraceWriter(path, on_failure=failed) as writer:
        yield Trace(writer)


def _trim(limit: int | None) -> TokenBudget | None:
    """An eighth of the context is for the answer, and for the error of the estimate."""
    return None if limit is None else TokenBudget(high=limit - limit // 8, low=(limit + 1) // 2)
