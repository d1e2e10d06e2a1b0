"""Far outliers and recurring values are masked where that uncovers others."""

from math import log
from types import SimpleNamespace

import numpy as np
import pytest
from references.problems import GRID
from scipy.stats import norm

from sturdygp import RobustGPRegressor, load
from sturdygp.inference.problem import Problem, default_kernel
from sturdygp.methods.robust import RobustMethod
from sturdygp.methods.robust.masking import Masking, better_as_outliers, recurring_value
from sturdygp.metrics import rmse


@pytest.fixture
def hidden():
    """Sixty outliers among 200 observations, all on one side."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 200))[:, None]
    y, bad = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(200), rng.choice(200, 60, replace=False)
    y[bad] += rng.uniform(1.0, 5.0, 60)
    return x, y, bad


@pytest.mark.parametrize("far", [(-999.0,) * 4, (1e6, 1e3, -200.0)])
@pytest.mark.parametrize("inducing", [None, 40])
def test_masking_of_far_outliers_uncovers_others(hidden, far, inducing, tmp_path):
    x, y, bad = hidden
    y[bad[: len(far)]] = far
    model = RobustGPRegressor(inducing=inducing).fit(x, y)
    np.testing.assert_array_equal(np.sort(np.flatnonzero(model.outlier_proba_ > 0.5)), np.sort(bad))
    assert rmse(np.sin(x[:, 0]), model.predict(x)) < 0.03
    assert model.contamination_rate_ == pytest.approx(0.3, abs=0.01)
    assert model.contamination_shift_ == pytest.approx(3.0, abs=0.3)
    assert np.all(model.weights_[bad[: len(far)]] == 0.0)
    # As if the far ones were missing.
    without = y.copy()
    without[bad[: len(far)]] = np.nan
    alone = RobustGPRegressor(inducing=inducing).fit(x, without)
    np.testing.assert_allclose(model.predict(x), alone.predict(x), atol=2e-3)
    assert np.all(np.isfinite(model.leave_one_out()))
    # But for the densities of the far ones: the ELBO is that of all observations.
    distance = y[bad[: len(far)]] - model.predict(x[bad[: len(far)]])
    theirs = norm.logpdf(distance, scale=np.sqrt(np.mean(distance**2))).sum()
    share = len(far) / 200
    expected = alone.bound_ + theirs + len(far) * log(share) + (200 - len(far)) * log(1.0 - share)
    assert model.bound_ == pytest.approx(expected, abs=0.1)
    assert model.trace_[-1] == pytest.approx(model.bound_, abs=1.0)
    model.save(tmp_path / "model.sgp")
    np.testing.assert_array_equal(load(tmp_path / "model.sgp").predict(x), model.predict(x))
    again = model.set_params(warm_start=True).fit(x, y)
    assert again.bound_ == pytest.approx(expected, abs=0.1)


def test_robust_fit_finds_a_moderately_far_outlier(hidden):
    x, y, bad = hidden
    y[bad[0]] = 50.0
    model = RobustGPRegressor().fit(x, y)
    np.testing.assert_array_equal(np.sort(np.flatnonzero(model.outlier_proba_ > 0.5)), np.sort(bad))
    assert rmse(np.sin(x[:, 0]), model.predict(x)) < 0.05


def test_masking_keeps_far_outliers_that_hide_nothing(hidden):
    x, _, _ = hidden
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(200)
    y[[20, 90, 150]] = -999.0
    model = RobustGPRegressor().fit(x, y)
    assert np.flatnonzero(model.outlier_proba_ > 0.5).tolist() == [20, 90, 150]
    assert model.contamination_shift_ == pytest.approx(-999.0, abs=5.0)
    assert 0.0 < model.weights_[20] < 1e-3


@pytest.mark.parametrize("seed", [0, 8, 11, 15, 18])
def test_masking_takes_no_noise_for_outliers(seed):
    """At all but the first seed a few agree by chance, and would be taken for the only inliers."""
    y = 7.0 + np.random.default_rng(seed).standard_normal(80)
    y[[11, 42, 60]] = -999.0
    fit = RobustGPRegressor(faults="many").fit(GRID[:, None], y)
    flagged = np.flatnonzero(fit.outlier_proba_ > 0.5)
    assert {11, 42, 60} <= set(flagged)
    assert len(flagged) <= 10


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rate", [0.3, 0.4])
@pytest.mark.parametrize("fill", [0.0, -999.0, 11.5])
def test_masking_finds_recurring_values(fill, rate, seed):
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 10.0, 100)
    y = 10.0 + np.sin(x) + 0.2 * rng.standard_normal(100)
    lost = rng.random(100) < rate
    y[lost] = fill
    model = RobustGPRegressor().fit(x[:, None], y)
    assert np.count_nonzero((model.outlier_proba_ > 0.5) != lost) <= 4 * (fill == 11.5)
    assert np.sqrt(np.mean((model.predict(x[:, None]) - 10.0 - np.sin(x)) ** 2)) < 0.15


@pytest.mark.parametrize("step", [0.1, 0.01])
def test_masking_finds_a_fill_value_among_finely_rounded_observations(step):
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 10.0, 100)
    y = 3.0 + np.sin(x) + 0.1 * rng.standard_normal(100)
    lost = rng.random(100) < 0.4
    model = RobustGPRegressor().fit(x[:, None], np.where(lost, 0.0, np.round(y / step) * step))
    np.testing.assert_array_equal(model.outlier_proba_ > 0.5, lost)


def test_masking_describes_outliers_where_there_are_no_others():
    """In the summary, and for new observations."""
    rng = np.random.default_rng(2)
    x = np.linspace(0.0, 10.0, 100)
    y = 10.0 + np.sin(x) + 0.2 * rng.standard_normal(100)
    lost = rng.random(100) < 0.4
    model = RobustGPRegressor().fit(x[:, None], np.where(lost, 0.0, y))
    assert model.contamination_shift_ == pytest.approx(-np.mean(10.0 + np.sin(x[lost])), abs=0.2)
    assert model.contamination_rate_ == pytest.approx(np.mean(lost), abs=0.01)
    assert "mostly too low" in model.summary()
    assert model.outlier_proba(x[:2, None], [0.0, 10.0 + np.sin(x[1])]).round(2).tolist() == [1.0, 0.0]
    density = model.log_predictive_density(
        x[lost, None], np.zeros(np.count_nonzero(lost)), allow_outliers=True
    )
    assert density.min() > -5.0


def test_masking_keeps_a_constant_part_of_the_function():
    """A signal that stays at nothing for half of the time."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 10.0, 120)
    y = np.where(x < 4.5, 0.0, 3.0 * np.sin(x - 4.5) + 0.1 * rng.standard_normal(120))
    model = RobustGPRegressor().fit(x[:, None], y)
    assert np.mean(model.outlier_proba_[x < 4.0] > 0.5) < 0.05


