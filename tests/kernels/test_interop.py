"""Kernels of scikit-learn."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

from sturdygp.kernels import Linear, Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential

ARD = (0.7, 1.9, 1.2)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SquaredExponential(ARD), sk.RBF(ARD)),
        (Matern12(ARD), sk.Matern(ARD, nu=0.5)),
        (Matern32(ARD), sk.Matern(ARD, nu=1.5)),
        (Matern52(ARD), sk.Matern(ARD, nu=2.5)),
        (RationalQuadratic(1.3, alpha=0.6), sk.RationalQuadratic(1.3, 0.6)),
        (Linear() + 0.25, sk.DotProduct(0.5)),
    ],
    ids=str,
)
def test_kernel_equals_scikit_learn(ours, theirs, points):
    X, Z, _ = points
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-10, atol=1e-13)
