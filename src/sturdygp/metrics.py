"""Scores of predictions, of their uncertainty, and of outlier probabilities.

Every score is a mean over all entries of all outputs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from sturdygp._typing import FloatArray
from sturdygp.gp.sites import LOG_2PI

BINS = 10


def rmse(truth: ArrayLike, mean: ArrayLike) -> float:
    """Root mean squared error."""
    return float(np.sqrt(np.mean(_residual(truth, mean) ** 2)))


def mae(truth: ArrayLike, mean: ArrayLike) -> float:
    """Mean absolute error."""
    return float(np.mean(np.abs(_residual(truth, mean))))


def nlpd(truth: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    """Negative log predictive density of normal predictions."""
    z, s = _standardised(truth, mean, std)
    return float(np.mean(0.5 * (LOG_2PI + z**2) + np.log(s)))


def crps(truth: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    """Continuous ranked probability score of normal predictions, in the units of the truth.

    Gneiting and Raftery (2007), equation 21. As the standard deviation goes to zero it becomes the absolute
    error.
    """
    z, s = _standardised(truth, mean, std)
    density = np.exp(-0.5 * (LOG_2PI + z**2))
    return float(np.mean(s * (z * (2.0 * ndtr(z) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi))))


def coverage(truth: ArrayLike, mean: ArrayLike, std: ArrayLike, level: float = 0.95) -> float:
    """Fraction of the truth within the central intervals of probability ``level``."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    z, _ = _standardised(truth, mean, std)
    return float(np.mean(np.abs(z) <= ndtri(0.5 + 0.5 * level)))


def average_precision(is_outlier: ArrayLike, proba: ArrayLike) -> float:
    """Area under the precision-recall curve of outlier probabilities, as steps; NaN without outliers."""
    truth, p = _labelled(is_outlier, proba)
    if not truth.any():
        return float("nan")
    order = np.argsort(-p, kind="stable")
    hits, ranks = np.cumsum(truth[order]), np.arange(1, p.size + 1)
    # Observations of the same probability are found together.
    last = np.append(np.diff(p[order]) != 0.0, True)
    found = hits[last]
    return float(np.sum(np.diff(found, prepend=0) * found / ranks[last]) / truth.sum())


def calibration_error(is_outlier: ArrayLike, proba: ArrayLike) -> float:
    """Expected calibration error: mean distance between probability and frequency, over ten bins."""
    truth, p = _labelled(is_outlier, proba)
    bins = np.minimum((BINS * p).astype(int), BINS - 1)
    excess = np.bincount(bins, weights=p - truth, minlength=BINS)
    return float(np.abs(excess).sum() / p.size)


def _residual(truth: ArrayLike, mean: ArrayLike) -> FloatArray:
    t, m = np.asarray(truth, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    if t.shape != m.shape or not t.size:
        raise ValueError(f"truth and mean must have one shape, not empty; got {t.shape} and {m.shape}")
    if not (np.isfinite(t).all() and np.isfinite(m).all()):
        raise ValueError("truth and mean must be finite; drop missing observations (NaN) first")
    return np.asarray(t - m)


def _standardised(truth: ArrayLike, mean: ArrayLike, std: ArrayLike) -> tuple[FloatArray, FloatArray]:
    residual, s = _residual(truth, mean), np.asarray(std, dtype=np.float64)
    if s.shape != residual.shape or not (s > 0.0).all():
        raise ValueError(f"std must be positive and have the shape of mean, {residual.shape}; got {s.shape}")
    return residual / s, s


def _labelled(is_outlier: ArrayLike, proba: ArrayLike) -> tuple[FloatArray, FloatArray]:
    truth, p = np.asarray(is_outlier, dtype=np.float64).ravel(), np.asarray(proba, dtype=np.float64).ravel()
    if truth.shape != p.shape or not p.size:
        raise ValueError(
            f"is_outlier and proba must have one size, not empty; got {truth.size} and {p.size} entries"
        )
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("probabilities must lie between 0 and 1; drop missing observations (NaN) first")
    return truth, p
