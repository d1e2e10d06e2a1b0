"""Covariance functions with analytic derivatives, and an adapter for scikit-learn's."""

from sturdygp.kernels.base import Kernel, Product, Sum, as_kernel
from sturdygp.kernels.interop import SklearnKernel
from sturdygp.kernels.other import Constant, Linear, Periodic
from sturdygp.kernels.stationary import (
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
    SquaredExponential,
)

__all__ = [
    "Constant",
    "Kernel",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "Product",
    "RationalQuadratic",
    "SklearnKernel",
    "SquaredExponential",
    "Sum",
    "as_kernel",
]
