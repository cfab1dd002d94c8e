"""Trimming policies: plain callables from a history to the view of it that the next request sends.

A policy is pure: the same messages give the same view, whatever was asked before. Each keeps instructions
(SystemMessages), pins (see `pin`), the user message that opens the turn a view begins in, the newest group, and calls
with their results; a view is legal and in the order of the history. Any callable with the same shape will do.

The counter that a run hands to a policy counts instructions and tools too, so budgets are for the whole request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agentloop.errors import ConfigError
from agentloop.history.answers import Answer, Impossible, NeedSummary, Pinned, Send, is_pinned
from agentloop.history.meter import Meter
from agentloop.history.replay import Place, Replay, view_from
from agentloop.history.tokens import TokenCounter
from agentloop.messages import Message
from agentloop.model import AsyncModel, Model

__all__ = ["KeepLast", "Summarise", "TokenBudget"]


def _must_be_positive(policy: str, **values: int) -> None:
    for name, value in values.items():
        if type(value) is not int or value < 1:
            raise ConfigError(
                f"{policy}({name}={value!r}): must be a whole number, at least 1; to trim nothing, use no policy"
            )


@dataclass(frozen=True, slots=True)
class KeepLast:
    """The last `n` messages, rounded down to whole groups, but at least the newest group.

    What is kept of the older ones counts, except instructions and pins. A window that slides: it costs the provider's
    prefix cache at each request once the history is longer than `n`; `TokenBudget` does not.
    """

    n: int
    pinned: Pinned = is_pinned

    def __post_init__(self) -> None:
        _must_be_positive("KeepLast", n=self.n)

    def __call__(self, messages: Sequence[Message], counter: TokenCounter) -> Send:
        meter = Meter.of(counter)
        meter.track(messages)
        if not meter.spans:
            return Send(meter.messages)

        def weigh(group: int, kept: bool) -> int:
            start, stop = meter.spans[group]
            return 0 if kept else stop - start

        if self not in meter.state:
            meter.state[self] = Replay(meter, weigh, self.pinned, self.n, self.n)
        return Send(view_from(meter, meter.state[self].cut()))


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Nothing until a request would pass `high` tokens, then down to `low` in one go.

    Between two cuts each request is the one before plus what is new, so a prefix cache serves all but the news. The
    further apart the two are, the rarer the cuts; `low == high` cuts as late, and keeps as much, as possible. Leave
    room for the counter's error between `high` and the model's limit.
    """

    high: int
    low: int
    pinned: Pinned = is_pinned

    def __post_init__(self) -> None:
        _must_be_positive("TokenBudget", high=self.high, low=self.low)
        if self.low > self.high:
            raise ConfigError(f"TokenBudget(high={self.high}, low={self.low}): low must not be above high")

    def __call__(self, messages: Sequence[Message], counter: TokenCounter) -> Send | Impossible:
        meter = Meter.of(counter)
        meter.track(messages)
        if not meter.spans:
            return Send(meter.messages)
        place = _replay(self, meter, self.high, self.low).cut(meter.fixed)
        if place.weight > self.high:
            return _too_large(meter, place, self.high)
        return Send(view_from(meter, place))

    def within(self, limit: int) -> TokenBudget:
        return replace(self, high=min(self.high, limit), low=min(self.low, limit))


@dataclass(frozen=True, slots=True)
class Summarise:
    """When a request would pass `high` tokens, all but about `low` of it is summarised by `model`; None: the run's own.

    The run asks for the summary as an action of its own and keeps it beside the untouched history; the view shows it
    in the place of what it stands for. Instructions and pins are neither summarised nor left out. A summary has at
    most half of what lies between `low` and `high`; one that is longer, empty or failed is not used, and the view is
    trimmed as by `TokenBudget(high, low)` instead.
    """

    model: Model | AsyncModel | None = field(default=None, compare=False)
    high: int = field(kw_only=True)
    low: int = field(kw_only=True)
    pinned: Pinned = field(default=is_pinned, kw_only=True)

    def __post_init__(self) -> None:
        _must_be_positive("Summarise", high=self.high, low=self.low)
        if self.high - self.low < 2:
            raise ConfigError(f"Summarise(high={self.high}, low={self.low}): a summary needs room between the two")

    def __call__(self, messages: Sequence[Message], counter: TokenCounter) -> Answer:
        meter = Meter.of(counter)
        meter.track(messages)
        if not meter.spans or meter.fixed + meter.total <= self.high:
            return Send(meter.messages)
        place = _replay(self, meter, self.low, self.low).cut(meter.fixed)
        if place.weight > self.high:
            return _too_large(meter, place, self.high)
        spans = (meter.spans[group] for group in range(place.start) if group not in set(place.head))
        covered = tuple(message for start, stop in spans for message in meter.messages[start:stop])
        if not covered:
            return self.fallback()(messages, meter)
        return NeedSummary(covered, meter.spans[place.start][0], room=(self.high - self.low) // 2)

    def within(self, limit: int) -> Summarise:
        high = min(self.high, limit)
        return replace(self, high=high, low=max(1, min(self.low, high * 3 // 4))) if high > 2 else self

    def fallback(self) -> TokenBudget:
        """What to do in the place of a summary that could not be had."""
        return TokenBudget(self.high, self.low, self.pinned)


def _replay(policy: TokenBudget | Summarise, meter: Meter, high: int, low: int) -> Replay:
    replay = meter.state.get(policy)
    if replay is None:
        replay = meter.state[policy] = Replay(meter, lambda group, _: meter.sizes[group], policy.pinned, high, low)
    return replay


def _too_large(meter: Meter, place: Place, budget: int) -> Impossible:
    newest = meter.messages[meter.spans[place.start][0]]
    return Impossible(
        f"the request cannot be brought to {budget} tokens: instructions and tools take {meter.fixed}, the newest "
        f"{newest.role} message with its results {meter.sizes[place.start]}, and with instructions, pins and the task "
        f"that must stay it is {place.weight}. Shorten what is sent, or raise the budget"
    )
