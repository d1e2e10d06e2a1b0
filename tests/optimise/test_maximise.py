"""The maximiser against known optima, SciPy, and points that cannot be evaluated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der

from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.optimise import Evaluation, Flatness, Optimum, best_of, maximise
from sturdygp.status import Status

WIDE = np.array([[-10.0, 10.0]] * 4)


def optimise(value, gradient, start, bounds, **options) -> Optimum[None]:
    def objective(x, carry):
        return Evaluation(value(x), gradient(x), carry)

    return maximise(objective, np.asarray(start, dtype=float), bounds, carry=None, **options)


def test_maximise_finds_the_optimum_of_rosenbrock():
    optimum = optimise(lambda x: -rosen(x), lambda x: -rosen_der(x), [-1.2, 1.0], WIDE[:2], tol=1e-6)
    assert optimum.status is Status.CONVERGED
    np.testing.assert_allclose(optimum.x, 1.0, atol=1e-5)
    assert np.all(np.diff(optimum.trace) >= 0)
    assert optimum.n_evaluations < 120


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_maximise_within_bounds_agrees_with_scipy(seed):
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


def test_maximise_rejects_points_that_cannot_be_factorised():
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


def test_maximise_reports_what_happened():
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


def test_maximise_rejects_values_that_are_not_finite():
    def objective(x, carry):
        with np.errstate(invalid="ignore", divide="ignore"):
            return Evaluation(float(np.log(x[0]) - x[0]), 1 / x - 1, carry)

    optimum = maximise(objective, np.array([0.05]), np.array([[-5.0, 5.0]]), carry=None, tol=1e-7)
    assert optimum.x[0] == pytest.approx(1.0, abs=1e-6)


def test_maximise_converges_once_the_carried_state_settles():
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


def test_maximise_goes_on_with_a_given_curvature():
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


def test_best_of_ranks_by_value():
    def wavy(start):
        return optimise(
            lambda x: np.sin(3 * x[0]) - 0.1 * x[0] ** 2,
            lambda x: 3 * np.cos(3 * x) - 0.2 * x,
            start,
            WIDE[:1],
        )

    assert best_of(wavy([s]) for s in (-4.0, 0.3, 4.0)).x[0] == pytest.approx(0.512, abs=1e-2)


@pytest.mark.parametrize("bounds", [np.zeros((2, 2)), np.array([[1.0, -1.0]]), np.array([[np.nan, 1.0]])])
def test_maximise_refuses_bad_bounds(bounds):
    with pytest.raises(ValueError, match="bounds must have"):
        optimise(lambda x: 0.0, lambda x: x, [0.0], bounds)


def variance_alone(x, carry, *, flat):
    """Log likelihood of a hundred draws of variance three, by the log of what it exceeds one by."""
    v = np.exp(x)
    value = -50.0 * float(np.log1p(v[0]) + 3.0 / (1.0 + v[0]))
    gradient = 50.0 * v * (3.0 / (1.0 + v) - 1.0) / (1.0 + v)
    strength = np.minimum(v, 1.0)
    return Evaluation(value, gradient, carry, flatness=Flatness(strength, strength) if flat else None)


@pytest.mark.parametrize("start", [-12.0, -16.0])
def test_maximise_takes_no_vanishing_variance_for_an_optimum(start):
    box = np.array([[-20.0, 5.0]])

    def optimise(flat):
        return maximise(
            lambda x, carry: variance_alone(x, carry, flat=flat), np.array([start]), box, carry=None, tol=1e-2
        )

    assert optimise(flat=False).x == pytest.approx(start)
    found = optimise(flat=True)
    assert found.status is Status.CONVERGED
    assert np.exp(found.x) == pytest.approx(2.0, rel=1e-3)
    assert found.n_evaluations < 40


def test_maximise_ends_at_a_bound_where_nothing_asks_for_a_variance():
    def objective(x, carry):
        v = np.exp(x)
        return Evaluation(-5.0 * float(v[0]), -5.0 * v, carry, flatness=Flatness(v, v))

    found = maximise(objective, np.zeros(1), np.array([[-9.0, 5.0]]), carry=None, tol=1e-3)
    assert found.status is Status.CONVERGED
    assert found.x == pytest.approx(-9.0)
