"""What a cassette costs by its length: loading, indexing and matching are linear.

Run: python tests/bench/bench_cassettes.py. Each exchange is a short conversation; they are asked for in the reverse of
the recorded order. Ends with status 1 when an exchange of a long cassette costs 1.5 times what it costs in a short one.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from agentloop.testing import Cassette
from agentloop.testing.exchanges import Exchange, RecordedRequest, RecordedResponse
from agentloop.testing.player import Player

URL = "https://api.test/v1/chat/completions"


def body(number: int) -> dict[str, Any]:
    turns = [
        {"role": "user", "content": f"question {number} of turn {turn}\n" + "with words " * 20} for turn in range(4)
    ]
    return {"model": "m", "messages": [{"role": "system", "content": "You are helpful."}, *turns], "temperature": 0.7}


def requests(count: int) -> list[RecordedRequest]:
    headers = {"content-type": "application/json"}
    return [RecordedRequest("POST", URL, headers, json.dumps(body(number)).encode()) for number in range(count)]


def measure(count: int, folder: Path) -> dict[str, float]:
    """Microseconds per exchange."""
    path = folder / f"{count}.json"
    asked = requests(count)
    times = [time.perf_counter()]
    Cassette(tuple(Exchange(request, RecordedResponse()) for request in asked)).save(path)
    times.append(time.perf_counter())
    cassette = Cassette.load(path)
    times.append(time.perf_counter())
    player = Player(cassette)
    times.append(time.perf_counter())
    for request in reversed(asked):
        player.take(request)
    times.append(time.perf_counter())
    player.check_all_used()
    steps = ("save", "load", "index", "match")
    return {step: (times[n + 1] - times[n]) / count * 1e6 for n, step in enumerate(steps)}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        short, long = (measure(count, Path(folder)) for count in (1_000, 10_000))
    print(f"{'µs per exchange':16}{'1,000':>10}{'10,000':>10}{'ratio':>8}")
    for step, cost in short.items():
        print(f"{step:16}{cost:10.0f}{long[step]:10.0f}{long[step] / cost:8.2f}")
    return int(sum(long.values()) > 1.5 * sum(short.values()))


if __name__ == "__main__":
    sys.exit(main())
