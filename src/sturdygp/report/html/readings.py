"""Readings of one target, with their predictions and flags, as a report shows them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.tables.flagging import FlagResult
from sturdygp.tables.formatting import WIDTH_DIGITS, in_text
from sturdygp.tables.model import as_columns

# Points of either kind, flagged or not, that a browser draws quickly, and rows of a table.
MOST_DRAWN = 2000
MOST_LISTED = 500


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings of one target with their predictions; each array has an entry for each reading.

    ``row`` counts from 0, ``raw`` holds the features in their own units. ``deviation`` is the leave-one-out
    residual in predictive standard deviations, NaN for readings that were not fitted.
    """

    row: NDArray[np.intp]
    raw: FloatArray
    reading: FloatArray
    expected: FloatArray
    lower: FloatArray
    upper: FloatArray
    proba: FloatArray
    flagged: BoolArray
    deviation: FloatArray

    def __len__(self) -> int:
        """Number of readings."""
        return len(self.row)

    @property
    def half(self) -> FloatArray:
        """Half the width of each interval."""
        return np.asarray((self.upper - self.lower) / 2.0)

    def texts(self) -> dict[str, list[str]]:
        """Format all values; a reading has more digits than its prediction, because it is exact."""
        numbers = zip(self.reading, self.half, strict=True)
        expected = {"expected": self.expected, "from": self.lower, "to": self.upper}
        return {
            "reading": [in_text(value, half, WIDTH_DIGITS) for value, half in numbers],
            **{name: list(map(in_text, values, self.half)) for name, values in expected.items()},
            "probability": [f"{value:.3f}" for value in self.proba],
        }

    def __getitem__(self, which: BoolArray | NDArray[np.intp]) -> Readings:
        """Select some of the readings."""
        return Readings(*(getattr(self, each.name)[which] for each in fields(self)))


def readings_of(result: FlagResult, index: int) -> Readings:
    """Collect the readings of one target that are not missing and have a prediction."""
    found, proba = result.assessment, result.assessment.outlier_proba
    if proba is None:
        raise ValueError("the model has no outlier probabilities; fit one that does, such as method robust")
    everything = Readings(
        row=np.arange(len(found.readings)),
        raw=result.prepared.raw,
        reading=found.readings[:, index],
        expected=found.expected[:, index],
        lower=found.lower[:, index],
        upper=found.upper[:, index],
        proba=proba[:, index],
        flagged=result.flagged[:, index],
        deviation=deviations(result, index),
    )
    return everything[~np.isnan(everything.reading) & ~np.isnan(everything.expected)]


def deviations(result: FlagResult, index: int) -> FloatArray:
    """Compute the leave-one-out residuals of the fitted readings, in predictive standard deviations."""
    mean, std = result.fit.model.estimator.leave_one_out(include_noise=True)
    fitted = result.fit.fitted
    values = np.full(len(fitted), np.nan)
    reading = result.assessment.readings[fitted, index]
    values[fitted] = (reading - as_columns(mean)[:, index]) / as_columns(std)[:, index]
    return values


def drawn(readings: Readings) -> Readings:
    """Select as many as a chart can hold, in their order: the likeliest outliers, and inliers at random."""
    outliers = likeliest(readings, MOST_DRAWN).row
    inliers = readings.row[~readings.flagged]
    if len(inliers) > MOST_DRAWN:
        inliers = np.random.default_rng(0).choice(inliers, MOST_DRAWN, replace=False)
    return readings[np.isin(readings.row, np.concatenate([outliers, inliers]))]


def likeliest(readings: Readings, most: int) -> Readings:
    """Sort the flagged readings by outlier probability, then by distance from the prediction."""
    flagged = readings[readings.flagged]
    distance = np.abs(flagged.reading - flagged.expected) / (flagged.upper - flagged.lower)
    return flagged[np.lexsort([-distance, -flagged.proba])[:most]]


def omission(shown: Readings, readings: Readings) -> str:
    """Describe which readings a chart leaves out; an empty text if it shows all."""
    if len(shown) == len(readings):
        return ""
    counts = []
    for flagged, name in ((False, "readings that were not flagged"), (True, "flagged readings")):
        count, total = (int((each.flagged == flagged).sum()) for each in (shown, readings))
        if count < total:
            counts.append(f"{count} of {total} {name}")
    return f"Drawn here are {' and '.join(counts)}, to keep the page quick."
