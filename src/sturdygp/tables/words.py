"""What was done with a table, in words; a terminal and a report say it alike."""

from __future__ import annotations

from collections.abc import Mapping

from sturdygp.estimators.robust import OPTIONS
from sturdygp.tables.flagging import FittedTable


def rows_in_words(rows: Mapping[str, int]) -> str:
    """How many rows there are of which kind.

    Examples
    --------
    >>> rows_in_words({"read": 90, "usable": 88, "fitted": 50, "target_missing": 2, "input_missing": 0})
    '90 in the table; 50 fitted, drawn from 88; 2 without a reading, predicted only'
    """
    words = [f"{rows['read']} in the table"]
    if "fitted" in rows:
        drawn = f", drawn from {rows['usable']}" if rows["fitted"] < rows["usable"] else ""
        words.append(f"{rows['fitted']} fitted{drawn}")
    if rows.get("target_missing"):
        words.append(f"{rows['target_missing']} without a reading, predicted only")
    if rows.get("input_missing"):
        words.append(f"{rows['input_missing']} without an input, for which nothing can be said")
    return "; ".join(words)


def summaries(fitted: FittedTable) -> dict[str, str]:
    """What was found about each target, with the words of a table for inputs and options."""
    sampled = "in the sample: " if fitted.rows["fitted"] < fitted.rows["usable"] else ""
    paragraphs = fitted.model.estimator.summary(fitted.model.plan.features).splitlines()
    return {
        target: sampled + in_options(paragraph.removeprefix(f"Output {index}: "))
        for index, (target, paragraph) in enumerate(zip(fitted.model.plan.targets, paragraphs, strict=True))
    }


def in_options(text: str) -> str:
    """A summary with options of the command in the place of arguments."""
    return text.replace(OPTIONS["many"], "--many-faults").replace(OPTIONS["few"], "leave out --many-faults")
