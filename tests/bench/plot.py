"""The plot of how costs grow, drawn by pygal (dependency group `bench`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.table import TITLES

__all__ = ["draw"]

SHOWN = {
    "steps_own": "µs per step",
    "steps_http": "µs per step",
    "chunks": "µs per chunk",
    "concurrent": "µs per run",
    "cassettes": "µs to match",
}
"""The line of each curve that is drawn: all are costs of one unit, so a flat line means linear growth."""


def draw(curves: Mapping[str, Mapping[str, Sequence[float]]], sizes: Mapping[str, Sequence[int]], path: Path) -> None:
    """Write an SVG: cost of one unit against how many there are, both axes logarithmic."""
    import pygal
    from pygal.style import LightSolarizedStyle

    most = max(max(sizes[name]) for name in SHOWN)
    chart = pygal.XY(
        title="CPU of one unit, in µs, by how many there are",
        x_title="how many",
        logarithmic=True,
        js=(),  # a picture in a page runs no scripts
        style=LightSolarizedStyle,
        legend_at_bottom=True,
        show_dots=True,
        width=900,
        height=480,
    )
    chart.x_labels = [{"value": power, "label": f"{10**power:,}"} for power in range(int(math.log10(most)) + 1)]
    for name, line in SHOWN.items():
        points = [(math.log10(size), cost) for size, cost in zip(sizes[name], curves[name][line], strict=True)]
        chart.add(f"{TITLES[name]} ({line})", points)
    path.write_bytes(chart.render())
