"""The exact posterior of a process over time in O(n): filter, smoother and simulation smoother.

A kernel with a state-space form (:mod:`sturdygp.kernels.state_space`) makes a Markov process of a few states.
The seam's side of it is here; the compiled loops, and their numerics, are in :mod:`sturdygp.gp.recursion`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import BoolArray, FloatArray, IntArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.inputs import Inputs
from sturdygp.gp.posterior import (
    Anticipated,
    EvidenceGradient,
    LeaveOneOutGradient,
    Marginals,
    Posterior,
    Prior,
    check_test_inputs,
)
from sturdygp.gp.recursion import (
    cross_stretch,
    fill_covariance,
    run_backward,
    run_forward,
    sample_stretch,
)
from sturdygp.gp.sites import Sites
from sturdygp.gp.timeline import Steps, Timeline
from sturdygp.gp.transitions import Tables, Transitions
from sturdygp.kernels.base import Kernel

# Nodes between two copies of the filter's state: what lies between is filtered again, in the cache. Saved
# models hold these copies.
EVERY = 128
# Entries of the tables of transitions worked out at a time where all steps differ (1 MB).
TABLE_ENTRIES = 1 << 17
# Stretches of the series that predictions are made from one by one; more, and all of it is smoothed.
FEW_RUNS = 32
# A step into the complex plane so small that its square is nothing beside any number.
TINY_STEP = 1e-100

# Means, L and D of the states, of one node or of many.
State: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
# r and N, of one node or of many.
Later: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Piece:
    """Neighbouring nodes, and the steps that lead to them with what the recursion needs of each."""

    nodes: slice
    which: IntArray
    dt: FloatArray
    tables: Tables


@dataclass(frozen=True, eq=False)
class Sums:
    """What a filter gathers: ``log delta``, and weighted squares of the residuals of targets and of ones."""

    log_det: float
    targets: float
    both: float
    ones: float


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Of each node in order: moments, residual ``target - mean`` and ``1 - precision * variance``.

    ``later`` are ``r`` and ``N`` after each stretch; ``by_kernel`` are derivatives, where they were wanted.
    """

    mean: FloatArray
    variance: FloatArray
    residual: FloatArray
    shrinkage: FloatArray
    later: Later
    by_kernel: FloatArray | None


