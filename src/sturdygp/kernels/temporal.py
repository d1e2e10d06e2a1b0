"""Kernels of one input, time: rhythms that drift, and trends that wander."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import reduce
from math import pi, sqrt
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Linearised
from sturdygp.kernels.distances import inner
from sturdygp.kernels.leaf import DEFAULT_BOUNDS, Bounds, LeafKernel

Envelope: TypeAlias = Literal["matern12", "matern32"]
# Rate of decay times length scale.
ENVELOPE_RATES: dict[str, float] = {"matern12": 1.0, "matern32": sqrt(3.0)}


@dataclass(frozen=True)
class TemporalKernel(LeafKernel):
    """A kernel of one input."""

    in_units_of_inputs: ClassVar[tuple[str, ...]] = ("length_scale",)

    def __call__(self, X: FloatArray, Z: FloatArray | None = None) -> FloatArray:
        """The matrix of kernel values between the rows of ``X`` and those of ``Z`` (or ``X``)."""
        return self.linearise(X, Z).value

    def input_pullback(self, X: FloatArray, Z: FloatArray | None, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_ij dk(x_i, z_j) / dz_j``, a row for each ``z_j``; without ``Z``, of ``X``."""
        x, z = only_column(X, self), only_column(X if Z is None else Z, self)
        return np.asarray(np.einsum("ij,ij->j", cotangent, self._by_second(x, z))[:, None])

    @abstractmethod
    def _by_second(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """``dk(x_i, z_j) / dz_j``."""


@dataclass(frozen=True)
class DampedHarmonics(TemporalKernel):
    """``variance * envelope(|x - z|) * sum_j weights_j cos(2 pi j (x - z) / period)``: a rhythm that drifts.

    The envelope is a Matérn kernel of unit variance, ``"matern12"`` or ``"matern32"``, whose ``length_scale``
    is how long the rhythm remembers its shape. Harmonic ``j`` counts from one; the weights stay as they are
    given unless ``weights_bounds`` frees them.

    >>> import numpy as np
    >>> daily = DampedHarmonics(length_scale=100.0, period=24.0, weights=(1.0, 0.25))
    >>> daily(np.array([[0.0], [24.0]])).round(4)
    array([[1.25  , 0.9833],
           [0.9833, 1.25  ]])
    """

    positive: ClassVar[tuple[str, ...]] = ("variance", "length_scale", "period", "weights")
    by_input: ClassVar[tuple[str, ...]] = ("weights",)

    length_scale: float = 1.0
    period: float = 1.0
    variance: float = 1.0
    weights: float | tuple[float, ...] = (1.0,)
    envelope: Envelope = "matern12"
    length_scale_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)
    period_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)
    variance_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)
    weights_bounds: Bounds = field(default="fixed", repr=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the parameters; one weight is that of the fundamental."""
        super().__post_init__()
        if self.envelope not in ENVELOPE_RATES:
            raise ValueError(f"envelope must be one of {', '.join(ENVELOPE_RATES)}, got {self.envelope!r}")
        if not isinstance(self.weights, tuple):
            object.__setattr__(self, "weights", (self.weights,))

    @property
    def harmonic_weights(self) -> tuple[float, ...]:
        """``weights``, as the tuple that it always is."""
        return tuple(np.atleast_1d(self.weights).tolist())

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""
        return np.full(X.shape[0], self.variance * sum(self.harmonic_weights))

    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values and pullback from one evaluation."""
        x, z = only_column(X, self), only_column(X if Z is None else Z, self)
        r = np.abs(np.subtract.outer(x, z))
        K = self._envelope(r) * self._rhythm(r)

        def pullback(G: FloatArray) -> FloatArray:
            E, angle = G * self._envelope(r), self._turn * r
            terms = [w * np.cos(j * angle) for j, w in self._harmonics]
            return self._pack(
                {
                    "variance": inner(G, K),
                    "length_scale": inner(G * self._envelope_stretch(r), self._rhythm(r)),
                    "period": inner(E, r * self._rhythm_slope(r)),
                    "weights": np.array([inner(E, term) for term in terms]),
                }
            )

        return Linearised(K, pullback)

    @property
    def _turn(self) -> float:
        return 2.0 * pi / self.period

    @property
    def _harmonics(self) -> list[tuple[int, float]]:
        return list(enumerate(self.harmonic_weights, start=1))

    def _rhythm(self, r: FloatArray) -> FloatArray:
        terms = [w * np.cos(j * self._turn * r) for j, w in self._harmonics]
        return reduce(np.add, terms)

    def _rhythm_slope(self, r: FloatArray) -> FloatArray:
        """How fast the rhythm falls with the distance."""
        terms = [w * j * self._turn * np.sin(j * self._turn * r) for j, w in self._harmonics]
        return reduce(np.add, terms)

    def _envelope(self, r: FloatArray) -> FloatArray:
        u = ENVELOPE_RATES[self.envelope] / self.length_scale * r
        return self.variance * np.exp(-u) * (1.0 if self.envelope == "matern12" else 1.0 + u)

    def _envelope_stretch(self, r: FloatArray) -> FloatArray:
        """Derivative of the envelope by the logarithm of its length scale."""
        u = ENVELOPE_RATES[self.envelope] / self.length_scale * r
        return self.variance * np.exp(-u) * (u if self.envelope == "matern12" else u * u)

    def _by_second(self, x: FloatArray, z: FloatArray) -> FloatArray:
        apart = np.subtract.outer(x, z)
        r = np.abs(apart)
        fading = self._envelope_stretch(r) / np.where(r > 0.0, r, np.inf)
        slope = fading * self._rhythm(r) + self._envelope(r) * self._rhythm_slope(r)
        return np.asarray(np.sign(apart) * slope)


@dataclass(frozen=True)
class IntegratedNoise(TemporalKernel):
    """A trend: the integral of a random walk that starts at ``origin`` with a random level and slope.

    ``variance * (level + slope s t + min(s, t)^2 (3 max(s, t) - min(s, t)) / 6)`` with ``s`` and ``t``
    counted from the origin in length scales: the prior of cubic smoothing splines. Times before the origin
    are refused. ``level`` and ``slope`` stay as they are given unless their bounds free them.
    """

    positive: ClassVar[tuple[str, ...]] = ("variance", "length_scale", "level", "slope")
    by_input: ClassVar[tuple[str, ...]] = ()

    length_scale: float = 1.0
    variance: float = 1.0
    level: float = 1.0
    slope: float = 1.0
    origin: float = 0.0
    length_scale_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)
    variance_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)
    level_bounds: Bounds = field(default="fixed", repr=False, kw_only=True)
    slope_bounds: Bounds = field(default="fixed", repr=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not np.isfinite(self.origin):
            raise ValueError(f"origin must be a finite time, got {self.origin!r}")

    def since_origin(self, times: FloatArray) -> FloatArray:
        """Times from the origin, in length scales."""
        if times.size and times.min() < self.origin:
            raise ValueError(
                f"integrated noise starts at its origin, {self.origin:g}, but there is a time "
                f"{times.min():g}; set origin to the first time or before it"
            )
        return (times - self.origin) / self.length_scale

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""
        t = self.since_origin(only_column(X, self))
        return np.asarray(self.variance * (self.level + self.slope * t**2 + t**3 / 3.0))

    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values and pullback from one evaluation."""
        s = self.since_origin(only_column(X, self))
        t = s if Z is None else self.since_origin(only_column(Z, self))
        line = self.variance * self.slope * np.multiply.outer(s, t)
        low, high = np.minimum.outer(s, t), np.maximum.outer(s, t)
        wander = self.variance * low**2 * (3.0 * high - low) / 6.0
        level = self.variance * self.level
        K = level + line + wander

        def pullback(G: FloatArray) -> FloatArray:
            by_line, by_wander = inner(G, line), inner(G, wander)
            return self._pack(
                {
                    "variance": inner(G, K),
                    "length_scale": -2.0 * by_line - 3.0 * by_wander,
                    "level": level * float(G.sum()),
                    "slope": by_line,
                }
            )

        return Linearised(K, pullback)

    def _by_second(self, x: FloatArray, z: FloatArray) -> FloatArray:
        s, t = self.since_origin(x)[:, None], self.since_origin(z)
        wander = np.where(t < s, t * (s - 0.5 * t), 0.5 * s * s)
        return np.asarray(self.variance / self.length_scale * (self.slope * s + wander))


def only_column(X: FloatArray, kernel: object) -> FloatArray:
    """The times, which must be the only input."""
    if X.shape[1] != 1:
        raise ValueError(f"{kernel!r} is a function of one input, time, but X has {X.shape[1]} columns")
    return X[:, 0]
