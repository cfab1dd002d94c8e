"""From a history to what the next request sends: the one entry point that a run needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentloop.errors import ConfigError
from agentloop.history.answers import Answer, Cut, Impossible, NeedSummary, Policy, Send, is_pinned
from agentloop.history.meter import Meter
from agentloop.history.summary import Summary, with_summary
from agentloop.history.trim import TokenBudget
from agentloop.messages import Message
from agentloop.pairing import PairedMessages, groups, repair

__all__ = ["check_limits", "limit_after_overflow", "plan_view"]

_STEPS = 8  # what the counter is off by is taken in eighths of the limit, so that the cuts do not creep


def check_limits(context_limit: int | None, reserve: int) -> None:
    """ConfigError unless the limit (None: no limit) leaves something for the prompt beside the reserve."""
    for name, value in (("reserve", reserve), ("context_limit", context_limit)):
        if value is not None and type(value) is not int:
            raise ConfigError(f"{name}={value!r}: must be a whole number of tokens")
    if reserve < 0:
        raise ConfigError(f"reserve={reserve}: must be 0 or more tokens, kept free for the answer")
    if context_limit is not None and context_limit < 1:
        raise ConfigError(f"context_limit={context_limit}: must be at least 1 token; None means no limit")
    if context_limit is not None and reserve >= context_limit:
        raise ConfigError(f"reserve={reserve} leaves nothing of context_limit={context_limit} for the prompt")


def plan_view(
    messages: Sequence[Message],
    *,
    meter: Meter,
    policy: Policy | None = None,
    context_limit: int | None = None,
    reserve: int = 0,
    previous: Send | None = None,
    summary: Summary | None = None,
    may_summarise: bool = True,
) -> Answer:
    """What to send for the history `messages`, which stays whole.

    `meter` counts for this conversation and knows its instructions and tools. `context_limit` less `reserve` is never
    passed, in the counter's measure, whatever the policy says: it is asked for less, or, when it takes no bound, its
    view is cut. `previous` is what was sent last, to tell a cut (see `Cut`); `summary` is the latest accepted one.

    NeedSummary asks for a summary of its messages (see `summary_request`); call again with the accepted one, or, when
    that failed, with `may_summarise=False`, which falls back to trimming. It gives at most one NeedSummary per step if
    you ask so, and none for what has been summarised. Impossible says why nothing can be sent.

    A step at which nothing is cut costs the sizing of what was added and a few comparisons in C.
    """
    check_limits(context_limit, reserve)
    history = repair(messages).messages
    if policy is None and context_limit is None:
        return Send(history, len(history))
    limit = None if context_limit is None else context_limit - reserve
    head = with_summary(history, summary, meter, getattr(policy, "pinned", is_pinned)) if summary else ()
    skipped = summary.upto if summary else 0
    base = PairedMessages((*head, *history[skipped:])) if summary else history
    meter.track(base)
    if limit is not None and meter.fixed >= limit:
        return Impossible(
            f"instructions and tools need {meter.fixed} tokens, and {reserve} are reserved for the answer: "
            f"{meter.fixed + reserve} of a context of {context_limit}. Offer fewer tools, or raise context_limit"
        )
    aim = None if limit is None else max(1, limit - meter.margin)
    answer = _bounded(policy, aim)(base, meter)
    if isinstance(answer, NeedSummary):
        if may_summarise and answer.upto > len(head):
            return replace(answer, upto=answer.upto - len(head) + skipped)
        answer = _instead_of_summary(policy, aim)(base, meter)
    answer = _fit(answer, base, policy, meter, limit)
    return _with_cut(answer, history, base, meter, previous) if isinstance(answer, Send) else answer


def limit_after_overflow(
    sent: int, *, reserve: int = 0, named_limit: int | None = None, named_tokens: int | None = None
) -> int:
    """The `context_limit` to plan with after a server called a request of `sent` tokens, by our counter, too long.

    `named_limit` and `named_tokens` are what the server said, by its own counter; the result is in ours, and always
    below what was sent.
    """
    allowed = None
    if named_limit is not None:
        allowed = named_limit - reserve if named_limit > reserve else named_limit
    if allowed is not None and named_tokens:
        target = sent * allowed / named_tokens
    elif allowed is not None:
        target = min(sent, allowed) * 0.9
    else:
        target = sent * 0.7
    return max(1, int(min(target, sent) * 0.95)) + reserve


def _send_all(messages: Sequence[Message], _: object) -> Answer:
    return Send(messages)


def _bounded(policy: Policy | None, limit: int | None) -> Policy:
    within = getattr(policy, "within", None)
    if within is not None and limit is not None:
        return within(limit)
    return policy or _send_all


def _instead_of_summary(policy: Policy | None, limit: int | None) -> Policy:
    fallback = getattr(policy, "fallback", None)
    if fallback is not None:
        return _bounded(fallback(), limit)
    return TokenBudget(limit, limit) if limit is not None else _no_summary


def _no_summary(messages: Sequence[Message], _: object) -> Answer:
    return Impossible(
        "the policy asks for a summary, which could not be had; give it a fallback() or set context_limit"
    )


def _fit(answer: Answer, base: PairedMessages, policy: Policy | None, meter: Meter, limit: int | None) -> Answer:
    """The answer with a legal view within the limit, or why there is none."""
    answer = _checked(answer, policy)
    if limit is None or not isinstance(answer, Send):
        return answer
    for cut in (_cut_by_policy, _cut_plainly, _cut_plainly):
        tokens = meter.count(answer.view)
        if tokens <= limit:
            return replace(answer, tokens=tokens)
        if policy is None:
            return Impossible(f"the request has {tokens} of at most {limit} tokens: set trim=, or raise context_limit")
        meter.margin += _miscounted(answer.view, tokens, meter, limit)
        if meter.margin >= limit:
            break
        answer = _checked(cut(policy, limit - meter.margin, base, answer.view, meter), policy)
        if not isinstance(answer, Send):
            return answer
    tokens = meter.count(answer.view)
    if tokens <= limit:
        return replace(answer, tokens=tokens)
    return Impossible(f"the request cannot be brought from {tokens} to {limit} tokens: its parts count for less")


def _checked(answer: object, policy: Policy | None) -> Answer:
    match answer:
        case NeedSummary() | Impossible():
            return answer
        case Send():
            repaired = repair(answer.view)
            if repaired.messages and not repaired.repairs:
                return replace(answer, view=repaired.messages)
            fault = repaired.repairs[0].what if repaired.repairs else "it is empty"
            return Impossible(f"the policy {policy!r} gave a view that no server accepts: {fault}")
        case _:  # a policy is a user's function
            raise ConfigError(f"trim: {policy!r} gave a {type(answer).__name__}; a policy answers with Send(view)")


def _miscounted(view: Sequence[Message], tokens: int, meter: Meter, limit: int) -> int:
    """By how much the whole is more than the sum of its groups, rounded up to a step of the limit."""
    parts = meter.fresh()
    parts.track(view)
    step = max(1, limit // _STEPS)
    return -(-max(0, tokens - parts.fixed - parts.total) // step) * step


def _cut_by_policy(policy: Policy, aim: int, base: PairedMessages, view: Sequence[Message], meter: Meter) -> Answer:
    if not hasattr(policy, "within"):
        return _cut_plainly(policy, aim, base, view, meter)
    answer = _bounded(policy, aim)(base, meter)
    return _instead_of_summary(policy, aim)(base, meter) if isinstance(answer, NeedSummary) else answer


def _cut_plainly(policy: Policy, aim: int, base: PairedMessages, view: Sequence[Message], meter: Meter) -> Answer:
    return TokenBudget(aim, aim, getattr(policy, "pinned", is_pinned))(view, meter.fresh())


def _with_cut(send: Send, history: PairedMessages, base: PairedMessages, meter: Meter, previous: Send | None) -> Send:
    """The answer with what it leaves out of the request before plus what is new, if it leaves out anything."""
    would = tuple(base) if previous is None else (*previous.view, *history[previous.upto :])
    if would == tuple(send.view):
        return replace(send, upto=len(history))
    shown = {id(message) for message in send.view}
    before = meter.count(would)
    after = meter.count(send.view) if send.tokens is None else send.tokens
    lost = 0 if previous is None else meter.count(previous.view) - _shared(previous.view, send.view, meter)
    left = tuple(message for message in would if id(message) not in shown)
    return replace(send, upto=len(history), tokens=after, cut=Cut(left, before, after, max(0, lost)))


def _shared(before: Sequence[Message], after: Sequence[Message], meter: Meter) -> int:
    """Tokens of what both requests begin with, as far as it is whole groups."""
    pairs = zip(before, after, strict=False)
    same = next((index for index, (a, b) in enumerate(pairs) if a is not b and a != b), min(len(before), len(after)))
    stop = max((stop for _, stop in groups(before) if stop <= same), default=0)
    return meter.count(before[:stop]) if stop else meter.fixed
