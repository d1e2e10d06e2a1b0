"""The variational and the exact posterior of ASOR-GPR side by side, at fixed hyperparameters."""

from math import log

import numpy as np
import numpy.typing as npt

from references import gibbs
from sturdygp.gp import Marginals, condition
from sturdygp.inference.problem import Problem
from sturdygp.inference.variational import LatentState, VariationalObjective
from sturdygp.likelihoods.base import LEAST_NOISE, log_noise_box
from sturdygp.likelihoods.spike_and_slab import AsorModel, AsorPrior, Multipliers
from sturdygp.methods.asor import INITIAL_RATE

E_STEPS = 200


def variational_and_exact(
    p: Problem, noise: float, prior: AsorPrior, *, seed: int, n_samples: int = 8000
) -> tuple[Marginals, npt.NDArray[np.float64], gibbs.Draws]:
    """Marginals of q(f) and Omega after many E-steps, and draws from the exact posterior."""
    model, parameters = AsorModel(p.y, prior), np.array([log(noise)])
    objective = VariationalObjective(model, p, log_noise_box(LEAST_NOISE))
    latent = Multipliers.all_inliers(p.y.size, INITIAL_RATE, prior)
    for _ in range(E_STEPS):
        latent = objective.evaluate(p.kernel, parameters, LatentState(latent)).carry.latent
    posterior = condition(p.kernel, p.inputs, model.sites(parameters, latent))
    draws = gibbs.sample(
        p.kernel(p.inputs),
        p.y,
        m=posterior.mean,
        noise=noise,
        a=prior.slab_shape,
        b=latent.rate,
        theta=prior.inlier_proba,
        n_samples=n_samples,
        burn_in=500,
        rng=np.random.default_rng(seed),
    )
    return posterior.marginals(), latent.inlier_proba, draws
