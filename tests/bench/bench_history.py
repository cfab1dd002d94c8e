"""What planning a request costs, and what trimming leaves of a prefix cache.

Run: python tests/bench/bench_history.py
"""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import median
from time import process_time

from agentloop.history import EstimateCounter, KeepLast, Meter, PairedMessages, Policy, Send, TokenBudget, plan_view
from agentloop.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

SEED = 7
WORDS = ("the", "report", "price", "of", "yesterday", "seven", "could", "not", "northern", "table", "and", "with")
CALL_SHARE, QUESTION, ANSWER, RESULT = 0.5, (5, 40), (20, 150), (20, 400)


def text(rng: random.Random, words: tuple[int, int]) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(*words)))


def conversation(turns: int, seed: int = SEED) -> list[Message]:
    """Questions with answers; before an answer, with probability CALL_SHARE each time, a tool call and its result."""
    rng, out = random.Random(seed), list[Message]()
    for number in range(turns):
        out.append(UserMessage(text(rng, QUESTION)))
        while rng.random() < CALL_SHARE:
            call_id = f"call_{number}_{len(out)}"
            out.append(AssistantMessage(None, (ToolCall(call_id, "look_up", '{"key": "value"}'),)))
            out.append(ToolMessage(call_id, text(rng, RESULT)))
        out.append(AssistantMessage(text(rng, ANSWER)))
    return out


def requests_of(history: list[Message]) -> list[int]:
    return [end for end, message in enumerate(history) if isinstance(message, AssistantMessage)]


def cacheable_share(policy: Policy, history: list[Message]) -> tuple[float, int]:
    """The share of all input tokens that repeats the request before, from its first byte; and how often it was cut."""
    counter = EstimateCounter()
    meter, previous, total, cached, cuts = Meter(counter, instructions="You are kind. " * 20), None, 0, 0, 0
    for end in requests_of(history):
        plan = plan_view(PairedMessages(history[:end]), meter=meter, policy=policy, previous=previous)
        assert isinstance(plan, Send)
        total += meter.count(plan.view)
        if previous is not None:
            cached += meter.count(previous.view) - (plan.cut.cached_lost if plan.cut else 0)
            cuts += plan.cut is not None
        previous = plan
    return cached / total, cuts


def print_shares() -> None:
    history = conversation(200)
    total = sum(map(EstimateCounter().size, history))
    print(f"200 turns, {len(history)} messages, {total} tokens, {len(requests_of(history))} requests "
          f"(seed {SEED}, words per question {QUESTION}, answer {ANSWER}, result {RESULT})")  # fmt: skip
    policies: list[tuple[str, Policy]] = [
        ("TokenBudget(16000, 8000)", TokenBudget(16_000, 8_000)),
        ("TokenBudget(16000, 12000)", TokenBudget(16_000, 12_000)),
        ("TokenBudget(8000, 4000)", TokenBudget(8_000, 4_000)),
        ("KeepLast(60), a sliding window", KeepLast(60)),
    ]
    for name, policy in policies:
        share, cuts = cacheable_share(policy, history)
        print(f"  {name:32} {share:6.1%} of input tokens cacheable, {cuts} cuts")


def best_of(times: int, work: Callable[[], object]) -> float:
    """Milliseconds of CPU, the median of a few runs."""
    taken: list[float] = []
    for _ in range(times):
        start = process_time()
        work()
        taken.append((process_time() - start) * 1000)
    return median(taken)


def print_trimming() -> None:
    history = PairedMessages(conversation(3400)[:10_000])
    policy, counter = TokenBudget(16_000, 8_000), EstimateCounter()
    cold = best_of(5, lambda: plan_view(history, meter=Meter(EstimateCounter()), policy=policy))
    plan_view(history, meter=Meter(counter), policy=policy)
    sized = best_of(5, lambda: plan_view(history, meter=Meter(counter), policy=policy))
    characters = sum(len(message.text) for message in history)
    print(f"trimming 10,000 messages ({characters / 1e6:.1f} M characters): {sized:.0f} ms CPU; {cold:.0f} ms with "
          "the sizing of each message")  # fmt: skip


def print_steps() -> None:
    """CPU of one plan per step of a long run of tools, nothing being cut, and with cuts."""
    for name, policy in (("nothing cut", TokenBudget(10**9, 10**9)), ("with cuts", TokenBudget(16_000, 8_000))):
        figures = [f"step {step}: {step_cost(policy, step):.0f} µs" for step in (10, 100, 1000)]
        print(f"one plan, {name}: {', '.join(figures)}")


def step_cost(policy: Policy, step: int) -> float:
    rng, history = random.Random(SEED), [UserMessage("do it")]
    meter, previous, taken = Meter(EstimateCounter()), None, list[float]()
    for number in range(step + 10):
        history.append(AssistantMessage(None, (ToolCall(f"c{number}", "look_up", '{"key": "value"}'),)))
        history.append(ToolMessage(f"c{number}", text(rng, (20, 60))))
        messages = PairedMessages(history)
        start = process_time()
        plan = plan_view(messages, meter=meter, policy=policy, context_limit=10**9, previous=previous)
        taken.append((process_time() - start) * 1e6)
        previous = plan if isinstance(plan, Send) else None
    return median(taken[-20:])


if __name__ == "__main__":
    print_shares()
    print_trimming()
    print_steps()
