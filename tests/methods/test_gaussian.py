"""The standard process: fixed noise and initialisations."""

import pytest
from references.problems import make_problem

from sturdygp.methods.gaussian import Standard


@pytest.mark.parametrize("learn_noise", [True, False])
def test_standard_keeps_fixed_noise_and_ranks_initialisations(learn_noise):
    p = make_problem(30, 0.0)
    fit = Standard(noise_variance=0.3, learn_noise=learn_noise, n_starts=3).fit(p)
    assert (fit.noise_variance == 0.3) is not learn_noise
    assert fit.bound >= Standard(noise_variance=0.3, learn_noise=learn_noise).fit(p).bound - 1e-6