@dataclass(frozen=True, eq=False)
class Chain:
    """Nodes in order, from the time ``begins`` on, with their sites."""

    transitions: Transitions
    begins: float
    steps: Steps
    target: FloatArray
    precision: FloatArray
    tables: Tables | None = None

    @property
    def places(self) -> int:
        """The number of stretches."""
        return -(-len(self.steps) // EVERY)

    def __getstate__(self) -> dict[str, Any]:
        """A copy works its transitions out again."""
        return vars(self) | {"tables": None}

    def pieces(self, *, backwards: bool = False) -> Iterator[Piece]:
        """All nodes, as many at a time as transitions are in memory for."""
        n, steps, d = len(self.steps), self.steps, self.transitions.space.size
        if steps.which is not None and steps.distinct is not None:
            tables = self.tables or self.transitions.tables(steps.distinct)
            yield Piece(slice(0, n), steps.which, steps.distinct, tables)
            return
        size = EVERY * max(1, TABLE_ENTRIES // (EVERY * d * (2 * d + 1)))
        starts = range(0, n, size)
        for start in reversed(starts) if backwards else starts:
            nodes = slice(start, min(start + size, n))
            dt, which = steps.dt[nodes], np.arange(nodes.stop - start)
            if start == 0 and steps.first:
                which[0] = -1
            yield Piece(nodes, which, dt, self.transitions.tables(dt))

    def start(self, means: int) -> State:
        """The state before anything was observed, with so many means."""
        L, D = self.transitions.initial(self.begins)
        kind = self.target.dtype
        return np.zeros((means, len(D)), kind), L.astype(kind), D.astype(kind)

    def end(self) -> Later:
        """``r`` and ``N`` after the last node of all."""
        d, kind = self.transitions.space.size, self.target.dtype
        return np.zeros(d, kind), np.zeros((d, d), kind)

    def filter(self, state: State) -> tuple[Sums, State]:
        """Forwards, from the state before the first node, which is overwritten; keep it before stretches."""
        means, d = len(state[0]), self.transitions.space.size
        kind = self.target.dtype
        kept = (
            np.empty((self.places, means, d), kind),
            np.empty((self.places, d, d), kind),
            np.empty((self.places, d), kind),
        )
        total = np.zeros(4, kind)
        for piece in self.pieces():
            *sums, improper = run_forward(
                d,
                self.transitions.blocks,
                means,
                piece.which,
                piece.tables,
                (self.target[piece.nodes], self.precision[piece.nodes]),
                state,
                kept,
                EVERY,
                piece.nodes.start,
            )
            total += sums
            if improper >= 0:
                raise NotPositiveDefiniteError("negative precisions leave no proper posterior")
        if not np.isfinite(total).all():
            raise NotPositiveDefiniteError("the variance of the process is beyond what numbers can hold")
        return Sums(*total.tolist()), kept

    def smooth(self, kept: State, later: Later, *, derive: bool = False) -> Smoothed:
        """Backwards, from ``later`` after the last node, which is overwritten."""
        n, d, kind = len(self.steps), self.transitions.space.size, self.target.dtype
        moments = np.empty((4, n), kind)
        kept_later = np.empty((self.places, d), kind), np.empty((self.places, d, d), kind)
        by_kernel = np.zeros(self.transitions.space.n_parameters, kind)
        first = np.zeros((d, d), kind)
        for piece in self.pieces(backwards=True):
            by_flow, by_noise = np.zeros((2, len(piece.dt) + 1 if derive else 0, d, d), kind)
            run_backward(
                d,
                self.transitions.blocks,
                int(derive),
                piece.which,
                piece.tables,
                (self.target[piece.nodes], self.precision[piece.nodes]),
                kept,
                later,
                kept_later,
                tuple(moments[:, piece.nodes]),
                (by_flow, by_noise),
                EVERY,
                piece.nodes.start,
            )
            if derive:
                by_kernel += self.transitions.derivatives(piece.dt, piece.tables, by_flow[:-1], by_noise[:-1])
                first += by_noise[-1]
        if derive and self.steps.first:
            by_kernel += self.transitions.initial_derivatives(self.begins, first)
        mean, variance, residual, shrinkage = moments
        return Smoothed(mean, variance, residual, shrinkage, kept_later, by_kernel if derive else None)


@dataclass(frozen=True, eq=False)
class Run:
    """Neighbouring stretches of a series with further nodes among them, which are ``wanted``."""

    chain: Chain
    state: State
    later: Later
    wanted: BoolArray

    def marginals(self) -> Marginals:
        """Of the wanted nodes."""
        _, kept = self.chain.filter(self.state)
        smoothed = self.chain.smooth(kept, self.later)
        return Marginals(smoothed.mean[self.wanted], smoothed.variance[self.wanted])

    def covariance(self) -> FloatArray:
        """Between the wanted nodes."""
        d, m = self.chain.transitions.space.size, int(self.wanted.sum())
        cross = np.empty((m, d)), np.empty((m, d)), np.empty((m, d, d))
        B, count = np.eye(d), m
        for piece, nodes, kept in self._stretches_backwards():
            here = slice(piece.nodes.start + nodes.start, piece.nodes.start + nodes.stop)
            count = cross_stretch(
                d,
                self.chain.transitions.blocks,
                piece.which[nodes],
                piece.tables,
                (self.chain.target[here], self.chain.precision[here]),
                kept,
                self.later,
                self.wanted[here],
                B,
                cross,
                count,
            )
        covariance = np.empty((m, m))
        fill_covariance(cross, covariance)
        return covariance

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws at the wanted nodes, for a run that goes on to the end of the series."""
        d, m = self.chain.transitions.space.size, int(self.wanted.sum())
        draws, count = np.empty((m, size)), m
        told = np.zeros((size, d)), np.zeros((d, d)), np.full(d, np.inf)
        for piece, nodes, kept in self._stretches_backwards():
            here = slice(piece.nodes.start + nodes.start, piece.nodes.start + nodes.stop)
            count = sample_stretch(
                d,
                self.chain.transitions.blocks,
                piece.which[nodes],
                piece.tables,
                (self.chain.target[here], self.chain.precision[here]),
                kept,
                rng.standard_normal((nodes.stop - nodes.start, size, d)),
                told,
                self.wanted[here],
                draws,
                count,
            )
        return draws

    def _stretches_backwards(self) -> Iterator[tuple[Piece, slice, State]]:
        """Each stretch as a slice of a piece, with the filter's state before it."""
        _, (m, L, D) = self.chain.filter(self.state)
        for piece in self.chain.pieces(backwards=True):
            n = piece.nodes.stop - piece.nodes.start
            for start in range((n - 1) // EVERY * EVERY, -1, -EVERY):
                place = (piece.nodes.start + start) // EVERY
                yield piece, slice(start, min(start + EVERY, n)), (m[place, 0], L[place], D[place])


@dataclass(frozen=True, eq=False)
class MarkovMean:
    """The mean at any time: sites and steps are all it needs."""

    posterior: MarkovPosterior

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Its values at the rows of ``Z``."""
        return self.posterior.predict(Z).mean


@dataclass(frozen=True, eq=False)
class MarkovPosterior(Posterior):
    """Built by :class:`MarkovPrior`. ``kept`` are states of the filter, one before each stretch."""

    kernel: Kernel
    timeline: Timeline
    sites: Sites
    mean: float
    evidence: float
    chain: Chain
    kept: State

    @property
    def inputs(self) -> Inputs:
        """The training inputs."""
        return self.timeline.X

    @property
    def log_evidence(self) -> float:
        """``log of the integral of N(f | mean, K) prod_i site_i(f_i)``."""
        return self.evidence

    def gradient(self, by_left_out: FloatArray | None = None) -> EvidenceGradient:
        """Derivatives of the log evidence."""
        s, unsorted = self._derived, self.timeline.unsorted
        if s.by_kernel is None:
            raise RuntimeError("a backward pass for derivatives has none")
        alpha = self.chain.precision * s.residual
        return EvidenceGradient(
            kernel=s.by_kernel,
            mean=float(alpha.sum()),
            target=unsorted(-alpha),
            precision=unsorted(-0.5 * (s.residual**2 + s.variance)),
        )

    def marginals(self) -> Marginals:
        """The posterior of the function at each training input."""
        s, unsorted = self._smoothed, self.timeline.unsorted
        return Marginals(unsorted(s.mean), unsorted(s.variance))

    def leave_one_out(self, power: float = 1.0) -> Marginals:
        """Posterior at each training input without a power of its site; kernel and mean stay.

        Not finite where the function goes through a target exactly: nothing is left to predict it from.
        """
        s, unsorted = self._smoothed, self.timeline.unsorted
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = s.variance / (1.0 - power * (1.0 - s.shrinkage) if power < 1.0 else s.shrinkage)
            mean = s.mean - power * self.chain.precision * s.residual * variance
        return Marginals(unsorted(mean), unsorted(variance))

    def leave_one_out_gradient(self, by_mean: FloatArray, by_variance: FloatArray) -> LeaveOneOutGradient:
        """Derivatives of a function of the leave-one-out moments, given those with respect to the moments.

        With ``R = (K + T^-1)^-1``, ``a`` and ``b`` as in the exact posterior, the function changes with
        ``R a alpha' - R diag(b) R``. So does the gradient of the log evidence, ``(alpha alpha' - R) / 2``,
        along targets ``a - 2 b alpha`` and noise variances ``-2 b``. The recursion takes complex numbers: a
        tiny imaginary step gives the derivative to all digits.
        """
        s, precision = self._smoothed, self.chain.precision
        by_mean, by_variance = self.timeline.sorted(by_mean), self.timeline.sorted(by_variance)
        alpha = precision * s.residual
        q = precision * s.shrinkage
        a, b = by_mean / q, (by_mean * alpha - by_variance) / q**2
        along_target, along_noise = a - 2.0 * b * alpha, -2.0 * b
        along_precision = -(precision**2) * along_noise
        size = max(float(np.abs(along_target).max()), float(np.abs(along_precision).max())) or 1.0
        step = 1j * (TINY_STEP / size)
        chain = replace(
            self.chain,
            target=self.chain.target + step * along_target,
            precision=precision + step * along_precision,
        )
        _, kept = chain.filter(chain.start(1))
        moved = chain.smooth(kept, chain.end(), derive=True)
        rescale = size / TINY_STEP
        pulled = rescale * (chain.precision * moved.residual).imag
        # d log evidence / d noise = (alpha^2 - R_ii) / 2 with R_ii = precision * shrinkage.
        diagonal = (
            rescale * 0.5 * ((chain.precision * moved.residual) ** 2 - chain.precision * moved.shrinkage).imag
        )
        unsorted = self.timeline.unsorted
        # The targets' step moved alpha by R a in all.
        return LeaveOneOutGradient(
            kernel=rescale * np.asarray(moved.by_kernel).imag,
            target=unsorted(by_mean - pulled),
            noise=unsorted(diagonal - by_variance),
        )

    def predict_mean(self, Z: FloatArray) -> FloatArray:
        """Posterior mean of the function at the rows of ``Z``."""
        return self.predict(Z).mean

    @property
    def mean_function(self) -> MarkovMean:
        """The mean by itself, which needs no more than the posterior keeps."""
        return MarkovMean(self.compact())

    def predict(self, Z: FloatArray) -> Marginals:
        """Posterior mean and variance of the function at the rows of ``Z``."""
        times = check_test_inputs(Z, 1)[:, 0]
        order = np.argsort(times, kind="stable")
        mean, variance = np.empty((2, len(times)))
        done = 0
        for run in self._runs(times[order]):
            found = run.marginals()
            rows = order[done : done + len(found.mean)]
            mean[rows], variance[rows] = found.mean, found.variance
            done += len(rows)
        return Marginals(self.mean + mean, np.maximum(variance, 0.0))

    def covariance(self, Z: FloatArray) -> FloatArray:
        """Posterior covariance of the function between the rows of ``Z``."""
        times = check_test_inputs(Z, 1)[:, 0]
        order = np.argsort(times, kind="stable")
        covariance = np.empty((len(times), len(times)))
        covariance[np.ix_(order, order)] = self._run(times[order]).covariance()
        return covariance

    def sample(self, Z: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of the function at the rows of ``Z``, shape (len(Z), size): O(n + len(Z)) each."""
        times = check_test_inputs(Z, 1)[:, 0]
        order = np.argsort(times, kind="stable")
        draws = np.empty((len(times), size))
        draws[order] = self._run(times[order], to_the_end=True).sample(size, rng)
        return self.mean + draws

    def compact(self) -> Self:
        """The same posterior without the moments at its inputs."""
        return replace(self)

    @classmethod
    def restored(
        cls, kernel: Kernel, X: FloatArray, sites: Sites, mean: float, evidence: float, kept: State
    ) -> Self:
        """One that was kept by what does not follow from the rest without rounding."""
        prior = MarkovPrior.at(kernel, X)
        return cls(kernel, prior.timeline, sites, mean, evidence, prior.chain(sites, mean), kept)

    def __getstate__(self) -> dict[str, Any]:
        """A copy does not take moments along: they are found again where they are needed."""
        return {name: value for name, value in vars(self).items() if name not in {"_derived", "_plain"}}

    @property
    def _smoothed(self) -> Smoothed:
        """Without derivatives, unless these have been asked for."""
        with_derivatives: Smoothed | None = vars(self).get("_derived")
        return self._plain if with_derivatives is None else with_derivatives

    @cached_property
    def _plain(self) -> Smoothed:
        return self._shifted(self.chain.smooth(self.kept, self.chain.end()))

    @cached_property
    def _derived(self) -> Smoothed:
        return self._shifted(self.chain.smooth(self.kept, self.chain.end(), derive=True))

    def _shifted(self, smoothed: Smoothed) -> Smoothed:
        return replace(smoothed, mean=self.mean + smoothed.mean, variance=np.maximum(smoothed.variance, 0.0))

    def _runs(self, times: FloatArray) -> Iterator[Run]:
        """Stretches that times in order fall into, in one piece each where these are few."""
        follow = np.searchsorted(self.timeline.times, times, side="right")
        stretch = np.minimum(follow, len(self.timeline) - 1) // EVERY
        ends = np.flatnonzero(np.diff(stretch) > 1) + 1
        if len(ends) >= FEW_RUNS:
            yield self._run(times)
            return
        for part in np.split(np.arange(len(times)), ends):
            yield self._run(times[part])

    def _run(self, times: FloatArray, *, to_the_end: bool = False) -> Run:
        """All stretches from the first to the last that times in order fall into."""
        known, n = self.timeline.times, len(self.timeline)
        follow = np.searchsorted(known, times, side="right")
        first = min(int(follow[0]), n - 1) // EVERY
        last = (n - 1 if to_the_end else min(int(follow[-1]), n - 1)) // EVERY
        start, stop = first * EVERY, min((last + 1) * EVERY, n)
        wanted = np.zeros(stop - start + len(times), dtype=np.bool_)
        wanted[follow - start + np.arange(len(times))] = True
        merged, target, precision = np.empty(len(wanted)), np.zeros(len(wanted)), np.zeros(len(wanted))
        merged[wanted], merged[~wanted] = times, known[start:stop]
        target[~wanted] = self.chain.target[start:stop]
        precision[~wanted] = self.chain.precision[start:stop]
        before = float(known[start - 1]) if start else None
        chain = Chain(self.chain.transitions, float(merged[0]), Steps.of(merged, before), target, precision)
        m, L, D = self.kept
        state = (m[first].copy(), L[first].copy(), D[first].copy()) if start else chain.start(1)
        later = self.chain.end() if last == (n - 1) // EVERY else self._after(last)
        return Run(chain, state, later, wanted)

    def _after(self, stretch: int) -> Later:
        r, N = self._smoothed.later
        return r[stretch].copy(), N[stretch].copy()


@dataclass(frozen=True, eq=False)
class MarkovPrior(Prior):
    """A Gaussian process over time at the rows of ``X``, its transitions worked out once."""

    kernel: Kernel
    timeline: Timeline
    transitions: Transitions
    tables: Tables | None

    @classmethod
    def at(cls, kernel: Kernel, X: FloatArray | Timeline) -> Self:
        """Work out the transitions between the times; a timeline is sorted once for many kernels."""
        timeline = X if isinstance(X, Timeline) else Timeline.of(X)
        transitions = Transitions.of(kernel)
        # Refuses times at which the kernel is not defined.
        transitions.space.initial(float(timeline.times[0]))
        distinct = timeline.steps.distinct
        tables = None if distinct is None else transitions.tables(distinct)
        return cls(kernel, timeline, transitions, tables)

    @property
    def variance(self) -> FloatArray:
        """Prior variance of the function at each row."""
        return self.kernel.diag(self.timeline.X)

    def condition(self, sites: Sites, mean: float | None = None) -> MarkovPosterior:
        """Condition on sites; the mean maximises the evidence unless it is given."""
        sites.check_rows(len(self.timeline))
        centre = sites.centre if mean is None else mean
        chain = self.chain(sites, centre)
        sums, kept = chain.filter(chain.start(2 if mean is None else 1))
        shift = sums.both / sums.ones if mean is None and sums.ones > 0.0 else 0.0
        misfit = sums.targets - shift * sums.both
        if mean is None:
            # The filter is linear in the targets: the second mean is that of ones.
            m, L, D = kept
            kept, chain = (m[:, :1] - shift * m[:, 1:], L, D), self.chain(sites, centre + shift)
        evidence = float(sites.log_scale.sum()) - 0.5 * (sums.log_det + misfit)
        return MarkovPosterior(self.kernel, self.timeline, sites, centre + shift, evidence, chain, kept)

    def chain(self, sites: Sites, mean: float) -> Chain:
        """The sites in order, targets counted from a mean."""
        return Chain(
            transitions=self.transitions,
            begins=float(self.timeline.times[0]),
            steps=self.timeline.steps,
            target=self.timeline.sorted(sites.target - mean),
            precision=np.ascontiguousarray(self.timeline.sorted(sites.precision)),
            tables=self.tables,
        )

    def anticipate(self, sites: Sites, near: Posterior, warm_start: FloatArray | None) -> Anticipated | None:
        """One filter and smoother, less than half of an evaluation; a second one would not pay."""
        if not isinstance(near, MarkovPosterior):
            raise TypeError(f"a process over time is anticipated from its like, got {type(near)}")
        if warm_start is not None:
            return None
        mean = self.condition(sites, near.mean).marginals().mean
        return Anticipated(mean, mean)
