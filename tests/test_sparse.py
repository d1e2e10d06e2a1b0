"""Inducing points, against the exact process and central differences."""

import numpy as np
import pytest

from sturdygp.gp import Sites, condition
from sturdygp.gp import posterior as seam
from sturdygp.gp.sparse import SparsePrior
from sturdygp.kernels import Constant, Linear, Matern32, Periodic, RationalQuadratic, SquaredExponential

KERNELS = [
    SquaredExponential((0.5, 0.8), 1.7),
    Matern32(0.6, 0.9) + Linear((0.4, 0.2)) * Constant(1.3),
    RationalQuadratic((0.7, 0.5), 1.2, alpha=0.8) * Periodic(1.1, 2.0, 0.7),
]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (40, 2))
    sites = Sites(5.0 + rng.normal(size=40), rng.uniform(0.2, 8.0, 40), rng.normal(size=40))
    return X, sites


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_all_inputs_inducing_is_exact(problem, kernel):
    X, sites = problem
    Z = np.random.default_rng(1).uniform(-1.0, 1.0, (7, 2))
    exact, sparse = condition(kernel, X, sites), SparsePrior.at(kernel, X, X).condition(sites)
    assert sparse.mean == pytest.approx(exact.mean, rel=1e-6)
    assert sparse.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    for name in ("kernel", "target", "precision"):
        ours, theirs = getattr(sparse.gradient(), name), getattr(exact.gradient(), name)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    for ours, theirs in (
        (sparse.marginals(), exact.marginals()),
        (sparse.leave_one_out(), exact.leave_one_out()),
        (sparse.leave_one_out(0.5), exact.leave_one_out(0.5)),
        (sparse.predict(Z), exact.predict(Z)),
    ):
        np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6)
        np.testing.assert_allclose(ours.variance, theirs.variance, atol=1e-6)
    np.testing.assert_allclose(sparse.predict_mean(Z), exact.predict_mean(Z), atol=1e-6)
    np.testing.assert_allclose(sparse.covariance(Z), exact.covariance(Z), atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_gradient_equals_central_differences(problem, kernel):
    X, sites = problem
    Z, step = X[::4], 1e-5

    def bound(theta):
        return SparsePrior.at(kernel.with_theta(theta), X, Z).condition(sites).log_evidence

    numeric = [
        (bound(kernel.theta + h) - bound(kernel.theta - h)) / (2 * step)
        for h in step * np.eye(kernel.theta.size)
    ]
    gradient = SparsePrior.at(kernel, X, Z).condition(sites).gradient().kernel
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6)


def test_bound_rises_with_inducing_inputs_to_the_evidence(problem):
    X, sites = problem
    kernel = KERNELS[0]
    bounds = [SparsePrior.at(kernel, X, X[:m]).condition(sites).log_evidence for m in (1, 5, 10, 20, 30, 40)]
    assert np.all(np.diff(bounds) > 0.0)
    assert bounds[-1] <= condition(kernel, X, sites).log_evidence + 1e-5


def test_chunks_do_not_matter(problem, monkeypatch):
    X, sites = problem
    whole = SparsePrior.at(KERNELS[0], X, X[::4]).condition(sites)
    expected = whole.log_evidence, whole.gradient().kernel, whole.marginals().variance
    monkeypatch.setattr(seam, "CHUNK_ENTRIES", 30)
    chunked = SparsePrior.at(KERNELS[0], X, X[::4]).condition(sites)
    assert chunked.log_evidence == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(chunked.gradient().kernel, expected[1], rtol=1e-9)
    np.testing.assert_allclose(chunked.marginals().variance, expected[2], rtol=1e-9)


def test_a_given_mean_and_silent_or_negative_sites(problem):
    X, sites = problem
    kernel = KERNELS[0]
    precision = sites.precision.copy()
    precision[:5], precision[5:8] = 0.0, -0.05
    mixed = Sites(sites.target, precision, sites.log_scale)
    exact = condition(kernel, X, mixed, 4.0)
    sparse = SparsePrior.at(kernel, X, X).condition(mixed, 4.0)
    assert sparse.mean == 4.0
    assert sparse.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    np.testing.assert_allclose(sparse.marginals().variance, exact.marginals().variance, atol=1e-6)
