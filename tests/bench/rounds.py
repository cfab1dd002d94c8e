"""Measuring subjects side by side: short blocks of each in turn, so that what disturbs one disturbs all."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

__all__ = ["ROOT", "Ratio", "Worker", "compare", "environment", "interleave", "serving"]

ROOT = Path(__file__).parent.parent.parent
BLOCK_SECONDS = 0.06  # CPU of one subject in one round


@dataclass(frozen=True, slots=True)
class Ratio:
    """`middle` is the median of the rounds, half of which lie from `low` to `high`."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Ratio:
        low, middle, high = quantiles(values, n=4, method="inclusive")
        return cls(middle, low, high)


def compare(subject: Sequence[float], base: Sequence[float]) -> Ratio:
    """The ratio of each round to the base's of the same round."""
    return Ratio.of([a / b for a, b in zip(subject, base, strict=True)])


def environment() -> dict[str, str]:
    """Without proxies, which loopback does not need, and with the clone on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return kept | {"PYTHONPATH": str(ROOT)}


@contextmanager
def serving() -> Iterator[str]:
    """The server in a process of its own; gives its base URL."""
    command = [sys.executable, "-m", "tests.bench.server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment()) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()


class Worker:
    """A subject in its own process, perhaps under the Python of another environment. Use it in `with`.

    Raises RuntimeError, which quotes the subject's own error, when it cannot do its work.
    """

    def __init__(self, name: str, base: str, python: str = sys.executable) -> None:
        self.name = name
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 # a pipe that nobody reads would fill up
        self._process = subprocess.Popen(
            [python, "-m", "tests.bench.worker", name, base],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            cwd=ROOT,
            env=environment(),
        )

    def __enter__(self) -> Worker:
        try:
            self._answer()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaints.close()

    def cpu(self, units: int) -> float:
        """Seconds of CPU for so many units."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{units}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.strip() == "ready" or line[:1].isdigit():
                return line
        self._complaints.seek(0)
        raise RuntimeError(f"{self.name}: {self._complaints.read().strip()[-800:]}")


def _block_size(worker: Worker) -> int:
    """Units for one block, once the worker is warm."""
    cost = worker.cpu(1)
    for _ in range(2):
        units = max(1, round(BLOCK_SECONDS / max(cost, 1e-7)))
        cost = worker.cpu(units) / units
    return max(1, round(BLOCK_SECONDS / max(cost, 1e-7)))


def interleave(workers: Sequence[Worker], rounds: int) -> dict[str, list[float]]:
    """Seconds of CPU per unit of each worker, round by round. Every second round goes through them backwards."""
    sizes = {worker.name: _block_size(worker) for worker in workers}
    taken: dict[str, list[float]] = {worker.name: [] for worker in workers}
    for number in range(rounds):
        for worker in workers if number % 2 else reversed(workers):
            taken[worker.name].append(worker.cpu(sizes[worker.name]) / sizes[worker.name])
    return taken
