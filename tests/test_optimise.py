"""The maximiser against known optima, SciPy, and points that cannot be evaluated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der

from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.optimise import Evaluation, Optimum, best_of, maximise
from sturdygp.status import Status

WIDE = np.array([[-10.0, 10.0]] * 4)


def optimise(value, gradient, start, bounds, **options) -> Optimum[None]:
    def objective(x, carry):
        return Evaluation(value(x), gradient(x), carry)

    return maximise(objective, np.asarray(start, dtype=float), bounds, carry=None, **options)


def test_reaches_the_top_of_rosenbrock():
    optimum = optimise(lambda x: -rosen(x), lambda x: -rosen_der(x), [-1.2, 1.0], WIDE[:2], tol=1e-6)
    assert optimum.status is Status.CONVERGED
    np.testing.assert_allclose(optimum.x, 1.0, atol=1e-5)
    assert np.all(np.diff(optimum.trace) >= 0)
    assert optimum.n_evaluations < 120


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_box_constrained_quadratics_agree_with_scipy(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4))
    H, c = A @ A.T + 0.1 * np.eye(4), rng.normal(size=4) * 3
    box = np.sort(rng.normal(size=(4, 2)) * 2, axis=1)
    optimum = optimise(lambda x: c @ x - 0.5 * x @ H @ x, lambda x: c - H @ x, np.zeros(4), box, tol=1e-7)
    reference = minimize(
        lambda x: (0.5 * x @ H @ x - c @ x, H @ x - c),
        np.zeros(4).clip(*box.T),
        jac=True,
        method="L-BFGS-B",
        bounds=box,
        options={"gtol": 1e-10, "ftol": 0},
    )
    assert optimum.value == pytest.approx(-reference.fun, rel=1e-7, abs=1e-7)
    assert np.all((optimum.x >= box[:, 0]) & (optimum.x <= box[:, 1]))


def test_a_failed_factorisation_rejects_the_point_and_nothing_else():
    rejected = []

    def objective(x, carry):
        if x[0] >= 1.5:
            rejected.append(x[0])
            raise NotPositiveDefiniteError("beyond the edge")
        return Evaluation(2 * x[0] + 0.1 * np.log(1.5 - x[0]), 2 - 0.1 / (1.5 - x), carry)

    optimum = maximise(objective, np.array([1.2]), WIDE[:1], carry=None, tol=1e-6)
    assert rejected
    assert optimum.status is Status.CONVERGED
    assert optimum.x[0] == pytest.approx(1.45, abs=1e-6)


def test_statuses_say_what_happened():
    def broken(x, carry):
        raise NotPositiveDefiniteError("always")

    failed = maximise(broken, np.zeros(1), WIDE[:1], carry=None)
    assert failed.status is Status.FAILED
    assert failed.value == -np.inf
    short = optimise(lambda x: -rosen(x), lambda x: -rosen_der(x), [-1.2, 1.0], WIDE[:2], max_iter=3)
    assert short.status is Status.MAX_ITER
    assert short.n_iter == 3
    lying = optimise(lambda x: -np.abs(x).sum(), lambda x: np.ones(2), [0.0, 0.0], WIDE[:2])
    assert lying.status is Status.STALLED
    assert "max_iter" in Status.MAX_ITER.message


def test_non_finite_values_are_rejected_too():
    def objective(x, carry):
        with np.errstate(invalid="ignore", divide="ignore"):
            return Evaluation(float(np.log(x[0]) - x[0]), 1 / x - 1, carry)

    optimum = maximise(objective, np.array([0.05]), np.array([[-5.0, 5.0]]), carry=None, tol=1e-7)
    assert optimum.x[0] == pytest.approx(1.0, abs=1e-6)


def test_carried_state_settles_before_convergence_is_claimed():
    """Alternating maximisation of -(x - 2)^2 - (s - x)^2, s brought half the way by every evaluation."""

    def bound(x, s):
        return -((x[0] - 2.0) ** 2) - (s - x[0]) ** 2

    def objective(x, s):
        updated = 0.5 * (s + x[0])
        gain = bound(x, updated) - bound(x, s)
        return Evaluation(bound(x, updated), np.array([-2 * (x[0] - 2) + 2 * (s - x[0])]), updated, gain)

    optimum = maximise(objective, np.array([0.0]), WIDE[:1], carry=-5.0, tol=1e-6)
    assert optimum.status is Status.CONVERGED
    assert optimum.x[0] == pytest.approx(2.0, abs=1e-3)
    assert optimum.carry == pytest.approx(2.0, abs=1e-3)
    assert np.all(np.diff(optimum.trace) >= -1e-8)


def test_a_continued_ascent_knows_the_curvature():
    def rise(**options):
        return optimise(lambda x: -rosen(x), lambda x: -rosen_der(x), [-1.2, 1.0], WIDE[:2], **options)

    whole, part = rise(tol=1e-6), rise(tol=1e-6, max_iter=20)
    rest = optimise(
        lambda x: -rosen(x),
        lambda x: -rosen_der(x),
        part.x,
        WIDE[:2],
        tol=1e-6,
        curvature=part.curvature,
    )
    # The same steps as without the interruption; only the point where it goes on is evaluated again.
    np.testing.assert_array_equal(rest.x, whole.x)
    assert part.n_evaluations + rest.n_evaluations == whole.n_evaluations + 1
    assert part.trace + rest.trace[1:] == whole.trace


def test_restarts_are_ranked_by_value():
    def wavy(start):
        return optimise(
            lambda x: np.sin(3 * x[0]) - 0.1 * x[0] ** 2,
            lambda x: 3 * np.cos(3 * x) - 0.2 * x,
            start,
            WIDE[:1],
        )

    assert best_of(wavy([s]) for s in (-4.0, 0.3, 4.0)).x[0] == pytest.approx(0.512, abs=1e-2)


@pytest.mark.parametrize("bounds", [np.zeros((2, 2)), np.array([[1.0, -1.0]]), np.array([[np.nan, 1.0]])])
def test_bad_bounds_are_refused(bounds):
    with pytest.raises(ValueError, match="bounds must have"):
        optimise(lambda x: 0.0, lambda x: x, [0.0], bounds)
