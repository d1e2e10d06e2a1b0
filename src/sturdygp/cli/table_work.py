"""What the commands for tables do and say; apart from them because it needs pandas."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from sturdygp.cli.progress import waiting
from sturdygp.cli.say import Saying
from sturdygp.cli.tables import OutputOptions, TableOptions
from sturdygp.tables.errors import TableError
from sturdygp.tables.flagging import (
    FittedTable,
    check_results_absent,
    fit_table,
    flag_table,
    flags,
    with_results,
)
from sturdygp.tables.model import Assessment, TableModel
from sturdygp.tables.plan import Plan
from sturdygp.tables.prepare import Prepared, Request, prepare
from sturdygp.tables.read import TableFile, check_ending, read_table, write_table

THRESHOLD = 0.5


def flag(
    data: Path, table: TableOptions, method: str, threshold: float, out: Path | None, output: OutputOptions
) -> None:
    """Mark faulty readings."""
    out = result_path(data, out, "flagged")
    saying = Saying(
        output.as_json, output.quiet, {"command": "flag", "method": method, "threshold": threshold}
    )
    file, prepared = opened(data, table, saying)
    with noticed(saying), pause(f"Fitting {len(file.frame)} rows", output):
        result = flag_table(file, prepared, method, threshold, table.sample, table.seed)
    say_fit(saying, result.fit, prepared.plan)
    say_flags(saying, prepared.plan, result.assessment, threshold)
    write_table(result.table, out, file.dialect)
    say_written(saying, out, result.table, file.frame)
    saying.finish()


def fit(data: Path, table: TableOptions, method: str, save: Path, output: OutputOptions) -> None:
    """Fit and save a model."""
    saying = Saying(output.as_json, output.quiet, {"command": "fit", "method": method})
    file, prepared = opened(data, table, saying)
    with noticed(saying), pause(f"Fitting {len(file.frame)} rows", output):
        fitted = fit_table(file.frame, prepared, method, table.sample, table.seed)
    say_fit(saying, fitted, prepared.plan)
    save.parent.mkdir(parents=True, exist_ok=True)
    fitted.model.save(save)
    saying.line("Saved", f"{save} ({save.stat().st_size / 1000:.0f} kB)", saved=str(save))
    saying.finish()


def predict(model: Path, data: Path, out: Path | None, output: OutputOptions) -> None:
    """Predict with a saved model."""
    out = result_path(data, out, "predicted")
    saying = Saying(output.as_json, output.quiet, {"command": "predict"})
    loaded = TableModel.load(model)
    file = read_table(data)
    loaded = replace(loaded, plan=loaded.plan.for_decimal(file.dialect.decimal))
    check_results_absent(file.frame, loaded.plan.targets)
    say_read(saying, data, file)
    say_plan(saying, loaded.plan)
    with pause("Predicting", output):
        assessment = loaded.assess(file.frame)
    unusable = int(np.isnan(assessment.expected).all(axis=1).sum())
    saying.line(
        "Rows", rows_in_words({"read": len(file.frame), "input_missing": unusable}), rows=len(file.frame)
    )
    say_flags(saying, loaded.plan, assessment, THRESHOLD)
    results = with_results(file.frame, loaded.plan.targets, assessment, THRESHOLD)
    write_table(results, out, file.dialect)
    say_written(saying, out, results, file.frame)
    saying.finish()


def result_path(data: Path, out: Path | None, word: str) -> Path:
    """Where to write: a file whose format can be written, and not the data themselves."""
    path = out or data.with_name(f"{data.stem}_{word}{data.suffix}")
    check_ending(path)
    if path.resolve() == data.resolve():
        raise TableError(f"{path} is the table itself; choose another file with --out")
    return path


def opened(data: Path, table: TableOptions, saying: Saying) -> tuple[TableFile, Prepared]:
    """Read a table and decide what is what, saying what was guessed."""
    file = read_table(data, table.separator, table.decimal)
    columns = list(file.frame.columns)
    request = Request(
        targets=names_of(table.targets, columns),
        inputs=names_of(table.inputs, columns) if table.inputs else None,
        time=table.time,
        categories=names_of(table.categories, columns),
        exclude=names_of(table.exclude, columns),
        missing=table.missing,
        decimal=file.dialect.decimal,
    )
    check_results_absent(file.frame, request.targets)
    prepared = prepare(file.frame, request)
    say_read(saying, data, file)
    say_plan(saying, prepared.plan)
    saying.items("Left out", prepared.left_out, "left_out")
    saying.items("Note", prepared.notes, "notes")
    return file, prepared


def names_of(values: tuple[str, ...], columns: list[str]) -> tuple[str, ...]:
    """Names of columns, given one by one or with commas between them; a name may itself have a comma.

    Examples
    --------
    >>> names_of(("a,b", "T, RH"), ["a", "b", "T, RH"])
    ('a', 'b', 'T, RH')
    """
    names: list[str] = []
    for value in values:
        names += [value] if value in columns else [part.strip() for part in value.split(",")]
    return tuple(name for name in names if name)


@contextmanager
def noticed(saying: Saying) -> Iterator[None]:
    """Fits that did not converge are told in one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    messages = [str(each.message) for each in caught if issubclass(each.category, ConvergenceWarning)]
    saying.items("Warning", tuple(messages), "warnings")


