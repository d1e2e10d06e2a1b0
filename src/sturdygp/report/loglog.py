"""Time of a fit against the number of readings, with the exponents of its growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from sturdygp.plot.canvas import SMALL_TEXT, look
from sturdygp.report.grid import Grid
from sturdygp.report.runtime import medians, power_law
from sturdygp.report.style import COLOURS, MARKERS, label

# Inches: height of the figure, and of a line of text at the end of a curve.
HEIGHT, LABEL_LINE = 3.0, 0.135
# Inches that the names of curves take, and that a number on the axis needs.
NAMES_WIDTH, TICK_WIDTH = 1.8, 0.28
# Points between the end of a curve and its name.
GAP = 5


def time_figure(grid: Grid, width: float) -> Figure:
    """Median times as lines, each named at its end with its exponent, ``width`` inches wide."""
    with look():
        figure = Figure(figsize=(width, HEIGHT), layout="constrained")
        axis = figure.subplots()
        curves = {method: times for method in grid.methods if (times := medians(grid, method))}
        for method, times in curves.items():
            draw_curve(axis, method, times)
        axis.set(xlabel="number of readings", ylabel="median seconds of a fit", xscale="log", yscale="log")
        axis.xaxis.set_major_locator(FixedLocator(legible(grid.levels, width - NAMES_WIDTH)))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.xaxis.set_major_formatter("{x:g}")
        axis.grid()
        name_curves(axis, curves)
    return figure


def legible(levels: Sequence[float], inches: float) -> list[float]:
    """The levels whose numbers do not touch on a logarithmic axis, the ends among them."""
    first, *between, last = levels if len(levels) > 1 else (*levels, *levels)
    needed = TICK_WIDTH / inches * np.log(last / first)
    shown = [first]
    for level in between:
        if np.log(level / shown[-1]) >= needed and np.log(last / level) >= needed:
            shown.append(level)
    return [*shown, last]


def draw_curve(axis: Axes, method: str, times: Mapping[float, float]) -> None:
    """The times of one method."""
    axis.plot(
        list(times),
        list(times.values()),
        color=COLOURS[method],
        marker=MARKERS[method],
        markersize=4,
        markeredgewidth=0,
        lw=1.2,
    )


def name_curves(axis: Axes, curves: Mapping[str, Mapping[float, float]]) -> None:
    """Write names beside the ends of curves, apart from each other where curves end close together."""
    ends = {method: max(times) for method, times in curves.items()}
    decades = float(np.diff(np.log10(axis.get_ylim()))[0])
    # The axis is a little lower than the figure, so this is on the safe side.
    line = LABEL_LINE / (0.8 * HEIGHT) * decades
    for end in set(ends.values()):
        methods = sorted((m for m in curves if ends[m] == end), key=lambda m: curves[m][end])
        heights = spread([float(np.log10(curves[method][end])) for method in methods], line)
        for method, height in zip(methods, heights, strict=True):
            axis.annotate(
                curve_name(method, curves[method]),
                (end, 10.0**height),
                xytext=(GAP, 0),
                textcoords="offset points",
                va="center",
                color=COLOURS[method],
                fontsize=SMALL_TEXT,
                annotation_clip=False,
            )


def curve_name(method: str, times: Mapping[float, float]) -> str:
    """The method, and how its time grows."""
    law = power_law(times)
    return label(method) if law is None else f"{label(method)}, $n^{{{law.exponent:.1f}}}$"


def spread(heights: Sequence[float], distance: float) -> list[float]:
    """Ascending heights moved as little as possible, in the sense of least squares, to be a distance apart.

    Examples
    --------
    >>> spread([0.0, 0.0, 5.0], 1.0)
    [-0.5, 0.5, 5.0]
    """
    # Less their places in line, heights only have to ascend: pool neighbours that do not.
    pools: list[list[float]] = []
    for place, height in enumerate(heights):
        pools.append([height - place * distance])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    level = [float(np.mean(pool)) for pool in pools for _ in pool]
    return [height + place * distance for place, height in enumerate(level)]
