"""Instructions instead of seconds: steadier, and blind to caches. Needs valgrind; takes some minutes.

Run: python -m tests.bench.instructions. Each subject runs twice under callgrind, with so many units and with twice as
many; the difference is what the units cost, without the start of the interpreter.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from tests.bench.rounds import ROOT, environment, serving

__all__ = ["instructions"]

UNITS = {"respond": 40, "httpx": 40, "agent": 40, "stream": 1, "iter_bytes": 1, "stream 20": 1, "json.loads": 1}
PAIRS = (("respond", "httpx"), ("agent", "httpx"), ("stream", "iter_bytes"), ("stream 20", "json.loads"))


def instructions(name: str, base: str, units: int) -> float:
    """Instructions of one unit of the subject, in user space."""
    return (_collected(name, base, (units, units)) - _collected(name, base, (units,))) / units


def _collected(name: str, base: str, blocks: tuple[int, ...]) -> int:
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*valgrind, sys.executable, "-m", "tests.bench.worker", name, base],
        input="".join(f"{units}\n" for units in blocks),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment() | {"PYTHONHASHSEED": "0"},
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr[-800:]
    return int(found.group(1))


def main() -> None:
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed: apt-get install valgrind")
    with serving() as base:
        counts = {name: instructions(name, base, units) for name, units in UNITS.items()}
    for ours, plain in PAIRS:
        print(f"{ours:12}{counts[ours]:14,.0f}{plain:>14}{counts[plain]:14,.0f}{counts[ours] / counts[plain]:8.2f}")


if __name__ == "__main__":
    main()
