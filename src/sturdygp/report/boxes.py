"""The paper's figures: errors against the rate of contamination, one box for each method and level."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from sturdygp.plot.canvas import look
from sturdygp.report.grid import Grid, Panel
from sturdygp.report.style import COLOURS, in_order, is_oracle, label
from sturdygp.report.table import counted

# Of the distance between levels.
GROUP_WIDTH = 0.86
BOX_WIDTH = 0.8
BOX_TINT = 0.5
BOX_LINE = 0.5
SHADE = "#F3F3F3"
# Numbers on the axis of errors in each decade.
COARSE, FINE, ONE_DECADE = (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), 12.0
# Inches.
PANEL_HEIGHT, LEGEND_LINE, LEGEND_ENTRY = 2.2, 0.16, 1.65
NARROWEST_PANEL = 3.2


def box_figure(panels: Sequence[Panel], width: float) -> Figure:
    """One plot for each panel under a common legend, ``width`` inches wide."""
    methods = in_order(method for panel in panels for method in panel.errors.methods)
    columns = min(len(panels), max(1, int(width / NARROWEST_PANEL)))
    rows, legend_columns = ceil(len(panels) / columns), max(1, int(width / LEGEND_ENTRY))
    height = rows * PANEL_HEIGHT + LEGEND_LINE * (1 + ceil(len(methods) / legend_columns))
    with look():
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
    """Boxes side by side at each level, on a logarithmic scale: the worst are tens of times the best."""
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
    """Plain numbers on the axis of errors, several even where errors span less than a decade."""
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=FINE if high < ONE_DECADE * low else COARSE))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def panel_title(panel: Panel) -> str:
    """What is shown, and how many fits are not because they failed."""
    failed = sum(record.failed for record in panel.records)
    return f"{panel.title} ({counted(failed, 'fit')} failed)" if failed else panel.title


def draw_boxes(axis: Axes, grid: Grid, method: str, offset: float, width: float) -> None:
    """The boxes of one method."""
    there = [
        (position + offset, list(cell.values.values()))
        for position, cell in enumerate(grid.row(method))
        if cell.values
    ]
    if not there:
        return
    colour = COLOURS[method]
    axis.boxplot(
        [values for _, values in there],
        positions=[position for position, _ in there],
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
    """The inside of a box: empty for oracles, which are no contenders."""
    return "white" if is_oracle(method) else to_rgba(COLOURS[method], BOX_TINT)


def sample(method: str) -> Patch:
    """The box of a method in the legend."""
    return Patch(
        facecolor=filling(method), edgecolor=COLOURS[method], linewidth=2 * BOX_LINE, label=label(method)
    )
