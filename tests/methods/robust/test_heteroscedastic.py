"""Heteroscedastic noise: the fit, its kernel, its intervals and its limits."""

from dataclasses import replace
from math import log
from types import SimpleNamespace

import numpy as np
import pytest
from references.problems import growing
from scipy.stats import norm

import sturdygp
from sturdygp import RobustGPRegressor, StandardGPRegressor
from sturdygp.inference.variational import LatentState, VariationalObjective
from sturdygp.kernels import SquaredExponential
from sturdygp.likelihoods.contamination_prior import LARGEST_SHIFT, ContaminationPrior
from sturdygp.likelihoods.gaussian import GaussianModel
from sturdygp.methods.robust import heteroscedastic
from sturdygp.methods.robust.heteroscedastic import optimised_on, parameter_covariance, with_variance_function
from sturdygp.optimise import Optimum
from sturdygp.status import Status


def test_parameter_covariance_is_zero_at_a_bound():
    kernel = SquaredExponential((1.0, 2.0), 1.0)
    x = np.append(kernel.theta, [0.0, 1.0, LARGEST_SHIFT])
    root = np.random.default_rng(0).normal(size=(6, 6))
    curvature = root @ root.T + np.eye(6)
    optimum = Optimum(x, 0.0, np.zeros(6), LatentState(None), Status.CONVERGED, 1, 1, (0.0,), curvature)
    found = parameter_covariance(optimum, kernel, ContaminationPrior().box)
    np.testing.assert_allclose(found, np.linalg.inv(curvature[:5, :5])[:3, :3])
    held = replace(kernel, length_scale_bounds=(1.0, 10.0))
    found = parameter_covariance(optimum, held, ContaminationPrior().box)
    index = held.parameter_names.index("length_scale[0]")
    assert not found[index].any()
    assert not found[:, index].any()


@pytest.fixture(scope="module")
def model():
    X, y, *_ = growing()
    return RobustGPRegressor().fit(X, y)


def variance_function_of(model):
    return model._outputs[0].fit.likelihood.variance_function


def test_refinement_raises_elbo_in_every_round(monkeypatch):
    seen = []
    elbo = heteroscedastic.Refinement._elbo

    def heard(self, *arguments):
        seen.append(elbo(self, *arguments))
        return seen[-1]

    monkeypatch.setattr(heteroscedastic.Refinement, "_elbo", heard)
    X, y, *_ = growing(rate=0.1)
    model = RobustGPRegressor().fit(X, y)
    assert len(seen) > 2
    assert np.all(np.diff(seen) > 0.0)
    assert model._outputs[0].fit.bound == seen[-1] > model.trace_[-2]


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_heteroscedastic_fit_takes_no_large_noise_for_outliers(rate):
    false, gained, ratio = np.mean([compared_with_standard_gp(seed, rate) for seed in range(4)], axis=0)
    assert false <= 0.02
    assert gained > 0.2
    assert np.exp(ratio) < 1.1


def compared_with_standard_gp(seed, rate):
    """Inliers flagged, log density gained at new observations, and log ratio of errors in units of noise.

    The standard process is fitted to the inliers alone.
    """
    X, y, f, noise, outlier = growing(seed=seed, rate=rate)
    model = RobustGPRegressor().fit(X, y)
    flagged = model.outlier_proba_ > 0.5
    assert flagged[outlier].all()
    # Found to within a factor of two almost everywhere; constant noise would be off by a factor of three.
    assert np.mean(np.abs(np.log(model.inlier_std_ / noise)) < log(2.0)) > 0.9
    ordinary = StandardGPRegressor(n_starts=2).fit(X[~outlier], y[~outlier])
    ours, theirs = (np.sqrt(np.mean(((m.predict(X) - f) / noise) ** 2)) for m in (model, ordinary))
    again = f + noise * np.random.default_rng(100 + seed).normal(size=f.size)
    density, ordinary_density = (m.log_predictive_density(X, again).mean() for m in (model, ordinary))
    return np.mean(flagged[~outlier]), density - ordinary_density, np.log(ours / theirs)


def test_heteroscedastic_fit_has_the_kernel_of_inliers():
    X, y, *_, outlier = growing(400, seed=7, rate=0.1)
    model = RobustGPRegressor().fit(X, y)
    ordinary = StandardGPRegressor(n_starts=2).fit(X[~outlier], y[~outlier])
    assert variance_function_of(model) is not None
    np.testing.assert_allclose(model.kernel_.length_scale, ordinary.kernel_.length_scale, rtol=0.15)


def test_heteroscedastic_fit_is_skipped_once_stopped():
    X, y, *_ = growing()
    model = RobustGPRegressor(callback=lambda step: step.iteration >= 3).fit(X, y)
    assert model.status_ is Status.STOPPED
    assert variance_function_of(model) is None


