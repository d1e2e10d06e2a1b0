"""A candidate: one way to read the data, as far as it has been climbed, and what speaks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.methods.adaptive.bounded import bounded_gain
from sturdygp.methods.adaptive.clustering import clustering
from sturdygp.methods.adaptive.function import FunctionPrior
from sturdygp.methods.adaptive.likelihood import BranchLikelihood
from sturdygp.methods.adaptive.model import AdaptiveModel, Branches
from sturdygp.methods.adaptive.prior import FEW_READINGS
from sturdygp.methods.adaptive.screening import distinct
from sturdygp.methods.adaptive.uneven import TRUSTED, Unevenness
from sturdygp.methods.alternating import Start, Trail, resume
from sturdygp.methods.base import Problem
from sturdygp.optimise import Optimum
from sturdygp.status import Status

# Nats by which contamination must beat the explanation that there is none: clean data are common.
TRUST = 2.0
# Faults lie together if that is a surprise of this many standard deviations where they are independent.
TOGETHER = 4.0
# Share of nominal readings from which they may show what noise is like.
MOST = 0.5
# How far below the best a candidate is hopeless, in nats, beside what it gained of late.
HOPELESS = 1.0
# By how many nats readings must be predicted better to be trusted in spite of the bound.
CONVINCING = 6.0


@dataclass(frozen=True, eq=False)
class Candidate:
    """A climb in one variant of the model, and what its last part gained."""

    model: AdaptiveModel
    problem: Problem
    assumed: FunctionPrior
    optimum: Optimum[Trail[Branches]]
    gained: float

    @cached_property
    def value(self) -> float:
        """The ELBO and the structure prior, and what heteroscedastic noise would add."""
        uneven = self.uneven.gain if self.uneven else 0.0
        return self.optimum.value + uneven + self.structure_prior

    @property
    def assured(self) -> float:
        """The value without faults, and without what uneven noise promises: climbing may take that back."""
        faults = (1.0 - float(self.nominal.mean())) * self.nominal.size
        sure = faults < 1.0 and self.optimum.status is not Status.FAILED
        return self.optimum.value + TRUST if sure else -inf

    @property
    def share(self) -> float:
        """The share of nominal readings, where noise is larger than elsewhere if readings tell that."""
        return self.uneven.noise.share if self.uneven else float(self.nominal.mean())

    @property
    def clean(self) -> bool:
        """Whether not one reading is faulty."""
        return (1.0 - self.share) * self.nominal.size < 1.0

    @property
    def structure_prior(self) -> float:
        """Log prior odds of this explanation, in nats: the fewer inliers, the more may be chance.

        Out of mere noise a few observations can be chosen that agree, and out of few observations as many as
        out of a hundred.
        """
        n = self.nominal.size
        few, share = max(FEW_READINGS / n, 1.0), max(self.share, 1.0 / n)
        return TRUST if self.clean else -self.model.prior.caution * few * (share**-2 - 1.0)

    @property
    def clustered(self) -> bool:
        """Whether faults lie together, to judge by the kernel; not asked of more rows than it can join."""
        posterior = self.optimum.carry.posterior
        if posterior is None or self.problem.inducing is not None:
            return False
        return clustering(posterior.kernel(self.problem.inputs), self.nominal) > TOGETHER

    @cached_property
    def start(self) -> Start[Branches]:
        """Where it is, for going on from there."""
        return resume(self.problem.kernel, self.optimum)

    @property
    def likelihood(self) -> BranchLikelihood:
        """What it takes readings for."""
        return BranchLikelihood.at(self.start, self.model)

    @cached_property
    def uneven(self) -> Unevenness | None:
        """Where noise is larger than elsewhere, if readings tell that."""
        posterior = self.optimum.carry.posterior
        return None if posterior is None else Unevenness.of(self.problem, posterior, self.likelihood)

    @cached_property
    def bounded(self) -> float:
        """What noise within bounds gains if most readings are nominal, and it is the same everywhere."""
        posterior = self.optimum.carry.posterior
        if posterior is None or self.uneven or self.nominal.mean() < MOST:
            return 0.0
        return bounded_gain(self.problem.y, posterior.leave_one_out(), self.nominal)

    @cached_property
    def foretold(self) -> float:
        """Log densities of all readings, each as the others predict it: nominal or faulty."""
        posterior = self.optimum.carry.posterior
        others = None if posterior is None else posterior.leave_one_out()
        if others is None or not np.isfinite(others.mean).all():
            return -inf
        return float(self.likelihood.tilted(self.problem.y, others).log_z.sum())

    def tells_more_than(self, other: Candidate) -> bool:
        """Whether it trusts all readings that the other trusts, and more, and yet predicts them better."""
        trusted, before = self.nominal > TRUSTED, other.nominal > TRUSTED
        more = bool((trusted >= before).all() and (trusted > before).any())
        return more and self.foretold > other.foretold + CONVINCING

    def stopped(self) -> Candidate:
        """The same, ended by somebody's wish."""
        return replace(self, optimum=replace(self.optimum, status=Status.STOPPED))

    @property
    def outlook(self) -> float:
        """By how much further climbing may raise the bound, to judge by what it gained of late."""
        return self.gained if self.climbing else 0.0

    @property
    def climbing(self) -> bool:
        """Whether there is further to climb."""
        return self.optimum.status is Status.MAX_ITER

    @property
    def nominal(self) -> FloatArray:
        """Probability that each reading is nominal."""
        return np.asarray(self.optimum.carry.latent.responsibility[0])


def hopeful(rivals: list[Candidate]) -> list[Candidate]:
    """Those that differ and may still become the best, which is first; only that one if none still climbs.

    The bound tells. But it speaks against a function that varies more in some places than in others, such as
    a peak. There readings tell by themselves: what others predict is no fault. What noise within bounds would
    gain decides between those that have been climbed, but rules out none that climbs.
    """
    kept = distinct([c for c in rivals if c.optimum.status is not Status.FAILED])
    if not kept:
        raise NotPositiveDefiniteError(Status.FAILED.message)

    def judged(candidate: Candidate) -> float:
        return candidate.value + candidate.bounded

    least = max(candidate.value for candidate in kept) - HOPELESS
    kept = sorted(kept, key=judged, reverse=True)
    telling = [c for c in kept if c.tells_more_than(kept[0])]
    hoped = [c for c in kept if c in telling or judged(c) + c.outlook > least]
    best = max(telling, key=lambda c: c.foretold, default=kept[0])
    return [best, *(c for c in hoped if c is not best)] if any(c.climbing for c in hoped) else [best]
