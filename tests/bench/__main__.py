"""What agentloop costs beside httpx, and beside its peers.

Run: python -m tests.bench          our own rows, in under a minute
     python -m tests.bench --full   with the peers, and how costs grow; writes the plots
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path

from tests.bench import bench_history, bench_tokens
from tests.bench.peers import PEER_SUBJECTS, PEERS, install
from tests.bench.processes import IDLE, STATEMENTS, WITHOUT_CLI, idle_memory, import_costs, program_costs
from tests.bench.rounds import ROOT, Worker, environment, interleave, serving
from tests.bench.subjects import SUBJECTS
from tests.bench.table import growth_table, machine, markdown, missed

SIZES: Mapping[str, Sequence[int]] = {
    "steps_own": (10, 100, 1000, 5000),
    "steps_http": (10, 100, 1000, 5000),
    "chunks": (100, 10_000, 1_000_000),
    "concurrent": (1, 10, 100, 1000),
    "histories": (10, 100, 1000, 10_000),
    "cassettes": (100, 1000, 10_000),
}


def growth(curve: str, base: str, sizes: Sequence[int]) -> dict[str, list[float]]:
    command = [sys.executable, "-m", "tests.bench.growth", curve, base, *map(str, sizes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=environment())
    return json.loads(done.stdout)


def hot_paths(base: str, rounds: int, pythons: Mapping[str, Path], failed: dict[str, str]) -> dict[str, list[float]]:
    """Our subjects, the plain ones, and those of the peers that are installed."""
    theirs = [name for name in PEER_SUBJECTS if name.partition(" ")[0] in pythons]
    with ExitStack() as stack:
        workers: list[Worker] = []
        for name in (*SUBJECTS, *theirs):
            python = pythons.get(name.partition(" ")[0], sys.executable)
            try:
                workers.append(stack.enter_context(Worker(name, base, str(python))))
            except RuntimeError as error:
                failed[name] = str(error)
        return interleave(workers, rounds)


def fresh_processes(base: str, rounds: int, pythons: Mapping[str, Path]) -> dict[str, list[float]]:
    """What new interpreters cost."""
    theirs = {f"import {peer.name}": peer.statement for peer in PEERS if peer.name in pythons}
    costs = import_costs(STATEMENTS | theirs, rounds, {f"import {name}": path for name, path in pythons.items()})
    bare = {name: STATEMENTS[name] for name in ("import httpx", "import agentloop")}
    costs |= {f"bare {name}": taken for name, taken in import_costs(bare, rounds, before=WITHOUT_CLI).items()}
    costs |= program_costs({"version": ("-m", "agentloop", "--version"), "click": ("-c", "import click")}, rounds)
    wanted = {name: opener for name, opener in IDLE.items() if name != "idle openai" or "openai" in pythons}
    openai = {"idle openai": pythons["openai"]} if "openai" in pythons else {}
    return costs | idle_memory(wanted, base, 3, openai)


def long_run(base: str, rounds: int) -> dict[str, list[float]]:
    """One step at the beginning of a run, and one after a thousand."""
    points = [growth("steps_own", base, (10, 1000))["µs per step"] for _ in range(rounds)]
    return {"step 10": [first / 1e6 for first, _ in points], "step 1000": [last / 1e6 for _, last in points]}


def installed(failed: dict[str, str]) -> dict[str, Path]:
    """The Pythons of the peers; one that cannot be installed is named in `failed`."""
    pythons: dict[str, Path] = {}
    for peer in PEERS:
        print(f"installing {peer.pin} ...", file=sys.stderr)
        try:
            pythons[peer.name] = install(peer, ROOT / ".venvs")
        except RuntimeError as error:
            failed[peer.name] = str(error)
    return pythons


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="What agentloop costs.")
    parser.add_argument("--full", action="store_true", help="with the peers and the growth of costs")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--plots", type=Path, default=ROOT / "tests" / "bench", help="the folder of the plots")
    arguments = parser.parse_args()
    failed: dict[str, str] = {}
    pythons = installed(failed) if arguments.full else {}
    print(f"{date.today()}: {machine()}\n")
    with serving() as base:
        costs = hot_paths(base, arguments.rounds, pythons, failed)
        costs |= fresh_processes(base, arguments.rounds, pythons)
        costs |= long_run(base, arguments.rounds)
        print(markdown(costs, list(pythons)))
        for name, reason in failed.items():
            print(f"\nnot measured: {name}: {reason}")
        if arguments.full:
            from tests.bench.plot import draw_growth, draw_peers

            curves = {name: growth(name, base, sizes) for name, sizes in SIZES.items()}
            print(f"\n{growth_table(curves, SIZES)}\n")
            draw_growth(curves, SIZES, arguments.plots / "growth.svg")
            draw_peers(costs, list(pythons), arguments.plots / "peers.svg")
    print()
    bench_history.print_trimming()
    bench_history.print_shares()
    if arguments.full:
        bench_history.print_steps()
        bench_tokens.print_corpus()
        bench_tokens.print_recordings()
    for what in missed(costs):
        print(f"above its target: {what}")


if __name__ == "__main__":
    main()