def test_intervals_follow_heteroscedastic_noise():
    X, y, f, noise, _ = growing(400, seed=5)
    model = RobustGPRegressor().fit(X, y)
    again = f + noise * np.random.default_rng(6).normal(size=400)
    mean, std = model.predict(X, return_std=True, include_noise=True)
    inside = np.abs(again - mean) < 1.96 * std
    for part in (f < 3.0, f > 7.0):
        assert 0.91 < inside[part].mean() < 0.99


@pytest.mark.parametrize("seed", range(6))
def test_homoscedastic_noise_has_no_variance_function(seed):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0.0, 10.0, 100))[:, None]
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=100) + 3.0 * (rng.uniform(size=100) < 0.1)
    model = RobustGPRegressor().fit(X, y)
    assert variance_function_of(model) is None
    np.testing.assert_allclose(model.inlier_std_, np.sqrt(model.noise_variance_), rtol=1e-12)


def test_variance_function_may_follow_an_input():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (200, 2))
    noise = 0.03 * np.exp(0.3 * X[:, 1])
    model = RobustGPRegressor().fit(X, np.sin(X[:, 0]) + noise * rng.normal(size=200))
    assert variance_function_of(model).along == 1
    assert np.all(np.abs(np.log(model.inlier_std_ / noise)) < log(2.0))
    assert "most where input 1 is high" in model.summary()
    assert "most where depth is high" in model.summary(np.array(["time", "depth"]))
    with pytest.raises(ValueError, match=r"inputs must have 2 names, got \['depth'\]"):
        model.summary("depth")


def test_variance_function_respects_least_noise():
    X, y, *_ = growing(200, seed=1)
    model = RobustGPRegressor(prior=ContaminationPrior(least_noise=0.1)).fit(X, y)
    assert variance_function_of(model) is not None
    assert model.inlier_std_.min() == pytest.approx(0.1 * model._outputs[0].scaling.scale, rel=1e-6)


@pytest.fixture
def refits(monkeypatch):
    """Calls of optimised_on: trusted observations, hypothesis, and the optimum."""
    kept = []

    def watched(trusted, hypothesis, *settings):
        kept.append((trusted, hypothesis, optimised_on(trusted, hypothesis, *settings)))
        return kept[-1][-1]

    monkeypatch.setattr(heteroscedastic, "optimised_on", watched)
    return kept


def test_optimised_on_uses_trusted_observations(refits):
    X, y, *_, outlier = growing(200, seed=7, rate=0.1)
    model = RobustGPRegressor().fit(X, y)
    trusted, _, optimum = refits[0]  # the fit of all observations comes first
    np.testing.assert_array_equal(trusted, ~outlier)
    ended = optimum.carry.posterior.kernel
    np.testing.assert_allclose(model.kernel_.length_scale, ended.length_scale, rtol=1e-9)


def test_with_variance_function_is_refused_if_elbo_does_not_repay_it(refits):
    X, y, *_ = growing()
    RobustGPRegressor().fit(X, y)
    _, hypothesis, _ = refits[-1]
    assert with_variance_function(hypothesis, 1000, 0.01).variance_function is not None
    hypothesis.__dict__["heteroscedasticity"] = replace(hypothesis.heteroscedasticity, cost=1e4)
    constant = with_variance_function(hypothesis, 1000, 0.01)
    assert constant.variance_function is None
    assert constant.elbo == hypothesis.optimum.value
    np.testing.assert_array_equal(constant.model.relative_noise, 1.0)


@pytest.mark.parametrize("inputs", [1, 2])
def test_parameter_covariance_is_the_inverse_curvature_of_the_elbo(inputs, refits):
    """With heteroscedastic noise, too, where a kernel is optimised again for a few steps."""
    rng = np.random.default_rng(inputs - 1)
    X = rng.uniform(0.0, 10.0, (150, inputs))
    f = 5.0 + 4.0 * np.sin(X[:, 0]) + (np.cos(X[:, 1]) if inputs > 1 else 0.0)
    RobustGPRegressor().fit(X, f + 0.1 * np.abs(f) * rng.normal(size=150))
    trusted, hypothesis, optimum = refits[-1]
    kernel, box = hypothesis.problem.kernel, hypothesis.model.prior.box[:1]
    model = GaussianModel(hypothesis.problem.y, np.where(trusted, 0.0, np.inf), 1.0)
    objective, size = (
        VariationalObjective(model, hypothesis.problem, box, hypothesis.function_prior),
        kernel.theta.size,
    )

    def gradient(x):
        return objective.evaluate(kernel.with_theta(x[:size]), x[size:], LatentState(None)).gradient

    h = 1e-4
    steps = h * np.eye(size + 1)
    hessian = [(gradient(optimum.x - step) - gradient(optimum.x + step)) / (2 * h) for step in steps]
    expected = np.sqrt(np.diag(np.linalg.inv(hessian))[:size])
    found = np.sqrt(np.diag(parameter_covariance(optimum, optimum.carry.posterior.kernel, box)))
    np.testing.assert_array_less(np.abs(np.log(found / expected)), log(1.5))


