"""Data in which nothing is wrong, of every kind that people have.

A variant draws a function and observations of it, at training and test inputs together, so that paths such as
random walks are one path at both. Inputs lie in the unit cube: a single one evenly spaced, as in a series,
several as a Latin hypercube. Seeds depend on variant, n and trial.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri
from scipy.stats.qmc import LatinHypercube

from benchmarks.optimisation_functions import (
    BOREHOLE,
    BRANIN,
    OTL_CIRCUIT,
    PISTON,
    BoxFunction,
    ackley_of,
    griewank_of,
    michalewicz_of,
    rosenbrock_of,
)

TEST_ROWS = 200
# Sums of so many cosines are close to draws of a Gaussian process.
COSINES = 256
# Length scale of smooth functions of one input, as a fraction of its range; it grows with the root of d.
LENGTH_SCALE = 0.2
# Observations in a period of what has a rhythm: hours of a day.
PERIOD = 24

Array: TypeAlias = np.ndarray
Rng: TypeAlias = np.random.Generator
# The true function at each row, and an observation of it.
Drawn: TypeAlias = tuple[Array, Array]
Draw: TypeAlias = Callable[[Rng, Array], Drawn]


@dataclass(frozen=True, eq=False)
class CleanData:
    """Observations without outliers; the truth and fresh observations at other inputs."""

    X: Array
    y: Array
    X_test: Array
    truth: Array
    y_test: Array


@dataclass(frozen=True, eq=False)
class Variant:
    """One way to draw data of a kind."""

    kind: str
    name: str
    d: int
    draw: Draw

    @property
    def title(self) -> str:
        """Kind and name, by which it is known."""
        return f"{self.kind}: {self.name}"

    def data(self, n: int, trial: int) -> CleanData:
        """The same data whenever asked for."""
        rng = np.random.default_rng([zlib.crc32(self.title.encode()), n, trial])
        X = np.linspace(0.0, 1.0, n)[:, None] if self.d == 1 else LatinHypercube(self.d, rng=rng).random(n)
        X = np.vstack([X, rng.random((TEST_ROWS, self.d))])
        f, y = self.draw(rng, X)
        return CleanData(X[:n], y[:n], X[n:], f[n:], y[n:])


# ------------------------------------------------------------------------- functions and normal noise


def smooth(rng: Rng, X: Array) -> Array:
    """A draw of a Gaussian process with zero mean, unit variance and squared exponential kernel."""
    d = X.shape[1]
    frequencies = rng.standard_normal((d, COSINES)) / (LENGTH_SCALE * np.sqrt(d))
    phases = rng.uniform(0.0, 2.0 * np.pi, COSINES)
    return np.asarray(np.sqrt(2.0 / COSINES) * np.cos(X @ frequencies + phases).sum(axis=1))


def positive(rng: Rng, X: Array) -> Array:
    """A smooth positive function that mostly stays between a quarter and four."""
    return np.exp(0.7 * smooth(rng, X))


def normal(rng: Rng, f: Array, noise: float | Array) -> Drawn:
    """A function with normal noise of given standard deviation."""
    return f, f + noise * rng.standard_normal(f.size)


def signal(rng: Rng, X: Array, amplitude: float, noise: float) -> Drawn:
    """A smooth function of given amplitude; none leaves noise alone."""
    return normal(rng, amplitude * smooth(rng, X), noise)


def friedman(rng: Rng, X: Array) -> Drawn:
    """Friedman's function of five inputs, whatever the others are."""
    interaction = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return normal(rng, interaction + 20.0 * (X[:, 2] - 0.5) ** 2 + 10.0 * X[:, 3] + 5.0 * X[:, 4], 1.0)


def experiment(rng: Rng, X: Array, function: BoxFunction, noise: float) -> Drawn:
    """A test function, with noise as a fraction of its standard deviation."""
    f = function.on_unit_cube(X)
    return normal(rng, f, noise * f.std())


# --------------------------------------------------------------------------------------- other noise


def student_t(rng: Rng, X: Array) -> Drawn:
    """Heavy tails: four degrees of freedom."""
    f = smooth(rng, X)
    return f, f + 0.2 * rng.standard_t(4.0, f.size)


def laplace(rng: Rng, X: Array) -> Drawn:
    """A sharp peak and exponential tails."""
    f = smooth(rng, X)
    return f, f + rng.laplace(0.0, 0.2, f.size)


def lognormal(rng: Rng, X: Array, noise: float) -> Drawn:
    """Skewed noise in proportion to the function, which is its median."""
    f = positive(rng, X)
    return f, f * np.exp(noise * rng.standard_normal(f.size))


def counts(rng: Rng, X: Array, typical: float) -> Drawn:
    """Poisson counts; the function is their rate, which is their mean."""
    f = typical * positive(rng, X)
    return f, rng.poisson(f).astype(np.float64)


def uniform(rng: Rng, X: Array, bound: float) -> Drawn:
    """Noise between bounds."""
    f = smooth(rng, X)
    return f, f + rng.uniform(-bound, bound, f.size)


