"""Adapter for scikit-learn kernels, which does not import scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import ANY, Kernel, Linearised, check_theta

# Rows in a block of the gradient: scikit-learn returns a tensor, which must stay small.
BLOCK_ROWS = 256


class SklearnHyperparameter(Protocol):
    """A named parameter, or several under one name."""

    name: str
    n_elements: int
    fixed: bool


class SklearnKernelLike(Protocol):
    """The part of scikit-learn's kernel interface that the adapter needs."""

    @property
    def hyperparameters(self) -> Sequence[SklearnHyperparameter]:
        """The parameters, fixed ones too, in the order of ``theta``."""

    @property
    def theta(self) -> FloatArray:
        """Logarithms of the free parameters."""

    @property
    def bounds(self) -> FloatArray:
        """Logarithms of the bounds, shape (p, 2)."""

    def get_params(self, deep: bool = True) -> Mapping[str, object]:
        """Parameters and the kernels it is made of, by name."""

    def clone_with_theta(self, theta: FloatArray) -> SklearnKernelLike:
        """Return the kernel with other parameters."""

    def __call__(self, X: FloatArray, Y: FloatArray | None = None, eval_gradient: bool = False) -> FloatArray:
        """Values, or values and the tensor of derivatives."""

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""


@dataclass(frozen=True)
class SklearnKernel(Kernel):
    """A scikit-learn kernel with the interface of :class:`Kernel`.

    Its tensor of derivatives is formed for blocks of rows only.
    """

    kernel: SklearnKernelLike
    factor: float = 1.0

    @property
    def theta(self) -> FloatArray:
        """Logarithms of the free parameters."""
        return np.asarray(self.kernel.theta, dtype=np.float64)

    @property
    def bounds(self) -> FloatArray:
        """Lower and upper end for each entry of ``theta``, shape (p, 2)."""
        return np.asarray(self.kernel.bounds, dtype=np.float64).reshape(-1, 2)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """A name for each entry of ``theta``."""
        return tuple(
            f"{h.name}[{i}]" if h.n_elements > 1 else h.name
            for h in self.kernel.hyperparameters
            if not h.fixed
            for i in range(h.n_elements)
        )

    @property
    def length_scale_of(self) -> tuple[int | None, ...]:
        """The input whose length scale each entry of ``theta`` is; that of a periodic kernel has no unit."""
        parts = self.kernel.get_params()
        owners: list[int | None] = []
        for each in (h for h in self.kernel.hyperparameters if not h.fixed):
            whole, _, name = each.name.rpartition("__")
            measured = name == "length_scale" and not hasattr(parts.get(whole, self.kernel), "periodicity")
            many = range(each.n_elements) if each.n_elements > 1 else (ANY,)
            owners += many if measured else [None] * len(many)
        return tuple(owners)

    def with_theta(self, theta: FloatArray) -> Self:
        """Return the kernel with other parameters."""
        return replace(self, kernel=self.kernel.clone_with_theta(check_theta(theta, self)))

    def scaled(self, factor: float) -> Self:
        """Multiply the kernel by a positive number: the function in other units."""
        return replace(self, factor=self.factor * factor)

    def __call__(self, X: FloatArray, Z: FloatArray | None = None) -> FloatArray:
        """The matrix of kernel values between the rows of ``X`` and those of ``Z`` (or ``X``)."""
        return np.ascontiguousarray(self.factor * self.kernel(X, Z), dtype=np.float64)

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""
        return np.asarray(self.factor * self.kernel.diag(X), dtype=np.float64)

    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values, and a pullback that computes derivatives block by block."""
        return Linearised(self(X, Z), lambda G: self._pullback(X, Z, G))

    def _pullback(self, X: FloatArray, Z: FloatArray | None, G: FloatArray) -> FloatArray:
        total = np.zeros(self.theta.size)
        for rows in _blocks(X.shape[0]):
            for columns in _blocks((X if Z is None else Z).shape[0]):
                if Z is not None:
                    total += self._block(X[rows], Z[columns], G[rows, columns])
                elif rows == columns:
                    total += _contract(G[rows, rows], self._tensor(X[rows]))
                elif rows.start < columns.start:
                    total += self._block(X[rows], X[columns], G[rows, columns] + G[columns, rows].T)
        return self.factor * total

    def _block(self, X: FloatArray, Z: FloatArray, G: FloatArray) -> FloatArray:
        """Take the corner of a joint evaluation: scikit-learn differentiates only ``k(X, X)``."""
        tensor = self._tensor(np.vstack([X, Z]))
        return _contract(G, tensor[: X.shape[0], X.shape[0] :])

    def _tensor(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.kernel(X, eval_gradient=True)[1])


def _contract(G: FloatArray, tensor: FloatArray) -> FloatArray:
    return np.tensordot(G, tensor, axes=2)


def _blocks(size: int) -> list[slice]:
    return [slice(first, min(first + BLOCK_ROWS, size)) for first in range(0, size, BLOCK_ROWS)]
