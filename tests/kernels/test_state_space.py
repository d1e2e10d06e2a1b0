"""State-space forms against the kernels themselves, higher precision and central differences."""

import json

import mpmath
import numpy as np
import pytest

from sturdygp.kernels import (
    Constant,
    DampedHarmonics,
    IntegratedNoise,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    SquaredExponential,
    has_state_space,
    state_space,
)
from sturdygp.persistence.kernels import decode_kernel, encode_kernel
from sturdygp.persistence.record import Record

STATIONARY = [
    Matern12(0.8, 1.7),
    Matern32(1.3, 0.6),
    Matern52((0.9,), 2.1),
    Constant(1.4),
    DampedHarmonics(3.0, 0.7, 1.2),
    DampedHarmonics(4.0, 1.9, 1.2, (1.0, 0.4, 0.2), weights_bounds=(1e-3, 1e3)),
    DampedHarmonics(2.0, 1.1, 0.9, (0.7, 0.3), "matern32"),
    Matern32(1.3, 0.6) + Matern12(4.0, 2.0),
    Matern32(5.0) * Matern12(2.0, 1.3),
    Matern52(2.0) * Matern32(3.0) + 0.3,
    Matern32(2.0, variance_bounds="fixed") * (Matern12(1.0) + DampedHarmonics(3.0, 0.9)),
    0.4 * Matern52(1.0, length_scale_bounds="fixed"),
]
TRENDS = [
    IntegratedNoise(1.7, 0.8, origin=-3.0),
    IntegratedNoise(1.7, 0.8, 0.5, 2.0, origin=-3.0, level_bounds=(1e-3, 1e3), slope_bounds=(1e-3, 1e3)),
    1.5 * IntegratedNoise(2.0, origin=-4.0) + Matern32(0.7),
]
KERNELS = [*STATIONARY, *TRENDS]
# Smooth enough where two times meet, or exact there, for differences of values.
NEW = [k for k in KERNELS if "Harmonics" in repr(k) or "Integrated" in repr(k)]


@pytest.fixture
def times():
    rng = np.random.default_rng(2)
    t = np.sort(rng.uniform(-2.0, 4.0, 7))
    t[3] = t[2]
    return t


def by_theta(kernel, function, step=1e-6):
    theta = kernel.theta
    return np.array(
        [
            (function(kernel.with_theta(theta + h)) - function(kernel.with_theta(theta - h))) / (2 * step)
            for h in step * np.eye(theta.size)
        ]
    )


@pytest.mark.parametrize("kernel", NEW, ids=repr)
def test_a_temporal_kernel_keeps_the_contract_of_kernels(kernel, times):
    X, Z = times[:, None], np.array([[-1.7], [0.2], [3.0], [9.0]])
    K = kernel(X)
    np.testing.assert_allclose(K, K.T, rtol=1e-14)
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.trace(K)
    np.testing.assert_allclose(kernel.diag(X), K.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, Z), kernel(np.vstack([X, Z]))[:7, 7:], rtol=1e-12)
    np.testing.assert_allclose(kernel.scaled(3.0)(X, Z), 3.0 * kernel(X, Z), rtol=1e-12)
    theta = kernel.theta + 0.1
    np.testing.assert_allclose(kernel.with_theta(theta).theta, theta, rtol=1e-12)
    assert len(kernel.parameter_names) == theta.size == len(kernel.bounds) == len(kernel.length_scale_of)


@pytest.mark.parametrize("kernel", NEW, ids=repr)
def test_derivatives_of_a_temporal_kernel_equal_central_differences(kernel, times):
    rng = np.random.default_rng(4)
    X, Z = times[:, None], np.array([[-1.7], [0.2], [3.0], [9.0]])
    for other in (None, Z):
        G = rng.normal(size=(7, 7 if other is None else 4))
        expected = by_theta(kernel, lambda k, other=other, G=G: np.vdot(G, k(X, other)))
        np.testing.assert_allclose(kernel.pullback(X, other, G), expected, rtol=1e-6, atol=1e-7)
    g = rng.normal(size=7)
    expected = by_theta(kernel, lambda k: g @ k.diag(X))
    np.testing.assert_allclose(kernel.diag_pullback(X, g), expected, rtol=1e-6, atol=1e-7)
    G, moved = rng.normal(size=(7, 4)), 1e-6 * np.ones((4, 1))
    slopes = np.einsum("ij,ij->j", G, kernel(X, Z + moved) - kernel(X, Z - moved)) / 2e-6
    np.testing.assert_allclose(kernel.input_pullback(X, Z, G)[:, 0], slopes, rtol=1e-6, atol=1e-6)


def test_a_rhythm_without_decay_is_a_sum_of_cosines():
    X = np.linspace(0.0, 5.0, 9)[:, None]
    kernel = DampedHarmonics(1e12, 1.3, 2.0, (1.0, 0.5))
    turns = 2 * np.pi * np.subtract.outer(X[:, 0], X[:, 0]) / 1.3
    np.testing.assert_allclose(kernel(X), 2.0 * (np.cos(turns) + 0.5 * np.cos(2 * turns)), atol=1e-9)


