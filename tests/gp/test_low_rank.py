"""Variances in few directions, and the prior in few features, against dense algebra."""

import numpy as np
import pytest
from references.problems import noisy_sine
from scipy.stats import multivariate_normal

from sturdygp.gp import Sites, condition, low_rank
from sturdygp.gp.low_rank import CONSTANT_PRECISION, RoughPrior
from sturdygp.kernels import Matern32, SquaredExponential


def in_few_directions(kernel, X, sites):
    p = condition(kernel, X, sites)
    return p, low_rank.Reduction.of(p.factor, kernel, X)


@pytest.mark.parametrize("kind", ["positive", "some zero", "some negative"])
def test_reduction_equals_the_solve(kind):
    X, y, rng = noisy_sine(300)
    precision = rng.uniform(0.01, 10.0, len(X))
    if kind != "positive":
        precision[::3] = 0.0 if kind == "some zero" else -0.1
    sites = Sites(y, precision, np.zeros(len(X)))
    p, few = in_few_directions(SquaredExponential((1.5, 2.0), 1.3), X, sites)
    assert len(few.added) + len(few.taken) < 100
    assert bool(len(few.taken)) == (kind == "some negative")
    # Among the readings, between them and far away.
    Z = np.vstack([X, rng.normal(size=(900, 2)), 9.0 * rng.normal(size=(50, 2))])
    np.testing.assert_allclose(few(p.kernel(Z, X).T), p.factor.quadratic(p.kernel(X, Z)), atol=1e-8)
    by_solve = np.concatenate([p.predict(rows).variance for rows in np.array_split(Z, 5)])
    assert "_reduction" not in vars(p)
    np.testing.assert_allclose(p.predict(Z).variance, by_solve, rtol=1e-7)
    assert isinstance(vars(p)["_reduction"], low_rank.Reduction)


@pytest.mark.parametrize(
    ("kernel", "noise"), [(Matern32(0.5), 0.1), (SquaredExponential(0.05), 0.1), (SquaredExponential(), 1e-8)]
)
def test_reduction_leaves_many_or_unsure_directions_to_the_solve(kernel, noise):
    X, y, rng = noisy_sine(200)
    p, few = in_few_directions(kernel, X, Sites.gaussian(y, noise))
    assert few is None
    Z = rng.normal(size=(800, 2))
    np.testing.assert_allclose(p.predict(Z).variance[:9], p.predict(Z[:9]).variance, rtol=1e-9, atol=1e-12)


def test_rough_prior_with_all_features_equals_the_process():
    rng, amplitude = np.random.default_rng(6), 1.7
    X, kernel = rng.uniform(size=(12, 2)), SquaredExponential((0.3, 0.4))
    sites = Sites(rng.normal(size=12), rng.uniform(0.5, 4.0, 12), rng.normal(size=12))
    rough = RoughPrior.of(kernel, X, 12)
    posterior = rough.condition(sites, np.float64(amplitude))
    features = rough.basis[:, 1:]
    K = amplitude * features @ features.T + 1.0 / CONSTANT_PRECISION
    np.testing.assert_allclose(features @ features.T, kernel(X), atol=1e-3)
    A = K + np.diag(1.0 / sites.precision)
    mean = K @ np.linalg.solve(A, sites.target)
    np.testing.assert_allclose(posterior.marginals.mean, mean, atol=1e-8)
    variance = np.diag(K - K @ np.linalg.solve(A, K))
    np.testing.assert_allclose(posterior.marginals.variance, variance, atol=1e-8)
    # The sites are normal densities of their targets, up to a factor.
    factor = sites.log_scale + 0.5 * np.log(2 * np.pi / sites.precision)
    evidence = multivariate_normal(cov=A).logpdf(sites.target) + factor.sum()
    assert posterior.log_evidence == pytest.approx(evidence, abs=1e-6)
