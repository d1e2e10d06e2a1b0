"""Residuals that a variance function is fitted to, against central differences and definitions."""

from math import log
from types import SimpleNamespace

import numpy as np
import pytest
from references.problems import growing
from scipy.special import softmax

from sturdygp.gp.posterior import Marginals
from sturdygp.inference.problem import Problem, default_kernel
from sturdygp.inference.variational import expected_log_sites
from sturdygp.kernels import SquaredExponential
from sturdygp.likelihoods.contamination import (
    Contamination,
    ContaminationModel,
    FittedContamination,
    MixtureState,
    Shape,
)
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.likelihoods.heteroscedastic import bends
from sturdygp.methods.robust.variance_function import NoiseParameters, Residuals, axes_of


def test_axes_of_skips_constant_columns():
    X = np.column_stack([np.arange(10.0), np.ones(10), np.zeros(10), np.arange(10.0) % 2])
    problem = Problem(X, np.arange(10.0), default_kernel(X), np.random.default_rng(0))
    posterior = SimpleNamespace(marginals=lambda: Marginals(np.arange(10.0), np.ones(10)))
    assert [axis.along for axis in axes_of(problem, posterior)] == [None, 0, 3]


PARAMETERS = np.array([-1.0, 0.3, 0.6])


SHAPES = [Shape.normal(), Shape.flat(5)]


@pytest.fixture
def residuals():
    rng = np.random.default_rng(1)
    return Residuals(rng.chisquare(1.0, 40), rng.uniform(0.0, 0.3, 40), rng.normal(-3.0, 1.0, 40))


@pytest.fixture
def design():
    return np.vstack([np.ones(40), bends(np.linspace(-1.0, 1.0, 40))])


@pytest.mark.parametrize("bend", [(0.7, -0.3), (6.0, 1.0)])
def test_information_gradient_equals_central_differences(bend, residuals, design):
    """Also where the noise is no more than a share of the largest."""
    noise, h = NoiseParameters(0.8, np.array([-0.4, *bend])), 1e-6
    assert (np.ptp(np.log(noise.variance(design))) > log(5000.0)) == (bend[0] > 1.0)
    information = residuals.information(noise, design)
    numeric = [
        (
            residuals.log_density(NoiseParameters(0.8, noise.coefficients + step), design)
            - residuals.log_density(NoiseParameters(0.8, noise.coefficients - step), design)
        )
        / (2 * h)
        for step in h * np.eye(3)
    ]
    squares = noise.coefficients[1:] ** 2
    by_prior = np.append(0.0, -2.0 * noise.coefficients[1:] / (2.0 + squares))  # Cauchy's, of scale root two
    np.testing.assert_allclose(noise.slopes(design) @ information.gradient + by_prior, numeric, rtol=1e-6)


def test_information_is_the_expected_curvature_of_inliers():
    rng, h = np.random.default_rng(2), 1e-3
    variance, noise = 0.3, 0.5
    squared = (variance + noise) * rng.chisquare(1.0, 200_000)
    everything = Residuals(squared, np.full(squared.size, variance), np.full(squared.size, -np.inf))
    constant = np.ones((1, squared.size))
    low, here, high = (
        everything.log_density(NoiseParameters(0.99, np.array([log(noise) + step])), constant)
        for step in (-h, 0.0, h)
    )
    found = everything.information(NoiseParameters(0.99, np.array([log(noise)])), constant)
    assert (2 * here - low - high) / h**2 == pytest.approx(found.information.sum(), rel=0.02)


def test_likeliest_raises_the_log_density_to_its_maximum(residuals, design):
    noise = NoiseParameters(0.9, np.zeros(3))
    values = [residuals.log_density(noise, design)]
    while further := residuals._further(noise, design, values[-1]):
        noise, value = further
        values.append(value)
        if len(values) > 200:
            break
    assert np.all(np.diff(values) > 0.0)
    information = residuals.information(noise, design)
    gradient = design @ information.gradient - noise.prior_precision * noise.coefficients
    np.testing.assert_allclose(gradient, 0.0, atol=1e-3)
    assert information.inlier.mean() == pytest.approx(noise.inlier_weight, abs=1e-3)


@pytest.mark.parametrize("shape", SHAPES, ids=["normal", "flat"])
def test_expected_residuals_add_up_to_the_elbo(shape):
    """With the best responsibilities, the log density of the residuals is the expected log of the sites."""
    rng = np.random.default_rng(3)
    y, marginals = rng.normal(size=25), Marginals(rng.normal(size=25), rng.uniform(0.1, 0.5, 25))
    relative, share = np.exp(rng.normal(size=25)), 0.7
    c = Contamination.of(PARAMETERS, shape)
    model = ContaminationModel(y, shape, ContaminationPrior(), relative)
    shift, cells = np.append(0.0, c.component_shift), shape.centres.size
    variance = np.column_stack([c.noise * relative, np.full((25, cells), c.component_variance)])
    expected = np.stack([marginals.second_moment(y - each) for each in shift], axis=1)
    shares = np.append(share, np.full(cells, (1 - share) / cells))
    log_joint = np.log(shares) - 0.5 * (np.log(2 * np.pi * variance) + expected / variance)
    sites = model.sites(PARAMETERS, MixtureState(softmax(log_joint, axis=1).T, np.float64(share)))
    residuals = Residuals.expected(y, marginals, FittedContamination(c, share))
    joint = residuals.log_joint(share, c.noise * relative)
    assert np.logaddexp(*joint).sum() == pytest.approx(expected_log_sites(sites, marginals), rel=1e-12)


def test_left_out_residuals_with_constant_noise_equal_the_likelihood():
    X, y, *_ = growing(40)
    y = (y - y.mean()) / y.std()
    likelihood = FittedContamination(Contamination.of(PARAMETERS, SHAPES[1]), 0.6)
    prior = Problem(X, y, SquaredExponential((1.0,)), np.random.default_rng(0)).prior(
        SquaredExponential((1.0,))
    )
    posterior = prior.condition(likelihood.sites(y, np.tile(likelihood.mixing_weight, (40, 1))))
    residuals = Residuals.left_out(y, posterior, likelihood)
    constant = NoiseParameters(0.6, np.array([log(likelihood.noise)]))
    log_z = likelihood.tilted(y, posterior.leave_one_out()).log_z.sum()
    assert residuals.log_density(constant, np.ones((1, 40))) == pytest.approx(log_z, rel=1e-12)