def pause(message: str, output: OutputOptions) -> Any:
    """Shows on a terminal that something goes on."""
    return nullcontext() if output.quiet or output.as_json else waiting(message)


def say_read(saying: Saying, data: Path, file: TableFile) -> None:
    """What the file is like."""
    guesses = "; ".join([f"{len(file.frame)} rows", *file.notes])
    saying.line("Read", f"{data}: {guesses}", data=str(data), file_notes=list(file.notes))


def say_plan(saying: Saying, plan: Plan) -> None:
    """What is a target and what is an input."""
    saying.line("Target", ", ".join(plan.targets), targets=list(plan.targets))
    described = [column.describe() for column in plan.inputs]
    inputs = [{"name": c.name, "kind": c.kind, "description": c.describe()} for c in plan.inputs]
    saying.line("Inputs", ", ".join(described), inputs=inputs)


def say_fit(saying: Saying, fitted: FittedTable, plan: Plan) -> None:
    """Which rows were fitted, and what was found."""
    saying.line("Rows", rows_in_words(fitted.rows), rows=dict(fitted.rows))
    paragraphs = fitted.model.estimator.summary().splitlines()
    summaries = {
        target: paragraph.removeprefix(f"Output {index}: ")
        for index, (target, paragraph) in enumerate(zip(plan.targets, paragraphs, strict=True))
    }
    sampled = "in the sample, " if fitted.rows["fitted"] < fitted.rows["usable"] else ""
    for target, paragraph in summaries.items():
        saying.line("Found", f"{target}: {sampled}{paragraph}")
    saying.add(summary=summaries)


def rows_in_words(rows: Any) -> str:
    """How many rows there are of which kind."""
    words = [f"{rows['read']} in the table"]
    if "fitted" in rows:
        drawn = f", drawn from {rows['usable']}" if rows["fitted"] < rows["usable"] else ""
        words.append(f"{rows['fitted']} fitted{drawn}")
    if rows.get("target_missing"):
        words.append(f"{rows['target_missing']} without a reading, predicted only")
    if rows.get("input_missing"):
        words.append(f"{rows['input_missing']} without an input, for which nothing can be said")
    return "; ".join(words)


def say_flags(saying: Saying, plan: Plan, assessment: Assessment, threshold: float) -> None:
    """How many readings were flagged; as JSON also which."""
    if assessment.outlier_proba is None or np.isnan(assessment.readings).all():
        return
    flagged = flags(assessment, threshold)
    judged = ~np.isnan(assessment.outlier_proba)
    for index, target in enumerate(plan.targets):
        count, total = int(flagged[:, index].sum()), int(judged[:, index].sum())
        saying.line(
            "Flagged", f"{target}: {count} of {total} readings, outlier probability above {threshold:g}"
        )
    saying.add(
        flagged={
            target: flagged_rows(assessment, flagged, index) for index, target in enumerate(plan.targets)
        }
    )


def flagged_rows(assessment: Assessment, flagged: Any, index: int) -> list[dict[str, float]]:
    """The flagged readings of one target; rows are counted from 1, below the header."""
    proba = assessment.outlier_proba
    return [
        {
            "row": int(row) + 1,
            "reading": float(assessment.readings[row, index]),
            "expected": float(assessment.expected[row, index]),
            "lower": float(assessment.lower[row, index]),
            "upper": float(assessment.upper[row, index]),
            "outlier_probability": float(proba[row, index]) if proba is not None else 0.0,
        }
        for row in np.flatnonzero(flagged[:, index])
    ]


def say_written(saying: Saying, out: Path, results: pd.DataFrame, frame: pd.DataFrame) -> None:
    """Where the result is."""
    added = [str(name) for name in results.columns if name not in frame]
    saying.line("Written", f"{out}, with {', '.join(added)}", out=str(out), columns=added)
