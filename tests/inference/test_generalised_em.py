"""Algorithm 1 against a literal transcription and the un-collapsed ELBO."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import asor_literal as literal
from references.problems import make_problem
from references.transcription import PRIORS, constants_of, phi_of, with_the_papers_start

from sturdygp.inference import generalised_em as gem
from sturdygp.likelihoods.spike_and_slab import AsorModel, AsorPrior
from sturdygp.methods.asor import INITIAL_RATE, Asor


@given(prior=PRIORS, seed=st.integers(0, 200), rate=st.sampled_from([0.0, 0.3, 0.7]))
@settings(deadline=None, max_examples=15)
def test_blocks_raise_elbo_and_equal_the_uncollapsed_one(prior, seed, rate):
    p = make_problem(14, rate, seed)
    model, constants = AsorModel(p.y, prior), constants_of(prior)
    state = gem.update_factors(
        gem.update_function(gem.initial_state(model, p.X, p.kernel, 0.5, INITIAL_RATE))
    )
    R = state.marginals.second_moment(p.y) / state.noise_variance
    a_tilde, b_tilde = prior.slab_shape + 0.5, state.multipliers.rate + 0.5 * R
    previous = state.elbo
    for block in (*gem.BLOCKS[2:], *gem.BLOCKS):
        state = block(state)
        if block is gem.update_factors:
            R = state.marginals.second_moment(p.y) / state.noise_variance
            b_tilde = state.multipliers.rate + 0.5 * R
        expected = literal.elbo(
            p.X,
            p.y,
            mu=state.mu,
            C=state.C,
            omega=state.multipliers.inlier_proba,
            a_tilde=a_tilde,
            b_tilde=b_tilde,
            noise=state.noise_variance,
            b=state.multipliers.rate,
            m=state.mean,
            phi=phi_of(state.kernel),
            constants=constants,
            jitter=gem.JITTER,
        )
        assert state.elbo == pytest.approx(expected, rel=1e-7, abs=1e-6), block.__name__
        assert state.elbo >= previous - 1e-7 * abs(previous), block.__name__
        previous = state.elbo


@pytest.mark.parametrize(("rate", "seed"), [(0.0, 0), (0.3, 1), (0.6, 2)])
def test_iterate_agrees_with_the_literal_transcription(rate, seed):
    p = with_the_papers_start(make_problem(24, rate, seed))
    lower, upper = p.kernel.bounds.T * gem.parameter_units(p.kernel) ** -1
    reference = literal.iterate(p.X, p.y, 8, lower=lower, upper=upper)
    ours = gem.iterate(gem.initial_state(AsorModel(p.y, AsorPrior()), p.X, p.kernel, 0.5, INITIAL_RATE))
    for theirs, state in zip(reference, ours, strict=False):
        np.testing.assert_allclose(phi_of(state.kernel), theirs.phi, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(state.mu, theirs.mu, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(state.multipliers.weight, theirs.w, rtol=1e-6)
        np.testing.assert_allclose(state.multipliers.inlier_proba, theirs.omega, rtol=1e-6, atol=1e-9)
        assert state.noise_variance == pytest.approx(theirs.noise, rel=1e-6)
        assert state.multipliers.rate == pytest.approx(theirs.b, rel=1e-6)
        assert state.mean == pytest.approx(theirs.m, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("noise", [1e-18, 1e-30, 1e-60])
def test_update_function_keeps_variances_positive_for_hardly_any_noise(noise):
    """Variances are as small as that noise, and none is negative by rounding."""
    p = make_problem(12, 0.0)
    start = gem.initial_state(AsorModel(p.y, AsorPrior()), p.X, p.kernel, noise, INITIAL_RATE)
    assert np.all(gem.update_function(start).marginals.variance > 0.0)
    assert np.isfinite(Asor(solver="gem", noise_variance=noise, max_iter=3).fit(p).trace).all()
