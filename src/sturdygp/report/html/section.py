"""What a report says and shows of one target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.plot.calibration import CalibrationDisplay
from sturdygp.report.html.charts import (
    Chart,
    Curve,
    View,
    calibration_chart,
    deviation_chart,
    fit_chart,
    trace_chart,
    view_over,
)
from sturdygp.report.html.influence import leading_inputs, left_out_in_words
from sturdygp.report.html.readings import MOST_LISTED, Readings, drawn, likeliest, omission, readings_of
from sturdygp.report.html.words import (
    Influence,
    ending_in_words,
    influences,
    kernel_in_words,
    of_output,
)
from sturdygp.tables.digits import WIDTH_DIGITS, in_text
from sturdygp.tables.flagging import FlagResult
from sturdygp.tables.inputs import InputColumn
from sturdygp.tables.model import WIDTH_95, as_columns

# Points of a curve, beside the readings themselves.
GRID = 300
ROW = "row of the table"
# Columns of the flagged readings between row and inputs; the last is the one by which they are sorted.
FOUND = ("reading", "expected", "from", "to", "probability")


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what is read, and by what it is sorted."""

    text: str
    value: float | str


@dataclass(frozen=True)
class Section:
    """All about one target."""

    target: str
    readings: int
    flagged: int
    summary: str
    omission: str
    inputs_left_out: str
    axes: list[str]
    header: list[str]
    sorted_by: int
    rows: list[list[Cell]]
    beyond: int
    kernel: str
    influences: list[Influence]
    ending: str
    charts: dict[str, Chart]


def section(result: FlagResult, index: int, summary: str) -> Section:
    """All about one target."""
    model, target = result.fit.model, result.prepared.plan.targets[index]
    readings = readings_of(result, index)
    shown, listed = drawn(readings), likeliest(readings, MOST_LISTED)
    places = leading_inputs(model, index, readings.raw)
    views = views_of(result, index, shown, places)
    good = readings[~readings.flagged & ~np.isnan(readings.deviation)]
    charts = {
        "fit": fit_chart(target, shown, views),
        "deviation": deviation_chart(shown),
        "trace": trace_chart(np.asarray(of_output(model.estimator, "trace_", index))),
    }
    if len(good):
        charts["calibration"] = calibration_chart(CalibrationDisplay.of_residuals(good.deviation))
    return Section(
        target=target,
        readings=len(readings),
        flagged=int(readings.flagged.sum()),
        summary=summary,
        omission=omission(shown, readings),
        axes=[view.name for view in views],
        inputs_left_out=left_out_in_words(len(places), len(model.plan.inputs)),
        header=["row", *FOUND, *(model.plan.inputs[place].name for place in places)],
        sorted_by=len(FOUND),
        rows=cells_of(result, listed, places),
        beyond=int(readings.flagged.sum()) - len(listed),
        kernel=kernel_in_words(model, index),
        influences=influences(model, index, readings.raw),
        ending=ending_in_words(model, index),
        charts=charts,
    )


# ------------------------------------------------------------------------------------------- axes


def views_of(result: FlagResult, index: int, readings: Readings, places: Sequence[int]) -> list[View]:
    """One for each input at some places, and one for the order of the rows."""
    curve, views, by_column = curve_of(result, index, readings), [], by_place(result, readings.raw)
    for column, features in (by_column[place] for place in places):
        views.append(view_over(column.title, column.axis, column.shown(features), readings, curve))
    order = [float(row) for row in readings.row + 1]
    return [*views, view_over(ROW, "linear", order, readings)]


def curve_of(result: FlagResult, index: int, readings: Readings) -> Curve | None:
    """The fit over the only input; where there are several, none of them alone determines it."""
    plan = result.fit.model.plan
    if len(plan.features) > 1:
        return None
    x = readings.raw[:, 0]
    grid = np.union1d(x, np.linspace(x.min(), x.max(), GRID))[:, None]
    mean, std = result.fit.model.estimator.predict(plan.scaled(grid), return_std=True, include_noise=True)
    centre, half = as_columns(mean)[:, index], WIDTH_95 * as_columns(std)[:, index]
    return Curve(plan.inputs[0].shown(grid), centre, centre - half, centre + half)


# ------------------------------------------------------------------------------ flagged readings


def by_place(result: FlagResult, raw: FloatArray) -> list[tuple[InputColumn, FloatArray]]:
    """Each input with its own features."""
    return list(result.prepared.plan.by_column(raw))


def cells_of(result: FlagResult, listed: Readings, places: Sequence[int]) -> list[list[Cell]]:
    """A row of cells for each flagged reading: what was found, then its inputs."""
    values = (listed.reading, listed.expected, listed.lower, listed.upper, listed.proba)
    columns = [[Cell(str(row), row) for row in (listed.row + 1).tolist()]]
    columns += [
        list(map(Cell, texts, keys.tolist()))
        for texts, keys in zip(listed.texts().values(), values, strict=True)
    ]
    return [list(row) for row in zip(*columns, *inputs_of(result, listed, places), strict=True)]


def inputs_of(result: FlagResult, listed: Readings, places: Sequence[int]) -> Iterator[list[Cell]]:
    """The inputs of some readings; times and categories as the table has them."""
    frame, here, everywhere = (
        result.file.frame,
        by_place(result, listed.raw),
        by_place(result, result.prepared.raw),
    )
    for place in places:
        column, features = here[place]
        keys = column.shown(features)
        if column.kind == "number":
            width = spread(everywhere[place][1])
            texts = [in_text(value, width, WIDTH_DIGITS) for value in features[:, 0]]
        else:
            texts = frame[column.name].iloc[listed.row].astype(str).tolist()
        yield list(map(Cell, texts, keys))


def spread(values: FloatArray) -> float:
    """The range of the middle half of some numbers, which a few far ones do not stretch."""
    low, high = np.nanquantile(values, (0.25, 0.75))
    return float(high - low)
