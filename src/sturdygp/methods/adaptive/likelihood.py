"""The fitted likelihood: for expectation propagation, and for readings that were not trained on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import log
from typing import Literal, Self

import numpy as np
from scipy.special import expit, logsumexp, ndtr, softmax

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, TINY, Sites
from sturdygp.methods.adaptive.model import AdaptiveModel, Branches, Contamination
from sturdygp.methods.alternating import Start
from sturdygp.methods.base import Verdict

# Share of faults from which they are on one side.
MOSTLY = 0.8
# Share of readings that are faulty in a way not seen in the fit, and how much further off they may be.
UNSEEN, REACH = 1e-3, 10.0


@dataclass(frozen=True, eq=False)
class TiltedBranches:
    """Moments of cavity times likelihood, and the probability of each branch; the log density of both."""

    log_z: FloatArray
    moments: Marginals
    responsibility: FloatArray
    log_joint: FloatArray


@dataclass(frozen=True)
class Faults:
    """Mean and standard deviation of what faults add to the function, and the share of them above it.

    Where that was not kept, it is the share of normal ones.
    """

    shift: float
    spread: float
    above: float | None = None

    @classmethod
    def among(cls, residual: FloatArray, variance: FloatArray, faulty: FloatArray) -> Self:
        """Of readings that are faulty with these probabilities, where the function is not quite known."""
        count = float(faulty.sum())
        shift = float(faulty @ residual) / count
        second = float(faulty @ ((residual - shift) ** 2 - variance)) / count
        return cls(shift, float(np.sqrt(max(second, 0.0))), float(faulty @ (residual > 0.0)) / count)

    @property
    def lean(self) -> Literal["high", "low"] | None:
        """The side that most are on; None if there are many on both."""
        share = float(ndtr(self.shift / max(self.spread, TINY))) if self.above is None else self.above
        return "high" if share > MOSTLY else "low" if share < 1.0 - MOSTLY else None


@dataclass(frozen=True, eq=False)
class BranchLikelihood:
    """A mixture of normals: nominal first, then the cells of the contaminated branch.

    The prior of the contamination keeps it from being narrow; ``found`` are the faults as they are, if there
    are any. The nominal variance of a reading is the noise times its ``relative_noise``.
    """

    contamination: Contamination
    nominal: float
    found: Faults | None = None
    relative_noise: FloatArray = field(default_factory=lambda: np.ones(1))

    @classmethod
    def at(cls, start: Start[Branches], model: AdaptiveModel) -> Self:
        """That of a point of a climb."""
        contamination, nominal = Contamination.of(start.extra, model.shape), float(start.latent.nominal)
        return cls(contamination, nominal, relative_noise=model.relative_noise)

    @property
    def faults(self) -> Faults:
        """Those that were found, or those that would be expected."""
        c = self.contamination
        return self.found or Faults(float(c.shift), float(c.spread))

    @property
    def noise(self) -> float:
        """Variance of a nominal reading."""
        return float(self.contamination.noise)

    @cached_property
    def share(self) -> FloatArray:
        """Prior probability of each."""
        cells = self.contamination.shape.centres.size
        return np.append(self.nominal, np.full(cells, (1.0 - self.nominal) / cells))

    @cached_property
    def shift(self) -> FloatArray:
        """Mean of what each adds to the function."""
        return np.append(0.0, self.contamination.cell_shift)

    @cached_property
    def variance(self) -> FloatArray:
        """Its variance, in a row for each reading; or in one row for all."""
        noise = self.noise * self.relative_noise[:, None]
        cells = (len(noise), self.contamination.shape.centres.size)
        return np.hstack([noise, np.full(cells, self.contamination.cell_variance)])

    def tilted(self, y: FloatArray, cavity: Marginals, share: float = 1.0) -> TiltedBranches:
        """Integrate the likelihood against normal cavities."""
        if share != 1.0:
            raise NotImplementedError("a power of a mixture is not a mixture")
        total = cavity.variance[:, None] + self.variance
        delta = (y - cavity.mean)[:, None] - self.shift
        log_joint = np.log(self.share) - 0.5 * (LOG_2PI + np.log(total) + delta**2 / total)
        log_z = np.asarray(logsumexp(log_joint, axis=1))
        # Not above one, not even by rounding, however small all of them are.
        r = np.asarray(softmax(log_joint, axis=1))
        gain = cavity.variance[:, None] / total
        step = gain * delta
        mean_step = (r * step).sum(axis=1)
        variance = (r * (gain * self.variance + (step - mean_step[:, None]) ** 2)).sum(axis=1)
        return TiltedBranches(log_z, Marginals(cavity.mean + mean_step, variance), r, log_joint)

    def sites(self, y: FloatArray, responsibility: FloatArray) -> Sites:
        """Sites of readings whose branches have these probabilities; their scale is left out."""
        each = responsibility / self.variance
        precision = each.sum(axis=1)
        return Sites(y - each @ self.shift / precision, precision, np.zeros_like(precision))

    def weights(self, responsibility: FloatArray) -> FloatArray:
        """Share of its nominal precision that a reading keeps, on average over its branches."""
        precision = (responsibility / self.variance).sum(axis=1)
        return np.asarray(np.minimum(self.noise * self.relative_noise * precision, 1.0))

    def judge(self, y: FloatArray, mean: FloatArray, variance: FloatArray, noise: FloatArray) -> Verdict:
        """Judge readings ``y`` where the function is ``N(mean, variance)``, with this nominal noise.

        They may be faulty in a way that no reading of the fit was: on the other side, or much further off.
        """
        there = replace(self, relative_noise=noise / self.noise)
        tilted, distance = there.tilted(y, Marginals(mean, variance)), y - mean
        reach = REACH**2 * float(self.contamination.shift**2 + self.contamination.spread**2) + variance
        unseen = log(UNSEEN) - 0.5 * (LOG_2PI + np.log(reach) + distance**2 / reach)
        log_density = np.logaddexp(log(1.0 - UNSEEN) + tilted.log_z, unseen)
        nominal, *cells = log(1.0 - UNSEEN) + tilted.log_joint.T
        faulty = np.logaddexp.reduce([unseen, *cells], axis=0)
        return Verdict(log_density, np.asarray(expit(faulty - nominal)))
