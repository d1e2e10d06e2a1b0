"""Kernels with parameters of their own: positive numbers, optimised as logarithms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotFiniteError
from sturdygp.kernels.base import ANY, Kernel, check_theta

Bounds: TypeAlias = tuple[float, float] | tuple[tuple[float, float], ...] | Literal["fixed"]

DEFAULT_BOUNDS: Bounds = (1e-5, 1e5)


class LeafKernel(Kernel):
    """A kernel whose parameters are fields of its own; ``name`` goes with ``name_bounds``.

    Every one has a ``variance``, to which it is proportional. Fields ``by_input`` may have an entry for each
    input.
    """

    positive: ClassVar[tuple[str, ...]]
    by_input: ClassVar[tuple[str, ...]] = ("length_scale",)
    in_units_of_inputs: ClassVar[tuple[str, ...]] = ()
    variance: float | tuple[float, ...]
    variance_bounds: Bounds

    def __post_init__(self) -> None:
        """Check the parameters; a vector becomes a tuple of floats."""
        for name in self.positive:
            value = positive_parameter(name, getattr(self, name), many=name in self.by_input)
            object.__setattr__(self, name, value)
            check_bounds(f"{name}_bounds", getattr(self, f"{name}_bounds"), np.size(value))

    @cached_property
    def _free(self) -> tuple[str, ...]:
        return tuple(n for n in self.positive if getattr(self, f"{n}_bounds") != "fixed")

    @property
    def theta(self) -> FloatArray:
        """Logarithms of the free parameters."""
        values = [np.atleast_1d(getattr(self, name)) for name in self._free]
        return np.log(np.concatenate(values)) if values else np.empty(0)

    @property
    def bounds(self) -> FloatArray:
        """Lower and upper end for each entry of ``theta``, shape (p, 2)."""
        pairs = [
            np.broadcast_to(getattr(self, f"{name}_bounds"), (np.size(getattr(self, name)), 2))
            for name in self._free
        ]
        return np.log(np.concatenate(pairs)) if pairs else np.empty((0, 2))

    @property
    def length_scale_of(self) -> tuple[int | None, ...]:
        """The input whose length scale each entry of ``theta`` is."""
        owners: list[int | None] = []
        for name in self._free:
            value = getattr(self, name)
            many = range(len(value)) if isinstance(value, tuple) else (ANY,)
            owners += many if name in self.in_units_of_inputs else [None] * len(many)
        return tuple(owners)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """A name for each entry of ``theta``."""
        names: list[str] = []
        for name in self._free:
            value = getattr(self, name)
            many = isinstance(value, tuple)
            names += [f"{name}[{r}]" for r in range(len(value))] if many else [name]
        return tuple(names)

    def with_theta(self, theta: FloatArray) -> Self:
        """Return the kernel with other parameters."""
        values, position = np.exp(check_theta(theta, self)).tolist(), 0
        if not all(0.0 < value < inf for value in values):
            raise NotFiniteError(f"theta must be logarithms of positive, finite numbers, got {theta!r}")
        changes: dict[str, float | tuple[float, ...]] = {}
        for name in self._free:
            old = getattr(self, name)
            size = len(old) if isinstance(old, tuple) else 1
            part = values[position : position + size]
            changes[name] = tuple(part) if isinstance(old, tuple) else part[0]
            position += size
        # Called for every evaluation: skip the checks of the constructor.
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other

    def scaled(self, factor: float) -> Self:
        """Multiply the kernel by a positive number: the function in other units."""
        variance, bounds = np.asarray(self.variance) * factor, self.variance_bounds
        moved = bounds if isinstance(bounds, str) else _as_bounds(np.asarray(bounds) * factor)
        return replace(self, variance=variance, variance_bounds=moved)  # type: ignore[type-var]

    def _by_variance(self, derivative: float) -> FloatArray:
        """Derivative by ``theta`` of which only the entry of the variance is not zero."""
        return np.array([derivative if name == "variance" else 0.0 for name in self.parameter_names])

    def _pack(self, parts: Mapping[str, FloatArray | float]) -> FloatArray:
        """Put derivatives, one entry for each positive field, in the order of ``theta``."""
        packed: list[float] = []
        for name in self._free:
            part = parts[name]
            packed += part.tolist() if isinstance(part, np.ndarray) else [part]
        return np.array(packed)


def positive_parameter(name: str, value: object, *, many: bool) -> float | tuple[float, ...]:
    """A float, or a tuple of floats for anything with a length; all of them positive and finite."""
    expected = "a positive number or a sequence of them" if many else "one positive number"
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {expected}, got {value!r}") from None
    if array.ndim and not many:
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    if array.ndim > 1 or array.size == 0 or not np.all(np.isfinite(array) & (array > 0)):
        raise ValueError(
            f"{name} must be positive and finite, got {value!r}; parameters are kept as logarithms"
        )
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def _as_bounds(pairs: FloatArray) -> Bounds:
    if pairs.ndim == 1:
        return float(pairs[0]), float(pairs[1])
    return tuple((float(low), float(high)) for low, high in pairs)


def check_bounds(name: str, bounds: Bounds, size: int) -> None:
    """Refuse bounds that are not positive, ordered pairs."""
    if isinstance(bounds, str):
        if bounds != "fixed":
            raise ValueError(f'{name} must be a pair (low, high) or "fixed", got {bounds!r}')
        return
    pairs = np.asarray(bounds, dtype=np.float64)
    if pairs.shape not in {(2,), (size, 2)}:
        raise ValueError(f"{name} must be one pair or {size} pairs (low, high), got shape {pairs.shape}")
    if not (np.all(pairs[..., 0] > 0) and np.all(pairs[..., 0] <= pairs[..., 1])):
        raise ValueError(f"{name} must satisfy 0 < low <= high, got {bounds!r}")
