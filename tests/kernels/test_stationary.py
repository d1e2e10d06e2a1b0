"""Stationary kernels where points are far apart, or the same."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sturdygp.kernels import Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential


@given(
    scale=st.floats(1e-8, 1e8),
    offset=st.floats(-1e3, 1e3),
    d=st.sampled_from([1, 2, 30]),
    n=st.integers(1, 6),
    kernel=st.sampled_from([SquaredExponential, Matern12, Matern32, Matern52, RationalQuadratic]),
)
@settings(deadline=None, max_examples=60)
def test_stationary_does_not_depend_on_shift_and_scale_of_inputs(scale, offset, d, n, kernel):
    X = np.random.default_rng(n * d).normal(size=(n, d))
    X[:, -1] = X[0, -1]
    plain = kernel(np.ones(d))(X)
    moved = kernel(np.full(d, scale))(scale * (X + offset))
    np.testing.assert_allclose(moved, plain, rtol=1e-6, atol=1e-9)


def test_stationary_keeps_the_neighbourhood_of_distant_points():
    """|u|^2 + |v|^2 - 2 u'v has no correct digit here; the distances must."""
    X = np.array([[0.0], [1e-3], [1e9]])
    np.testing.assert_allclose(SquaredExponential(1e-3)(X)[0, 1], np.exp(-0.5), rtol=1e-9)


def test_matern12_is_exact_at_equal_inputs():
    X = np.random.default_rng(0).normal(size=(50, 3)) + 30.0
    np.testing.assert_allclose(Matern12(2.0)(X, X[::-1].copy())[:, ::-1].diagonal(), 1.0, rtol=1e-15)