def test_parameter_covariance_is_zero_for_an_indefinite_curvature():
    curvature = np.diag([1.0, 4.0, -1e-9])
    kernel = SquaredExponential(1.0, 1.0)
    optimum = SimpleNamespace(x=np.zeros(3), curvature=curvature)
    box = np.array([[-5.0, 5.0]])
    assert not parameter_covariance(optimum, kernel, box).any()
    optimum.curvature = np.diag([1.0, 4.0, 2.0])
    np.testing.assert_allclose(parameter_covariance(optimum, kernel, box), np.diag([1.0, 0.25]))


@pytest.mark.parametrize("seed", range(3))
def test_variance_function_is_not_bent_by_exact_observations(seed):
    """A machine that is off now and then, and then shows nothing at all."""
    rng = np.random.default_rng(seed)
    on = rng.random(100) < 0.7
    x = np.sort(rng.uniform(0.0, 10.0, 100))
    f = np.where(on, 5.0 + 2.0 * np.sin(x), 0.0)
    model = RobustGPRegressor().fit(np.column_stack([x, on]), f + 0.5 * on * rng.standard_normal(100))
    assert 0.35 < np.median(model.inlier_std_[on]) < 0.7
    assert model.inlier_std_.max() < 1.0
    assert np.count_nonzero(model.outlier_proba_ > 0.5) <= 3


def test_heteroscedastic_fit_does_not_depend_on_units_or_order(model):
    X, y, *_ = growing()
    order = np.random.default_rng(1).permutation(len(y))
    other = RobustGPRegressor().fit(1e3 * X[order], 1e6 + 1e4 * y[order])
    np.testing.assert_allclose(other.inlier_std_, 1e4 * model.inlier_std_[order], rtol=1e-3)
    np.testing.assert_allclose(other.predict(1e3 * X), 1e6 + 1e4 * model.predict(X), rtol=1e-4)


def test_predictions_include_heteroscedastic_noise(model):
    X, y, *_ = growing()
    noise = model.inlier_std_**2
    assert noise.max() > 4.0 * noise.min()
    mean, std = model.predict(X, return_std=True)
    _, with_noise = model.predict(X, return_std=True, include_noise=True)
    np.testing.assert_allclose(with_noise**2 - std**2, noise, rtol=1e-9)
    covariance = [model.predict(X, return_cov=True, include_noise=noisy)[1] for noisy in (False, True)]
    np.testing.assert_allclose(covariance[1] - covariance[0], np.diag(noise), atol=1e-9)
    density = norm.logpdf(y, mean, with_noise)
    np.testing.assert_allclose(model.log_predictive_density(X, y), density, rtol=1e-9)
    draws = model.sample_y(X, 4000, include_noise=True) - model.sample_y(X, 4000)
    np.testing.assert_allclose(draws.var(axis=1), noise, rtol=0.15)
    left_out, deviation = model.leave_one_out(include_noise=True)
    _, of_function = model.leave_one_out()
    there = variance_function_of(model).relative(
        X, (left_out - model._outputs[0].scaling.centre) / model._outputs[0].scaling.scale
    )
    np.testing.assert_allclose(deviation**2 - of_function**2, model.noise_variance_ * there, rtol=1e-9)


def test_outlier_proba_of_new_observations_uses_local_noise(model):
    """The same distance makes an outlier where noise is small, and none where it is large."""
    X, *_, noise, _ = growing()
    quiet, loud = np.argmin(noise), np.argmax(noise)
    rows = X[[quiet, loud]]
    proba = model.outlier_proba(rows, model.predict(rows) + 1.0)
    assert proba[0] > 0.9
    assert proba[1] < 0.2


def test_variance_function_survives_a_file(model, tmp_path):
    X, *_ = growing()
    model.save(tmp_path / "model.sgp")
    again = sturdygp.load(tmp_path / "model.sgp")
    np.testing.assert_array_equal(again.inlier_std_, model.inlier_std_)
    for ours, theirs in zip(
        again.predict(X, return_std=True, include_noise=True),
        model.predict(X, return_std=True, include_noise=True),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert again.summary() == model.summary()


def test_heteroscedastic_fit_works_with_inducing_inputs():
    X, y, _, noise, _ = growing(600, seed=3)
    model = RobustGPRegressor(inducing=40).fit(X, y)
    assert np.all(np.abs(np.log(model.inlier_std_ / noise)) < log(2.0))
    assert np.mean(model.outlier_proba_ > 0.5) < 0.01


def test_variance_function_respects_rounding():
    X, y, *_ = growing(300, seed=4)
    model = RobustGPRegressor().fit(X, np.round(y))
    assert model.inlier_std_.min() >= 1.0 / np.sqrt(2.0 * np.pi) - 1e-9
