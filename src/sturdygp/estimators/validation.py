"""Checks of what users pass; each error says what was expected, what came and what to change."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_consistent_length

from sturdygp._typing import FloatArray
from sturdygp.estimators.times import as_numbers
from sturdygp.gp.inputs import Inputs, gather

# The largest input: squares of distances, and products of a few of them, are still numbers.
LARGEST_INPUT = 1e100


def check_targets(y: ArrayLike, X: Inputs) -> FloatArray:
    """Targets as floats with one or two dimensions; NaN is a missing entry, infinity an error."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if np.isscalar(y) or (isinstance(y, np.ndarray) and y.ndim == 0):
        raise ValueError(f"y must have shape (n,) or (n, outputs), got the single value {y!r}")
    y = np.asarray(
        check_array(
            as_numbers(y),
            ensure_2d=False,
            allow_nd=True,
            ensure_all_finite="allow-nan",
            dtype=np.float64,
            input_name="y",
        )
    )
    if y.ndim > 2:
        raise ValueError(f"y must have shape (n,) or (n, outputs), got {y.shape}")
    check_consistent_length(X, y)
    return y


def check_magnitude(X: Inputs, estimator: object) -> None:
    """Refuse inputs whose squares, or products of them, would be no numbers."""
    largest = gather(X, largest_by_column, reduce_largest)
    column = int(np.argmax(np.abs(largest)))
    if abs(largest[column]) <= LARGEST_INPUT:
        return
    names = getattr(estimator, "feature_names_in_", None)
    name = f"column {column}" if names is None else f"column {names[column]!r}"
    raise ValueError(
        f"X must lie between {-LARGEST_INPUT:g} and {LARGEST_INPUT:g}, got {largest[column]:g} in {name}; "
        "correct that value, leave out its row, or give the column in a larger unit"
    )


def largest_by_column(X: FloatArray) -> FloatArray:
    """The entry of each column that is farthest from zero."""
    return np.asarray(X[np.argmax(np.abs(X), axis=0), np.arange(X.shape[1])])


def reduce_largest(parts: Iterable[FloatArray]) -> FloatArray:
    """Those of blocks as those of all rows."""
    return largest_by_column(np.array(list(parts)))


def check_positive(name: str, value: object, *, integer: bool = False) -> None:
    """Refuse what is not a positive number."""
    kinds = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive {'integer' if integer else 'number'}, got {value!r}")


def check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Refuse what is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
