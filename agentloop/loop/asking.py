"""What the next request sends: the history as it is, or what a `Trimmer` makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agentloop.errors import AgentLoopError, ContextOverflow
from agentloop.loop.actions import Ask
from agentloop.loop.guard import PrefixGuard
from agentloop.loop.result import RunEvent, Trimmed, Warned
from agentloop.loop.state import RunSpec, RunState
from agentloop.model import ModelRequest, ModelResponse, ToolSpec
from agentloop.pairing import PairedMessages

if TYPE_CHECKING:
    from agentloop.history.answers import NeedSummary
    from agentloop.history.contents import Ledger
    from agentloop.loop.counting import RunningCount
    from agentloop.loop.trimming import Trimmer, Trimming

__all__ = ["Asking"]


class Asking:
    """The view, made anew at each transition that wants the model; `notices` are events to pass on with the next one.

    What counts and trims is loaded only when it is wanted: many runs end before.
    """

    def __init__(self, spec: RunSpec, state: RunState) -> None:
        self.spec, self.state = spec, state
        self.tools: tuple[ToolSpec, ...] = ()
        self.options = spec.options
        self.stream = False
        self.notices: list[RunEvent] = []
        self.guard = PrefixGuard()
        self._view = PairedMessages()
        self._trimmer: Trimmer | None = None
        self._past: Trimmer | None = None  # what trimmed before, in this run or in the one that it goes on from
        self._count: RunningCount | None = None
        self._warned = False

    def equip(
        self, tools: Sequence[ToolSpec], stream: bool, trimming: Trimming | None, headers: Mapping[str, str] | None
    ) -> None:
        self.tools, self.stream = tuple(tools), stream
        if headers:
            self.options = self.spec.options.copy()
            self.options.setdefault("extra_headers", headers)
        past = self._trimmer or self._past
        self._trimmer = trimming.begin(self.spec, self.state, self.tools, past) if trimming else None
        self._past = None if trimming else past

    def go_on(self, before: Asking) -> None:
        """Take over what the run before knew of the conversation, as far as this one's history begins with its."""
        self.guard.last = before.guard.last
        self._count = before._count.anew() if before._count else None
        known = tuple(before.state.messages)
        if tuple(self.state.messages[: len(known)]) == known:
            self._past = before._trimmer or before._past
            self.state.summary, self.state.context_limit = before.state.summary, before.state.context_limit

    @property
    def need(self) -> NeedSummary | None:
        """The summary that has to be asked for first."""
        return self._trimmer.need if self._trimmer else None

    def plan(self) -> AgentLoopError | None:
        """Make the view. Returns the error that ends the run when nothing legal fits."""
        history = PairedMessages(self.state.messages)
        if self._trimmer is None:
            self._view = history
            return None
        view = self._trimmer.plan(history)
        if isinstance(view, ContextOverflow):
            return view
        self._view = self._view if view is None else view
        if self._trimmer.cut:
            self.notices.append(Trimmed(self._trimmer.cut))
            self.guard.last = None  # what moves now was said
        return None

    def action(self, seconds: float | None) -> Ask:
        step = self.state.steps + 1
        if self._trimmer and self._trimmer.need:
            return Ask(f"{step}.summary", self._trimmer.summary_request(self._trimmer.need, seconds), "summary")
        request = ModelRequest(
            messages=self._view,
            tools=self.tools,
            tool_choice=self.spec.tool_choice if step == 1 else None,
            instructions=self.spec.instructions,
            options=self.options,
            stream=self.stream,
            seconds=seconds,
        )
        return Ask(str(step), request)

    def summarised(self, text: str) -> AgentLoopError | None:
        """Take the summary, or trim instead when it is of no use; then plan again."""
        self.state.summary_tried = True
        if self._trimmer and self._trimmer.need:
            self._trimmer.accept(self._trimmer.need, text)
        return self.plan()

    def learn(self, response: ModelResponse) -> None:
        """Tell the counter what the server counted, and notice a prompt that it cut without a word."""
        if not response.usage.input_tokens:
            return
        warning = (self._trimmer or self._counted()).learn(self._view, response)
        if warning and not self._warned:  # once in a run
            self._warned = True
            self.notices.append(Warned(warning))

    def ledger(self) -> Ledger:
        """What the context holds, by the counter (or an estimate, where nothing is trimmed)."""
        from agentloop.history.contents import ledger

        meter = self._trimmer.meter if self._trimmer else self._counted().meter(self.spec.instructions, self.tools)
        trimmed = self._trimmer or self._past
        return ledger(self._view, meter, last_cut=trimmed.last_cut if trimmed else None)

    def shrink(self, error: ContextOverflow) -> bool:
        """After an overflow: whether a shorter request is planned, which happens once in a step."""
        return self._trimmer is not None and self._trimmer.shrink(self._view, error) and self.plan() is None

    def _counted(self) -> RunningCount:
        if self._count is None:
            from agentloop.loop.counting import RunningCount

            self._count = RunningCount()
        return self._count