def problem_of(y):
    X = np.arange(float(y.size))[:, None]
    return Problem(X, y, default_kernel(X), np.random.default_rng(0))


@pytest.mark.parametrize(("step", "suspected"), [(0.0, True), (0.01, True), (1.0, False)])
def test_recurring_value_is_not_suspected_among_coarsely_rounded_observations(step, suspected):
    rng = np.random.default_rng(0)
    y = 2.0 + rng.standard_normal(100)
    y = np.round(y / step) * step if step else y
    y[:40] = 0.0
    fit = SimpleNamespace(outlier_proba=np.where(y == 0.0, 0.0, 1.0))
    found = recurring_value(problem_of(y), fit)
    assert (found is not None) == suspected
    if suspected:
        np.testing.assert_array_equal(found, y == 0.0)


@pytest.mark.parametrize(("fill", "outlier"), [(3.0, False), (3.1, False), (5.0, True), (0.0, True)])
def test_better_as_outliers_depends_on_what_others_predict(fill, outlier):
    y = 3.0 + 0.1 * np.random.default_rng(0).standard_normal(60)
    equal = np.arange(60) % 3 == 0
    y[equal] = fill
    problem = problem_of(y)
    masking = Masking(problem, RobustMethod().fit(problem), equal)
    assert better_as_outliers(RobustMethod().fit(masking.others), masking) == outlier
