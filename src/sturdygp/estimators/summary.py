"""Summary of a fit: the findings about each output as data, and the sentences made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from sturdygp.likelihoods.contamination_prior import Regime

# The rate below which data are called clean.
CLEAN_RATE = 0.005
# How a program chooses the regimes.
ARGUMENTS: Mapping[Regime, str] = {"few": 'faults="few"', "many": 'faults="many"'}


class Advice(Enum):
    """Reasons to fit again under the other assumption about how common outliers are.

    A value is a sentence, with names in braces for how each regime is chosen.
    """

    MOST_ARE_OUTLIERS = (
        "That is most of them. Large noise can look like it: look at a picture before you rely on it. If you "
        "know that most readings are good, say so: {few}."
    )
    MANY_ARE_OUTLIERS = "That is a lot where most readings are taken for good: compare with {many}."
    NOISE_EXCEEDS_FUNCTION = (
        "The noise is larger than the function. It would look like that too if most readings were wrong: "
        "if they may be, compare with {many}."
    )


@dataclass(frozen=True)
class ContaminationFindings:
    """Contamination as a fit learned it, in the units of y.

    Attributes
    ----------
    rate : float
        Expected fraction of outliers.
    shift, std : float
        Mean and standard deviation of what outliers are off by.
    shape : str
        Shape of their distribution.
    side : {"high", "low"} or None
        The side on which most of them are; None if there are many on both.
    """

    rate: float
    shift: float
    std: float
    shape: str
    side: Literal["high", "low"] | None


@dataclass(frozen=True)
class OutputFindings:
    """Findings about one output, in the units of y.

    Attributes
    ----------
    n_observed : int
        Entries of y that are not missing.
    noise : tuple of float
        Smallest and largest standard deviation of an inlier around the function.
    noise_trend : str or None
        Where the noise is largest; None if it is the same everywhere.
    n_outliers : int or None
        Probable outliers; None if the method does not tell them from inliers.
    contamination : ContaminationFindings or None
        Contamination, if the method learns it.
    advice : Advice or None
        The reason to fit again under another assumption, if there is one.
    n_inducing : int or None
        Number of inducing inputs; None for the exact process.
    n_repeats : int
        Rows that are taken for copies of others.
    """

    n_observed: int
    noise: tuple[float, float]
    noise_trend: str | None = None
    n_outliers: int | None = None
    contamination: ContaminationFindings | None = None
    advice: Advice | None = None
    n_inducing: int | None = None
    n_repeats: int = 0


def describe(found: OutputFindings, options: Mapping[Regime, str] = ARGUMENTS) -> str:
    """Describe an output in a paragraph; ``options`` are the words by which a reader chooses a regime.

    Examples
    --------
    >>> print(describe(OutputFindings(40, (0.1, 0.1), n_outliers=1)))
    1 of 40 readings is probably faulty. Good readings scatter by 0.1 around the function.
    """
    sentences = [describe_outliers(found), describe_noise(found)]
    if found.contamination is not None and not is_clean(found):
        sentences.append(describe_contamination(found.contamination))
    if found.advice is not None:
        sentences.append(found.advice.value.format(few=options["few"], many=options["many"]))
    if found.n_inducing is not None:
        sentences.append(f"The fit sees the readings through {found.n_inducing} inducing inputs.")
    if found.n_repeats:
        sentences.append(f"{describe_repeats(found.n_repeats)}.")
    return " ".join(sentences)


def is_clean(found: OutputFindings) -> bool:
    """Tell whether a method that learns contamination found none."""
    learned = found.contamination
    return learned is not None and learned.rate < CLEAN_RATE and found.n_outliers == 0


def describe_outliers(found: OutputFindings) -> str:
    """Describe how many outliers there are, or how many observations if the method does not tell."""
    count, total = found.n_outliers, found.n_observed
    if count is None:
        return f"Fitted to {total} readings."
    if is_clean(found):
        return f"None of {total} readings looks faulty."
    rate = "" if found.contamination is None else f"; the estimated rate is {found.contamination.rate:.0%}"
    return f"{count} of {total} readings {'is' if count == 1 else 'are'} probably faulty{rate}."


def describe_noise(found: OutputFindings) -> str:
    """Describe the noise of inliers."""
    low, high = found.noise
    trend = "" if found.noise_trend is None else f", {found.noise_trend}"
    width = f"{low:.3g} to {high:.3g}" if trend else f"{high:.3g}"
    return f"Good readings scatter by {width} around the function{trend}."


def describe_contamination(learned: ContaminationFindings) -> str:
    """Describe what outliers are off by."""
    side = "on both sides" if learned.side is None else f"mostly too {learned.side}"
    return (
        f"Faults are {side}: off by {learned.shift:.3g} on average, "
        f"with a standard deviation of {learned.std:.3g} and a {learned.shape} distribution."
    )


def describe_repeats(count: int) -> str:
    """Describe how many rows are taken for copies, without a full stop.

    Examples
    --------
    >>> describe_repeats(2)
    '2 rows are taken for copies and do not count: more rows repeat others exactly than chance explains'
    """
    taken = "row is taken for a copy and does" if count == 1 else "rows are taken for copies and do"
    return f"{count} {taken} not count: more rows repeat others exactly than chance explains"
