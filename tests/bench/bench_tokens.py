"""How far the default token estimate is off. Needs the extra `tokens`. Run: python tests/bench/bench_tokens.py

The weights of the estimate were tuned on the files `*-1.txt` of the corpus; the figures are for `*-2.txt`. The last
lines compare with what servers reported for recorded requests (llama.cpp with Qwen2.5), template and tools included.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from agentloop.history import EstimateCounter, ExactCounter, Meter
from agentloop.messages import Message, UserMessage, messages_from
from agentloop.model import Usage

CORPUS = Path(__file__).parent.parent / "history" / "corpus"


def texts() -> dict[str, str]:
    return {path.stem.removesuffix("-2"): path.read_text("utf-8") for path in sorted(CORPUS.glob("*-2.txt"))}


def print_corpus() -> None:
    o200k, deepseek, estimate = ExactCounter("o200k_base"), ExactCounter("deepseek"), EstimateCounter()
    print(f"{'held-out text':14}{'o200k':>8}{'DeepSeek':>10}{'estimate':>10}{'error':>8}{'error':>8}")
    sums = [0, 0, 0]
    for kind, text in texts().items():
        message = UserMessage(text)
        counts = [counter.size(message) for counter in (o200k, deepseek, estimate)]
        sums = [total + count for total, count in zip(sums, counts, strict=True)]
        print(row(kind, counts))
    print(row("all", sums))


def row(name: str, counts: list[int]) -> str:
    exact_a, exact_b, guess = counts
    return f"{name:14}{exact_a:8}{exact_b:10}{guess:10}{guess / exact_a - 1:+8.1%}{guess / exact_b - 1:+8.1%}"


def recorded() -> list[dict[str, Any]]:
    return json.loads((CORPUS / "reported.json").read_text("utf-8"))


def print_recordings() -> None:
    print("\nreported by a server, short requests: the template's own text is most of them")
    for label, wanted in (("without tools", False), ("with tools", True)):
        rows = [item for item in recorded() if bool(item["tools"]) is wanted]
        errors = [first_error(item) for item in rows]
        print(f"{label:14}{len(rows):4} requests, off by {min(errors):+.0f} to {max(errors):+.0f} tokens, "
              f"median {median(errors):+.0f}")  # fmt: skip
    print(f"second turn, after the first was reported: off by {second_error():+d} of 327 tokens")


def first_error(item: dict[str, Any]) -> int:
    return EstimateCounter().count(messages_from(item["messages"]), item["tools"]) - item["prompt_tokens"]


def second_error() -> int:
    """The tool turn of the recordings: its first request was reported, then the call and its result were added."""
    by_name = {item["source"]: item for item in recorded()}
    first = by_name["llama-server-plain-template/04-tools-required"]
    second = by_name["llama-server-plain-template/13-second-turn"]
    messages: tuple[Message, ...] = messages_from(second["messages"])
    meter = Meter(EstimateCounter(), tools=second["tools"])
    meter.observe(messages[:1], Usage(input_tokens=first["prompt_tokens"]), provider="llama.cpp", model="qwen")
    return meter.count(messages) - second["prompt_tokens"]


if __name__ == "__main__":
    print_corpus()
    print_recordings()
