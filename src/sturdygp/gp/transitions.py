"""A kernel's state-space form in the coordinates that the recursion works in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any, Self, TypeAlias

import numpy as np

from sturdygp._compiled import LARGEST, compiled
from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Kernel
from sturdygp.kernels.state_space import FORGOTTEN, Block, StateSpace, state_space

# A, U and V of steps.
Tables: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
Factor: TypeAlias = tuple[FloatArray, FloatArray]


def series(k: int, terms: int) -> tuple[float, ...]:
    """What is left of an exponential from ``v^k / k!`` on, relative to that: the highest power first."""
    return tuple(factorial(k) / factorial(k + j) for j in range(terms - 1, -1, -1))


# An incomplete gamma function is a series below ``NEAR``, where these terms, an even number, give all digits;
# beyond it the difference that defines it loses none that matter.
NEAR_3, SERIES_3 = 0.5, series(3, 14)
NEAR_5, SERIES_5 = 1.5, series(5, 18)
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Transitions:
    """States with the function first: that of the block of most variance gives way to the sum of all.

    ``x = to (states of the blocks)``, where the first entry is the sum of the first states of all blocks.
    """

    kernel: Kernel
    space: StateSpace

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """Put the block of most variance first."""
        blocks = state_space(kernel).blocks
        # The variance of trends is that of their start: they give way to others.
        size = [0.0 if block.start is not None else block.P[0, 0] for block in blocks]
        largest = int(np.argmax(size))
        first, *others = blocks[largest], *blocks[:largest], *blocks[largest + 1 :]
        return cls(kernel, StateSpace((first, *others), kernel.theta.size))

    def __reduce__(self) -> tuple[Callable[[Kernel], Transitions], tuple[Kernel]]:
        """A copy is made of the kernel, from which all else follows."""
        return Transitions.of, (self.kernel,)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Their sizes, where the recursion is written out for these."""
        return tuple(block.size for block in self.space.blocks) if self.space.size <= LARGEST else ()

    @property
    def to(self) -> FloatArray:
        """From the states of the blocks to these."""
        to = np.eye(self.space.size)
        to[0, self.space.starts] = 1.0
        return to

    @property
    def back(self) -> FloatArray:
        """From these to the states of the blocks."""
        back = np.eye(self.space.size)
        back[0, self.space.starts[1:]] = -1.0
        return back

    def tables(self, dt: FloatArray) -> Tables:
        """What the recursion needs of steps: ``A``, and ``Q = U diag(V) U'``."""
        d = self.space.size
        A, U, V = np.zeros((len(dt), d, d)), np.zeros((len(dt), d, d)), np.empty((len(dt), d))
        for start, block in zip(self.space.starts, self.space.blocks, strict=True):
            fill(block, dt, (A, U, V), start)
        arrange(np.array([*self.space.starts, d]), A, U)
        return A, U, V

    def initial(self, time: float) -> Factor:
        """``L`` and ``D`` of the covariance before the first observation."""
        U, V = upper_factor(self.space.initial(time)[None])
        return lower_factor(self.to @ U[0], V[0])

    def derivatives(self, dt: FloatArray, tables: Tables, by_flow: Any, by_noise: Any) -> Any:
        """Derivatives by the kernel's parameters, given sums for each step (see ``run_backward``)."""
        space, kind = self.space, by_noise.dtype
        d, blocks = space.size, space.blocks
        remembers = np.array([block.remembers for block in blocks])
        columns, flows, noises = np.zeros(d, kind), *np.zeros((2, len(blocks), d, d), kind)
        contract(dt, tables, by_flow, by_noise, remembers, (columns, flows, noises))
        # Where sums are complex they stand last: ``vdot`` conjugates its first argument.
        total = np.zeros(space.n_parameters, kind)
        for b, (start, block) in enumerate(zip(space.starts, blocks, strict=True)):
            here = slice(start, start + block.size)
            total[list(block.scaled_by)] += 0.5 * columns[here].sum()
            flow = self.back[here] @ flows[b] @ self.to[:, here]
            noise = self.to[:, here].T @ noises[b] @ self.to[:, here]
            for s in block.stretches:
                total[s.parameter] += np.vdot(s.generator.T, flow) + 0.5 * np.vdot(s.diffusion, noise)
        return total

    def initial_derivatives(self, time: float, by_noise: Any) -> Any:
        """Derivatives through the covariance before the first observation."""
        M = self.to.T @ by_noise @ self.to
        return 0.5 * np.tensordot(self.space.initial_derivatives(time), M, 2)


