"""Covariance functions with analytic derivatives, and an adapter for scikit-learn's."""

from sturdygp.kernels.base import Kernel, Product, Sum, as_kernel
from sturdygp.kernels.interop import SklearnKernel
from sturdygp.kernels.other import Constant, Linear, Periodic
from sturdygp.kernels.state_space import StateSpace, has_state_space, state_space
from sturdygp.kernels.stationary import (
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
    SquaredExponential,
)
from sturdygp.kernels.temporal import DampedHarmonics, IntegratedNoise

__all__ = [
    "Constant",
    "DampedHarmonics",
    "IntegratedNoise",
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
    "StateSpace",
    "Sum",
    "as_kernel",
    "has_state_space",
    "state_space",
]
