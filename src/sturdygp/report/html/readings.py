"""The readings of one target as a report shows them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.tables.digits import WIDTH_DIGITS, in_text
from sturdygp.tables.flagging import FlagResult
from sturdygp.tables.model import as_columns

# A browser draws so many points at ease; the flagged ones are the last to be left out.
MOST_DRAWN = 2000
MOST_LISTED = 500


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings of one target and what was expected; one entry of each array for a reading.

    ``row`` counts from 0, ``raw`` holds the features in their own units. ``deviation`` is that from the
    prediction by all other readings, in its standard deviations; NaN for readings that were not fitted.
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
        """How many there are."""
        return len(self.row)

    @property
    def half(self) -> FloatArray:
        """Half the width of the interval of each."""
        return np.asarray((self.upper - self.lower) / 2.0)

    def texts(self) -> dict[str, list[str]]:
        """What is told of each; a reading has more digits than what was expected, since it is known."""
        numbers = zip(self.reading, self.half, strict=True)
        expected = {"expected": self.expected, "from": self.lower, "to": self.upper}
        return {
            "reading": [in_text(value, half, WIDTH_DIGITS) for value, half in numbers],
            **{name: list(map(in_text, values, self.half)) for name, values in expected.items()},
            "probability": [f"{value:.3f}" for value in self.proba],
        }

    def __getitem__(self, which: BoolArray | NDArray[np.intp]) -> Readings:
        """Some of them."""
        return Readings(*(getattr(self, each.name)[which] for each in fields(self)))


def readings_of(result: FlagResult, index: int) -> Readings:
    """The readings of one target about which something can be said."""
    found, proba = result.assessment, result.assessment.outlier_proba
    if proba is None:
        raise ValueError("the model does not tell outliers; fit one that does, such as method robust")
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
    """Each fitted reading against the prediction by the others, in standard deviations."""
    mean, std = result.fit.model.estimator.leave_one_out(include_noise=True)
    fitted = result.fit.fitted
    values = np.full(len(fitted), np.nan)
    reading = result.assessment.readings[fitted, index]
    values[fitted] = (reading - as_columns(mean)[:, index]) / as_columns(std)[:, index]
    return values


def drawn(readings: Readings) -> Readings:
    """As many as a picture can hold, in their order: the likeliest faults, and others at random."""
    bad = likeliest(readings, MOST_DRAWN).row
    good = readings.row[~readings.flagged]
    if len(good) > MOST_DRAWN:
        good = np.random.default_rng(0).choice(good, MOST_DRAWN, replace=False)
    return readings[np.isin(readings.row, np.concatenate([bad, good]))]


def likeliest(readings: Readings, most: int) -> Readings:
    """Flagged readings, the likeliest faults first; of equally likely ones those furthest off."""
    flagged = readings[readings.flagged]
    distance = np.abs(flagged.reading - flagged.expected) / (flagged.upper - flagged.lower)
    return flagged[np.lexsort([-distance, -flagged.proba])[:most]]


def omission(shown: Readings, readings: Readings) -> str:
    """What a picture leaves out, in words; nothing if it shows everything."""
    if len(shown) == len(readings):
        return ""
    words = []
    for flagged, name in ((False, "readings that were not flagged"), (True, "flagged readings")):
        count, total = (int((each.flagged == flagged).sum()) for each in (shown, readings))
        if count < total:
            words.append(f"{count} of {total} {name}")
    return f"Drawn here are {' and '.join(words)}, to keep the page quick."
