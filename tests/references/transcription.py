"""Problems and parameters of the library in the notation of ``asor_literal``."""

from dataclasses import replace
from math import log

import numpy as np
from hypothesis import strategies as st

from references import asor_literal as literal
from sturdygp.inference.problem import paper_length_scale
from sturdygp.kernels import SquaredExponential
from sturdygp.likelihoods.spike_and_slab import AsorPrior

PRIORS = st.builds(
    AsorPrior,
    slab_shape=st.floats(0.3, 4.0),
    inlier_proba=st.floats(0.05, 0.95),
    rate_shape=st.floats(1.5, 20.0),
    rate_rate=st.floats(0.05, 2.0),
    noise_dof=st.floats(0.5, 10.0),
    noise_scale=st.floats(0.05, 5.0),
)


def with_the_papers_start(p):
    length_scale = (paper_length_scale(p.X),) * p.X.shape[1]
    return replace(p, kernel=replace(p.kernel, length_scale=length_scale))


def constants_of(prior: AsorPrior) -> literal.Constants:
    return literal.Constants(
        a=prior.slab_shape,
        theta=prior.inlier_proba,
        A=prior.rate_shape,
        B=prior.rate_rate,
        nu0=prior.noise_dof,
        s0=prior.noise_scale,
    )


def phi_of(kernel: SquaredExponential) -> np.ndarray:
    """The paper's parameters: log sigma_f, then the log length scales."""
    return np.concatenate([[0.5 * log(kernel.variance)], np.log(kernel.length_scale)])
