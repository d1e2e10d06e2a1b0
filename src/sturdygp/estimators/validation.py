"""Checks of arguments and data, and inputs as numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel as TheirKernel
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.utils.validation import check_array, check_consistent_length

from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Inputs, evenly_spaced, gather
from sturdygp.kernels.base import Kernel, as_kernel
from sturdygp.kernels.interop import SklearnKernel

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
    """Reduce the largest entries of blocks to those of all rows."""
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


# What a time is counted from, and in.
EPOCH, SECOND = np.datetime64(0, "ns"), np.timedelta64(1, "s")


def as_numbers(values: Any) -> Any:
    """Times in seconds since 1970, durations in seconds, masked entries as NaN; everything else as it is.

    Examples
    --------
    >>> days = np.array(["1970-01-02", "NaT"], dtype="datetime64[D]")
    >>> as_numbers(days).tolist()
    [86400.0, nan]
    """
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    if hasattr(values, "dtypes") and hasattr(values, "columns"):
        return _frame_as_numbers(values)
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    return _seconds(values, kind) if kind in ("M", "m") else values


def _frame_as_numbers(frame: Any) -> Any:
    """A table with its times as numbers; itself if it has none."""
    kinds = [getattr(dtype, "kind", "") for dtype in frame.dtypes]
    if not {"M", "m"} & set(kinds):
        return frame
    changed = frame.copy()
    for position, kind in enumerate(kinds):
        if kind in ("M", "m"):
            changed.isetitem(position, _seconds(frame.iloc[:, position], kind))
    return changed


def _seconds(values: Any, kind: str) -> Any:
    name = "datetime64[ns]" if kind == "M" else "timedelta64[ns]"
    # A column of a table converts its zone, too.
    given = values.to_numpy(dtype=name) if hasattr(values, "to_numpy") else np.asarray(values).astype(name)
    return (given - EPOCH if kind == "M" else given) / SECOND


def input_names(estimator: Any, given: Iterable[str] | None = None) -> list[str]:
    """Names that are given; else those of the columns that a fit was made with, or numbers from zero."""
    count = int(estimator.n_features_in_)
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
    if given is None:
        return ["input"] if count == 1 else [f"input {index}" for index in range(count)]
    names = [given] if isinstance(given, str) else [str(name) for name in given]
    if len(names) != count:
        raise ValueError(f"inputs must have {count} names, got {names!r}")
    return names


NOISE_TWICE = (
    "the estimator has noise of its own; leave WhiteKernel out, or part of the noise is taken for a function"
)
# Variances of a kernel and of the targets that differ by more than this factor do not go together.
FAR_OFF = 300.0
NO_REACH = (
    "the kernel has a variance of {:.3g} in the units of y, whose squared scale is {:.3g}, and is not free "
    "to follow it: multiply a kernel of scikit-learn's by a ConstantKernel, or widen variance_bounds"
)
OURS_ON_THE_RIGHT = (
    "scikit-learn takes a kernel of ours for a number if it stands on the right; write it on the left, "
    "as in SquaredExponential() + RBF()"
)


@as_kernel.register(TheirKernel)
def _(value: TheirKernel) -> SklearnKernel:
    if any(isinstance(part, Kernel) for part in value.get_params().values()):
        raise ValueError(OURS_ON_THE_RIGHT)
    return SklearnKernel(value)


def kernel_for(kernel: Kernel, scale: float, X: Inputs) -> Kernel:
    """A kernel that was given in the units of y for scaled targets, within reach of their variance.

    An initial variance that is far from that of the targets mostly is one that nobody thought of.
    """
    rows, scaled = evenly_spaced(X), kernel.scaled(scale**-2)
    variance = float(scaled.diag(rows).mean())
    # Without any, as that of Linear where all inputs are zero, there is nothing to bring nearer.
    if variance == 0.0 or 1.0 / FAR_OFF < variance < FAR_OFF:
        return scaled
    # scikit-learn's kernels do not say which of their parameters is a variance: the optimisation finds it.
    near = scaled.with_theta(np.clip(scaled.scaled(1.0 / variance).theta, *scaled.bounds.T))
    learned = isinstance(kernel, SklearnKernel) and near.diag_pullback(rows, np.ones(len(rows))).any()
    if not (learned or 1.0 / FAR_OFF < float(near.diag(rows).mean()) < FAR_OFF):
        warnings.warn(NO_REACH.format(variance * scale**2, scale**2), UserWarning, stacklevel=2)
    return near


def warn_if_noise_is_there_twice(kernel: object) -> None:
    """Noise in a kernel of scikit-learn's, whose regressor has none of its own."""
    if not isinstance(kernel, TheirKernel):
        return
    parts = (kernel, *kernel.get_params().values())
    if any(isinstance(part, WhiteKernel) and part.n_dims for part in parts):
        warnings.warn(NOISE_TWICE, UserWarning, stacklevel=4)
