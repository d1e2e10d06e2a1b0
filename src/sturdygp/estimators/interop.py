"""Teaches ``as_kernel`` scikit-learn's kernels: the engine itself does not know scikit-learn."""

import warnings

from sklearn.gaussian_process.kernels import Kernel as TheirKernel
from sklearn.gaussian_process.kernels import WhiteKernel

from sturdygp.kernels.base import Kernel, as_kernel
from sturdygp.kernels.interop import SklearnKernel

NOISE_TWICE = (
    "the estimator has noise of its own; leave WhiteKernel out, or part of the noise is taken for a function"
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


def warn_if_noise_is_there_twice(kernel: object) -> None:
    """Noise in a kernel of scikit-learn's, whose regressor has none of its own."""
    if not isinstance(kernel, TheirKernel):
        return
    parts = (kernel, *kernel.get_params().values())
    if any(isinstance(part, WhiteKernel) and part.n_dims for part in parts):
        warnings.warn(NOISE_TWICE, UserWarning, stacklevel=4)
