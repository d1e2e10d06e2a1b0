"""Figures of suites: errors as boxes by contamination rate, and times of a fit by number of observations.

Grey is the standard model; black and silver are the oracles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from sturdygp.plot.canvas import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SILVER,
    SKY,
    SMALL_TEXT,
    YELLOW,
    figure_style,
)
from sturdygp.report.grid import Grid, Panel, in_order, is_oracle, label
from sturdygp.report.runtime import medians, power_law
from sturdygp.report.table import counted

# Colours and markers of the methods. Variants of a method share its colour and differ in their markers.
COLOURS: dict[str, str] = {
    "standard": GREY,
    "rcgp": YELLOW,
    "student-t": PURPLE,
    "mixture": GREEN,
    "asor": ORANGE,
    "asor-single": ORANGE,
    "asor-gem": ORANGE,
    "robust": BLUE,
    "robust-many": SKY,
    "oracle": BLACK,
    "oracle-centred": SILVER,
}
MARKERS: dict[str, str] = {
    "standard": "s",
    "rcgp": "v",
    "student-t": "^",
    "mixture": "D",
    "asor": "o",
    "asor-single": "P",
    "asor-gem": "*",
    "robust": "X",
    "robust-many": "x",
    "oracle": "<",
    "oracle-centred": ">",
}

# Boxes: widths of a group and of a box relative to the distance between levels and between boxes.
GROUP_WIDTH, BOX_WIDTH = 0.86, 0.8
# Opacity of a box, width of its outline in points, and shade of every second level.
BOX_TINT, BOX_LINE, SHADE = 0.5, 0.5, "#F3F3F3"
# Numbers on the axis of errors in each decade; the finer ones if the errors span less than about a decade.
COARSE, FINE, ONE_DECADE = (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), 12.0
# Inches.
PANEL_HEIGHT, LEGEND_LINE, LEGEND_ENTRY = 2.2, 0.16, 1.65
NARROWEST_PANEL = 3.2

# Times, in inches: height of the figure, height of a line of text at the end of a curve, width that the names
# of curves take, and width that a number on the axis needs.
TIME_HEIGHT, LABEL_LINE = 3.0, 0.135
NAMES_WIDTH, TICK_WIDTH = 1.8, 0.28
# Points between the end of a curve and its name.
GAP = 5


# ------------------------------------------------------------------------------------------ errors


def box_figure(panels: Sequence[Panel], width: float) -> Figure:
    """Draw one plot for each panel above a common legend, ``width`` inches wide."""
    methods = in_order(method for panel in panels for method in panel.errors.methods)
    columns = min(len(panels), max(1, int(width / NARROWEST_PANEL)))
    rows, legend_columns = ceil(len(panels) / columns), max(1, int(width / LEGEND_ENTRY))
    height = rows * PANEL_HEIGHT + LEGEND_LINE * (1 + ceil(len(methods) / legend_columns))
    with figure_style():
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            draw_panel(axis, panel, methods)
        for axis in axes[len(panels) :]:
            axis.remove()
        figure.legend(
            handles=[sample(method) for method in methods],
            loc="outside lower center",
            ncols=legend_columns,
            frameon=False,
            handlelength=1.0,
            handleheight=0.8,
            columnspacing=1.2,
        )
    return figure


def draw_panel(axis: Axes, panel: Panel, methods: Sequence[str]) -> None:
    """Draw boxes side by side at each level, on a logarithmic scale: errors differ by factors of ten."""
    grid = panel.errors
    for position in range(0, len(grid.levels), 2):
        axis.axvspan(position - 0.5, position + 0.5, color=SHADE, lw=0, zorder=0)
    for index, method in enumerate(methods):
        offset = GROUP_WIDTH * ((index + 0.5) / len(methods) - 0.5)
        draw_boxes(axis, grid, method, offset, GROUP_WIDTH / len(methods) * BOX_WIDTH)
    axis.set(title=panel_title(panel), xlabel="contamination rate", ylabel="RMSE", yscale="log")
    axis.set_xlim(-0.5, len(grid.levels) - 0.5)
    axis.set_xticks(range(len(grid.levels)), [f"{level:g}" for level in grid.levels])
    axis.tick_params(axis="x", length=0)
    mark_errors(axis)
    axis.grid(axis="y", zorder=0.5)


def mark_errors(axis: Axes) -> None:
    """Write plain numbers at the axis of errors, several even if errors span less than a decade."""
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=FINE if high < ONE_DECADE * low else COARSE))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def panel_title(panel: Panel) -> str:
    """Return the title of a panel, with the number of failed fits, which have no error."""
    failed = sum(record.failed for record in panel.records)
    return f"{panel.title} ({counted(failed, 'fit')} failed)" if failed else panel.title


def draw_boxes(axis: Axes, grid: Grid, method: str, offset: float, width: float) -> None:
    """Draw the boxes of one method."""
    drawn = [
        (position + offset, list(cell.values.values()))
        for position, cell in enumerate(grid.row(method))
        if cell.values
    ]
    if not drawn:
        return
    colour = COLOURS[method]
    axis.boxplot(
        [values for _, values in drawn],
        positions=[position for position, _ in drawn],
        widths=width,
        patch_artist=True,
        manage_ticks=False,
        zorder=2,
        # The median is darker than the box, so that it shows however low the box is.
        boxprops={"facecolor": filling(method), "edgecolor": colour, "linewidth": BOX_LINE},
        medianprops={"color": colour, "linewidth": 1.4, "solid_capstyle": "butt"},
        whiskerprops={"color": colour, "linewidth": 0.6},
        capprops={"linewidth": 0.0},
        flierprops={"marker": ".", "markersize": 1.8, "markeredgecolor": "none", "markerfacecolor": colour},
    )


def filling(method: str) -> str | tuple[float, float, float, float]:
    """Return the colour inside a box: white for oracles, which do not compete."""
    return "white" if is_oracle(method) else to_rgba(COLOURS[method], BOX_TINT)


def sample(method: str) -> Patch:
    """Make the box of a method in the legend."""
    return Patch(
        facecolor=filling(method), edgecolor=COLOURS[method], linewidth=2 * BOX_LINE, label=label(method)
    )


# ------------------------------------------------------------------------------------------- times


def time_figure(grid: Grid, width: float) -> Figure:
    """Draw median times as curves, each named at its end with its exponent, ``width`` inches wide."""
    with figure_style():
        figure = Figure(figsize=(width, TIME_HEIGHT), layout="constrained")
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
    """Select levels whose numbers do not touch on a logarithmic axis, the ends among them."""
    first, *between, last = levels if len(levels) > 1 else (*levels, *levels)
    needed = TICK_WIDTH / inches * np.log(last / first)
    shown = [first]
    for level in between:
        if np.log(level / shown[-1]) >= needed and np.log(last / level) >= needed:
            shown.append(level)
    return [*shown, last]


def draw_curve(axis: Axes, method: str, times: Mapping[float, float]) -> None:
    """Draw the times of one method."""
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
    """Write names at the ends of curves, apart from each other where curves end close together."""
    ends = {method: max(times) for method, times in curves.items()}
    decades = float(np.diff(np.log10(axis.get_ylim()))[0])
    # The axis takes at least 0.8 of the figure's height, so names are rather too far apart than too close.
    line = LABEL_LINE / (0.8 * TIME_HEIGHT) * decades
    for end in set(ends.values()):
        methods = sorted((m for m in curves if ends[m] == end), key=lambda m: curves[m][end])
        heights = separated([float(np.log10(curves[method][end])) for method in methods], line)
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
    """Return the name of a method, with the exponent of its time."""
    law = power_law(times)
    return label(method) if law is None else f"{label(method)}, $n^{{{law.exponent:.1f}}}$"


def separated(heights: Sequence[float], distance: float) -> list[float]:
    """Move ascending heights as little as possible, in least squares, until they are a distance apart.

    Examples
    --------
    >>> separated([0.0, 0.0, 5.0], 1.0)
    [-0.5, 0.5, 5.0]
    """
    # Isotonic regression of the heights less their places in line: pool neighbours that do not ascend.
    pools: list[list[float]] = []
    for place, height in enumerate(heights):
        pools.append([height - place * distance])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    pooled = [float(np.mean(pool)) for pool in pools for _ in pool]
    return [height + place * distance for place, height in enumerate(pooled)]
