"""Priors of the function and of kernel parameters, against densities and central differences."""

import numpy as np
import pytest
from scipy.stats import cauchy
from sklearn.gaussian_process import kernels as sk

from sturdygp.inference.problem import Problem
from sturdygp.kernels import Constant, Matern32, SquaredExponential, as_kernel
from sturdygp.methods.robust.prior import FunctionPrior, ThetaPrior, length_scale_prior


def test_theta_prior_is_cauchy_with_its_gradient():
    prior = ThetaPrior(np.array([0.3, 0.0, -1.0]), np.array([0.5, np.inf, 2.0]))
    theta = np.array([1.1, 7.0, -3.0])
    mode = np.array([0.3, 7.0, -1.0])
    expected = [
        cauchy.logpdf(x, c, w) - cauchy.logpdf(c, c, w) for x, c, w in ((1.1, 0.3, 0.5), (-3.0, -1.0, 2.0))
    ]
    assert prior.log_density(theta) - prior.log_density(mode) == pytest.approx(sum(expected))
    h = 1e-6
    differences = [
        (prior.log_density(theta + step) - prior.log_density(theta - step)) / (2 * h)
        for step in h * np.eye(3)
    ]
    np.testing.assert_allclose(prior.gradient(theta), differences, atol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        SquaredExponential((0.7, 2.0), 0.3),
        Constant(0.2) * Matern32((1.0, 1.0)) + SquaredExponential(1.0, 0.1),
        as_kernel(sk.ConstantKernel(0.5) * sk.RBF((1.0, 1.0)) + sk.DotProduct()),
    ],
    ids=repr,
)
def test_function_prior_has_a_signal_to_noise_floor_with_its_gradient(kernel):
    X = np.random.default_rng(0).normal(size=(40, 2))
    prior = FunctionPrior.of(Problem(X, X[:, 0], kernel, np.random.default_rng(0)), 1.5)
    parameters = np.array([-0.4, 0.3, 0.8])
    found = prior.at(kernel, parameters)
    squared_ratio = kernel.diag(X).mean() / np.exp(parameters[0])
    lengths = length_scale_prior(kernel, X).log_density(kernel.theta)
    assert found.value == pytest.approx(lengths - 0.5 * 1.5**2 / squared_ratio)
    both, size, h = np.concatenate([kernel.theta, parameters]), kernel.theta.size, 1e-6
    values = [
        prior.at(kernel.with_theta((both + step)[:size]), (both + step)[size:]).value
        for step in (*(h * np.eye(both.size)), *(-h * np.eye(both.size)))
    ]
    differences = (np.array(values[: both.size]) - np.array(values[both.size :])) / (2.0 * h)
    np.testing.assert_allclose(np.concatenate([found.by_theta, found.by_parameters]), differences, atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "with_prior"),
    [
        (SquaredExponential((1.0, 1.0)), 2),
        (SquaredExponential(1.0), 0),
        (Constant() * Matern32((1.0, 1.0)), 2),
        (as_kernel(sk.ConstantKernel() * sk.RBF((1.0, 1.0))), 2),
    ],
)
def test_length_scale_prior_covers_single_inputs_in_every_kernel(kernel, with_prior):
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert np.isfinite(length_scale_prior(kernel, X).width).sum() == with_prior
    # A further part of the kernel has none.
    both = kernel + SquaredExponential((0.1, 0.1))
    prior = length_scale_prior(both, X, fine=3)
    assert np.isfinite(prior.width).sum() == with_prior
    assert np.isinf(prior.width[-3:]).all()
