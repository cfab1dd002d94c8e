"""From options to an agent that can be followed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from agentloop.agent import Agent
from agentloop.cli.approval import Approval
from agentloop.cli.conversations import load
from agentloop.cli.following import Follower, Stepper
from agentloop.cli.models import STAND_IN, open_client
from agentloop.cli.screen import Screen
from agentloop.cli.settings import Settings
from agentloop.cli.toolset import tools_of
from agentloop.loop.limits import Limits
from agentloop.loop.result import RunResult
from agentloop.messages import Message
from agentloop.model import Model
from agentloop.tools.tool import Tool

__all__ = ["Assembly"]


@dataclass(slots=True)
class Assembly:
    """A model, its tools and who watches. `instructions` may be changed between runs; `loaded` is the conversation that
    --load names."""

    model: Model
    provider: str
    tools: Sequence[Tool]
    limits: Limits
    approval: Approval
    follower: Follower
    stepper: Stepper | None
    instructions: str | None
    loaded: tuple[Message, ...]

    @staticmethod
    @contextmanager
    def open(settings: Settings, screen: Screen, *, quiet: bool = False) -> Generator[Assembly]:
        """Everything is checked before the model is asked: raises ConfigError for what cannot be used. `quiet` keeps
        stdout free."""
        tools = tools_of(settings)
        approval = Approval.of(settings, screen)
        loaded = load(settings.load) if settings.load else ()
        streams = (screen.out.isatty() and not quiet) if settings.stream is None else settings.stream
        stepper = Stepper(screen) if settings.step else None
        follower = Follower(screen, approval, stepper, text=streams, quiet=quiet, verbose=settings.verbose)
        limits = Limits(settings.max_steps, settings.max_tool_steps, max_seconds=settings.timeout)
        with open_client(settings, screen) as client:
            provider = STAND_IN if settings.mock else client.provider
            yield Assembly(client, provider, tools, limits, approval, follower, stepper, settings.system, loaded)

    def follow(self, text: str, messages: Sequence[Message]) -> RunResult:
        """One run with this text after these messages, shown as it goes."""
        agent = Agent(
            self.model,
            tools=self.tools,
            instructions=self.instructions,
            limits=self.limits,
            policy=self.approval.policy,
            before_model=[self.stepper.before_model] if self.stepper else (),
        )
        return self.follower.follow(agent, agent.start(text, messages=messages))
