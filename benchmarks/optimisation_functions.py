"""Test functions of optimisation and of computer experiments, free of noise, in the units of their inputs.

Formulas, ranges and minima are those of Surjanovic and Bingham's Virtual Library of Simulation Experiments
(www.sfu.ca/~ssurjano). Hartmann, Goldstein-Price and Levy are left out: they are kept for judgements that
nothing here was chosen by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray


@dataclass(frozen=True, eq=False)
class BoxFunction:
    """A function on a box."""

    bounds: tuple[tuple[float, float], ...]
    at: Callable[[Array], Array]

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.bounds)

    def on_unit_cube(self, U: Array) -> Array:
        """Values at inputs given as fractions of their ranges."""
        low, high = np.array(self.bounds).T
        return self.at(low + U * (high - low))


def branin(X: Array) -> Array:
    """Three minima of 0.397887."""
    x, z = X.T
    ridge = z - 5.1 / (4.0 * np.pi**2) * x**2 + 5.0 / np.pi * x - 6.0
    return np.asarray(ridge**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x) + 10.0)


def rosenbrock(X: Array) -> Array:
    """A bent valley with its minimum of 0 at (1, ..., 1)."""
    x, after = X[:, :-1], X[:, 1:]
    return np.asarray(np.sum(100.0 * (after - x**2) ** 2 + (x - 1.0) ** 2, axis=1))


def ackley(X: Array) -> Array:
    """A funnel with ripples, and its minimum of 0 at the origin."""
    far = np.exp(-0.2 * np.sqrt(np.mean(X**2, axis=1)))
    ripples = np.exp(np.mean(np.cos(2.0 * np.pi * X), axis=1))
    return np.asarray(-20.0 * far - ripples + 20.0 + np.e)


def michalewicz(X: Array) -> Array:
    """Flat but for steep, narrow valleys; the minimum of two inputs is -1.8013."""
    order = np.arange(1, X.shape[1] + 1)
    return np.asarray(-np.sum(np.sin(X) * np.sin(order * X**2 / np.pi) ** 20, axis=1))


def griewank(X: Array) -> Array:
    """A bowl with ripples, and its minimum of 0 at the origin."""
    order = np.arange(1, X.shape[1] + 1)
    return np.asarray(np.sum(X**2, axis=1) / 4000.0 - np.prod(np.cos(X / np.sqrt(order)), axis=1) + 1.0)


def borehole(X: Array) -> Array:
    """Water that flows through a borehole, in cubic metres a year."""
    r_w, r, T_u, H_u, T_l, H_l, L, K_w = X.T
    log_ratio = np.log(r / r_w)
    resistance = 1.0 + 2.0 * L * T_u / (log_ratio * r_w**2 * K_w) + T_u / T_l
    return np.asarray(2.0 * np.pi * T_u * (H_u - H_l) / (log_ratio * resistance))


def piston(X: Array) -> Array:
    """Seconds in which a piston completes a cycle."""
    M, S, V_0, k, P_0, T_a, T_0 = X.T
    gas = P_0 * V_0 * T_a / T_0
    A = P_0 * S + 19.62 * M - k * V_0 / S
    V = S / (2.0 * k) * (np.sqrt(A**2 + 4.0 * k * gas) - A)
    return np.asarray(2.0 * np.pi * np.sqrt(M / (k + S**2 * gas / V**2)))


def otl_circuit(X: Array) -> Array:
    """Midpoint voltage of a push-pull circuit without output transformer."""
    R_b1, R_b2, R_f, R_c1, R_c2, beta = X.T
    V_b1 = 12.0 * R_b2 / (R_b1 + R_b2)
    gain = beta * (R_c2 + 9.0)
    return np.asarray(
        (V_b1 + 0.74) * gain / (gain + R_f)
        + 11.35 * R_f / (gain + R_f)
        + 0.74 * R_f * gain / ((gain + R_f) * R_c1)
    )


BRANIN = BoxFunction(((-5.0, 10.0), (0.0, 15.0)), branin)
BOREHOLE = BoxFunction(
    (
        (0.05, 0.15),
        (100.0, 50_000.0),
        (63_070.0, 115_600.0),
        (990.0, 1110.0),
        (63.1, 116.0),
        (700.0, 820.0),
        (1120.0, 1680.0),
        (9855.0, 12_045.0),
    ),
    borehole,
)
PISTON = BoxFunction(
    (
        (30.0, 60.0),
        (0.005, 0.020),
        (0.002, 0.010),
        (1000.0, 5000.0),
        (90_000.0, 110_000.0),
        (290.0, 296.0),
        (340.0, 360.0),
    ),
    piston,
)
OTL_CIRCUIT = BoxFunction(
    ((50.0, 150.0), (25.0, 70.0), (0.5, 3.0), (1.2, 2.5), (0.25, 1.2), (50.0, 300.0)), otl_circuit
)


def rosenbrock_of(d: int) -> BoxFunction:
    """On its usual box."""
    return BoxFunction(((-5.0, 10.0),) * d, rosenbrock)


def ackley_of(d: int) -> BoxFunction:
    """On its usual box."""
    return BoxFunction(((-32.768, 32.768),) * d, ackley)


def michalewicz_of(d: int) -> BoxFunction:
    """On its usual box."""
    return BoxFunction(((0.0, np.pi),) * d, michalewicz)


def griewank_of(d: int) -> BoxFunction:
    """Where its ripples count: on the usual box of 600, they are noise at any affordable number of rows."""
    return BoxFunction(((-5.0, 5.0),) * d, griewank)
