"""Charts for Plotly: traces and layout as plain values that JSON can hold.

A trace names its role in ``meta``; the page gives each role its colour, light or dark. A chart has one or
more views, which replace parts of its traces and of its horizontal axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sturdygp._typing import FloatArray
from sturdygp.plot.calibration import CalibrationDisplay
from sturdygp.report.html.readings import Readings
from sturdygp.tables.formatting import readable

Role: TypeAlias = Literal["fit", "interval", "reading", "flagged", "ink"]
Trace: TypeAlias = dict[str, Any]
Values: TypeAlias = Sequence[float | str | None]

HOVER = (
    "row %{customdata[0]}<br>reading %{customdata[1]}<br>expected %{customdata[2]}"
    " (%{customdata[3]} to %{customdata[4]})<br>outlier probability %{customdata[5]}<extra></extra>"
)
# Resolution of deviations and percentages.
FINE = 0.1
# Range of the axis of deviations, in standard deviations, unless inliers need more.
WIDEST_DEVIATION = 4.0
# The main points of a chart take at least this fraction of its height. Otherwise others are left out that are
# further from them than so many times their height.
LEAST_FRACTION = 1.0 / 12.0
FURTHEST = 3.0
# Fraction of the iterations that may lie outside a chart of convergence, because the first steps may be huge.
FIRST_STEPS = 0.25


@dataclass(frozen=True)
class View:
    """View of a chart: its traces over one horizontal axis."""

    name: str
    data: list[Trace] = field(default_factory=list)
    xaxis: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Chart:
    """Chart: traces, and titles and ranges of the axes."""

    data: list[Trace]
    xaxis: dict[str, Any]
    yaxis: dict[str, Any]
    views: list[View] = field(default_factory=lambda: [View("")])

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON; asdict would copy every number."""
        return {**vars(self), "views": [vars(view) for view in self.views]}


def literal(text: str) -> str:
    """Escape text for Plotly, in which names from a file could be tags or templates.

    Examples
    --------
    >>> literal("<b>CO</b> %{x}")
    '&lt;b&gt;CO&lt;/b&gt; %&#123;x}'
    """
    return escape(text, quote=False).replace("{", "&#123;")


def title(text: str) -> dict[str, str]:
    """Make the title of an axis."""
    return {"text": literal(text)}


def numbers(values: FloatArray, widths: ArrayLike) -> list[float]:
    """Round numbers to the digits that matter at the scale of some widths."""
    plain: list[float] = readable(values, widths).tolist()
    return plain


def height(shown: FloatArray, others: FloatArray) -> dict[str, list[float]]:
    """Return the range of an axis that leaves out far values among the others; empty if all can be shown.

    Examples
    --------
    >>> height(np.array([0.0, 10.0]), np.array([-5.0, 1e30]))
    {'range': [-5.75, 10.75]}
    >>> height(np.array([0.0, 10.0]), np.array([-5.0, 50.0]))
    {}
    """
    own = np.ptp(shown)
    if own == 0.0 or own >= LEAST_FRACTION * np.ptp(np.concatenate([shown, others])):
        return {}
    near = (others >= shown.min() - FURTHEST * own) & (others <= shown.max() + FURTHEST * own)
    inside = np.concatenate([shown, others[near]])
    margin = 0.05 * np.ptp(inside)
    return {"range": numbers(np.array([inside.min() - margin, inside.max() + margin]), margin)}


# ------------------------------------------------------------------------------- data and the fit


@dataclass(frozen=True, eq=False)
class Curve:
    """Fit over one input, with its interval."""

    x: Values
    mean: FloatArray
    lower: FloatArray
    upper: FloatArray


def fit_chart(target: str, readings: Readings, views: list[View]) -> Chart:
    """Draw the readings, the fit and its interval; each view is over another input."""
    kept, flagged = readings[~readings.flagged], readings[readings.flagged]
    traces: list[Trace] = [
        {"meta": "interval", "name": "95 % of good readings", "hoverinfo": "skip"},
        {"meta": "fit", "name": "expected", "hoverinfo": "skip"},
        {"meta": "reading", "name": "reading", "mode": "markers", "marker": {"size": 5}, **hover(kept)},
        {
            "meta": "flagged",
            "name": "flagged",
            "mode": "markers",
            "marker": {"size": 9, "symbol": "diamond-open", "line": {"width": 2}},
            **hover(flagged),
        },
    ]
    drawn = [value for view in views for trace in view.data[:2] for value in trace["y"] if value is not None]
    shown = np.concatenate([kept.reading, drawn])
    return Chart(traces, {}, {"title": title(target), **height(shown, flagged.reading)}, views)


def hover(readings: Readings) -> Trace:
    """Return the readings, with the texts for the one under the pointer."""
    texts = zip((readings.row + 1).tolist(), *readings.texts().values(), strict=True)
    return {
        "y": numbers(readings.reading, readings.half),
        "customdata": [list(each) for each in texts],
        "hovertemplate": HOVER,
    }


