"""Base class of kernels, sums and products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce, singledispatch
from typing import Self, TypeAlias

import numpy as np

from sturdygp._typing import FloatArray

# Rows in a block of a derivative of which only the diagonal is used.
DIAGONAL_ROWS = 16

Pullback: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Linearised:
    """A kernel matrix and the reverse derivative at the same parameters.

    ``pullback(G)`` is ``sum_ij G_ij dK_ij / dtheta``, one number for each parameter, without
    the tensor of derivatives.
    """

    value: FloatArray
    pullback: Pullback


# Index that stands for every input, where one length scale serves all.
ANY = -1


class Kernel(ABC):
    """A positive semi-definite function of two inputs with parameters ``theta = log(...)``.

    Kernels are immutable; ``+`` and ``*`` combine them with each other, with positive
    numbers and with scikit-learn kernels, which must stand on the right.
    """

    # NumPy's numbers defer sums and products with a kernel to the kernel.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def theta(self) -> FloatArray:
        """Logarithms of the free parameters."""

    @property
    @abstractmethod
    def bounds(self) -> FloatArray:
        """Lower and upper end for each entry of ``theta``, shape (p, 2)."""

    @property
    @abstractmethod
    def parameter_names(self) -> tuple[str, ...]:
        """A name for each entry of ``theta``."""

    @property
    @abstractmethod
    def length_scale_of(self) -> tuple[int | None, ...]:
        """The input whose length scale each entry of ``theta`` is: ``ANY`` of all, None if it is none."""

    @abstractmethod
    def with_theta(self, theta: FloatArray) -> Self:
        """Return the kernel with other parameters."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Multiply the kernel by a positive number: the function in other units."""

    @abstractmethod
    def __call__(self, X: FloatArray, Z: FloatArray | None = None) -> FloatArray:
        """The matrix of kernel values between the rows of ``X`` and those of ``Z`` (or ``X``)."""

    @abstractmethod
    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""

    @abstractmethod
    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values and pullback from one evaluation."""

    def diag_pullback(self, X: FloatArray, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_i dk(x_i, x_i) / dtheta``."""
        total = np.zeros(self.theta.size)
        # Small blocks: of each, only the diagonal is used.
        for first in range(0, len(X), DIAGONAL_ROWS):
            rows = slice(first, first + DIAGONAL_ROWS)
            total += self.linearise(X[rows]).pullback(np.diag(cotangent[rows]))
        return total

    def input_pullback(self, X: FloatArray, Z: FloatArray | None, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_ij dk(x_i, z_j) / dz_j``, a row for each ``z_j``; without ``Z``, of ``X``."""
        raise NotImplementedError(f"{self!r} has no derivative with respect to its inputs")

    def pullback(self, X: FloatArray, Z: FloatArray | None, cotangent: FloatArray) -> FloatArray:
        """``sum_ij cotangent_ij dK_ij / dtheta``."""
        return self.linearise(X, Z).pullback(cotangent)

    def __add__(self, other: object) -> Sum:
        """The sum with another kernel, a positive number or a scikit-learn kernel."""
        return Sum((self, as_kernel(other)))

    def __radd__(self, other: object) -> Sum:
        """The sum with the kernel on the right."""
        return Sum((as_kernel(other), self))

    def __mul__(self, other: object) -> Product:
        """The product with another kernel, a positive number or a scikit-learn kernel."""
        return Product((self, as_kernel(other)))

    def __rmul__(self, other: object) -> Product:
        """The product with the kernel on the right."""
        return Product((as_kernel(other), self))


@singledispatch
def as_kernel(value: object) -> Kernel:
    """Convert a value to a kernel; other modules register further types."""
    raise ValueError(f"expected a sturdygp kernel, a scikit-learn kernel or a positive number, got {value!r}")


@as_kernel.register
def _(value: Kernel) -> Kernel:
    return value


@dataclass(frozen=True)
class Composite(Kernel):
    """Kernels combined entry by entry; ``theta`` is theirs, one after the other."""

    parts: tuple[Kernel, ...]

    @abstractmethod
    def _combine(self, values: Iterable[FloatArray]) -> FloatArray:
        """Combine the values of the parts."""

    @abstractmethod
    def _cotangents(self, G: FloatArray, values: list[FloatArray]) -> list[FloatArray]:
        """Cotangent of each part, given that of the whole."""

    @property
    def theta(self) -> FloatArray:
        """Logarithms of the free parameters."""
        return np.concatenate([part.theta for part in self.parts])

    @property
    def bounds(self) -> FloatArray:
        """Lower and upper end for each entry of ``theta``, shape (p, 2)."""
        return np.concatenate([part.bounds for part in self.parts])

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """A name for each entry of ``theta``."""
        return tuple(
            f"parts[{i}].{name}" for i, part in enumerate(self.parts) for name in part.parameter_names
        )

    @property
    def length_scale_of(self) -> tuple[int | None, ...]:
        """The input whose length scale each entry of ``theta`` is."""
        return tuple(owner for part in self.parts for owner in part.length_scale_of)

    def with_theta(self, theta: FloatArray) -> Self:
        """Return the kernel with other parameters."""
        ends = np.cumsum([len(part.parameter_names) for part in self.parts])[:-1]
        split = np.split(check_theta(theta, self), ends)
        return type(self)(tuple(part.with_theta(t) for part, t in zip(self.parts, split, strict=True)))

    def __call__(self, X: FloatArray, Z: FloatArray | None = None) -> FloatArray:
        """The matrix of kernel values between the rows of ``X`` and those of ``Z`` (or ``X``)."""
        return self._combine(part(X, Z) for part in self.parts)

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""
        return self._combine(part.diag(X) for part in self.parts)

    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values and pullback from one evaluation of each part."""
        linear = [part.linearise(X, Z) for part in self.parts]
        values = [part.value for part in linear]

        def pullback(G: FloatArray) -> FloatArray:
            cotangents = self._cotangents(G, values)
            return np.concatenate([p.pullback(g) for p, g in zip(linear, cotangents, strict=True)])

        return Linearised(self._combine(values), pullback)

    def input_pullback(self, X: FloatArray, Z: FloatArray | None, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_ij dk(x_i, z_j) / dz_j``, a row for each ``z_j``; without ``Z``, of ``X``."""
        cotangents = self._cotangents(cotangent, [part(X, Z) for part in self.parts])
        pulled = [part.input_pullback(X, Z, g) for part, g in zip(self.parts, cotangents, strict=True)]
        return reduce(np.add, pulled)

    def diag_pullback(self, X: FloatArray, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_i dk(x_i, x_i) / dtheta``."""
        cotangents = self._cotangents(cotangent, [part.diag(X) for part in self.parts])
        pulled = [part.diag_pullback(X, g) for part, g in zip(self.parts, cotangents, strict=True)]
        return np.concatenate(pulled)


@dataclass(frozen=True)
class Sum(Composite):
    """The sum of its parts: independent effects that add."""

    def scaled(self, factor: float) -> Self:
        """Multiply the kernel by a positive number: the function in other units."""
        return type(self)(tuple(part.scaled(factor) for part in self.parts))

    def _combine(self, values: Iterable[FloatArray]) -> FloatArray:
        return reduce(np.add, values)

    def _cotangents(self, G: FloatArray, values: list[FloatArray]) -> list[FloatArray]:
        return [G] * len(values)


@dataclass(frozen=True)
class Product(Composite):
    """The product of its parts: effects that modulate each other."""

    def scaled(self, factor: float) -> Self:
        """Multiply the kernel by a positive number: the function in other units."""
        return type(self)((self.parts[0].scaled(factor), *self.parts[1:]))

    def _combine(self, values: Iterable[FloatArray]) -> FloatArray:
        return reduce(np.multiply, values)

    def _cotangents(self, G: FloatArray, values: list[FloatArray]) -> list[FloatArray]:
        return [reduce(np.multiply, values[:i] + values[i + 1 :], G) for i in range(len(values))]


def check_theta(theta: FloatArray, kernel: Kernel) -> FloatArray:
    """Refuse a parameter vector of the wrong length."""
    expected = len(kernel.parameter_names)
    if np.shape(theta) != (expected,):
        raise ValueError(f"theta must have shape ({expected},) for {kernel!r}, got {np.shape(theta)}")
    return theta