def growing(rng: Rng, X: Array) -> Drawn:
    """Noise that grows tenfold along the first input."""
    return normal(rng, smooth(rng, X), 0.05 * 10.0 ** X[:, 0])


def proportional(rng: Rng, X: Array) -> Drawn:
    """Noise of a tenth of the function."""
    f = positive(rng, X)
    return normal(rng, f, 0.1 * f)


def in_the_middle(rng: Rng, X: Array) -> Drawn:
    """Noise that is large in the middle of the first input alone."""
    return normal(rng, smooth(rng, X), 0.05 + 0.5 * np.exp(-0.5 * ((X[:, 0] - 0.5) / 0.15) ** 2))


def rounded(rng: Rng, X: Array, amplitude: float, noise: float) -> Drawn:
    """Observations to the next whole number."""
    f, y = normal(rng, 20.0 + amplitude * smooth(rng, X), noise)
    return f, np.round(y)


def some_zero(rng: Rng, X: Array, rate: float) -> Drawn:
    """Zeros by chance among skewed amounts, such as rain; the function is the median of all."""
    f, noise = positive(rng, X), 0.5
    # That median is a lower quantile of the amounts, since all zeros lie below it.
    typical = f * np.exp(-noise * ndtri((0.5 - rate) / (1.0 - rate)))
    amounts = typical * np.exp(noise * rng.standard_normal(f.size))
    return f, np.where(rng.random(f.size) < rate, 0.0, amounts)


def zero_at_night(rng: Rng, X: Array) -> Drawn:
    """Three days of light: exactly zero half of the time, noise of a twentieth of the level otherwise."""
    f = np.maximum(0.0, np.sin(2.0 * np.pi * (3.0 * X[:, 0] + rng.random())))
    return normal(rng, f, 0.05 * f)


# -------------------------------------------------------------------------------------- shapes, paths


def steps(rng: Rng, X: Array, count: int) -> Drawn:
    """Levels with jumps between them, each at a random place in a stretch of its own."""
    edges = (np.arange(count) + rng.uniform(0.2, 0.8, count)) / count
    levels = np.cumsum(np.append(0.0, rng.choice([-1.0, 1.0], count) * rng.uniform(1.0, 2.0, count)))
    return normal(rng, levels[np.searchsorted(edges, X[:, 0])], 0.1)


def saw_teeth(rng: Rng, X: Array, count: int) -> Drawn:
    """Slow rises, sudden falls."""
    return normal(rng, (count * X[:, 0] + rng.random()) % 1.0, 0.05)


def peaks(rng: Rng, X: Array, count: int) -> Drawn:
    """Peaks of fifty times the noise, a tenth of the range wide or less, on a slope."""
    places = (np.arange(count) + rng.uniform(0.2, 0.8, count)) / count
    width = 0.05 / np.sqrt(count)
    f = 5.0 * np.exp(-0.5 * ((X - places) / width) ** 2).sum(axis=1) + 0.5 * X[:, 0]
    return normal(rng, f, 0.1)


def exponential(rng: Rng, X: Array, rate: float, even: float, relative: float) -> Drawn:
    """Growth or decay between 1 and 150, with noise that is even or in proportion."""
    f = np.exp(rate * X[:, 0] + max(0.0, -rate))
    return normal(rng, f, even + relative * f)


def in_turn(X: Array) -> tuple[Array, Array]:
    """Order of the rows in time, and the time from each to the next; one is that between observations."""
    order = np.argsort(X[:, 0], kind="stable")
    spacing = 1.0 / (len(X) - TEST_ROWS - 1)
    return order, np.diff(X[order, 0]) / spacing


def random_walk(rng: Rng, X: Array, noise: float) -> Drawn:
    """A path of independent steps of unit variance, with noise in units of a step."""
    order, passed = in_turn(X)
    f = np.empty(len(X))
    f[order] = np.cumsum(np.append(0.0, np.sqrt(passed) * rng.standard_normal(passed.size)))
    return normal(rng, f, noise)


def rhythm(rng: Rng, X: Array, correlation: float) -> Drawn:
    """Days of hourly observations whose noise is correlated from one to the next; the rhythm is the truth."""
    order, passed = in_turn(X)
    hours = X[:, 0] * (len(X) - TEST_ROWS - 1)
    kept = correlation**passed
    noise = rng.standard_normal(len(X))
    for i, share in enumerate(kept):
        noise[i + 1] = share * noise[i] + np.sqrt(1.0 - share**2) * noise[i + 1]
    f, y = np.sin(2.0 * np.pi * (hours / PERIOD + rng.random())), np.empty(len(X))
    y[order] = f[order] + 0.3 * noise
    return f, y


# ------------------------------------------------------------------------------------------- all kinds


