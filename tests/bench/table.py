"""The table of ratios: what each row compares, with which target, and how it is written."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median

from tests.bench.rounds import Ratio, compare

__all__ = ["ROWS", "TITLES", "Costs", "Row", "growth_table", "machine", "markdown", "missed"]

Costs = Mapping[str, Sequence[float]]
"""What each subject cost, round by round, by its name."""


@dataclass(frozen=True, slots=True)
class Row:
    """`base` and `ours` are names of subjects, `unit` is what one unit of them costs, `peers` the subjects of peers."""

    what: str
    ours: str
    base: str
    target: float | None  # None: told so that nothing is hidden
    unit: float = 1e-6  # seconds: µs
    per: int = 1  # things that the ratio is told of, in one unit of work
    peers: Mapping[str, str] = field(default_factory=dict[str, str])


ROWS = (
    Row(
        "`Client.respond`, a small reply, to httpx and json",
        "respond",
        "httpx",
        1.15,
        peers={"openai": "openai respond", "anthropic": "anthropic respond", "litellm": "litellm respond"},
    ),
    Row(
        "`AsyncClient.respond`, to async httpx and json",
        "respond async",
        "httpx async",
        1.15,
        peers={"openai": "openai respond async"},
    ),
    Row(
        "`Agent.run`, one step, to httpx and json",
        "agent",
        "httpx",
        1.35,
        peers={"openai-agents": "openai-agents agent", "pydantic-ai": "pydantic-ai agent"},
    ),
    Row("`AsyncAgent.run`, one step, to async httpx and json", "agent async", "httpx async", 1.35),
    Row(
        "`Client.stream`, one event per HTTP chunk, to `iter_bytes`",
        "stream",
        "iter_bytes",
        1.5,
        per=1000,
        peers={
            "openai": "openai stream",
            "litellm": "litellm stream",
            "openai-agents": "openai-agents stream",
            "pydantic-ai": "pydantic-ai stream",
        },
    ),
    Row("`AsyncClient.stream`, the same, to `aiter_bytes`", "stream async", "iter_bytes async", 1.5, per=1000),
    Row("`Client.stream`, 20 events per HTTP chunk, to `json.loads` of them", "stream 20", "json.loads", 2.5, per=1000),
    Row(
        "`from agentloop import Client, Agent`, to `import httpx`",
        "import agentloop",
        "import httpx",
        1.15,
        1e-3,
        peers={name: f"import {name}" for name in ("openai", "anthropic", "openai-agents", "pydantic-ai", "litellm")},
    ),
    Row("the same, without click and rich installed", "bare import agentloop", "bare import httpx", 1.15, 1e-3),
    Row("import and make an agent, to import and make `httpx.Client`", "make agentloop", "make httpx", None, 1e-3),
    Row("`agentloop --version`, to `python -c 'import click'`", "version", "click", 1.5, 1e-3),
    Row(
        "an idle open stream, resident memory, to httpx",
        "idle agentloop",
        "idle httpx",
        1.5,
        1024,
        peers={"openai": "idle openai"},
    ),
    Row("step 1,000 to step 10 of one run, own CPU", "step 1000", "step 10", 2.0),
)


TITLES = {
    "steps_own": "steps of one run, no socket",
    "steps_http": "steps of one run, real HTTP",
    "chunks": "chunks of one stream",
    "concurrent": "runs at a time",
    "histories": "messages of a history",
    "cassettes": "exchanges of a cassette",
}
"""What the sizes of each curve count."""


def markdown(costs: Costs, peers: Sequence[str] = ()) -> str:
    """The rows that were measured: our ratio with the middle half of the rounds in brackets, and the peers' ratios."""
    lines = [
        f"| CPU, as a ratio | target | agentloop | {''.join(f'{peer} | ' for peer in peers)}ours | base |",
        f"| --- | --- | --- | {'--- | ' * len(peers)}--- | --- |",
    ]
    for row in ROWS:
        if row.ours in costs and row.base in costs:
            cells = (row.what, f"≤ {row.target:g}" if row.target else "", *_cells(row, costs, peers))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(row: Row, costs: Costs, peers: Sequence[str]) -> Iterator[str]:
    yield _spread(compare(costs[row.ours], costs[row.base]))
    for peer in peers:
        name = row.peers.get(peer, "")
        yield f"{compare(costs[name], costs[row.base]).middle:.3g}" if name in costs else ""
    for name in (row.ours, row.base):
        yield _amount(median(costs[name]) / row.per, row.unit)


def _spread(ratio: Ratio) -> str:
    return f"**{ratio.middle:.2f}** ({ratio.low:.2f}–{ratio.high:.2f})"


def _amount(value: float, unit: float) -> str:
    name = {1e-6: "µs", 1e-3: "ms", 1024: "KiB"}[unit]
    return f"{value / unit:.3g} {name}" if value / unit < 100 else f"{value / unit:.0f} {name}"


def missed(costs: Costs) -> list[str]:
    """The rows whose median is above its target."""
    measured = (row for row in ROWS if row.ours in costs and row.base in costs)
    return [row.what for row in measured if row.target and _middle(row, costs) > row.target]


def _middle(row: Row, costs: Costs) -> float:
    return compare(costs[row.ours], costs[row.base]).middle


def growth_table(curves: Mapping[str, Mapping[str, Sequence[float]]], sizes: Mapping[str, Sequence[int]]) -> str:
    """One table for each curve: its sizes across, its lines down."""
    tables: list[str] = []
    for name, lines in curves.items():
        across = [f"{size:,}" for size in sizes[name]]
        rows = [[TITLES[name], *across], ["---"] * (len(across) + 1)]
        rows += [[line, *(f"{point:.3g}" for point in points)] for line, points in lines.items()]
        tables.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(tables)


def machine() -> str:
    """What was measured on, in one line."""
    model = next((line for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "").partition(":")[2]
    ours = ", ".join(f"{name} {version(name)}" for name in ("httpx", "httpcore", "h11", "orjson"))
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{model.strip() or platform.machine()}, {os.cpu_count()} cores, {platform.system()}, {python}, {ours}"


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text("utf-8", "replace").splitlines() if file.is_file() else []
