"""The mixture's ELBO against an evidence that can be integrated."""

from dataclasses import replace
from math import log

import numpy as np
from scipy.stats import norm

from sturdygp import MixturePrior
from sturdygp.gp import condition
from sturdygp.kernels import SquaredExponential
from sturdygp.likelihoods.mixture import Components, MixtureModel


def test_mixture_elbo_is_below_the_exact_evidence():
    """One reading: the bound is an integral that can be done."""
    y, share, ratio, noise = 1.7, np.array([0.7, 0.3]), np.array([1.0, 20.0]), 0.3
    model = MixtureModel(np.array([y]), MixturePrior(noise_scale=1e-12))
    latent = Components(np.array([[0.5, 0.5]]), share, ratio)
    for _ in range(50):
        sites = model.sites(np.array([log(noise)]), latent)
        m = condition(SquaredExponential(), np.zeros((1, 1)), sites, 0.0).marginals()
        R = ((y - m.mean) ** 2 + m.variance) / noise
        g = share * ratio**-0.5 * np.exp(-0.5 * R[:, None] / ratio)
        latent = replace(latent, responsibility=g / g.sum())
    bound = condition(
        SquaredExponential(), np.zeros((1, 1)), model.sites(np.array([log(noise)]), latent), 0.0
    )
    exact = log(share @ norm.pdf(y, 0.0, np.sqrt(1.0 + noise * ratio)))
    assert exact - 0.5 < bound.log_evidence < exact
