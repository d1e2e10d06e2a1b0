"""Kernels that are not stationary, and constants."""

import numpy as np
from sklearn.gaussian_process import kernels as sk

from sturdygp.kernels import Matern52, Periodic, SklearnKernel
from sturdygp.kernels.base import ANY

ARD = (0.7, 1.9, 1.2)


def test_length_scale_of_a_periodic_kernel_is_a_number():
    periodic = sk.ExpSineSquared(1.0, 2.0)
    for kernel in (Periodic(0.9, 1.7), SklearnKernel(periodic), SklearnKernel(2.0 * periodic)):
        assert set(kernel.length_scale_of) == {None}
    assert SklearnKernel(periodic * sk.RBF(1.0)).length_scale_of == (None, None, ANY)
    assert (Matern52(ARD) * Periodic(1.1, 2.0)).length_scale_of == (None, 0, 1, 2, None, None, None)


def test_periodic_equals_scikit_learn_in_one_dimension(points):
    X, Z = points[0][:, :1], points[1][:, :1]
    np.testing.assert_allclose(Periodic(0.8, 1.6)(X, Z), sk.ExpSineSquared(0.8, 1.6)(X, Z), rtol=1e-12)
