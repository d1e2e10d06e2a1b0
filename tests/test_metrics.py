"""Scores against definitions, scikit-learn and simulation."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import average_precision_score, mean_absolute_error, root_mean_squared_error

from sturdygp import metrics

RNG = np.random.default_rng(0)


TRUTH, MEAN, STD = RNG.normal(size=(40, 2)), RNG.normal(size=(40, 2)), RNG.uniform(0.2, 2.0, (40, 2))


def test_rmse_and_mae_equal_scikit_learn():
    flat = TRUTH.ravel(), MEAN.ravel()
    assert metrics.rmse(TRUTH, MEAN) == pytest.approx(root_mean_squared_error(*flat))
    assert metrics.mae(TRUTH, MEAN) == pytest.approx(mean_absolute_error(*flat))


def test_nlpd_equals_scipy():
    assert metrics.nlpd(TRUTH, MEAN, STD) == pytest.approx(-norm.logpdf(TRUTH, MEAN, STD).mean())


@pytest.mark.parametrize("z", [-2.0, 0.3, 4.0])
def test_crps_equals_its_integral(z):
    below, _ = quad(lambda t: norm.cdf(t, 1.0, 0.5) ** 2, -20.0, z)
    above, _ = quad(lambda t: norm.sf(t, 1.0, 0.5) ** 2, z, 20.0)
    assert metrics.crps([z], [1.0], [0.5]) == pytest.approx(below + above, rel=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_coverage_of_right_intervals_is_their_level(level):
    draws = norm.ppf((np.arange(10_000) + 0.5) / 10_000)
    assert metrics.coverage(draws, np.zeros(10_000), np.ones(10_000), level) == pytest.approx(level, abs=2e-4)


@pytest.mark.parametrize("digits", [1, 8])
def test_average_precision_equals_scikit_learn(digits):
    proba = RNG.uniform(size=200).round(digits)
    is_outlier = RNG.uniform(size=200) < proba
    expected = average_precision_score(is_outlier, proba)
    assert metrics.average_precision(is_outlier, proba) == pytest.approx(expected)


def test_average_precision_without_outliers_is_undefined():
    assert np.isnan(metrics.average_precision([False, False], [0.1, 0.2]))


def test_calibration_error_equals_one_by_hand():
    # Two bins: 0.9 is right 2 times of 4 (off by 0.4), 0.2 is right 1 time of 2 (off by 0.3).
    proba, is_outlier = [0.9, 0.9, 0.9, 0.9, 0.2, 0.2], [1, 1, 0, 0, 1, 0]
    assert metrics.calibration_error(is_outlier, proba) == pytest.approx((4 * 0.4 + 2 * 0.3) / 6)
    assert metrics.calibration_error([1, 0], [1.0, 0.0]) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.rmse([1.0], [1.0, 2.0]),
        lambda: metrics.nlpd([1.0], [1.0], [0.0]),
        lambda: metrics.crps([1.0], [1.0], [1.0, 1.0]),
        lambda: metrics.coverage([1.0], [1.0], [1.0], level=95),
        lambda: metrics.average_precision([1], [1.5]),
        lambda: metrics.calibration_error([1, 0], [np.nan, 0.0]),
        lambda: metrics.calibration_error([], []),
    ],
)
def test_metrics_refuse_bad_arguments(call):
    with pytest.raises(ValueError, match="must"):
        call()


def test_metrics_refuse_missing_truths():
    """They would count as misses."""
    truth = np.array([0.0, np.nan])
    for score in (metrics.coverage, metrics.nlpd, metrics.crps):
        with pytest.raises(ValueError, match="drop missing observations"):
            score(truth, np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match="drop missing observations"):
        metrics.rmse(truth, np.zeros(2))
