"""Teaches ``as_kernel`` scikit-learn's kernels: the engine itself does not know scikit-learn."""

import warnings

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as TheirKernel
from sklearn.gaussian_process.kernels import WhiteKernel

from sturdygp.gp.inputs import Inputs, evenly_spaced
from sturdygp.kernels.base import Kernel, as_kernel
from sturdygp.kernels.interop import SklearnKernel

NOISE_TWICE = (
    "the estimator has noise of its own; leave WhiteKernel out, or part of the noise is taken for a function"
)
# Variances of a kernel and of the targets that differ by more than this factor do not go together.
FAR_OFF = 300.0
NO_REACH = (
    "the kernel has a variance of {:.3g} in the units of y, whose squared scale is {:.3g}, and is not free "
    "to follow it: multiply a kernel of scikit-learn's by a ConstantKernel, or widen variance_bounds"
)
OURS_ON_THE_RIGHT = (
    "scikit-learn takes a kernel of ours for a number if it stands on the right; write it on the left, "
    "as in SquaredExponential() + RBF()"
)


@as_kernel.register(TheirKernel)
def _(value: TheirKernel) -> SklearnKernel:
    if any(isinstance(part, Kernel) for part in value.get_params().values()):
        raise ValueError(OURS_ON_THE_RIGHT)
    return SklearnKernel(value)


def kernel_for(kernel: Kernel, scale: float, X: Inputs) -> Kernel:
    """A kernel that was given in the units of y for scaled targets, within reach of their variance.

    A variance to start from that is far from that of the targets mostly is one that nobody thought of.
    """
    rows, scaled = evenly_spaced(X), kernel.scaled(scale**-2)
    variance = float(scaled.diag(rows).mean())
    # Without any, as that of Linear where all inputs are zero, there is nothing to bring nearer.
    if variance == 0.0 or 1.0 / FAR_OFF < variance < FAR_OFF:
        return scaled
    # scikit-learn's kernels do not say which of their parameters is a variance: it is left to the climb.
    near = scaled.with_theta(np.clip(scaled.scaled(1.0 / variance).theta, *scaled.bounds.T))
    learned = isinstance(kernel, SklearnKernel) and near.diag_pullback(rows, np.ones(len(rows))).any()
    if not (learned or 1.0 / FAR_OFF < float(near.diag(rows).mean()) < FAR_OFF):
        warnings.warn(NO_REACH.format(variance * scale**2, scale**2), UserWarning, stacklevel=2)
    return near


def warn_if_noise_is_there_twice(kernel: object) -> None:
    """Noise in a kernel of scikit-learn's, whose regressor has none of its own."""
    if not isinstance(kernel, TheirKernel):
        return
    parts = (kernel, *kernel.get_params().values())
    if any(isinstance(part, WhiteKernel) and part.n_dims for part in parts):
        warnings.warn(NOISE_TWICE, UserWarning, stacklevel=4)
