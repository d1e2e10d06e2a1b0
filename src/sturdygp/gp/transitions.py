"""A kernel's state-space form in the coordinates that the recursion works in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Kernel
from sturdygp.kernels.state_space import StateSpace, state_space

# A, U and V of steps.
Tables: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
Factor: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Transitions:
    """States with the function first: that of the block of most variance gives way to the sum of all.

    ``to`` turns the states of the blocks into these, ``back`` turns them back.
    """

    kernel: Kernel
    space: StateSpace
    to: FloatArray
    back: FloatArray

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """Put the block of most variance first."""
        space = state_space(kernel)
        # The variance of trends is that of their start: they give way to others.
        size = [0.0 if block.start is not None else block.P[0, 0] for block in space.blocks]
        largest = int(np.argmax(size))
        first, *others = space.blocks[largest], *space.blocks[:largest], *space.blocks[largest + 1 :]
        space = replace(space, blocks=(first, *others))
        to, back = np.eye(space.size), np.eye(space.size)
        to[0, space.starts] = 1.0
        back[0, space.starts[1:]] = -1.0
        return cls(kernel, space, to, back)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Their sizes."""
        return tuple(block.size for block in self.space.blocks)

    def __reduce__(self) -> tuple[Callable[[Kernel], Transitions], tuple[Kernel]]:
        """A copy is made of the kernel, from which all else follows."""
        return Transitions.of, (self.kernel,)

    def tables(self, dt: FloatArray) -> Tables:
        """What the recursion needs of steps."""
        A = self.to @ self.space.A(dt) @ self.back
        U, V = self._noise(dt)
        return np.ascontiguousarray(A), np.ascontiguousarray(self.to @ U), V

    def initial(self, time: float) -> Factor:
        """``L`` and ``D`` of the covariance before the first observation."""
        U, V = upper_factor(self.space.initial(time)[None])
        return lower_factor(self.to @ U[0], V[0])

    def derivatives(self, dt: FloatArray, by_flow: FloatArray, by_noise: FloatArray) -> FloatArray:
        """Derivatives by the kernel's parameters, given sums for each step (see ``run_backward``)."""
        # Where sums are complex they stand last: ``vdot`` conjugates its first argument.
        total = np.zeros(self.space.n_parameters, by_noise.dtype)
        for start, block in zip(self.space.starts, self.space.blocks, strict=True):
            here = slice(start, start + block.size)
            to, back = self.to[:, here], self.back[here]
            M = to.T @ by_noise @ to
            if block.scaled_by:
                total[list(block.scaled_by)] += 0.5 * np.vdot(block.Q(dt), M)
            if block.stretches:
                time = np.where(dt < block.remembers, dt, 0.0)
                flow = np.tensordot(time, back @ by_flow @ to, 1)
                noise = np.tensordot(time, M, 1)
                for s in block.stretches:
                    total[s.parameter] += np.vdot(s.generator.T, flow) + 0.5 * np.vdot(s.diffusion, noise)
        return total

    def initial_derivatives(self, time: float, by_noise: FloatArray) -> FloatArray:
        """Derivatives through the covariance before the first observation."""
        M = self.to.T @ by_noise @ self.to
        return np.asarray(0.5 * np.tensordot(self.space.initial_derivatives(time), M, 2))

    def _noise(self, dt: FloatArray) -> Factor:
        """Of all blocks."""
        d = self.space.size
        U, V = np.zeros((len(dt), d, d)), np.zeros((len(dt), d))
        for start, block in zip(self.space.starts, self.space.blocks, strict=True):
            here = slice(start, start + block.size)
            U[:, here, here], V[:, here] = upper_factor(block.Q(dt))
        return U, V


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