def fill(block: Block, dt: FloatArray, tables: Tables, start: int) -> None:
    """Transitions and noise of one block, from a state on."""
    form, here = block.form, slice(start, start + block.size)
    if form is None:
        A, U, V = tables
        A[:, here, here] = block.A(dt)
        U[:, here, here], V[:, here] = upper_factor(block.Q(dt))
        return
    u = np.minimum(form.rate * dt, FORGOTTEN)
    d = form.states
    parts = np.empty((d * d, len(dt))), np.empty((d * (d - 1) // 2, len(dt))), np.empty((d, len(dt)))
    MATERNS[d](u, np.exp(-u), form.variance, *parts)
    if form.frequency is None:
        place(d, start, parts, tables)
    else:
        angle = form.frequency * dt
        place_turning(d, start, parts, np.cos(angle), np.sin(angle), tables)


@compiled
def fill_matern_12(us: Any, decays: Any, variance: Any, M: Any, N: Any, noise: Any) -> None:
    """Entries of ``A``, of ``U`` above its diagonal, and of ``V``: each a row, with a column for each step.

    ``A`` and ``Q`` are those of ``matern_block`` in :mod:`sturdygp.kernels.state_space`. Entries of ``Q`` are
    made of incomplete gamma functions, and have all digits at any step; so have their factors.
    """
    for t in range(len(us)):
        v, square = 2.0 * us[t], decays[t] * decays[t]
        M[0, t] = decays[t]
        noise[0, t] = variance * incomplete_gamma_3(v, square, v * square + 0.5 * v * v * square)


@compiled
def fill_matern_32(us: Any, decays: Any, variance: Any, M: Any, N: Any, noise: Any) -> None:
    """The same for two states."""
    for t in range(len(us)):
        u, decay = us[t], decays[t]
        v, square = 2.0 * u, decay * decay
        M[0, t] = decay * (1.0 + u)
        M[1, t] = decay * u
        M[2, t] = -decay * u
        M[3, t] = decay * (1.0 - u)
        q00 = incomplete_gamma_3(v, square, 0.0)
        q01 = 0.5 * v * v * square
        q11 = q00 + 2.0 * v * square
        slope = q01 / max(q11, TINY)
        N[0, t] = slope
        noise[0, t] = variance * max(q00 - slope * q01, 0.0)
        noise[1, t] = variance * q11


@compiled
def fill_matern_52(us: Any, decays: Any, variance: Any, M: Any, N: Any, noise: Any) -> None:
    """The same for three states."""
    for t in range(len(us)):
        u, decay = us[t], decays[t]
        v, square, h = 2.0 * u, decay * decay, 0.5 * u * u
        M[0, t] = decay * (1.0 + u + h)
        M[1, t] = decay * (u + 2.0 * h)
        M[2, t] = decay * h
        M[3, t] = -decay * h
        M[4, t] = decay * (1.0 + u - 2.0 * h)
        M[5, t] = decay * (u - h)
        M[6, t] = decay * (h - u)
        M[7, t] = decay * (2.0 * h - 3.0 * u)
        M[8, t] = decay * (1.0 - 2.0 * u + h)
        # Incomplete gamma functions, from the highest on by sums of positive terms; ``G_k`` is the integral
        # of s^k exp(-2 s).
        g5 = incomplete_gamma_5(v, square)
        g4 = g5 + square * v * v * v * v / 24.0
        g3 = g4 + square * v * v * v / 6.0
        g2 = g3 + 0.5 * square * v * v
        g1 = g2 + square * v
        G0, G1, G2, G3, G4 = 0.5 * g1, 0.25 * g2, 0.25 * g3, 0.375 * g4, 0.75 * g5
        q00, q01, q02 = 0.25 * G4, 0.5 * G3 - 0.25 * G4, 0.5 * G2 - G3 + 0.25 * G4
        q11, q12 = G2 - G3 + 0.25 * G4, G1 - 2.5 * G2 + 1.5 * G3 - 0.25 * G4
        q22 = G0 - 4.0 * G1 + 5.0 * G2 - 2.0 * G3 + 0.25 * G4
        n02, n12 = q02 / max(q22, TINY), q12 / max(q22, TINY)
        middle, across = max(q11 - n12 * q12, 0.0), q01 - n12 * q02
        n01 = across / max(middle, TINY)
        N[0, t], N[1, t], N[2, t] = n01, n02, n12
        scale = variance * 16.0 / 3.0
        noise[0, t] = scale * max(q00 - n02 * q02 - n01 * across, 0.0)
        noise[1, t] = scale * middle
        noise[2, t] = scale * q22


MATERNS: dict[int, Callable[..., None]] = {1: fill_matern_12, 2: fill_matern_32, 3: fill_matern_52}


@compiled
def incomplete_gamma_3(v: Any, decay: Any, more: Any) -> Any:
    """``1 - exp(-v) (1 + v + v^2 / 2)``, regularised, given ``exp(-v)``; and something more.

    Where that would be a small difference, the series of what is left of the exponential.
    """
    far = 1.0 - decay * (1.0 + v + 0.5 * v * v)
    w, odd, even = v * v, 0.0, 0.0
    for j in range(len(SERIES_3) // 2):
        odd = odd * w + SERIES_3[2 * j]
        even = even * w + SERIES_3[2 * j + 1]
    near = decay * v * v * v * (even + v * odd) / 6.0
    return (far if v > NEAR_3 else near) + more


@compiled
def incomplete_gamma_5(v: Any, decay: Any) -> Any:
    """The same from the fifth power on."""
    w = v * v
    far = 1.0 - decay * (1.0 + v + 0.5 * w + w * v / 6.0 + w * w / 24.0)
    odd, even = 0.0, 0.0
    for j in range(len(SERIES_5) // 2):
        odd = odd * w + SERIES_5[2 * j]
        even = even * w + SERIES_5[2 * j + 1]
    near = decay * w * w * v * (even + v * odd) / 120.0
    return far if v > NEAR_5 else near


@compiled
def place(d: Any, start: Any, parts: Any, tables: Any) -> None:
    """Put entries where they stand in the tables, and one on the diagonal of ``U``."""
    M, N, noise = parts
    A, U, V = tables
    for t in range(len(A)):
        above = 0
        for i in range(d):
            for j in range(d):
                A[t, start + i, start + j] = M[d * i + j, t]
            U[t, start + i, start + i] = 1.0
            V[t, start + i] = noise[i, t]
            for j in range(i + 1, d):
                U[t, start + i, start + j] = N[above, t]
                above += 1


@compiled
def place_turning(d: Any, start: Any, parts: Any, cosine: Any, sine: Any, tables: Any) -> None:
    """The same for states that turn."""
    M, N, noise = parts
    A, U, V = tables
    for t in range(len(A)):
        above = 0
        for i in range(d):
            r = start + 2 * i
            for j in range(d):
                c, m = start + 2 * j, M[d * i + j, t]
                A[t, r, c] = A[t, r + 1, c + 1] = m * cosine[t]
                A[t, r, c + 1] = m * sine[t]
                A[t, r + 1, c] = -m * sine[t]
            for turn in range(2):
                U[t, r + turn, r + turn] = 1.0
                V[t, r + turn] = noise[i, t]
                for j in range(i + 1, d):
                    U[t, r + turn, start + 2 * j + turn] = N[above + j - i - 1, t]
            above += d - 1 - i


@compiled
def arrange(starts: Any, A: Any, U: Any) -> None:
    """Put the sum of the first states of all blocks in the place of the first state of the first block.

    ``A`` and ``U`` hold blocks, which end where the next ``starts``; the last entry of it is the end of all.
    """
    for t in range(len(A)):
        for b in range(1, len(starts) - 1):
            s = starts[b]
            # This sum less the other first states is what the first block's states came from.
            for i in range(starts[1]):
                A[t, i, s] = -A[t, i, 0]
            for j in range(s, starts[b + 1]):
                A[t, 0, j] += A[t, s, j]
                U[t, 0, j] = U[t, s, j]


@compiled
def contract(dt: Any, tables: Any, by_flow: Any, by_noise: Any, remembers: Any, sums: Any) -> None:
    """Sums over steps: ``V_c U_c' M U_c`` of each column; flow and noise times the step, of each block."""
    _, U, V = tables
    columns, flows, noises = sums
    d = len(columns)
    for t in range(len(dt)):
        for c in range(d):
            if V[t, c] > 0.0:
                total = 0.0 * columns[c]
                for i in range(d):
                    if U[t, i, c] != 0.0:
                        for j in range(d):
                            total += U[t, i, c] * by_noise[t, i, j] * U[t, j, c]
                columns[c] += V[t, c] * total
        for b in range(len(remembers)):
            if dt[t] < remembers[b]:
                for i in range(d):
                    for j in range(d):
                        flows[b, i, j] += dt[t] * by_flow[t, i, j]
                        noises[b, i, j] += dt[t] * by_noise[t, i, j]


def upper_factor(Q: FloatArray) -> Factor:
    """``Q = U diag(V) U'`` for a stack of positive semi-definite matrices, ``U`` a unit upper triangle."""
    Q, d = Q.copy(), Q.shape[-1]
    U, V = np.zeros_like(Q), np.zeros(Q.shape[:-1])
    for j in range(d - 1, -1, -1):
        V[:, j] = np.maximum(Q[:, j, j], 0.0)
        known = V[:, j] > 0.0
        U[:, : j + 1, j] = np.where(known, Q[:, : j + 1, j].T / np.where(known, V[:, j], 1.0), 0.0).T
        U[:, j, j] = 1.0
        column = U[:, :j, j]
        Q[:, :j, :j] -= V[:, j, None, None] * column[:, :, None] * column[:, None, :]
    return U, V


def lower_factor(W: FloatArray, V: FloatArray) -> Factor:
    """``W diag(V) W' = L diag(D) L'``, by orthogonalising rows."""
    W, d = W.copy(), len(W)
    L, D = np.eye(d), np.zeros(d)
    for j in range(d):
        products = W @ (V * W[j])
        D[j] = products[j]
        if D[j] > 0.0:
            L[j + 1 :, j] = products[j + 1 :] / D[j]
            W[j + 1 :] -= np.outer(L[j + 1 :, j], W[j])
    return L, D
