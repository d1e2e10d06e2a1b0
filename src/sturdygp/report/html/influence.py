"""How much of what is expected changes with each input."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.tables.model import TableModel, as_columns

# Shares of the spread of what is expected, from which on an influence is called so.
INFLUENCES = ((0.5, "strong"), (0.2, "moderate"), (0.05, "weak"), (0.0, "hardly any"))
# Readings by which it is judged, and how often their inputs are exchanged.
MOST_JUDGED = 300
EXCHANGES = 4


def input_shares(model: TableModel, index: int, raw: FloatArray) -> FloatArray:
    """By how much the expected value changes with each input alone, as a share of its spread.

    An input takes the values of other readings while all others stay. The mean square of what that changes
    is twice the variance that the input accounts for, alone and together with others (Jansen 1999).
    """
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(raw))[:MOST_JUDGED]
    orders = [rng.permutation(rows) for _ in range(EXCHANGES)]
    exchanged = [other for order in orders for other in exchanges(model, raw[rows], raw[order])]
    features = model.plan.scaled(np.concatenate([raw[rows], *exchanged]))
    expected = as_columns(model.estimator.predict(features))[:, index].reshape(-1, len(rows))
    variance = np.mean((expected[1:] - expected[0]) ** 2, axis=1).reshape(EXCHANGES, -1).mean(axis=0) / 2.0
    return np.asarray(np.sqrt(variance / max(expected[0].var(), np.finfo(float).tiny)))


def exchanges(model: TableModel, raw: FloatArray, other: FloatArray) -> Iterator[FloatArray]:
    """Readings of which one input after the other has the values of other readings."""
    ends = np.cumsum([0, *(len(column.features) for column in model.plan.inputs)])
    for first, end in pairwise(ends):
        changed = raw.copy()
        changed[:, first:end] = other[:, first:end]
        yield changed


def strength(share: float) -> str:
    """How much an input matters.

    Examples
    --------
    >>> strength(0.9), strength(0.01)
    ('strong', 'hardly any')
    """
    return next(words for least, words in INFLUENCES if share >= least)
