"""Student-t: fallbacks, limits, and random problems."""

from math import log

import numpy as np
import pytest
from references.problems import make_problem, random_problem
from scipy.optimize import minimize

from sturdygp.gp import condition
from sturdygp.likelihoods.student_t import VbModel, best_dof, update_weights
from sturdygp.methods import student_t as student_t_method
from sturdygp.methods.student_t import StudentT
from sturdygp.status import Status


def test_vb_raises_elbo_and_learns_the_best_dof():
    p = make_problem(30, 0.3, 1)
    for dof in (4.0, None):
        fit = StudentT("vb", dof).fit(p)
        assert np.all(np.diff(fit.trace) >= -1e-8 * np.abs(fit.trace[1:]))
    R = np.random.default_rng(0).standard_t(3, 300) ** 2
    best = best_dof(R, 50.0)
    bound = [
        -(update_weights(R, d).log_scale - 0.5 * update_weights(R, d).weight * R).sum()
        for d in (best, 1.05 * best, best / 1.05)
    ]
    assert bound[0] < min(bound[1:])
    assert StudentT("vb", None).fit(p).bound >= StudentT("vb", 4.0).fit(p).bound - 1e-3


@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_student_t_reports_exhausted_factorisations(inference):
    p = make_problem(30, 0.3, 1)
    enough = StudentT(inference).fit(p)
    assert enough.status is Status.CONVERGED
    few = StudentT(inference, max_factorizations=enough.n_factorizations // 2).fit(p)
    assert few.status is Status.EXHAUSTED
    assert "max_factorizations" in few.status.message
    assert few.bound < enough.bound


def test_ep_fits_random_problems():
    fallen = 0
    for seed in range(200):
        p, dof = random_problem(seed)
        fit = StudentT("ep", dof).fit(p)
        assert np.isfinite(fit.posterior.predict(p.X).mean).all()
        fallen += bool(fit.note)
    assert fallen <= 4


@pytest.fixture
def failing(monkeypatch):
    """Powers at which propagation fails, on purpose."""
    original, powers = student_t_method.Propagation.run, {1.0}

    def run(self, start, *, careful):
        if self.power in powers:
            raise student_t_method.NotPositiveDefiniteError("on purpose")
        return original(self, start, careful=careful)

    monkeypatch.setattr(student_t_method.Propagation, "run", run)
    return powers


def test_ep_notes_its_fallbacks(failing):
    p = make_problem(15, 0.3, 0)
    assert "fractional" in StudentT("ep").fit(p).note
    failing.add(student_t_method.FALLBACK_POWER)
    assert "variational Bayes" in StudentT("ep").fit(p).note


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(("dof", "note"), [(0.2, "variational Bayes"), (0.7, "fractional (0.76)")])
def test_ep_of_long_tails_leaves_little_to_fractions(dof, note):
    assert note in StudentT("ep", dof).fit(make_problem(15, 0.3, 0)).note


def test_vb_reaches_what_a_general_optimiser_reaches():
    """The alternating loop against SciPy on the profiled bound, weights iterated to convergence."""
    p = make_problem(20, 0.2, 6)
    model = VbModel(p.y, learn_dof=False)

    def negative(x):
        latent = update_weights(np.ones(20), 4.0)
        kernel = p.kernel.with_theta(x[:-1])
        for _ in range(60):
            m = condition(kernel, p.X, model.sites(x[-1:], latent)).marginals()
            latent = model.update(x[-1:], latent, m)
        return -condition(kernel, p.X, model.sites(x[-1:], latent)).log_evidence

    fit = StudentT("vb", 4.0).fit(p)
    x = np.append(fit.posterior.kernel.theta, log(fit.noise_variance))
    polished = minimize(
        negative, x, method="Nelder-Mead", options={"maxfev": 120, "xatol": 1e-4, "fatol": 1e-7}
    )
    assert fit.bound >= -polished.fun - 1e-3
