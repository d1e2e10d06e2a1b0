"""Teaches ``as_kernel`` scikit-learn's kernels: the engine itself does not know scikit-learn."""

from sklearn.gaussian_process.kernels import Kernel as TheirKernel

from sturdygp.kernels.base import as_kernel
from sturdygp.kernels.interop import SklearnKernel


@as_kernel.register(TheirKernel)
def _(value: TheirKernel) -> SklearnKernel:
    return SklearnKernel(value)
