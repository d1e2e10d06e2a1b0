"""The mixture: its ELBO, its gradient and its initialisations."""

from math import log

import numpy as np
import pytest
from references.differences import numeric_gradient
from references.problems import make_problem

from sturdygp import MixturePrior
from sturdygp.gp import condition
from sturdygp.inference.variational import LatentState, VariationalObjective
from sturdygp.likelihoods.base import LEAST_NOISE, log_noise_box
from sturdygp.likelihoods.mixture import Components, MixtureModel
from sturdygp.methods.mixture import Mixture


@pytest.mark.parametrize("seed", range(4))
def test_mixture_elbo_rises_and_its_gradient_equals_central_differences(seed):
    p = make_problem(25, 0.3, seed)
    model = MixtureModel(p.y, MixturePrior())
    objective = VariationalObjective(model, p, log_noise_box(LEAST_NOISE))
    trail, previous = LatentState(Components.even(25, np.array([1.0, 10.0, 100.0]))), -np.inf
    for _ in range(4):
        step = objective.evaluate(p.kernel, np.array([log(0.5)]), LatentState(trail.latent))
        assert step.gain >= -1e-10
        assert step.value >= previous - 1e-9
        trail, previous = step.carry, step.value
    x, latent = np.append(p.kernel.theta, log(0.5)), trail.latent

    def bound(x):
        evidence = condition(p.kernel.with_theta(x[:-1]), p.X, model.sites(x[-1:], latent)).log_evidence
        return evidence + model.log_prior(x[-1:], latent)

    gradient = objective.evaluate(p.kernel, x[-1:], LatentState(latent)).gradient
    np.testing.assert_allclose(gradient, numeric_gradient(bound, x), rtol=1e-5, atol=1e-6)
    assert np.all(np.diff(Mixture().fit(p).trace) >= -1e-6)


def test_mixture_needs_its_initialisations():
    """At 40 % outliers one start ends without a nominal component, seven find it."""
    p = make_problem(100, 0.4, 1)
    one, seven = Mixture().fit(p), Mixture(n_starts=7).fit(p)
    assert seven.bound > one.bound + 5
    assert one.outlier_proba.max() == 0.0
    assert 0.3 < np.mean(seven.outlier_proba > 0.5) < 0.6
