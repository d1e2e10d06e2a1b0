r"""Kernels of time as linear stochastic differential equations, so that a process can be conditioned in O(n).

A kernel of one input has a state-space form if its process is the first of a few states that move on by
``x(t + dt) = A(dt) x(t) + N(0, Q(dt))``. A sum of kernels stacks the states of its parts, a product
multiplies them (Kronecker). Each summand is a :class:`Block`, whose first state is its function. States are
measured in the block's own units of time, so that ``A`` and ``Q / variance`` depend on ``dt / length_scale``
alone.

Parameters act on a block in two ways. Some scale its variance: ``dQ = Q``, ``dP = P``. Others stretch its
time by a matrix ``F`` that commutes with ``A``: ``dA = dt F A`` and ``dQ = dt (F Q + Q F' + D)``, with
``D = -(F P + P F')`` where the block is stationary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce, singledispatch
from itertools import product
from math import inf, pi, sqrt
from typing import TypeAlias

import numpy as np
from scipy.special import gammainc

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Kernel, Product, Sum
from sturdygp.kernels.leaf import LeafKernel
from sturdygp.kernels.other import Constant
from sturdygp.kernels.stationary import Matern12, Matern32, Matern52, SquaredExponential
from sturdygp.kernels.temporal import ENVELOPE_RATES, DampedHarmonics, IntegratedNoise

# Where exp(-u), times any power of u that occurs, is nothing beside one.
FORGOTTEN = 100.0

# Of steps: matrices of shape (k, d, d).
OfSteps: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Stretch:
    """A parameter, by its place in ``theta``, that stretches the time of a block."""

    parameter: int
    generator: FloatArray
    diffusion: FloatArray


@dataclass(frozen=True)
class DampedRotation:
    """A Matérn process of so many states, each of which may turn in a plane: most blocks are one.

    A constant is one that does not decay. ``frequency`` is None where nothing turns.
    """

    states: int
    rate: float
    variance: float
    frequency: float | None = None

    def times(self, other: DampedRotation) -> DampedRotation | None:
        """The product, if it is one again: of anything with what does not decay, in the order of states."""
        variance = self.variance * other.variance
        if self.states == 1 and self.rate == 0.0 and self.frequency is None:
            return replace(other, variance=variance)
        if (
            other.states > 1
            or other.rate > 0.0
            or (self.frequency is not None and other.frequency is not None)
        ):
            return None
        frequency = self.frequency if other.frequency is None else other.frequency
        return DampedRotation(self.states, self.rate, variance, frequency)


@dataclass(frozen=True, eq=False)
class Start:
    """Covariance, at any time, of a block that is not stationary; and the derivatives of that."""

    covariance: Callable[[float], FloatArray]
    derivatives: Callable[[float], dict[int, FloatArray]]


@dataclass(frozen=True, eq=False)
class Block:
    """One summand: ``A(dt)``, ``Q(dt)`` and the stationary covariance ``P`` of its states.

    ``scaled_by`` are the parameters that its variance is proportional to. After a step longer than
    ``remembers`` nothing is left of the states: ``A`` and all derivatives are zero. ``form`` is given where
    it says all about ``A``, ``Q`` and ``P``.
    """

    A: OfSteps
    Q: OfSteps
    P: FloatArray
    scaled_by: tuple[int, ...]
    stretches: tuple[Stretch, ...] = ()
    remembers: float = inf
    start: Start | None = None
    form: DampedRotation | None = None

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.P)

    def initial(self, time: float) -> FloatArray:
        """Covariance of the states at a time before which nothing was observed."""
        return self.P if self.start is None else self.start.covariance(time)

    def initial_derivatives(self, time: float) -> dict[int, FloatArray]:
        """Derivatives of that by the parameters it depends on."""
        if self.start is None:
            return dict.fromkeys(self.scaled_by, self.P)
        return self.start.derivatives(time)

    def moved(self, offset: int) -> Block:
        """The same, with its parameters further along."""
        start = self.start
        if start is not None:
            later = start.derivatives
            start = replace(start, derivatives=lambda t: {offset + p: dP for p, dP in later(t).items()})
        return replace(
            self,
            scaled_by=tuple(offset + p for p in self.scaled_by),
            stretches=tuple(replace(s, parameter=offset + s.parameter) for s in self.stretches),
            start=start,
        )


@dataclass(frozen=True, eq=False)
class StateSpace:
    """The state-space form of a kernel: independent blocks whose first states add up to the function."""

    blocks: tuple[Block, ...]
    n_parameters: int

    @property
    def size(self) -> int:
        """The number of states."""
        return sum(block.size for block in self.blocks)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each block begins."""
        return tuple(np.cumsum([0, *(block.size for block in self.blocks[:-1])]).tolist())

    @property
    def H(self) -> FloatArray:
        """What the function is of the states."""
        H = np.zeros(self.size)
        H[list(self.starts)] = 1.0
        return H

    def initial(self, time: float) -> FloatArray:
        """Covariance of the states at a time before which nothing was observed."""
        return self._stacked([block.initial(time) for block in self.blocks])

    def A(self, dt: FloatArray) -> FloatArray:
        """Transitions over steps, shape (k, d, d)."""
        return self._stacked([block.A(dt) for block in self.blocks])

    def Q(self, dt: FloatArray) -> FloatArray:
        """Covariances of what is new after steps, shape (k, d, d)."""
        return self._stacked([block.Q(dt) for block in self.blocks])

    def derivatives(self, dt: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives of ``A`` and ``Q`` by the logarithms of the parameters, shape (parameters, k, d, d)."""
        dA, dQ = (np.zeros((self.n_parameters, len(dt), self.size, self.size)) for _ in range(2))
        for first, block in zip(self.starts, self.blocks, strict=True):
            here = slice(first, first + block.size)
            A, Q = block.A(dt), block.Q(dt)
            step = np.where(dt < block.remembers, dt, 0.0)[:, None, None]
            for p in block.scaled_by:
                dQ[p, :, here, here] += Q
            for s in block.stretches:
                FQ = s.generator @ Q
                dA[s.parameter, :, here, here] += step * (s.generator @ A)
                dQ[s.parameter, :, here, here] += step * (FQ + FQ.swapaxes(1, 2) + s.diffusion)
        return dA, dQ

    def initial_derivatives(self, time: float) -> FloatArray:
        """Derivatives of the covariance at the start, shape (parameters, d, d)."""
        dP = np.zeros((self.n_parameters, self.size, self.size))
        for first, block in zip(self.starts, self.blocks, strict=True):
            here = slice(first, first + block.size)
            for p, derivative in block.initial_derivatives(time).items():
                dP[p, here, here] += derivative
        return dP

    def _stacked(self, parts: list[FloatArray]) -> FloatArray:
        whole = np.zeros((*parts[0].shape[:-2], self.size, self.size))
        for first, part in zip(self.starts, parts, strict=True):
            here = slice(first, first + part.shape[-1])
            whole[..., here, here] = part
        return whole


def state_space(kernel: Kernel) -> StateSpace:
    """The state-space form of a kernel; refuses, in words, a kernel that has none."""
    return StateSpace(blocks_of(kernel), kernel.theta.size)


def has_state_space(kernel: Kernel) -> bool:
    """Whether a kernel has a state-space form."""
    try:
        blocks_of(kernel)
    except ValueError:
        return False
    return True


@singledispatch
def blocks_of(kernel: Kernel) -> tuple[Block, ...]:
    """The summands of a kernel; other kernels may register theirs."""
    raise ValueError(
        f"{kernel!r} has no state-space form; use sums and products of Matern12, Matern32, Matern52, "
        'Constant, DampedHarmonics and IntegratedNoise, or engine="exact"'
    )


@blocks_of.register
def _(kernel: SquaredExponential) -> tuple[Block, ...]:
    raise ValueError(
        f"{kernel!r} has no state-space form, because its process is infinitely smooth; use Matern52, "
        'which is nearly as smooth, or engine="exact"'
    )


# ------------------------------------------------------------------------------------------- summands


@blocks_of.register
def _(kernel: Matern12) -> tuple[Block, ...]:
    return (_matern(kernel, 1),)


@blocks_of.register
def _(kernel: Matern32) -> tuple[Block, ...]:
    return (_matern(kernel, 2),)


@blocks_of.register
def _(kernel: Matern52) -> tuple[Block, ...]:
    return (_matern(kernel, 3),)


@blocks_of.register
def _(kernel: Constant) -> tuple[Block, ...]:
    return (
        Block(
            A=lambda dt: np.ones((len(dt), 1, 1)),
            Q=lambda dt: np.zeros((len(dt), 1, 1)),
            P=np.array([[kernel.variance]]),
            scaled_by=_places(kernel, "variance"),
            form=DampedRotation(1, 0.0, kernel.variance),
        ),
    )


@blocks_of.register
def _(kernel: DampedHarmonics) -> tuple[Block, ...]:
    states = 1 if kernel.envelope == "matern12" else 2
    rate = ENVELOPE_RATES[kernel.envelope] / kernel.length_scale
    envelope = matern_block(
        states, rate, kernel.variance, _places(kernel, "variance"), _places(kernel, "length_scale")
    )
    weights = _places(kernel, "weights")
    return tuple(
        kronecker(
            envelope,
            rotation_block(
                2.0 * pi * j / kernel.period, weight, weights[j - 1 : j], _places(kernel, "period")
            ),
        )
        for j, weight in enumerate(kernel.harmonic_weights, start=1)
    )


@blocks_of.register
def _(kernel: IntegratedNoise) -> tuple[Block, ...]:
    variance, rate = kernel.variance, 1.0 / kernel.length_scale
    F, D = np.array([[0.0, 1.0], [0.0, 0.0]]), np.diag([0.0, variance])
    level, slope = np.diag([variance * kernel.level, 0.0]), np.diag([0.0, variance * kernel.slope])

    def A(dt: FloatArray) -> FloatArray:
        return np.eye(2) + F * (rate * dt)[:, None, None]

    def Q(dt: FloatArray) -> FloatArray:
        u = rate * dt
        return variance * _symmetric([[u**3 / 3.0], [u**2 / 2.0, u]])

    def from_origin(time: float) -> FloatArray:
        since = kernel.since_origin(np.array([time])) * kernel.length_scale
        return np.asarray(since)

    def covariance(time: float) -> FloatArray:
        dt = from_origin(time)
        there: FloatArray = A(dt)[0]
        return np.asarray(there @ (level + slope) @ there.T + Q(dt)[0])

    def derivatives(time: float) -> dict[int, FloatArray]:
        dt = from_origin(time)
        there, P = A(dt)[0], covariance(time)
        FP = F @ P
        by_name = {
            "variance": P,
            "length_scale": -rate * dt * (FP + FP.T + D),
            "level": there @ level @ there.T,
            "slope": there @ slope @ there.T,
        }
        return {p: value for name, value in by_name.items() for p in _places(kernel, name)}

    stretches = tuple(Stretch(p, -rate * F, -rate * D) for p in _places(kernel, "length_scale"))
    return (
        Block(
            A=A,
            Q=Q,
            P=level + slope,
            scaled_by=_places(kernel, "variance"),
            stretches=stretches,
            start=Start(covariance, derivatives),
        ),
    )


@blocks_of.register
def _(kernel: Sum) -> tuple[Block, ...]:
    return tuple(block for blocks in _blocks_of_parts(kernel) for block in blocks)


@blocks_of.register
def _(kernel: Product) -> tuple[Block, ...]:
    return tuple(reduce(kronecker, factors) for factors in product(*_blocks_of_parts(kernel)))


def _blocks_of_parts(kernel: Sum | Product) -> list[tuple[Block, ...]]:
    """Of each part, with parameters counted from the first of all."""
    ends = np.cumsum([0, *(part.theta.size for part in kernel.parts)]).tolist()
    return [
        tuple(block.moved(offset) for block in blocks_of(part))
        for offset, part in zip(ends, kernel.parts, strict=False)
    ]


def _matern(kernel: Matern12 | Matern32 | Matern52, states: int) -> Block:
    scale = np.atleast_1d(kernel.length_scale)
    if scale.size > 1:
        raise ValueError(f"{kernel!r} has {scale.size} length scales; a state-space form has one input, time")
    rate = sqrt(2 * states - 1) / float(scale[0])
    return matern_block(
        states, rate, kernel.variance, _places(kernel, "variance"), _places(kernel, "length_scale")
    )


def matern_block(
    states: int, rate: float, variance: float, scaled_by: tuple[int, ...], stretched_by: tuple[int, ...]
) -> Block:
    """A Matérn process of smoothness ``states - 1/2``; derivatives are in units of the rate."""
    F, P = MATERN_GENERATORS[states], variance * MATERN_COVARIANCES[states]
    FP = F @ P
    D = -(FP + FP.T)
    powers = [np.linalg.matrix_power(F + np.eye(states), k) for k in range(states)]

    def A(dt: FloatArray) -> FloatArray:
        # F + I is nilpotent, so that the series of its exponential ends.
        u = np.minimum(rate * dt, FORGOTTEN)[:, None, None]
        series = powers[0] + u * powers[1] if states > 1 else powers[0]
        if states == 3:
            series = series + (0.5 * u * u) * powers[2]
        return np.asarray(np.exp(-u) * series)

    def Q(dt: FloatArray) -> FloatArray:
        return variance * MATERN_NOISES[states](np.minimum(rate * dt, FORGOTTEN))

    stretches = tuple(Stretch(p, -rate * F, -rate * D) for p in stretched_by)
    form = DampedRotation(states, rate, variance)
    return Block(A, Q, P, scaled_by, stretches, FORGOTTEN / rate, form=form)


def rotation_block(
    frequency: float, variance: float, scaled_by: tuple[int, ...], stretched_by: tuple[int, ...]
) -> Block:
    """``variance * cos(frequency dt)``: two states that turn for ever."""

    def A(dt: FloatArray) -> FloatArray:
        cosine, sine = np.cos(frequency * dt), np.sin(frequency * dt)
        return np.moveaxis(np.array([[cosine, sine], [-sine, cosine]]), 2, 0)

    still = np.zeros((2, 2))
    turn = -frequency * np.array([[0.0, 1.0], [-1.0, 0.0]])
    return Block(
        A=A,
        Q=lambda dt: np.zeros((len(dt), 2, 2)),
        P=variance * np.eye(2),
        scaled_by=scaled_by,
        stretches=tuple(Stretch(p, turn, still) for p in stretched_by),
        form=DampedRotation(1, 0.0, variance, frequency),
    )


def kronecker(first: Block, second: Block) -> Block:
    """The block of a product of kernels."""
    if first.start is not None or second.start is not None:
        return _times_constant(first, second)
    P, Q, R = first.P, first.Q, second.P

    def noise(dt: FloatArray) -> FloatArray:
        # P R - (A P A') (B R B'), as a sum of two positive semi-definite matrices.
        A = first.A(dt)
        return _kron(Q(dt), R) + _kron(A @ P @ A.swapaxes(1, 2), second.Q(dt))

    one, other = np.eye(first.size), np.eye(second.size)
    stretches = [
        Stretch(s.parameter, _kron(s.generator, other), _kron(s.diffusion, R)) for s in first.stretches
    ] + [Stretch(s.parameter, _kron(one, s.generator), _kron(P, s.diffusion)) for s in second.stretches]
    return Block(
        A=lambda dt: _kron(first.A(dt), second.A(dt)),
        Q=noise,
        P=_kron(P, R),
        scaled_by=first.scaled_by + second.scaled_by,
        stretches=tuple(stretches),
        remembers=min(first.remembers, second.remembers),
        form=None if first.form is None or second.form is None else first.form.times(second.form),
    )


def _times_constant(first: Block, second: Block) -> Block:
    """Of two blocks, one of which is not stationary: the other may only scale it."""
    trend, other = (second, first) if first.start is None else (first, second)
    start = trend.start
    if start is None or other.start is not None or other.size > 1 or other.stretches:
        raise ValueError(
            "integrated noise may be multiplied by a constant only, if it is to have a state-space form; "
            'add it to other kernels, or use engine="exact"'
        )
    factor = float(other.P[0, 0])

    def derivatives(time: float) -> dict[int, FloatArray]:
        whole = dict.fromkeys(other.scaled_by, factor * start.covariance(time))
        return {p: factor * dP for p, dP in start.derivatives(time).items()} | whole

    return replace(
        trend,
        Q=lambda dt: factor * trend.Q(dt),
        P=factor * trend.P,
        scaled_by=trend.scaled_by + other.scaled_by,
        stretches=tuple(replace(s, diffusion=factor * s.diffusion) for s in trend.stretches),
        start=Start(lambda time: factor * start.covariance(time), derivatives),
    )


def _kron(A: FloatArray, B: FloatArray) -> FloatArray:
    """Kronecker products of matrices, or of the matrices in stacks."""
    whole = A[..., :, None, :, None] * B[..., None, :, None, :]
    rows, columns = A.shape[-2] * B.shape[-2], A.shape[-1] * B.shape[-1]
    return np.asarray(whole.reshape(*whole.shape[:-4], rows, columns))


def _places(kernel: LeafKernel, name: str) -> tuple[int, ...]:
    """Where the entries of a parameter stand in ``theta``; nowhere if it is fixed."""
    return tuple(
        place for place, entry in enumerate(kernel.parameter_names) if entry.partition("[")[0] == name
    )


# ------------------------------------------------------------------------------------- closed forms

# Of unit rate and variance: dx = F x dt + noise in the last state, and the stationary covariance.
MATERN_GENERATORS = {
    1: np.array([[-1.0]]),
    2: np.array([[0.0, 1.0], [-1.0, -2.0]]),
    3: np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -3.0, -3.0]]),
}
MATERN_COVARIANCES = {
    1: np.eye(1),
    2: np.eye(2),
    3: np.array([[1.0, 0.0, -1.0 / 3.0], [0.0, 1.0 / 3.0, 0.0], [-1.0 / 3.0, 0.0, 1.0]]),
}


def _noise_12(u: FloatArray) -> FloatArray:
    return -np.expm1(-2.0 * u)[:, None, None]


def _noise_32(u: FloatArray) -> FloatArray:
    """``I - A A'`` without the subtraction: incomplete gamma functions have all digits at any step."""
    v = 2.0 * u
    decay = np.exp(-v)
    first: FloatArray = np.asarray(gammainc(3.0, v), dtype=np.float64)
    return _symmetric([[first], [0.5 * v * v * decay, -np.expm1(-v) + v * (1.0 - 0.5 * v) * decay]])


def _noise_52(u: FloatArray) -> FloatArray:
    """``16/3`` times the integral of ``a(s) a(s)'`` with ``a = exp(-s) (s^2/2, s - s^2/2, 1 - 2 s + s^2/2)``.

    ``G_k`` is the integral of ``s^k exp(-2 s)``.
    """
    G0, G1, G2, G3, G4 = (
        np.asarray(scale * gammainc(k + 1.0, 2.0 * u))
        for k, scale in enumerate((0.5, 0.25, 0.25, 0.375, 0.75))
    )
    return (16.0 / 3.0) * _symmetric(
        [
            [0.25 * G4],
            [0.5 * G3 - 0.25 * G4, G2 - G3 + 0.25 * G4],
            [
                0.5 * G2 - G3 + 0.25 * G4,
                G1 - 2.5 * G2 + 1.5 * G3 - 0.25 * G4,
                G0 - 4.0 * G1 + 5.0 * G2 - 2.0 * G3 + 0.25 * G4,
            ],
        ]
    )


MATERN_NOISES: dict[int, OfSteps] = {1: _noise_12, 2: _noise_32, 3: _noise_52}


def _symmetric(rows: list[list[FloatArray]]) -> FloatArray:
    """Matrices of shape (k, d, d) from the rows of their lower triangles."""
    d = len(rows)
    whole = np.empty((len(rows[0][0]), d, d))
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            whole[:, i, j] = whole[:, j, i] = entry
    return whole
