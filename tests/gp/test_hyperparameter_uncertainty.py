"""Uncertain kernel parameters widen predictions by the movement of the mean."""

from functools import partial

import numpy as np

from sturdygp.gp import Sites, condition
from sturdygp.gp.exact import ExactPrior
from sturdygp.gp.hyperparameter_uncertainty import UncertainPosterior, principal_steps
from sturdygp.kernels import SquaredExponential


def test_uncertain_posterior_widens_by_the_movement_of_the_mean():
    rng = np.random.default_rng(8)
    X, Z = rng.uniform(size=(15, 2)), rng.uniform(size=(6, 2))
    kernel = SquaredExponential((0.4, 0.7), 1.3)
    best = condition(kernel, X, Sites.gaussian(rng.normal(size=15), 0.1))
    A = rng.normal(size=(3, 3))
    # Small enough that the mean moves in proportion.
    covariance = 1e-4 * (A @ A.T + np.eye(3))
    uncertain = UncertainPosterior.around(best, X, partial(ExactPrior.at, X=X), covariance)
    step = 1e-5
    jacobian = np.array(
        [
            (
                condition(kernel.with_theta(kernel.theta + h), X, best.sites).predict_mean(Z)
                - condition(kernel.with_theta(kernel.theta - h), X, best.sites).predict_mean(Z)
            )
            / (2 * step)
            for h in step * np.eye(3)
        ]
    )
    added = jacobian.T @ covariance @ jacobian
    np.testing.assert_allclose(
        uncertain.covariance(Z) - best.covariance(Z), added, rtol=0.1, atol=0.02 * added.max()
    )
    np.testing.assert_allclose(uncertain.covariance(Z).diagonal(), uncertain.predict(Z).variance)
    np.testing.assert_allclose(uncertain.predict(Z).mean, best.predict_mean(Z), rtol=1e-12)
    np.testing.assert_allclose(uncertain.marginals().variance, uncertain.predict(X).variance)
    assert np.all(uncertain.leave_one_out().variance >= best.leave_one_out().variance)
    assert uncertain.log_evidence == best.log_evidence


def test_uncertain_posterior_of_certain_parameters_is_the_best_one():
    X, y = np.linspace(0.0, 1.0, 7)[:, None], np.arange(7.0)
    best = condition(SquaredExponential((0.4,)), X, Sites.gaussian(y, 0.1))
    certain = UncertainPosterior.around(best, X, partial(ExactPrior.at, X=X), np.zeros((2, 2))).compact()
    np.testing.assert_array_equal(certain.predict(X).variance, best.predict(X).variance)
    np.testing.assert_array_equal(certain.covariance(X), best.covariance(X))
    np.testing.assert_array_equal(certain.gradient().kernel, best.gradient().kernel)


def test_uncertain_posterior_leaves_out_what_a_moved_kernel_makes_improper():
    X = np.linspace(0.0, 1.0, 5)[:, None]
    # One site takes away nearly all that the others give.
    sites = Sites(np.zeros(5), np.array([-0.93, 0.0, 0.0, 0.0, 0.0]), np.zeros(5))
    best = condition(SquaredExponential((0.5,), 1.0), X, sites, mean=0.0)
    uncertain = UncertainPosterior.around(best, X, partial(ExactPrior.at, X=X), np.diag([1.0, 0.0]))
    assert uncertain.moved == ()
    np.testing.assert_array_equal(uncertain.predict(X).variance, best.predict(X).variance)


def test_principal_steps_do_not_depend_on_the_signs_of_eigenvectors(monkeypatch):
    covariance = np.array([[0.3, -0.1], [-0.1, 0.2]])
    steps = principal_steps(covariance)
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: (eigh(matrix)[0], -eigh(matrix)[1]))
    np.testing.assert_array_equal(principal_steps(covariance), steps)
    assert all(step.sum() > 0.0 for step in steps)
    np.testing.assert_allclose(sum(np.outer(step, step) for step in steps), covariance)
