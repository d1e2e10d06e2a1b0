"""How much of what is expected changes with each input."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import rankdata

from sturdygp._typing import FloatArray
from sturdygp.tables.model import TableModel, as_columns
from sturdygp.tables.plan import Plan

# Shares of the spread of what is expected, from which on an influence is called so.
INFLUENCES = ((0.5, "strong"), (0.2, "moderate"), (0.05, "weak"), (0.0, "hardly any"))
# Readings by which it is judged, and how often their inputs are exchanged.
MOST_JUDGED = 300
EXCHANGES = 4
# Inputs that a report shows: nobody looks through more, and each takes some time and place.
MOST_INPUTS = 50


def input_shares(
    model: TableModel, index: int, raw: FloatArray, places: Sequence[int] | None = None
) -> FloatArray:
    """By how much the expected value changes with each input alone, as a share of its spread.

    Of the inputs at some ``places``, or all that a report shows. An input takes the values of other readings
    while all others stay. The mean square of what that changes is twice the variance that the input accounts
    for, alone and together with others (Jansen 1999).
    """
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(raw))[:MOST_JUDGED]
    orders = [rng.permutation(rows) for _ in range(EXCHANGES)]

    def expected(features: FloatArray) -> FloatArray:
        return as_columns(model.estimator.predict(model.plan.scaled(features)))[:, index]

    usual = expected(raw[rows])
    again, others = np.tile(usual, EXCHANGES), np.concatenate(orders)
    variance = []
    for place in leading_inputs(model, index, raw) if places is None else places:
        features = feature_slices(model.plan)[place]
        # One input at a time: all at once would need memory with the square of their number.
        changed = np.tile(raw[rows], (EXCHANGES, 1))
        changed[:, features] = raw[others, features]
        variance.append(np.mean((expected(changed) - again) ** 2) / 2.0)
    return np.asarray(np.sqrt(np.array(variance) / max(usual.var(), np.finfo(float).tiny)))


def feature_slices(plan: Plan) -> list[slice]:
    """The features of each input."""
    ends = np.cumsum([0, *(len(column.features) for column in plan.inputs)]).tolist()
    return [slice(first, end) for first, end in pairwise(ends)]


def leading_inputs(model: TableModel, index: int, raw: FloatArray) -> list[int]:
    """The places of the inputs that a report shows: all, or of many those that go most with what is expected.

    By their ranks, so that a few far values do not matter.
    """
    slices = feature_slices(model.plan)
    if len(slices) <= MOST_INPUTS:
        return list(range(len(slices)))
    rows = np.random.default_rng(0).permutation(len(raw))[:MOST_JUDGED]
    expected = as_columns(model.estimator.predict(model.plan.scaled(raw[rows])))[:, index]
    related = np.abs(standard_ranks(raw[rows]).T @ standard_ranks(expected[:, None]))[:, 0]
    strongest = [-float(related[features].max()) for features in slices]
    return sorted(np.argsort(strongest, kind="stable")[:MOST_INPUTS].tolist())


def standard_ranks(columns: FloatArray) -> FloatArray:
    """Ranks in each column, centred, of unit length; zero where all values are equal."""
    ranks = rankdata(columns, axis=0)
    ranks -= ranks.mean(axis=0)
    return np.asarray(ranks / np.maximum(np.linalg.norm(ranks, axis=0), np.finfo(float).tiny))


def left_out_in_words(shown: int, total: int) -> str:
    """Which inputs a report does not show; nothing if it shows all.

    Examples
    --------
    >>> left_out_in_words(50, 700)
    'Shown are 50 of 700 inputs, those that go most with the expected value.'
    """
    if shown == total:
        return ""
    return f"Shown are {shown} of {total} inputs, those that go most with the expected value."


def strength(share: float) -> str:
    """How much an input matters.

    Examples
    --------
    >>> strength(0.9), strength(0.01)
    ('strong', 'hardly any')
    """
    return next(words for least, words in INFLUENCES if share >= least)
