"""Messages of the commands for tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sturdygp._typing import BoolArray
from sturdygp.cli.console import Console
from sturdygp.tables.flagging import FittedTable, flags
from sturdygp.tables.formatting import counted, listed, rows_in_words
from sturdygp.tables.model import Assessment
from sturdygp.tables.plan import Plan
from sturdygp.tables.read import TableFile

# Inputs that are named on a terminal; a report and JSON have more.
SHOWN_INPUTS = 30


def show_file(console: Console, data: Path, file: TableFile) -> None:
    """Show the size of the file and how it is written."""
    remarks = "; ".join([counted(len(file.frame), "row"), *file.notes])
    console.line("Read", f"{data}: {remarks}", data=str(data), file_notes=list(file.notes))


def show_plan(console: Console, plan: Plan) -> None:
    """Show the targets and the inputs."""
    console.line("Target", ", ".join(plan.targets), targets=list(plan.targets))
    described = [column.describe() for column in plan.inputs]
    inputs = [{"name": c.name, "kind": c.kind, "description": c.describe()} for c in plan.inputs]
    console.line("Inputs", listed(described, SHOWN_INPUTS), inputs=inputs)


def show_fit(console: Console, fitted: FittedTable) -> None:
    """Which rows were fitted, and what was found."""
    console.line("Rows", rows_in_words(fitted.rows), rows=dict(fitted.rows))
    console.items("Note", fitted.notes, "fit_notes")
    found = fitted.summaries
    for target, paragraph in found.items():
        console.line("Found", f"{target}: {paragraph}")
    console.add(summary=found)


def show_flags(console: Console, plan: Plan, assessment: Assessment, threshold: float) -> None:
    """How many readings were flagged; as JSON also which."""
    if assessment.outlier_proba is None or np.isnan(assessment.readings).all():
        return
    flagged = flags(assessment, threshold)
    judged = ~np.isnan(assessment.outlier_proba)
    for index, target in enumerate(plan.targets):
        count, total = int(flagged[:, index].sum()), int(judged[:, index].sum())
        of_all = counted(total, "reading")
        console.line("Flagged", f"{target}: {count} of {of_all}, outlier probability above {threshold:g}")
    console.add(
        flagged={
            target: flagged_rows(assessment, flagged, index) for index, target in enumerate(plan.targets)
        }
    )


def flagged_rows(assessment: Assessment, flagged: BoolArray, index: int) -> list[dict[str, float]]:
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


def show_written(console: Console, out: Path, results: pd.DataFrame, frame: pd.DataFrame) -> None:
    """Show where the result is."""
    added = [str(name) for name in results.columns if name not in frame]
    console.line("Written", f"{out}, with {', '.join(added)}", out=str(out), columns=added)
