"""The machine: a run as a value.

`next()` says which actions are wanted now and changes nothing; `receive(outcome, now)` is the only transition. There
is no clock, no thread, no randomness and no I/O in here, so a run can be replayed, saved in the middle, and continued
in another process. A driver is a loop over these two (see `drive.py`).

    ask ──Answered──> act ──all calls done──> ask ...      one step: a model call and the tools it asked for
     └────Answered──> check ──Checked──> ask or end
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from agentloop.errors import ConfigError
from agentloop.loop.actions import Action, Cancelled, Check, Decide, Finished, Outcome, Stop
from agentloop.loop.asking import Asking
from agentloop.loop.result import LateResult, Repaired, RunEvent, RunResult, Status
from agentloop.loop.state import RunSpec, RunState, dump, load
from agentloop.loop.transition import Transition
from agentloop.messages import Message, ToolCall
from agentloop.model import ModelRequest, ToolSpec
from agentloop.pairing import PairedMessages, repair
from agentloop.tools.approval import approval_digest

if TYPE_CHECKING:
    from agentloop.history.contents import Ledger
    from agentloop.loop.trimming import Trimming

__all__ = ["Run", "RunSpec"]


class Run:
    """One run, from a user message to a stop. `Agent.start` makes one and the drivers move it.

    `messages` are mended as by `repair`; the first events tell what was changed. `after` is the run that this one
    continues: its summary goes on standing for the older messages, and its last request is the one to go on from.
    """

    def __init__(
        self,
        messages: Iterable[Message],
        *,
        spec: RunSpec | None = None,
        id: str = "run",
        after: Run | None = None,
    ) -> None:
        repaired = repair(messages)
        self._set(id, spec or RunSpec(), RunState(list(repaired.messages), repairs=repaired.repairs))
        if after is not None:
            self._asking.go_on(after._asking)
        if repaired.repairs:
            self._asking.notices.append(Repaired(repaired.repairs))

    def _set(self, id: str, spec: RunSpec, state: RunState) -> None:
        self.id, self.spec, self._state = id, spec, state
        self._asking = Asking(spec, state)
        self._transition = Transition(spec, state, self._asking)
        self._transition.plan()

    def equip(
        self,
        *,
        tools: Sequence[ToolSpec] = (),
        stream: bool = False,
        trimming: Trimming | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Say what requests offer, whether replies come in pieces, how to keep within the context, and which headers
        go along (those of the run's own options win). None of it is saved: whoever drives the run says it first."""
        self._asking.equip(tools, stream, trimming, headers)
        self._transition.plan()

    # --- questions --------------------------------------------------------------------------------------------------

    @property
    def status(self) -> Status | None:
        """How it ended; "needs_approval" while only decisions are wanted; None while it goes on."""
        if self._state.status is None and self._state.open is not None and not self._state.open.running:
            actions = self._state.open.actions(self.spec.parallel, None)
            if actions and all(isinstance(action, Decide) for action in actions):
                return "needs_approval"
        return self._state.status

    def context(self) -> Ledger:
        """Tokens by instruction, tool schema and message, known and estimated: of the request that is wanted next, or
        else of the one that was sent last."""
        return self._asking.ledger()

    def moved(self, request: ModelRequest) -> str | None:
        """The JSON path at which `request`, about to be sent, does not go on from the last one; None when it does."""
        return self._asking.guard.check(request)

    @property
    def ended(self) -> bool:
        return self._state.status is not None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The given and the new messages. While a step is open its results are not among them yet."""
        return PairedMessages(self._state.messages) if self._state.open is None else tuple(self._state.messages)

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        return self._state.open.undecided if self._state.open is not None and not self.ended else ()

    def key_of(self, call_id: str) -> str:
        """The key of an undecided call of the open step; ConfigError names the calls that do wait."""
        key = f"{self._state.steps}.{call_id}"
        if self._state.open is not None and key in self._state.open and self._state.open[key].state == "undecided":
            return key
        waiting = ", ".join(call.id for call in self.pending) or "none"
        raise ConfigError(f"no tool call {call_id!r} waits for a decision (waiting: {waiting})")

    def digest(self, call_id: str, *, arguments: str | None = None, key: bytes | None = None) -> str:
        """What binds an approval to a call that waits: to this run, the call, its tool and its arguments (or the edited
        `arguments`). With a `key` it is signed. Without one, who can write the saved run can approve its calls."""
        self.key_of(call_id)
        call = next(call for call in self.pending if call.id == call_id)
        return approval_digest(self.id, call.id, call.name, call.arguments if arguments is None else arguments, key=key)

    def result(self) -> RunResult:
        """The result as things stand; ValueError while the run is neither ended nor paused."""
        status = self.status
        if status is None:
            raise ValueError("the run goes on: it has no result yet")
        return self._result(status)

    def next(self) -> list[Action]:
        """The actions wanted now; [] while everything that is wanted is in flight. Asking changes nothing."""
        if self._state.status is not None:
            return [Stop(self._state.status)]
        if self._state.open is not None:
            return self._state.open.actions(self.spec.parallel, self._state.seconds_left(self.spec.limits))
        if self._state.asking:
            return []
        if self._state.checking:
            return [Check(f"{self._state.steps}.check", self._result("answered"))]
        return [self._asking.action(self._state.seconds_left(self.spec.limits))]

    # --- the transition ---------------------------------------------------------------------------------------------

    def receive(self, outcome: Outcome, now: float) -> list[RunEvent]:
        """Take one outcome; `now` is seconds on any clock that only rises. Returns the events for watchers."""
        self._state.tick(now, counts=self.status != "needs_approval")
        if self._state.status is not None:
            return [LateResult(outcome.key, outcome.result)] if isinstance(outcome, Finished) else []
        events = self._transition.take(outcome)
        notices, self._asking.notices = self._asking.notices, []
        return [*events, *notices] if notices else events

    def cancel(self) -> RunResult:
        """End a paused run: every open call is answered as cancelled. An ended run stays as it is."""
        if self._state.asking or (self._state.open is not None and self._state.open.running):
            raise ValueError("the run is being driven: cancel its stream instead")
        self.receive(Cancelled(), self._state.last_seen or 0.0)
        return self.result()

    def to_json(self) -> str:
        """A snapshot that `Run.from_json` reads, in this process or another. It holds no request headers."""
        return dump(self.id, self.spec, self._state)

    @staticmethod
    def from_json(text: str) -> Run:
        """The run as it stood. Calls that had started and not finished are in doubt (see the action `Resolve`).
        Raises HistoryError when the text is no snapshot, or one of a newer agentloop."""
        id, spec, state = load(text)
        run = Run((), spec=spec)
        run._set(id, spec, state)
        return run

    def _result(self, status: Status) -> RunResult:
        return RunResult(
            status=status,
            text=self._state.text,
            messages=self.messages,
            usage=self._state.usage,
            steps=self._state.steps,
            run=self,
            error=self._state.error,
            pending=self.pending if status == "needs_approval" else (),
            response=self._state.response,
            repairs=self._state.repairs,
        )