def experiments(kind: str, *functions: BoxFunction, noise: float = 0.0) -> list[Variant]:
    """Test functions as variants of a kind."""
    label = "free of noise" if not noise else f"noise of {noise:g} sd"
    draws = ((each.d, partial(experiment, function=each, noise=noise)) for each in functions)
    return [Variant(kind, f"d = {d}, {label}", d, draw) for d, draw in draws]


VARIANTS: tuple[Variant, ...] = (
    *(
        Variant("noise alone", f"d = {d}", d, partial(signal, amplitude=0.0, noise=1.0))
        for d in (1, 2, 5, 10)
    ),
    *(
        Variant("weak signal", f"amplitude {size:g}, d = 2", 2, partial(signal, amplitude=size, noise=1.0))
        for size in (0.3, 0.7, 1.0, 1.5)
    ),
    Variant("weak signal", "amplitude 0.5, d = 1", 1, partial(signal, amplitude=0.5, noise=1.0)),
    Variant("normal noise", "d = 1", 1, partial(signal, amplitude=1.0, noise=0.1)),
    Variant("normal noise", "d = 3", 3, partial(signal, amplitude=1.0, noise=0.1)),
    Variant("normal noise", "Friedman, d = 10", 10, friedman),
    Variant("Student-t(4) noise", "d = 1", 1, student_t),
    Variant("Student-t(4) noise", "d = 3", 3, student_t),
    Variant("Laplace noise", "d = 1", 1, laplace),
    Variant("Laplace noise", "d = 3", 3, laplace),
    Variant("lognormal", "sigma 0.3, d = 1", 1, partial(lognormal, noise=0.3)),
    Variant("lognormal", "sigma 0.7, d = 2", 2, partial(lognormal, noise=0.7)),
    Variant("Poisson", "rates around 1.5", 1, partial(counts, typical=1.5)),
    Variant("Poisson", "rates around 20", 1, partial(counts, typical=20.0)),
    Variant("heteroscedastic", "grows tenfold, d = 1", 1, growing),
    Variant("heteroscedastic", "grows tenfold, d = 3", 3, growing),
    Variant("heteroscedastic", "a tenth of the level", 1, proportional),
    Variant("heteroscedastic", "in the middle", 1, in_the_middle),
    Variant("uniform noise", "half the signal", 1, partial(uniform, bound=0.5)),
    Variant("uniform noise", "as large as the signal", 1, partial(uniform, bound=1.0)),
    Variant("rounded", "noise of 0.3 steps", 1, partial(rounded, amplitude=1.5, noise=0.3)),
    Variant("rounded", "noise of a step", 1, partial(rounded, amplitude=1.5, noise=1.0)),
    Variant("rounded", "no noise", 1, partial(rounded, amplitude=3.0, noise=0.0)),
    Variant("rounded", "a constant", 1, partial(rounded, amplitude=0.0, noise=0.5)),
    Variant("steps", "one", 1, partial(steps, count=1)),
    Variant("steps", "five", 1, partial(steps, count=5)),
    Variant("saw-teeth", "three", 1, partial(saw_teeth, count=3)),
    Variant("saw-teeth", "six", 1, partial(saw_teeth, count=6)),
    Variant("peaks", "one", 1, partial(peaks, count=1)),
    Variant("peaks", "three", 1, partial(peaks, count=3)),
    Variant("exponential growth", "even noise", 1, partial(exponential, rate=5.0, even=1.0, relative=0.0)),
    Variant("exponential growth", "noise of 5 %", 1, partial(exponential, rate=5.0, even=0.0, relative=0.05)),
    Variant("exponential decay", "even noise", 1, partial(exponential, rate=-5.0, even=1.0, relative=0.0)),
    Variant("exponential decay", "noise of 5 %", 1, partial(exponential, rate=-5.0, even=0.0, relative=0.05)),
    Variant("random walk", "exact", 1, partial(random_walk, noise=0.0)),
    Variant("random walk", "noise of a step", 1, partial(random_walk, noise=1.0)),
    Variant("AR(1) around a rhythm", "correlation 0.5", 1, partial(rhythm, correlation=0.5)),
    Variant("AR(1) around a rhythm", "correlation 0.9", 1, partial(rhythm, correlation=0.9)),
    Variant("zero inflation", "a third by chance", 1, partial(some_zero, rate=1.0 / 3.0)),
    Variant("zero inflation", "at night", 1, zero_at_night),
    *experiments("Branin", BRANIN),
    *experiments("Branin", BRANIN, noise=0.1),
    *experiments("Rosenbrock", *map(rosenbrock_of, (2, 5))),
    *experiments("Ackley", *map(ackley_of, (2, 5))),
    *experiments("Michalewicz", *map(michalewicz_of, (2, 5))),
    *experiments("Griewank", *map(griewank_of, (2, 10))),
    *experiments("borehole", BOREHOLE),
    *experiments("borehole", BOREHOLE, noise=0.1),
    *experiments("piston", PISTON),
    *experiments("OTL circuit", OTL_CIRCUIT),
)
KINDS: tuple[str, ...] = tuple(dict.fromkeys(variant.kind for variant in VARIANTS))
