"""Trimming in a run: the view of its history that fits the model's context. A run without it never loads this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentloop.errors import ConfigError, ContextOverflow
from agentloop.history.answers import Cut, Impossible, NeedSummary, Policy, Send
from agentloop.history.meter import Meter
from agentloop.history.plan import check_limits, limit_after_overflow, plan_view
from agentloop.history.summary import SUMMARY_INSTRUCTIONS, accept_summary, summary_request
from agentloop.history.tokens import EstimateCounter, TokenCounter
from agentloop.loop.counting import cut_in_silence, observe
from agentloop.loop.state import RunSpec, RunState
from agentloop.model import ModelRequest, ModelResponse, Options, ToolSpec
from agentloop.pairing import PairedMessages

__all__ = ["Trimmer", "Trimming"]


@dataclass(frozen=True, slots=True)
class Trimming:
    """How an agent keeps its requests within the context: `policy` makes the view, `context_limit` less `reserve` (for
    the answer) is never passed, and `counter` counts. ConfigError for numbers that make no sense."""

    policy: Policy | None
    context_limit: int | None
    reserve: int
    counter: TokenCounter

    @staticmethod
    def of(
        policy: Policy | None, context_limit: int | None, reserve: int, counter: TokenCounter | None
    ) -> Trimming | None:
        """None when there is nothing to keep to, and no counter of the user's."""
        check_limits(context_limit, reserve)
        if policy is not None and (not callable(policy) or isinstance(policy, type)):
            raise ConfigError(f"trim= takes a policy, such as KeepLast(20), and not {policy!r:.80}")
        if counter is not None and not hasattr(counter, "count"):
            raise ConfigError(
                f"counter= takes a TokenCounter, which has count(messages, tools), and not {counter!r:.80}"
            )
        if reserve and policy is None and context_limit is None:
            raise ConfigError("reserve= needs context_limit=: it is kept free of that")
        if policy is None and context_limit is None and counter is None:
            return None
        return Trimming(policy, context_limit, reserve, counter or EstimateCounter())

    def begin(self, spec: RunSpec, state: RunState, tools: Sequence[ToolSpec], past: Trimmer | None) -> Trimmer:
        """Trim a run from now on; `past` did so before, for this run or for the one that it goes on from."""
        meter = Meter(self.counter, instructions=spec.instructions, tools=tools)
        return Trimmer(self, state, meter, past)


class Trimmer:
    """Makes the views of one run, and keeps in its `state` what stands for the messages that were cut.

    After `plan`, `need` is the summary to ask for first, if one is wanted, and `cut` what the view leaves out. A
    summary is asked for at most once in a step; and after a server called a request too long, `shrink` allows one more
    plan, below what the server named.
    """

    def __init__(self, trimming: Trimming, state: RunState, meter: Meter, past: Trimmer | None) -> None:
        self.need: NeedSummary | None = None
        self.cut: Cut | None = None
        self.last_cut = past.last_cut if past else None
        self.meter = meter
        self._sent = past._sent if past else None
        self._trimming = trimming
        self._state = state

    def plan(self, history: PairedMessages) -> PairedMessages | ContextOverflow | None:
        """The view of `history` to send; None when a summary is needed first; the error when nothing legal fits."""
        self.need = self.cut = None
        answer = plan_view(
            history,
            meter=self.meter,
            policy=self._trimming.policy,
            context_limit=self._state.context_limit or self._trimming.context_limit,
            reserve=self._trimming.reserve,
            previous=self._sent,
            summary=self._state.summary,
            may_summarise=not (self._state.summary_tried or self._state.summary_failed),
        )
        match answer:
            case Impossible():
                return ContextOverflow(answer.reason, limit=self._trimming.context_limit)
            case NeedSummary():
                self.need = answer
                return None
            case Send():
                view = PairedMessages(answer.view)
                self._sent = replace(answer, view=view)
                self.cut = answer.cut
                self.last_cut = answer.cut or self.last_cut
                return view

    def summary_request(self, need: NeedSummary, seconds: float | None) -> ModelRequest:
        return ModelRequest(
            summary_request(need),
            instructions=SUMMARY_INSTRUCTIONS,
            options=Options(max_tokens=need.room),
            seconds=seconds,
        )

    def accept(self, need: NeedSummary, text: str) -> None:
        """Take the summary; one that is of no use is the last that the run asks for."""
        summary = accept_summary(need, text, self.meter)
        self._state.summary = summary or self._state.summary
        self._state.summary_failed = summary is None

    def learn(self, view: PairedMessages, response: ModelResponse) -> str | None:
        """As `RunningCount.learn`."""
        warning = cut_in_silence(view, self.meter.count(view), response)
        observe(self.meter, view, response)
        return warning

    def shrink(self, view: PairedMessages, error: ContextOverflow) -> bool:
        """After `view` overflowed: whether a shorter one may be planned, which happens once in a step."""
        if self._trimming.policy is None or self._state.overflowed:
            return False
        self._state.overflowed = True
        self._state.context_limit = limit_after_overflow(
            self.meter.count(view),
            reserve=self._trimming.reserve,
            named_limit=error.limit,
            named_tokens=error.prompt_tokens,
        )
        return True
