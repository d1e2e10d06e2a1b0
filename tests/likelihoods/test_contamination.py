"""Learned contamination: its ELBO, gradients and moments against something independent."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from sturdygp.gp import Marginals
from sturdygp.inference.variational import expected_log_sites
from sturdygp.likelihoods.contamination import (
    Contamination,
    ContaminationModel,
    FittedContamination,
    MixtureState,
    Shape,
)
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.likelihoods.mixture import FittedMixture

SHAPES = [Shape.normal(), Shape.flat(5)]


IDS = [shape.name for shape in SHAPES]


PARAMETERS = np.array([-1.0, 0.3, 0.6])


@pytest.fixture(params=SHAPES, ids=IDS)
def shape(request):
    return request.param


@pytest.fixture(
    params=[np.ones(1), np.exp(np.linspace(-2.0, 2.0, 25))], ids=["homoscedastic", "heteroscedastic"]
)
def model(request, shape):
    y = np.random.default_rng(0).normal(size=25)
    return ContaminationModel(y, shape, ContaminationPrior(noise_scale=0.3), request.param)


@pytest.fixture
def marginals():
    rng = np.random.default_rng(1)
    return Marginals(rng.normal(size=25), rng.uniform(0.1, 0.5, 25))


def elbo(model, parameters, latent, marginals):
    return expected_log_sites(model.sites(parameters, latent), marginals) + model.log_prior(
        parameters, latent
    )


def mixture_state(model, rng):
    return MixtureState(rng.dirichlet(np.ones(1 + model.shape.centres.size), model.y.size).T, np.float64(0.6))


@pytest.mark.parametrize("cells", [1, 4, 5, 8])
def test_shape_is_standardised(cells):
    shape = Shape.flat(cells)
    assert shape.centres.mean() == pytest.approx(0.0, abs=1e-15)
    assert np.mean(shape.centres**2) + shape.width**2 == pytest.approx(1.0)


def test_extra_gradient_equals_central_differences(model, marginals):
    latent = mixture_state(model, np.random.default_rng(2))
    step = 1e-5
    numeric = [
        (elbo(model, PARAMETERS + h, latent, marginals) - elbo(model, PARAMETERS - h, latent, marginals))
        / (2 * step)
        for h in step * np.eye(3)
    ]
    np.testing.assert_allclose(model.parameter_gradient(PARAMETERS, latent, marginals), numeric, rtol=1e-6)


def test_sites_equal_expected_log_joint(model, marginals):
    latent = mixture_state(model, np.random.default_rng(3))
    c, r = Contamination.of(PARAMETERS, model.shape), latent.responsibility
    share = np.append(0.6, np.full(model.shape.centres.size, 0.4 / model.shape.centres.size))
    shift, cells = np.append(0.0, c.component_shift), np.full((25, share.size - 1), c.component_variance)
    sd = np.sqrt(np.column_stack([np.broadcast_to(c.noise * model.relative_noise, 25), cells]))
    f = 0.37
    direct = (r.T * (np.log(share / r.T) + norm.logpdf(model.y[:, None], f + shift, sd))).sum(axis=1)
    sites = model.sites(PARAMETERS, latent)
    np.testing.assert_allclose(sites.log_scale - 0.5 * sites.precision * (sites.target - f) ** 2, direct)


def test_update_raises_elbo_to_its_maximum(model, marginals):
    latent = mixture_state(model, np.random.default_rng(4))
    values = [elbo(model, PARAMETERS, latent, marginals)]
    for _ in range(60):
        latent = model.update(PARAMETERS, latent, marginals)
        values.append(elbo(model, PARAMETERS, latent, marginals))
    assert np.all(np.diff(values) > -1e-10)
    for weight in (latent.inlier_weight - 0.01, latent.inlier_weight + 0.01):
        assert elbo(model, PARAMETERS, MixtureState(latent.responsibility, weight), marginals) < values[-1]


@pytest.mark.parametrize("relative", [1.0, 5.0])
def test_tilted_moments_equal_quadrature(shape, relative):
    c = Contamination.of(PARAMETERS, shape)
    likelihood = FittedContamination(c, 0.7, relative_noise=np.array([relative]))
    variance_of_each = np.append(relative * c.noise, np.full(shape.centres.size, c.component_variance))
    y, mean, variance = 1.3, 0.2, 0.4
    tilted = likelihood.tilted(np.array([y]), Marginals(np.array([mean]), np.array([variance])))

    def joint(f, power):
        noise = likelihood.mixing_weight @ norm.pdf(y, f + likelihood.shift, np.sqrt(variance_of_each))
        return f**power * norm.pdf(f, mean, np.sqrt(variance)) * noise

    z, first, second = (quad(joint, -8, 8, args=(k,), epsabs=1e-12)[0] for k in range(3))
    assert tilted.log_z[0] == pytest.approx(log(z), rel=1e-9)
    assert tilted.moments.mean[0] == pytest.approx(first / z, rel=1e-8)
    assert tilted.moments.variance[0] == pytest.approx(second / z - (first / z) ** 2, rel=1e-7)


def test_contamination_round_trips_through_its_coordinates():
    c = Contamination(0.04, -1.5, 1.2, Shape.normal())
    again = Contamination.of(c.parameters, c.shape)
    assert (again.noise, again.shift, again.scale) == pytest.approx((0.04, -1.5, 1.2))
    assert c.parameters[0] == pytest.approx(log(0.04))
    assert exp(c.parameters[1]) == pytest.approx(1.2)


def test_best_extra_is_where_the_gradient_vanishes(model, marginals):
    latent, parameters = mixture_state(model, np.random.default_rng(5)), PARAMETERS
    values = []
    burden = 3.0
    for _ in range(30):
        values.append(elbo(model, parameters, latent, marginals) - 0.5 * burden * exp(parameters[0]))
        parameters = model.best_parameters(parameters, latent, marginals, burden)
    assert np.all(np.diff(values) > -1e-10)
    by_burden = np.array([0.5 * burden * exp(parameters[0]), 0.0, 0.0])
    np.testing.assert_allclose(model.parameter_gradient(parameters, latent, marginals), by_burden, atol=1e-6)


def test_best_extra_at_a_bound_is_the_best_within_it(model, marginals):
    """Far outliers that are nearly equal: their shift is larger, in units of their spread, than its bound."""
    outlier, cells = np.arange(25) < 15, model.shape.centres.size
    moved = replace(model, y=model.y + 400.0 * outlier)
    latent = MixtureState(np.vstack([~outlier, np.tile(outlier / cells, (cells, 1))]), np.float64(0.4))
    parameters = PARAMETERS
    for _ in range(50):
        parameters = moved.best_parameters(parameters, latent, marginals, np.array(0.0))
    assert parameters[2] == moved.prior.box[2, 1]
    by_noise, by_spread, by_offset = moved.parameter_gradient(parameters, latent, marginals)
    np.testing.assert_allclose([by_noise, by_spread], 0.0, atol=1e-6)
    assert by_offset > 0.0


def test_judge_outlier_proba_is_not_negative():
    """Where nominal noise is the widest, rounding of large log densities has the last word."""
    narrow = Contamination(np.array(100.0), np.array(0.0), np.array(0.5), Shape.flat(5))
    wide, alone = FittedContamination(narrow, 0.9), FittedMixture(100.0, np.ones(1), np.ones(1))
    y = np.concatenate([np.linspace(50.0, 1e4, 2000), np.logspace(4.0, 40.0, 2000)])
    for model in (wide, alone):
        proba = model.judge(y, np.zeros(4000), np.ones(4000), np.full(4000, 100.0)).outlier_proba
        assert np.all((proba >= 0.0) & (proba < 1e-6))
