"""What everyday data have in them: fill values, few observations, bounds, grids, constant columns."""

from __future__ import annotations

from math import e, log, pi
from types import SimpleNamespace

import numpy as np
import pytest

from sturdygp import RobustGPRegressor
from sturdygp.gp.posterior import Marginals
from sturdygp.inference.problem import Problem, default_kernel
from sturdygp.methods.robust import RobustMethod
from sturdygp.methods.robust.hypothesis import bounded_noise_gain
from sturdygp.methods.robust.masking import Masking, better_as_outliers, recurring_value
from sturdygp.methods.robust.neighbours import around
from sturdygp.methods.robust.variance_function import axes_of


@pytest.mark.parametrize("seed", [0, 3, 5, 10])
def test_robust_fit_finds_fill_values_in_heteroscedastic_noise(seed):
    """What a fill value leaves of the others must not send the steps of their noise anywhere."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 10.0, 60)
    y = 10.0 + np.sin(x) + 0.05 * np.exp(0.3 * x) * rng.standard_normal(60)
    fill = rng.random(60) < 0.05
    y[fill] = 9999.0
    flagged = RobustGPRegressor().fit(x[:, None], y).outlier_proba_ > 0.5
    assert flagged[fill].all()
    assert np.count_nonzero(flagged[~fill]) <= 6


@pytest.mark.parametrize("n", [8, 12, 20])
def test_robust_fit_does_not_overfit_few_observations(n):
    """The prior of the noise must not outweigh a dozen observations."""
    covered, found = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, new = np.linspace(0.0, 5.0, n), np.linspace(0.0, 5.0, 100)
        model = RobustGPRegressor().fit(x[:, None], 5.0 + np.sin(x) + 0.5 * rng.standard_normal(n))
        mean, std = model.predict(new[:, None], return_std=True, include_noise=True)
        again = 5.0 + np.sin(new) + 0.5 * rng.standard_normal(100)
        covered.append(np.mean(np.abs(again - mean) < 1.96 * std))
        found.append(np.sqrt(model.noise_variance_) / 0.5)
    assert np.mean(covered) > 0.7
    assert np.mean(found) > 0.65


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_robust_fit_takes_no_uniform_noise_for_outliers(seed, rate):
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 10.0, 300)
    y = np.sin(x) + rng.uniform(-1.0, 1.0, 300)
    bad = rng.random(300) < rate
    y[bad] += 8.0
    flagged = RobustGPRegressor().fit(x[:, None], y).outlier_proba_ > 0.5
    np.testing.assert_array_equal(flagged, bad)


def test_bounded_noise_gain_equals_entropies_and_is_zero_for_normal_noise():
    rng, n = np.random.default_rng(0), 2000
    known, inlier = Marginals(np.zeros(n), np.full(n, 1e-8)), np.ones(n)
    y = rng.uniform(-3.0, 3.0, n)
    normal = 0.5 * log(2.0 * pi * e * np.mean(y**2))
    expected = n * (normal - log(2.0 * np.abs(y).max())) - log(n)
    assert bounded_noise_gain(y, known, inlier) == pytest.approx(expected, abs=1.0)
    # Outliers do not count.
    far = np.append(y, 50.0)
    wider = Marginals(np.zeros(n + 1), np.full(n + 1, 1e-8))
    assert bounded_noise_gain(far, wider, np.append(inlier, 0.0)) == pytest.approx(expected, abs=1.0)
    assert bounded_noise_gain(rng.standard_normal(n), known, inlier) == 0.0


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


def test_axes_of_skips_constant_columns():
    X = np.column_stack([np.arange(10.0), np.ones(10), np.zeros(10), np.arange(10.0) % 2])
    problem = Problem(X, np.arange(10.0), default_kernel(X), np.random.default_rng(0))
    posterior = SimpleNamespace(marginals=lambda: Marginals(np.arange(10.0), np.ones(10)))
    assert [axis.along for axis in axes_of(problem, posterior)] == [None, 0, 3]


@pytest.mark.parametrize("inputs", [1, 2])
def test_around_on_a_grid_does_not_depend_on_row_order(inputs):
    X = np.stack(np.meshgrid(*[np.arange(6.0)] * inputs), axis=-1).reshape(-1, inputs)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(X[order][around(X[order], 2)], X[around(X, 2)][order])


def test_robust_fit_ignores_a_constant_column():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 10.0, 100))
    f = 5.0 + 4.0 * np.sin(x)
    y = f + 0.1 * f * rng.normal(size=100)
    alone = RobustGPRegressor().fit(x[:, None], y)
    beside = RobustGPRegressor().fit(np.column_stack([x, np.ones((100, 3))]), y)
    assert alone.inlier_std_.max() > 2.0 * alone.inlier_std_.min()
    np.testing.assert_allclose(beside.inlier_std_, alone.inlier_std_, rtol=0.05)
    np.testing.assert_array_equal(beside.outlier_proba_ > 0.5, alone.outlier_proba_ > 0.5)
