"""One contract for every kernel: a new one is tested by adding it to the list."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

from sturdygp.kernels import (
    Constant,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    SklearnKernel,
    SquaredExponential,
    distances,
)
from sturdygp.kernels.base import ANY

ARD = (0.7, 1.9, 1.2)


ISOTROPIC = [SquaredExponential(1.3, 2.0), Matern32(0.8), Periodic(0.9, 1.7), Linear(0.6)]


STATIONARY = [kernel(ARD, 1.7) for kernel in (SquaredExponential, Matern12, Matern32, Matern52)]


LEAVES = [
    *ISOTROPIC,
    *STATIONARY,
    RationalQuadratic(ARD, 0.5, alpha=0.8),
    Periodic(ARD, 2.3, 0.4),
    Linear(ARD),
    Constant(2.5),
    SquaredExponential(ARD, variance_bounds="fixed"),
]


COMPOSITES = [
    SquaredExponential(ARD) + Linear(0.3),
    Matern52(ARD) * Periodic(1.1, 2.0),
    2.0 * Matern12(1.5) * SquaredExponential(ARD) + 0.5,
    1.5 + Constant(0.2) * Linear(ARD),
]


ADAPTED = [
    SklearnKernel(sk.RBF(ARD)),
    SklearnKernel(2.0 * sk.Matern(1.4, nu=1.5) + sk.WhiteKernel(0.1)),
    SklearnKernel(sk.RationalQuadratic(1.2, 0.7) * sk.DotProduct(0.4)),
    SklearnKernel(sk.Matern(1.1, nu=2.5) ** 2),
    SquaredExponential(ARD) * sk.RBF(2.0) + sk.ConstantKernel(0.5, "fixed"),
]


KERNELS = [*LEAVES, *COMPOSITES, *ADAPTED]


@pytest.fixture(params=KERNELS, ids=repr)
def kernel(request):
    return request.param


def central_difference(kernel, X, Z, cotangent, step=1e-6):
    theta, derivatives = kernel.theta, []
    for direction in np.eye(theta.size):
        up, down = (kernel.with_theta(theta + sign * step * direction)(X, Z) for sign in (1, -1))
        derivatives.append(np.vdot(cotangent, up - down) / (2 * step))
    return np.array(derivatives)


def test_kernel_is_symmetric_and_positive_semidefinite(kernel, points):
    K = kernel(points[0])
    np.testing.assert_allclose(K, K.T, rtol=1e-14, atol=1e-14)
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.trace(K)


def test_diag_and_cross_values_are_those_of_the_matrix(kernel, points):
    X, Z, _ = points
    np.testing.assert_allclose(kernel.diag(X), kernel(X).diagonal(), rtol=1e-12)
    joint = kernel(np.vstack([X, Z]))
    np.testing.assert_allclose(kernel(X, Z), joint[:9, 9:], rtol=1e-9, atol=1e-12)


def test_with_theta_makes_the_round_trip(kernel):
    theta = kernel.theta + 0.1
    again = kernel.with_theta(theta)
    np.testing.assert_allclose(again.theta, theta, rtol=1e-12, atol=1e-12)
    assert len(kernel.parameter_names) == theta.size == len(kernel.bounds)
    assert type(again) is type(kernel)
    with pytest.raises(ValueError, match="theta must have shape"):
        kernel.with_theta(np.zeros(theta.size + 1))


def test_length_scale_of_names_parameters_that_follow_the_unit_of_an_input(kernel, points):
    """In another unit of input 1, its length scale is another and all else stays."""
    X, unit = points[0].copy(), np.array([1.0, 3.0, 1.0])
    owners = kernel.length_scale_of
    assert len(owners) == kernel.theta.size
    other_parameters = any(word in repr(kernel) for word in ("Periodic", "Linear", "DotProduct"))
    if ANY in owners or other_parameters:
        return
    theta = kernel.theta + np.array([0.0 if owner is None else np.log(unit[owner]) for owner in owners])
    np.testing.assert_allclose(kernel.with_theta(theta)(X * unit), kernel(X), rtol=1e-10, atol=1e-12)


def by_inputs(kernel, X, Z, cotangent, step=1e-6):
    derivatives = np.zeros_like(Z)
    for index in np.ndindex(*Z.shape):
        moved = np.zeros_like(Z)
        moved[index] = step
        derivatives[index] = np.vdot(cotangent, kernel(X, Z + moved) - kernel(X, Z - moved)) / (2 * step)
    return derivatives


@pytest.mark.parametrize("kernel", [*LEAVES, *COMPOSITES], ids=repr)
def test_input_pullback_equals_central_differences(kernel, points):
    X, Z, rng = points
    G = rng.normal(size=(9, 5))
    expected = by_inputs(kernel, X, Z, G)
    np.testing.assert_allclose(kernel.input_pullback(X, Z, G), expected, rtol=1e-5, atol=1e-6)
    G = rng.normal(size=(9, 9))
    # Without the diagonal, where Matérn 1/2 has a corner.
    np.fill_diagonal(G, 0.0)
    expected = by_inputs(kernel, X, X.copy(), G)
    np.testing.assert_allclose(kernel.input_pullback(X, None, G), expected, rtol=1e-5, atol=1e-6)


def test_sklearn_kernel_has_no_input_pullback(points):
    X, Z, _ = points
    with pytest.raises(NotImplementedError, match="no derivative with respect to its inputs"):
        ADAPTED[0].input_pullback(X, Z, np.ones((9, 5)))


@pytest.mark.parametrize("square", [True, False])
def test_pullback_equals_central_differences(kernel, points, square):
    X, Z, rng = points
    Z = None if square else Z
    G = rng.normal(size=(9, 9 if square else 5))
    expected = central_difference(kernel, X, Z, G)
    np.testing.assert_allclose(kernel.pullback(X, Z, G), expected, rtol=1e-6, atol=1e-7)
    linear = kernel.linearise(X, Z)
    np.testing.assert_allclose(linear.value, kernel(X, Z), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("kernel", [*LEAVES, ADAPTED[1]], ids=repr)
def test_kernel_does_not_depend_on_blocks_of_rows(kernel, monkeypatch):
    rng = np.random.default_rng(5)
    X, G = rng.normal(size=(300, 3)), rng.normal(size=(300, 300))
    values, slopes = kernel(X), kernel.pullback(X, None, G)
    monkeypatch.setattr(distances, "BLOCK_ENTRIES", 300 * 37)
    np.testing.assert_allclose(kernel(X), values, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel.pullback(X, None, G), slopes, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [*LEAVES, *COMPOSITES], ids=repr)
@pytest.mark.parametrize("far", [1e4, 1e9])
def test_kernel_loses_no_digits_to_a_distant_point(kernel, points, far):
    X, _, rng = points
    G, among = np.zeros((10, 10)), rng.normal(size=(9, 9))
    np.fill_diagonal(among, 0.0)
    G[1:, 1:] = among
    with_distant = np.vstack([np.full((1, 3), far), X])
    np.testing.assert_allclose(kernel(with_distant)[1:, 1:], kernel(X), rtol=1e-9)
    slopes = kernel.pullback(with_distant, None, G)
    np.testing.assert_allclose(slopes, kernel.pullback(X, None, among), rtol=1e-7, atol=1e-9)
    by_points = kernel.input_pullback(with_distant, None, G)[1:]
    np.testing.assert_allclose(by_points, kernel.input_pullback(X, None, among), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("number", [np.int64(2), np.float32(2.0), 2])
def test_kernel_is_scaled_by_numbers_of_numpy(number):
    X = np.arange(3.0)[:, None]
    for kernel in (number * SquaredExponential(), SquaredExponential() * number):
        np.testing.assert_allclose(kernel(X), 2.0 * SquaredExponential()(X))
