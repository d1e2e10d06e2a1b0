"""HTML page of a flagged table: a section for each target, put into a template."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline.offline import get_plotlyjs

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
from sturdygp.report.html.description import (
    Influence,
    describe_ending,
    describe_kernel,
    describe_omitted_inputs,
    influences,
    leading_inputs,
    of_output,
)
from sturdygp.report.html.readings import MOST_LISTED, Readings, drawn, likeliest, omission, readings_of
from sturdygp.tables.flagging import FlagResult
from sturdygp.tables.formatting import WIDTH_DIGITS, in_text, rows_in_words
from sturdygp.tables.inputs import InputColumn
from sturdygp.tables.model import WIDTH_95, as_columns

# Points of a curve in addition to the readings.
GRID_POINTS = 300
ROW = "row of the table"
# Columns of the flagged readings between row and inputs; the last is the one by which they are sorted.
FOUND = ("reading", "expected", "from", "to", "probability")


def write_report(result: FlagResult, data: Path, path: Path) -> None:
    """Write the report of a flagged table, with the name of its file ``data`` as the title."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(result, data.name), encoding="utf-8")


def page(result: FlagResult, name: str) -> str:
    """Render the report as HTML; no text of the table becomes markup or script."""
    environment = Environment(
        loader=PackageLoader("sturdygp.report.html", "parts"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found = result.fit.summaries
    sections = [section(result, index, found[target]) for index, target in enumerate(found)]
    scripts = [get_plotlyjs(), part(environment, "report.js")]
    return environment.get_template("page.html").render(
        name=name,
        version=version("sturdygp"),
        method=type(result.fit.model.estimator).__name__,
        threshold=result.threshold,
        rows=rows_in_words(result.fit.rows),
        inputs=[column.describe() for column in result.prepared.plan.inputs],
        left_out=result.prepared.left_out,
        notes=(*result.file.notes, *result.prepared.notes, *result.fit.notes),
        sections=sections,
        charts={f"{key}-{i}": c.plain() for i, each in enumerate(sections) for key, c in each.charts.items()},
        style=Markup(part(environment, "report.css")),
        scripts=[Markup(script) for script in scripts],
        hashes=[fingerprint(script) for script in scripts],
    )


def part(environment: Environment, name: str) -> str:
    """Read a file that becomes part of the page unchanged."""
    loader = environment.loader
    return "" if loader is None else loader.get_source(environment, name)[0]


def fingerprint(script: str) -> str:
    """Hash a script for the page's security policy, which lets no other script run."""
    return b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")


# --------------------------------------------------------------------------------------- sections


@dataclass(frozen=True)
class Cell:
    """Cell of a table: its text, and the value by which it is sorted."""

    text: str
    value: float | str


@dataclass(frozen=True)
class Section:
    """Texts, table and charts of one target, as the template needs them."""

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
    """Make the section of one target."""
    model, target = result.fit.model, result.prepared.plan.targets[index]
    readings = readings_of(result, index)
    shown, listed = drawn(readings), likeliest(readings, MOST_LISTED)
    inputs = leading_inputs(model, index, readings.raw)
    views = views_of(result, index, shown, inputs)
    inliers = readings[~readings.flagged & ~np.isnan(readings.deviation)]
    charts = {
        "fit": fit_chart(target, shown, views),
        "deviation": deviation_chart(shown),
        "trace": trace_chart(np.asarray(of_output(model.estimator, "trace_", index))),
    }
    if len(inliers):
        charts["calibration"] = calibration_chart(CalibrationDisplay.of_residuals(inliers.deviation))
    return Section(
        target=target,
        readings=len(readings),
        flagged=int(readings.flagged.sum()),
        summary=summary,
        omission=omission(shown, readings),
        axes=[view.name for view in views],
        inputs_left_out=describe_omitted_inputs(len(inputs), len(model.plan.inputs)),
        header=["row", *FOUND, *(model.plan.inputs[number].name for number in inputs)],
        sorted_by=len(FOUND),
        rows=cells_of(result, listed, inputs),
        beyond=int(readings.flagged.sum()) - len(listed),
        kernel=describe_kernel(model, index),
        influences=influences(model, index, readings.raw),
        ending=describe_ending(model, index),
        charts=charts,
    )


# ------------------------------------------------------------------------------------------- axes


def views_of(result: FlagResult, index: int, readings: Readings, inputs: Sequence[int]) -> list[View]:
    """Make a view for each of some inputs, and one for the order of the rows."""
    curve, views, columns = curve_of(result, index, readings), [], columns_of(result, readings.raw)
    for column, features in (columns[number] for number in inputs):
        views.append(view_over(column.title, column.axis, column.shown(features), readings, curve))
    order = [float(row) for row in readings.row + 1]
    return [*views, view_over(ROW, "linear", order, readings)]


def curve_of(result: FlagResult, index: int, readings: Readings) -> Curve | None:
    """Compute the fit over the only input; several inputs have no curve."""
    plan = result.fit.model.plan
    if len(plan.features) > 1:
        return None
    x = readings.raw[:, 0]
    grid = np.union1d(x, np.linspace(x.min(), x.max(), GRID_POINTS))[:, None]
    mean, std = result.fit.model.estimator.predict(plan.scaled(grid), return_std=True, include_noise=True)
    centre, half = as_columns(mean)[:, index], WIDTH_95 * as_columns(std)[:, index]
    return Curve(plan.inputs[0].shown(grid), centre, centre - half, centre + half)


# ------------------------------------------------------------------------------ flagged readings


def columns_of(result: FlagResult, raw: FloatArray) -> list[tuple[InputColumn, FloatArray]]:
    """Return each input with its own features."""
    return list(result.prepared.plan.by_column(raw))


def cells_of(result: FlagResult, listed: Readings, inputs: Sequence[int]) -> list[list[Cell]]:
    """Make a row of cells for each flagged reading: reading and prediction, then the inputs."""
    values = (listed.reading, listed.expected, listed.lower, listed.upper, listed.proba)
    columns = [[Cell(str(row), row) for row in (listed.row + 1).tolist()]]
    columns += [
        list(map(Cell, texts, keys.tolist()))
        for texts, keys in zip(listed.texts().values(), values, strict=True)
    ]
    return [list(row) for row in zip(*columns, *inputs_of(result, listed, inputs), strict=True)]


def inputs_of(result: FlagResult, listed: Readings, inputs: Sequence[int]) -> Iterator[list[Cell]]:
    """Yield the cells of each input; times and categories have the texts of the table."""
    frame, here, everywhere = (
        result.file.frame,
        columns_of(result, listed.raw),
        columns_of(result, result.prepared.raw),
    )
    for number in inputs:
        column, features = here[number]
        keys = column.shown(features)
        if column.kind == "number":
            width = interquartile_range(everywhere[number][1])
            texts = [in_text(value, width, WIDTH_DIGITS) for value in features[:, 0]]
        else:
            texts = frame[column.name].iloc[listed.row].astype(str).tolist()
        yield list(map(Cell, texts, keys))


def interquartile_range(values: FloatArray) -> float:
    """Return the range of the middle half of some numbers, which a few far ones hardly change."""
    low, high = np.nanquantile(values, (0.25, 0.75))
    return float(high - low)
