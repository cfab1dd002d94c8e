"""What the next request sends: the history as it is, or the view of it that fits the model's context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agentloop.errors import AgentLoopError, ConfigError, ContextOverflow
from agentloop.history.answers import Cut, Impossible, NeedSummary, Policy, Send
from agentloop.history.ledger import Ledger, ledger
from agentloop.history.meter import Meter
from agentloop.history.plan import check_limits, limit_after_overflow, plan_view
from agentloop.history.summary import SUMMARY_INSTRUCTIONS, accept_summary, summary_request
from agentloop.history.tokens import EstimateCounter, TokenCounter, holds_media, silent_truncation
from agentloop.loop.actions import Ask
from agentloop.loop.guard import PrefixGuard
from agentloop.loop.result import RunEvent, Trimmed, Warned
from agentloop.loop.state import RunSpec, RunState
from agentloop.model import ModelRequest, ModelResponse, Options, ToolSpec
from agentloop.pairing import PairedMessages

__all__ = ["Asking", "Trimming"]


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


class Asking:
    """The view, made anew at each transition that wants the model; `notices` are events to pass on with the next one.

    With trimming, `plan` may find that a summary has to be asked for first (`need`), at most once in a step; and after
    a server called a request too long, `shrink` plans once more, below what the server named.
    """

    def __init__(self, spec: RunSpec, state: RunState) -> None:
        self.spec, self.state = spec, state
        self.tools: tuple[ToolSpec, ...] = ()
        self.options = spec.options
        self.stream = False
        self.notices: list[RunEvent] = []
        self.need: NeedSummary | None = None
        self._view = PairedMessages()
        self._trimming: Trimming | None = None
        self._meter: Meter | None = None
        self._plain = _Plain(EstimateCounter())
        self._sent: Send | None = None
        self.last_cut: Cut | None = None
        self.guard = PrefixGuard()

    def equip(
        self, tools: Sequence[ToolSpec], stream: bool, trimming: Trimming | None, headers: Mapping[str, str] | None
    ) -> None:
        self.tools, self.stream, self._trimming = tuple(tools), stream, trimming
        if headers:
            self.options = self.spec.options.copy()
            self.options.setdefault("extra_headers", headers)
        self._meter = self._new_meter(trimming.counter) if trimming else None

    def _new_meter(self, counter: TokenCounter) -> Meter:
        return Meter(counter, instructions=self.spec.instructions, tools=self.tools)

    def go_on(self, before: Asking) -> None:
        """Take over what the run before knew of the conversation, as far as this one's history begins with its."""
        self.guard.last = before.guard.last
        self._plain = _Plain(before._plain.counter)
        known = tuple(before.state.messages)
        if tuple(self.state.messages[: len(known)]) == known:
            self._sent, self.last_cut = before._sent, before.last_cut
            self.state.summary, self.state.context_limit = before.state.summary, before.state.context_limit

    def plan(self) -> AgentLoopError | None:
        """Make the view. Returns the error that ends the run when nothing legal fits."""
        self.need, history = None, PairedMessages(self.state.messages)
        trimming, meter = self._trimming, self._meter
        if trimming is None or meter is None:
            self._view = history
            return None
        answer = plan_view(
            history,
            meter=meter,
            policy=trimming.policy,
            context_limit=self.state.context_limit or trimming.context_limit,
            reserve=trimming.reserve,
            previous=self._sent,
            summary=self.state.summary,
            may_summarise=not (self.state.summary_tried or self.state.summary_failed),
        )
        match answer:
            case Impossible():
                return ContextOverflow(answer.reason, limit=trimming.context_limit)
            case NeedSummary():
                self.need = answer
            case Send():
                self._view = PairedMessages(answer.view)
                self._sent = replace(answer, view=self._view)
                self.last_cut = answer.cut or self.last_cut
                if answer.cut:
                    self.notices.append(Trimmed(answer.cut))
                    self.guard.last = None  # what moves now was said
        return None

    def action(self, seconds: float | None) -> Ask:
        step = self.state.steps + 1
        if self.need is not None:
            request = ModelRequest(
                summary_request(self.need),
                instructions=SUMMARY_INSTRUCTIONS,
                options=Options(max_tokens=self.need.room),
                seconds=seconds,
            )
            return Ask(f"{step}.summary", request, "summary")
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
        if self.need is not None and self._meter is not None:
            summary = accept_summary(self.need, text, self._meter)
            self.state.summary = summary or self.state.summary
            self.state.summary_failed = summary is None
        return self.plan()

    def learn(self, response: ModelResponse) -> None:
        """Tell the counter what the server counted, and notice a prompt that it cut without a word."""
        if not response.usage.input_tokens:
            return
        sent = self._meter.count(self._view) if self._meter else self._plain.take(self._view, response)
        warning = silent_truncation(sent, response.usage.input_tokens)
        self.notices += [Warned(warning)] if warning and not holds_media(self._view) else []
        if self._meter is not None:
            _observe(self._meter, self._view, response)

    def ledger(self) -> Ledger:
        """What the context holds, by the counter (or an estimate, where nothing is trimmed)."""
        meter = self._meter or self._new_meter(self._plain.counter)
        if self._plain.report is not None:
            _observe(meter, *self._plain.report)
            self._plain.report = None
        return ledger(self._view, meter, last_cut=self.last_cut)

    def shrink(self, error: ContextOverflow) -> bool:
        """After an overflow: whether a shorter request is planned, which happens once in a step."""
        trimming, meter = self._trimming, self._meter
        if trimming is None or meter is None or trimming.policy is None or self.state.overflowed:
            return False
        self.state.overflowed = True
        self.state.context_limit = limit_after_overflow(
            meter.count(self._view),
            reserve=trimming.reserve,
            named_limit=error.limit,
            named_tokens=error.prompt_tokens,
        )
        return self.plan() is None


@dataclass(slots=True)
class _Plain:
    """What is known of the requests of a run without trimming. They only grow, so a step costs what was added, and the
    counter learns of the last report when somebody asks it."""

    counter: EstimateCounter
    sized: int = 0
    tokens: int = 0
    report: tuple[PairedMessages, ModelResponse] | None = None

    def take(self, view: PairedMessages, response: ModelResponse) -> int:
        """The estimate of the messages that were sent."""
        self.tokens += sum(map(self.counter.size, view[self.sized :]))
        self.sized = len(view)
        self.report = (view, response)
        return self.tokens


def _observe(meter: Meter, view: PairedMessages, response: ModelResponse) -> None:
    meter.observe(view, response.usage, provider=response.provider or "", model=response.model or "")
