"""A session: many runs, one history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from agentloop.agent import Decisions, Prompt
from agentloop.errors import SessionError
from agentloop.loop.result import RunResult
from agentloop.loop.run import Run
from agentloop.messages import Message, messages_from
from agentloop.pairing import repair

if TYPE_CHECKING:
    from agentloop.history.contents import Ledger

__all__ = ["Runner", "Session"]

ResultT = TypeVar("ResultT", covariant=True)
StreamT = TypeVar("StreamT", covariant=True)


class Runner(Protocol[ResultT, StreamT]):
    """An agent, sync or async: its results and streams are what the session hands on."""

    def start(
        self, prompt: Prompt, *, messages: Iterable[Message | Mapping[str, Any]] = (), after: Run | None = None
    ) -> Run: ...
    def resume(self, run: Run | RunResult, decisions: Decisions | None = None) -> ResultT: ...
    def stream(
        self,
        prompt: Prompt | Run | RunResult,
        *,
        messages: Iterable[Message | Mapping[str, Any]] = (),
        decisions: Decisions | None = None,
        stream: bool = True,
    ) -> StreamT: ...


class Session(Generic[ResultT, StreamT]):
    """Holds a conversation for an agent. With an `AsyncAgent`, await what `run` and `resume` return.

    The history is whatever the last run left, also when it failed, was cancelled, or was stopped by Ctrl-C; so the next
    `run` always continues from something sendable. Use a session from one thread or task at a time.
    """

    def __init__(self, agent: Runner[ResultT, StreamT], messages: Iterable[Message | Mapping[str, Any]] = ()) -> None:
        self.agent = agent
        self._given = messages_from(messages)  # the first run mends them, and tells it
        self._run: Run | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        return repair(self._given).messages if self._run is None else self._run.messages

    @property
    def pending_run(self) -> Run | None:
        """The run that waits for decisions, or None."""
        return self._run if self._run is not None and self._run.status == "needs_approval" else None

    def run(self, prompt: Prompt) -> ResultT:
        """One run with this prompt. SessionError while the last one is open (see `resume`)."""
        return self.agent.resume(self._begin(prompt))

    def stream(self, prompt: Prompt) -> StreamT:
        """The same, event by event."""
        return self.agent.stream(self._begin(prompt))

    def resume(self, decisions: Decisions | None = None) -> ResultT:
        """Go on with the run that waits for decisions; SessionError when there is none."""
        if self.pending_run is None:
            raise SessionError("no run waits for a decision: ask with run() or stream()")
        return self.agent.resume(self.pending_run, decisions)

    def context(self) -> Ledger:
        """What the last request held: tokens by instruction, tool and message, known and estimated, and the last cut.
        SessionError before the first run."""
        if self._run is None:
            raise SessionError("nothing has been asked yet")
        return self._run.context()

    def clear(self) -> None:
        """Forget the conversation. SessionError while a run is open."""
        self._refuse_while_open()
        self._given, self._run = (), None

    def _begin(self, prompt: Prompt) -> Run:
        self._refuse_while_open()
        history = self._given if self._run is None else self._run.messages
        self._run = self.agent.start(prompt, messages=history, after=self._run)
        return self._run

    def _refuse_while_open(self) -> None:
        if self._run is None or self._run.ended:
            return
        if self._run.status == "needs_approval":
            waiting = ", ".join(f"{call.name} ({call.id})" for call in self._run.pending)
            raise SessionError(f"tool calls wait for a decision: {waiting}; use resume(decisions) or run.cancel()")
        raise SessionError("the last run is still going on: finish or close its stream first")