def view_over(name: str, axis: str, x: Values, readings: Readings, curve: Curve | None = None) -> View:
    """Make the view over one input, with the fit as a curve, or as a point for each reading."""
    x = [literal(each) if isinstance(each, str) and axis == "category" else each for each in x]
    split = [[x[i] for i in np.flatnonzero(which)] for which in (~readings.flagged, readings.flagged)]
    fit = points_of(x, readings) if curve is None else lines_of(curve)
    return View(name, [*fit, {"x": split[0]}, {"x": split[1]}], {"title": title(name), "type": axis})


def lines_of(curve: Curve) -> list[Trace]:
    """Draw a curve as a band and a line."""
    half = (curve.upper - curve.lower) / 2.0
    mean = numbers(curve.mean, half)
    return [
        band(curve.x, curve.lower, curve.upper, half),
        {"x": curve.x, "y": mean, "mode": "lines", "line": {"width": 2}},
    ]


def band(x: Values, lower: FloatArray, upper: FloatArray, widths: ArrayLike) -> Trace:
    """Draw the area between two lines."""
    outline = [*numbers(upper, widths), *numbers(lower, widths)[::-1]]
    return {"x": [*x, *x[::-1]], "y": outline, "mode": "lines", "fill": "toself", "line": {"width": 0}}


def points_of(x: Values, readings: Readings) -> list[Trace]:
    """Draw the fit at each reading as a dash, and its interval as an upright line."""
    half = readings.half
    bounds = zip(numbers(readings.lower, half), numbers(readings.upper, half), strict=True)
    upright = {
        "x": [each for value in x for each in (value, value, None)],
        "y": [each for low, high in bounds for each in (low, high, None)],
        "mode": "lines",
        "fill": "none",
        "line": {"width": 2},
    }
    dash = {"size": 6, "symbol": "line-ew", "line": {"width": 2}}
    expected = numbers(readings.expected, half)
    return [upright, {"x": list(x), "y": expected, "mode": "markers", "marker": dash}]


# ---------------------------------------------------------------------------- how good the fit is


def deviation_chart(readings: Readings) -> Chart:
    """Draw the leave-one-out residuals over the expected values; those of inliers are like noise."""
    judged = readings[~np.isnan(readings.deviation)]
    kept, flagged = judged[~judged.flagged], judged[judged.flagged]
    widest = max(WIDEST_DEVIATION, float(np.abs(kept.deviation).max(initial=0.0)))
    traces = [
        deviation_trace("reading", "reading", kept, {"size": 5}),
        deviation_trace(
            "flagged", "flagged", flagged, {"size": 8, "symbol": "diamond-open", "line": {"width": 2}}
        ),
    ]
    yaxis = {"title": title("deviation, in standard deviations"), "range": [-1.1 * widest, 1.1 * widest]}
    return Chart(traces, {"title": title("expected value")}, yaxis)


def deviation_trace(role: Role, name: str, readings: Readings, marker: dict[str, Any]) -> Trace:
    """Draw deviations over expected values."""
    return {
        "meta": role,
        "name": name,
        "mode": "markers",
        "marker": marker,
        "x": numbers(readings.expected, readings.half),
        "y": numbers(readings.deviation, FINE),
        "customdata": (readings.row + 1).tolist(),
        "hovertemplate": "row %{customdata}<br>%{y:.3g} standard deviations<extra></extra>",
    }


def calibration_chart(display: CalibrationDisplay) -> Chart:
    """Draw the percentage of inliers inside intervals over the probability of the intervals."""
    level, (low, high) = numbers(100.0 * display.level, FINE), display.chance_band()
    chance = band(level, 100.0 * low, 100.0 * high, FINE)
    traces: list[Trace] = [
        {"meta": "interval", "name": "chance", "hoverinfo": "skip", **chance},
        {
            "meta": "ink",
            "name": "as promised",
            "x": [0, 100],
            "y": [0, 100],
            "mode": "lines",
            "line": {"width": 1, "dash": "dash"},
            "hoverinfo": "skip",
        },
        {
            "meta": "fit",
            "name": "readings",
            "x": level,
            "y": numbers(100.0 * display.coverage, FINE),
            "mode": "lines",
            "line": {"width": 2},
            "hovertemplate": "%{x:.0f} % promised<br>%{y:.1f} % inside<extra></extra>",
        },
    ]
    percent = {"range": [0, 100], "ticksuffix": " %"}
    return Chart(
        traces,
        {"title": title("promised to be inside"), **percent},
        {"title": title("inside"), **percent},
    )


def trace_chart(trace: FloatArray) -> Chart:
    """Draw the convergence of the fit: the ELBO or log evidence by iteration."""
    first, rest = np.split(trace, [int(FIRST_STEPS * len(trace))])
    bounds = numbers(trace, np.ptp(rest))
    line: Trace = {
        "meta": "fit",
        "name": "bound",
        "x": list(range(1, len(trace) + 1)),
        "y": bounds,
        "customdata": [str(bound) for bound in bounds],
        "mode": "lines+markers",
        "marker": {"size": 4},
        "line": {"width": 2},
        "hovertemplate": "iteration %{x}<br>%{customdata}<extra></extra>",
    }
    yaxis = {"title": title("bound on the log evidence"), **height(rest, first)}
    return Chart([line], {"title": title("iteration")}, yaxis)