def test_integrated_noise_is_the_integral_of_a_random_walk():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 2.0, 801)
    kernel = IntegratedNoise(1.0, 1.0, 1e-9, 1e-9)
    walk = np.cumsum(rng.normal(size=(800, 4000)) * np.sqrt(t[1]), axis=0)
    path = np.cumsum(walk, axis=0) * t[1]
    K = kernel(t[[400, 800]][:, None])
    np.testing.assert_allclose(np.cov(path[[399, 799]]), K, rtol=0.08)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_states_have_the_covariance_of_the_kernel(kernel, times):
    """Propagated from one time to the next, the states' covariance gives every entry of the matrix."""
    space, K = state_space(kernel), kernel(times[:, None])
    steps = np.diff(times)
    A, Q = space.A(steps), space.Q(steps)
    P, H = space.initial(times[0]), space.H
    for i in range(len(times)):
        ahead = H @ P
        for j in range(i, len(times)):
            np.testing.assert_allclose(ahead @ H, K[i, j], rtol=1e-11, atol=1e-13)
            ahead = ahead @ A[j].T if j < len(steps) else ahead
        if i < len(steps):
            P = A[i] @ P @ A[i].T + Q[i]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_derivatives_of_the_states_equal_central_differences(kernel):
    space, dt = state_space(kernel), np.array([0.0, 0.01, 0.7, 3.0, 500.0])
    dA, dQ = space.derivatives(dt)
    np.testing.assert_allclose(dA, by_theta(kernel, lambda k: state_space(k).A(dt)), rtol=1e-6, atol=1e-6)
    scale = np.abs(dQ).max(axis=(0, 2, 3), keepdims=True) + 1.0
    expected = by_theta(kernel, lambda k: state_space(k).Q(dt))
    np.testing.assert_allclose(dQ / scale, expected / scale, rtol=1e-6, atol=1e-7)
    expected = by_theta(kernel, lambda k: state_space(k).initial(0.3))
    np.testing.assert_allclose(space.initial_derivatives(0.3), expected, rtol=1e-6, atol=1e-7)


def noise_in_high_precision(block_kernel, states, dt):
    """``P - A P A'`` with so many digits that the subtraction does no harm."""
    with mpmath.workdps(120):
        rate = mpmath.sqrt(2 * states - 1) / mpmath.mpf(block_kernel.length_scale)
        third = mpmath.mpf(1) / 3
        F = {
            1: [[-1]],
            2: [[0, 1], [-1, -2]],
            3: [[0, 1, 0], [0, 0, 1], [-1, -3, -3]],
        }[states]
        P = {
            1: [[1]],
            2: [[1, 0], [0, 1]],
            3: [[1, 0, -third], [0, third, 0], [-third, 0, 1]],
        }[states]
        u, N, P = rate * mpmath.mpf(dt), mpmath.matrix(F) + mpmath.eye(states), mpmath.matrix(P)
        A = mpmath.eye(states)
        for k in range(1, states):
            A += N**k * u**k / mpmath.factorial(k)
        A *= mpmath.exp(-u)
        Q = (P - A * P * A.T) * mpmath.mpf(block_kernel.variance)
        return np.array(Q.tolist(), dtype=float)


@pytest.mark.parametrize(
    ("kernel", "states"), [(Matern12(0.8, 1.7), 1), (Matern32(1.3, 0.6), 2), (Matern52(0.9), 3)]
)
@pytest.mark.parametrize("dt", [1e-12, 1e-9, 1e-4, 0.03, 0.5, 1.5, 4.0, 30.0, 1e6])
def test_noise_keeps_its_digits_at_any_step(kernel, states, dt):
    Q = state_space(kernel).Q(np.array([dt]))[0]
    expected = noise_in_high_precision(kernel, states, dt)
    size = np.sqrt(np.multiply.outer(expected.diagonal(), expected.diagonal()))
    np.testing.assert_allclose(Q / size, expected / size, rtol=1e-12, atol=2e-14)
    assert np.linalg.eigvalsh(Q / size).min() > 0.0


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dt", [0.0, 1e-9, 1e-3, 1.0, 1e6])
def test_noise_is_positive_semidefinite_at_any_step(kernel, dt):
    Q = state_space(kernel).Q(np.array([dt]))[0]
    assert np.isfinite(Q).all()
    size = np.where(Q.diagonal() > 0.0, np.sqrt(Q.diagonal()), 1.0)
    correlation = Q / np.multiply.outer(size, size)
    assert np.linalg.eigvalsh(correlation).min() > -1e-14


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (SquaredExponential(), "use Matern52"),
        (SquaredExponential() + Matern32(), 'engine="exact"'),
        (Periodic(), "has no state-space form"),
        (Matern32((1.0, 2.0)), "one input, time"),
        (IntegratedNoise() * Matern32(), "multiplied by a constant only"),
        (IntegratedNoise() * IntegratedNoise(), "multiplied by a constant only"),
    ],
)
def test_a_kernel_without_a_state_space_form_is_refused(kernel, message):
    assert not has_state_space(kernel)
    with pytest.raises(ValueError, match=message):
        state_space(kernel)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_kernel_with_a_state_space_form_says_so(kernel):
    assert has_state_space(kernel)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DampedHarmonics(weights=()), "weights must be positive"),
        (lambda: DampedHarmonics(envelope="matern52"), "envelope must be one of matern12, matern32"),
        (lambda: DampedHarmonics(period=-1.0), "period must be positive"),
        (lambda: DampedHarmonics()(np.zeros((3, 2))), "one input, time, but X has 2 columns"),
        (lambda: IntegratedNoise(origin=np.nan), "origin must be a finite time"),
        (lambda: IntegratedNoise(origin=1.0)(np.zeros((3, 1))), "set origin to the first time or before it"),
        (lambda: state_space(IntegratedNoise(origin=1.0)).initial(0.0), "set origin to the first time"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_saved_kernel_comes_back(kernel, times):
    again = decode_kernel(Record("kernel", json.loads(json.dumps(encode_kernel(kernel))), []))
    assert repr(again) == repr(kernel)
    np.testing.assert_array_equal(again.bounds, kernel.bounds)
    np.testing.assert_array_equal(again(times[:, None]), kernel(times[:, None]))
