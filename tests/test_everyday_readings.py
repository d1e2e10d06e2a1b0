"""What everyday data have in them: fill values, few readings, bounds, grids, columns that say nothing."""

from __future__ import annotations

from math import e, log, pi
from types import SimpleNamespace

import numpy as np
import pytest

from sturdygp import RobustGPRegressor
from sturdygp.gp.posterior import Marginals
from sturdygp.methods.base import Problem, default_kernel
from sturdygp.methods.robust import RobustMethod
from sturdygp.methods.robust.hypothesis import bounded_noise_gain
from sturdygp.methods.robust.masking import Masking, better_as_outliers, recurring_value
from sturdygp.methods.robust.neighbours import around
from sturdygp.methods.robust.variance_function import axes_of


@pytest.mark.parametrize("seed", [0, 3, 5, 10])
def test_fill_values_among_noise_that_grows_are_found(seed):
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
def test_few_readings_are_not_fitted_too_closely(n):
    """The prior of the noise must not outweigh a dozen readings."""
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
@pytest.mark.parametrize("faults", [0.0, 0.05])
def test_noise_within_bounds_is_no_great_many_faults(seed, faults):
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 10.0, 300)
    y = np.sin(x) + rng.uniform(-1.0, 1.0, 300)
    bad = rng.random(300) < faults
    y[bad] += 8.0
    flagged = RobustGPRegressor().fit(x[:, None], y).outlier_proba_ > 0.5
    np.testing.assert_array_equal(flagged, bad)


def test_bounds_gain_what_entropies_say_and_nothing_where_noise_is_normal():
    rng, n = np.random.default_rng(0), 2000
    known, nominal = Marginals(np.zeros(n), np.full(n, 1e-8)), np.ones(n)
    y = rng.uniform(-3.0, 3.0, n)
    normal = 0.5 * log(2.0 * pi * e * np.mean(y**2))
    expected = n * (normal - log(2.0 * np.abs(y).max())) - log(n)
    assert bounded_noise_gain(y, known, nominal) == pytest.approx(expected, abs=1.0)
    # Of readings that are not nominal nothing is asked.
    far = np.append(y, 50.0)
    wider = Marginals(np.zeros(n + 1), np.full(n + 1, 1e-8))
    assert bounded_noise_gain(far, wider, np.append(nominal, 0.0)) == pytest.approx(expected, abs=1.0)
    assert bounded_noise_gain(rng.standard_normal(n), known, nominal) == 0.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.3, 0.4])
@pytest.mark.parametrize("fill", [0.0, -999.0, 11.5])
def test_equal_readings_among_others_that_differ_are_not_the_function(fill, share, seed):
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 10.0, 100)
    y = 10.0 + np.sin(x) + 0.2 * rng.standard_normal(100)
    lost = rng.random(100) < share
    y[lost] = fill
    model = RobustGPRegressor().fit(x[:, None], y)
    assert np.count_nonzero((model.outlier_proba_ > 0.5) != lost) <= 4 * (fill == 11.5)
    assert np.sqrt(np.mean((model.predict(x[:, None]) - 10.0 - np.sin(x)) ** 2)) < 0.15


@pytest.mark.parametrize("step", [0.1, 0.01])
def test_a_fill_value_is_found_among_readings_that_are_rounded_finely(step):
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 10.0, 100)
    y = 3.0 + np.sin(x) + 0.1 * rng.standard_normal(100)
    lost = rng.random(100) < 0.4
    model = RobustGPRegressor().fit(x[:, None], np.where(lost, 0.0, np.round(y / step) * step))
    np.testing.assert_array_equal(model.outlier_proba_ > 0.5, lost)


def test_faults_that_were_set_aside_are_what_faults_are_like():
    """If there are no others: in words, and for new readings."""
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


def test_equal_readings_that_are_the_function_are_kept():
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
def test_equal_readings_are_no_wonder_where_all_are_rounded_coarsely(step, suspected):
    rng = np.random.default_rng(0)
    y = 2.0 + rng.standard_normal(100)
    y = np.round(y / step) * step if step else y
    y[:40] = 0.0
    trusting_those = SimpleNamespace(outlier_proba=np.where(y == 0.0, 0.0, 1.0))
    found = recurring_value(problem_of(y), trusting_those)
    assert (found is not None) == suspected
    if suspected:
        np.testing.assert_array_equal(found, y == 0.0)


@pytest.mark.parametrize(("fill", "faulty"), [(3.0, False), (3.1, False), (5.0, True), (0.0, True)])
def test_equal_readings_that_the_others_foretell_are_not_set_aside(fill, faulty):
    y = 3.0 + 0.1 * np.random.default_rng(0).standard_normal(60)
    equal = np.arange(60) % 3 == 0
    y[equal] = fill
    problem = problem_of(y)
    case = Masking(problem, RobustMethod().fit(problem), equal)
    assert better_as_outliers(RobustMethod().fit(case.others), case) == faulty


def test_noise_is_not_sought_along_columns_that_say_nothing():
    X = np.column_stack([np.arange(10.0), np.ones(10), np.zeros(10), np.arange(10.0) % 2])
    problem = Problem(X, np.arange(10.0), default_kernel(X), np.random.default_rng(0))
    posterior = SimpleNamespace(marginals=lambda: Marginals(np.arange(10.0), np.ones(10)))
    assert [axis.along for axis in axes_of(problem, posterior)] == [None, 0, 3]


@pytest.mark.parametrize("inputs", [1, 2])
def test_neighbours_on_a_grid_do_not_depend_on_the_order_of_rows(inputs):
    X = np.stack(np.meshgrid(*[np.arange(6.0)] * inputs), axis=-1).reshape(-1, inputs)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(X[order][around(X[order], 2)], X[around(X, 2)][order])


def test_a_constant_column_changes_nothing():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 10.0, 100))
    f = 5.0 + 4.0 * np.sin(x)
    y = f + 0.1 * f * rng.normal(size=100)
    alone = RobustGPRegressor().fit(x[:, None], y)
    beside = RobustGPRegressor().fit(np.column_stack([x, np.ones((100, 3))]), y)
    assert alone.nominal_std_.max() > 2.0 * alone.nominal_std_.min()
    np.testing.assert_allclose(beside.nominal_std_, alone.nominal_std_, rtol=0.05)
    np.testing.assert_array_equal(beside.outlier_proba_ > 0.5, alone.outlier_proba_ > 0.5)
