"""The plots, drawn by pygal (dependency group `bench`): how costs grow, and what the peers cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.rounds import compare
from tests.bench.table import ROWS, TITLES, Costs

__all__ = ["draw_growth", "draw_peers"]

LINES = {
    "steps_own": "µs per step",
    "steps_http": "µs per step",
    "chunks": "µs per chunk",
    "concurrent": "µs per run",
    "cassettes": "µs to match",
}
"""The line of each curve that is drawn: all are costs of one unit, so a flat line means linear growth."""


def draw_growth(
    curves: Mapping[str, Mapping[str, Sequence[float]]], sizes: Mapping[str, Sequence[int]], path: Path
) -> None:
    """Write an SVG: the cost of one unit against how many there are, both axes logarithmic."""
    import pygal

    powers = [10**power for power in range(7)]
    chart = pygal.XY(**_look("CPU of one, in µs, by how many there are"), y_labels=powers[:5])
    chart.x_labels = [{"value": power, "label": f"{power:,}"} for power in powers]
    for name, line in LINES.items():
        points = list(zip(sizes[name], curves[name][line], strict=True))
        chart.add(f"{TITLES[name]}, {line}", points)
    path.write_bytes(chart.render())


def draw_peers(costs: Costs, peers: Sequence[str], path: Path) -> None:
    """Write an SVG: the ratio to the plain program, for each row that a peer has too."""
    import pygal

    rows = [row for row in ROWS if any(name in costs for name in row.peers.values())]
    look = _look("CPU (memory: the last), as a ratio to plain httpx")
    chart = pygal.HorizontalBar(**look, zero=0.3, range=(0.3, 100), y_labels=[0.3, 1, 3, 10, 30, 100])
    chart.x_labels = [row.what.replace("`", "").partition(", to")[0] for row in rows]
    names = {"agentloop": [row.ours for row in rows]}
    names |= {peer: [row.peers.get(peer, "") for row in rows] for peer in peers}
    for name, subjects in names.items():
        pairs = zip(subjects, rows, strict=True)
        chart.add(name, [compare(costs[s], costs[row.base]).middle if s in costs else None for s, row in pairs])
    path.write_bytes(chart.render())


def _look(title: str) -> dict[str, Any]:
    from pygal.style import CleanStyle

    return {
        "title": title,
        "logarithmic": True,
        "js": (),  # a picture in a page runs no scripts
        "style": CleanStyle(background="white", plot_background="white"),
        "legend_at_bottom": True,
        "legend_at_bottom_columns": 2,
        "margin_right": 40,
        "truncate_legend": -1,
        "truncate_label": -1,
        "width": 960,
        "height": 560,
    }
