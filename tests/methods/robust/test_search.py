"""The search: second kernel parts, samples of the rows, and returns to simpler hypotheses."""

from copy import deepcopy
from math import log

import numpy as np
import pytest

from sturdygp import RobustGPRegressor, load
from sturdygp.datasets import make_synthetic
from sturdygp.inference.problem import default_kernel
from sturdygp.kernels import SquaredExponential
from sturdygp.metrics import rmse


@pytest.fixture(scope="module")
def coarse_and_fine():
    """A smooth surface with a ripple in one input, and a tenth of the observations too high."""
    rng = np.random.default_rng(1)

    def truth(X):
        return 2.0 * np.sin(X[:, 0]) * np.cos(X[:, 1]) + X[:, 2] + 0.3 * np.sin(7.0 * X[:, 1])

    X, Z = rng.uniform(-2.0, 2.0, (200, 3)), rng.uniform(-2.0, 2.0, (200, 3))
    y = truth(X) + 0.05 * rng.normal(size=200)
    y[rng.choice(200, 20, replace=False)] += rng.uniform(1.0, 5.0, 20)
    return X, y, Z, truth(Z)


@pytest.fixture(scope="module")
def in_two_parts(coarse_and_fine):
    X, y, _, _ = coarse_and_fine
    return RobustGPRegressor().fit(X, y)


def test_second_kernel_part_follows_fine_structure(coarse_and_fine, in_two_parts):
    X, y, Z, f = coarse_and_fine
    one = RobustGPRegressor(kernel=default_kernel(X)).fit(X, y)
    assert isinstance(one.kernel_, SquaredExponential)
    coarse, fine = in_two_parts.kernel_.parts
    assert coarse.variance > 10.0 * fine.variance
    assert fine.length_scale[1] < 0.5 < coarse.length_scale[1]
    errors = [rmse(f, model.predict(Z)) for model in (in_two_parts, one)]
    assert errors[0] < 0.05
    assert errors[1] > 0.2
    penalty = (in_two_parts.kernel_.theta.size - one.kernel_.theta.size) * log(len(y))
    assert in_two_parts.bound_ > one.bound_ + penalty
    assert in_two_parts.contamination_rate_ == pytest.approx(0.1, abs=0.02)
    assert np.all(np.diff(in_two_parts.trace_) >= -1e-8)


def test_second_kernel_part_is_found_although_it_lowers_elbo_at_first():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2.0, 2.0, (200, 3))
    y = 2.0 * np.sin(X[:, 0]) * np.cos(X[:, 1]) + X[:, 2] + 0.3 * np.sin(10.0 * X[:, 1])
    model = RobustGPRegressor().fit(X, y + 0.05 * rng.normal(size=200))
    assert len(model.kernel_.parameter_names) == 4 * 2
    assert model.noise_variance_ < 2.0 * 0.05**2


def test_second_kernel_part_survives_warm_start_and_file(coarse_and_fine, in_two_parts, tmp_path):
    X, y, Z, _ = coarse_and_fine
    mean, std = in_two_parts.predict(Z, return_std=True)
    in_two_parts.save(tmp_path / "two.sturdygp")
    np.testing.assert_array_equal(load(tmp_path / "two.sturdygp").predict(Z), mean)
    warm = deepcopy(in_two_parts).set_params(warm_start=True).fit(X, y)
    assert warm.n_iter_ < 5
    assert warm.kernel_.parameter_names == in_two_parts.kernel_.parameter_names
    np.testing.assert_allclose(warm.predict(Z), mean, atol=1e-2 * std.max())


def test_second_kernel_part_is_not_added_to_smooth_data_or_inducing_inputs(coarse_and_fine):
    X, y, _, _ = coarse_and_fine
    smooth = make_synthetic(80, rate=0.2, seed=1)
    assert isinstance(RobustGPRegressor().fit(smooth.X, smooth.y[:, 0]).kernel_, SquaredExponential)
    assert isinstance(RobustGPRegressor(inducing=40).fit(X, y).kernel_, SquaredExponential)


def test_search_by_a_sample_does_not_depend_on_row_order():
    data = make_synthetic(450, rate=0.3, seed=1)
    order = np.random.default_rng(0).permutation(450)
    first = RobustGPRegressor().fit(data.X, data.y[:, 0])
    second = RobustGPRegressor().fit(data.X[order], data.y[order, 0])
    np.testing.assert_allclose(first.predict(data.X_test), second.predict(data.X_test), atol=1e-3)
    assert np.sqrt(np.mean((first.predict(data.X_test) - data.f_test[:, 0]) ** 2)) < 0.2


def test_score_charges_the_second_kernel_part(coarse_and_fine, in_two_parts):
    """A log of the number of observations for each of its parameters: four, for three inputs."""
    _, y, _, _ = coarse_and_fine
    fit = in_two_parts._outputs[0].fit
    winner, before = fit.ledger[0], next(each for each in fit.ledger if each.score.occam == 0.0)
    assert winner.name.endswith("second length scale")
    assert winner.score.occam == pytest.approx(-4.0 * log(y.size))
    assert winner.score.elbo + winner.score.parameter_prior == pytest.approx(fit.bound, abs=1e-6)
    assert winner.score.total > before.score.total


def test_search_returns_to_the_hypothesis_without_outliers():
    """It was dropped for a promise of heteroscedastic noise: noise of half a step has no outliers."""
    rng = np.random.default_rng(3000)
    y = np.round(20.0 + 0.5 * rng.standard_normal(200))
    model = RobustGPRegressor().fit(np.arange(200.0)[:, None], y)
    assert model.outlier_proba_.max() < 0.5
