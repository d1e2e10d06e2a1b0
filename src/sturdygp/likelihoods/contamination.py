"""The likelihood: an observation is an inlier, or off by a random amount whose distribution is learned.

``y = f + e`` with ``e ~ N(0, noise)`` for an inlier and ``e = shift + spread * u`` for an outlier, where
``u`` has a fixed :class:`Shape` of zero mean and unit variance. The derivation is in
``docs/contamination.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, log, sqrt
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import expit, logsumexp, ndtr, softmax

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, TINY, Sites
from sturdygp.likelihoods.base import FittedLikelihood, Verdict
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.likelihoods.heteroscedastic import NoiseProfile

# Updates of the inlier weight for each update of the responsibilities: they cost O(n).
WEIGHT_UPDATES = 2


# Least ratio of spread to standard deviation of the noise that an initialisation supposes.
LEAST_RATIO = 2.5


# The largest weight of inliers: a contaminated component is never quite ruled out.
MOST_INLIERS = 1.0 - 1e-4


@dataclass(frozen=True, eq=False)
class Shape:
    """A standardised distribution of outliers: equally likely normal cells of one width."""

    name: str
    centres: FloatArray
    width: float

    @classmethod
    def normal(cls) -> Shape:
        """One cell."""
        return cls("normal", np.zeros(1), 1.0)

    @classmethod
    def flat(cls, cells: int) -> Shape:
        """Cells side by side: level in the middle, with edges as sharp as a cell is wide."""
        centres = (2.0 * np.arange(cells) + 1.0) / cells - 1.0
        width = 1.0 / cells
        scale = sqrt(float(np.mean(centres**2)) + width**2)
        return cls("flat", centres / scale, width / scale)


@dataclass(frozen=True, eq=False)
class MixtureState:
    """Responsibilities in rows, of inliers first and then of each cell of outliers; and the inlier weight.

    Like everything in this module they may have axes before the last ones, for several hypotheses at once.
    """

    responsibility: FloatArray
    inlier_weight: FloatArray

    def __getitem__(self, index: int) -> MixtureState:
        """One of several."""
        return MixtureState(self.responsibility[index], self.inlier_weight[index])

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Probability of each observation to be an inlier, to be in each cell, and to be an outlier."""
        inlier, cells = self.responsibility[..., 0, :], self.responsibility[..., 1:, :]
        return inlier, cells, cells.sum(axis=-2)


@dataclass(frozen=True, eq=False)
class Contamination:
    """Parameters in the units of the scaled targets: variance of the noise, and the cells of the outliers."""

    noise: FloatArray
    shift: FloatArray
    spread: FloatArray
    shape: Shape

    @classmethod
    def of(cls, extra: FloatArray, shape: Shape) -> Contamination:
        """From the logs of noise variance and spread, and the shift in spreads."""
        spread = np.exp(extra[..., 1])
        return cls(np.exp(extra[..., 0]), extra[..., 2] * spread, spread, shape)

    @property
    def extra(self) -> FloatArray:
        """The parameters as an optimiser sees them."""
        return np.stack([np.log(self.noise), np.log(self.spread), self.shift / self.spread], axis=-1)

    @property
    def cell_shift(self) -> FloatArray:
        """Mean of each cell."""
        return np.asarray(self.shift)[..., None] + np.multiply.outer(self.spread, self.shape.centres)

    @property
    def cell_variance(self) -> FloatArray:
        """Variance of every cell."""
        return (self.spread * self.shape.width) ** 2

    def responsibilities(self, residual: FloatArray, inlier: FloatArray) -> FloatArray:
        """Share outliers among the cells, for observations that are inliers with these probabilities."""
        by_cell = (residual - self.cell_shift[:, None]) ** 2
        cells = np.asarray(softmax(-0.5 * by_cell / self.cell_variance, axis=0))
        return np.vstack([inlier, (1.0 - inlier) * cells])

    def relative_densities(self, squared: FloatArray, by_cell: FloatArray, noise: FloatArray) -> FloatArray:
        """Densities for expected squared distances, of inliers in the first row; the largest is 1.

        ``noise`` is the variance for each observation, or for all.
        """
        cell_variance = column(self.cell_variance)
        log_density = np.concatenate(
            [
                (log_factor(noise) - 0.5 * squared / noise)[..., None, :],
                (log_factor(cell_variance)[..., None] - 0.5 * by_cell / cell_variance[..., None]),
            ],
            axis=-2,
        )
        log_density -= log_density.max(axis=-2, keepdims=True)
        np.exp(log_density, out=log_density)
        return log_density


@dataclass(frozen=True, eq=False)
class ContaminationModel:
    """The likelihood as a latent model; ``extra`` are log noise variance, log spread and offset.

    The noise variance at an observation is that of all times its ``relative_noise``.
    """

    y: FloatArray
    shape: Shape
    prior: ContaminationPrior
    relative_noise: FloatArray = field(default_factory=lambda: np.ones(1))

    def inlier_variance(self, c: Contamination) -> FloatArray:
        """The noise variance of each observation, or one that is the same for all."""
        return np.asarray(column(c.noise) * self.relative_noise)

    def sites(self, extra: FloatArray, latent: MixtureState) -> Sites:
        """Precisions of all components added up; their targets averaged; the rest stands in the scale."""
        c, r = Contamination.of(extra, self.shape), latent.responsibility
        inlier, cells, outlier = latent.parts
        cell_variance, shift = column(c.cell_variance), c.cell_shift[..., None, :]
        noise = self.inlier_variance(c)
        precision = inlier / noise + outlier / cell_variance
        # Distance of the target below the observation, and the spread of the components around it.
        below = (shift @ cells)[..., 0, :] / (cell_variance * precision)
        scatter = (shift**2 @ cells)[..., 0, :] / cell_variance - precision * below**2
        before_inlier = log_factor(noise) + column(np.log(latent.inlier_weight))
        before_cell = log_factor(c.cell_variance) + np.log(
            (1.0 - latent.inlier_weight) / self.shape.centres.size
        )
        entropy = -(r * np.log(np.maximum(r, 1e-300))).sum(axis=-2)
        log_scale = entropy + inlier * before_inlier + outlier * column(before_cell)
        return Sites(self.y - below, precision, log_scale - 0.5 * (scatter + LOG_2PI))

    def log_prior(self, extra: FloatArray, latent: MixtureState) -> FloatArray:
        """Log density of the soft floors, up to a constant."""
        p, log_noise, log_spread, offset = self.prior, extra[..., 0], extra[..., 1], extra[..., 2]
        noise = p.noise_dof * log_noise + p.noise_scale * np.exp(-log_noise)
        ratio, shift = p.ratio**2 * np.exp(log_noise - 2.0 * log_spread), (offset / p.offset) ** 2
        return -0.5 * (noise + ratio + shift) - p.nominal / latent.inlier_weight

    def extra_gradient(self, extra: FloatArray, latent: MixtureState, marginals: Marginals) -> FloatArray:
        """Derivatives for given responsibilities, of one hypothesis."""
        p, (log_noise, log_spread, offset) = self.prior, extra
        spread, squared_width = exp(log_spread), self.shape.width**2
        inlier, cells, outlier = latent.parts
        residual = self.y - marginals.mean
        second_moment = residual**2 + marginals.variance
        weighted = float(inlier @ (second_moment / self.relative_noise))
        by_noise = (weighted + p.noise_scale) * exp(-log_noise) - float(inlier.sum()) - p.noise_dof
        # Sums over cells of responsibility times residual distance, in spreads.
        pull = outlier * (residual / spread - offset) - self.shape.centres @ cells
        by_offset = float(pull.sum()) / squared_width
        stretch = float(pull @ residual) / spread + float(outlier @ marginals.variance) / spread**2
        by_spread = stretch / squared_width - float(outlier.sum())
        ratio = p.ratio**2 * exp(log_noise - 2.0 * log_spread)
        return np.array([0.5 * (by_noise - ratio), by_spread + ratio, by_offset - offset / p.offset**2])

    def update(self, extra: FloatArray, latent: MixtureState, marginals: Marginals) -> MixtureState:
        """Responsibilities and the inlier weight for these moments of the function."""
        c, inlier = Contamination.of(extra, self.shape), latent.inlier_weight
        residual, variance = self.y - marginals.mean, marginals.variance
        by_cell = (residual[..., None, :] - c.cell_shift[..., None]) ** 2 + variance[..., None, :]
        density = c.relative_densities(residual**2 + variance, by_cell, self.inlier_variance(c))
        as_inlier, as_outlier = density[..., 0, :], density[..., 1:, :].sum(axis=-2) / self.shape.centres.size
        for _ in range(WEIGHT_UPDATES):
            weight = column(inlier) * as_inlier
            inlier = self.best_inlier_weight(
                (weight / (weight + column(1.0 - inlier) * as_outlier)).sum(axis=-1)
            )
        density[..., 0, :] *= column(inlier)
        density[..., 1:, :] *= column((1.0 - inlier) / self.shape.centres.size)[..., None]
        density /= density.sum(axis=-2, keepdims=True)
        return MixtureState(density, inlier)

    def initial(
        self, residual: FloatArray, inlier: FloatArray, noise: float
    ) -> tuple[FloatArray, MixtureState]:
        """Parameters and latent part for observations that are inliers with these probabilities."""
        outlier = 1.0 - inlier
        shift = float(outlier @ residual / outlier.sum())
        spread = sqrt(float(outlier @ (residual - shift) ** 2 / outlier.sum()))
        noise = float(np.clip(noise, *np.exp(self.prior.box[0])))
        spread = max(spread, LEAST_RATIO * sqrt(noise))
        wanted = Contamination(np.array(noise), np.array(shift), np.array(spread), self.shape)
        c = Contamination.of(self.within_box(wanted.extra), self.shape)
        return c.extra, MixtureState(c.responsibilities(residual, inlier), inlier.mean())

    def best_extra(
        self, extra: FloatArray, latent: MixtureState, marginals: Marginals, burden: FloatArray
    ) -> FloatArray:
        """The noise that is optimal for this spread, then the spread and offset that are for this noise.

        Something else takes ``burden / 2`` nats for each unit of noise variance. In ``s = 1 / spread`` and
        ``o = offset`` the ELBO is a quadratic form plus ``N log s``.
        """
        p, width = self.prior, self.shape.width
        inlier, cells, outlier = latent.parts
        residual = self.y - marginals.mean
        second_moment = residual**2 + marginals.variance
        noise = positive_root(
            (p.ratio * np.exp(-extra[..., 1])) ** 2 + burden,
            inlier.sum(axis=-1) + p.noise_dof,
            (inlier * (second_moment / self.relative_noise)).sum(axis=-1) + p.noise_scale,
        )
        N, centres = np.maximum(outlier.sum(axis=-1), TINY), self.shape.centres @ cells
        e, u, eu = (outlier * residual).sum(axis=-1), centres.sum(axis=-1), (centres * residual).sum(axis=-1)
        held, by_ratio = N + (width / p.offset) ** 2, p.ratio**2 * noise
        squares = (outlier * second_moment).sum(axis=-1)
        s = positive_root((squares - e**2 / held) / width**2 + by_ratio, (e * u / held - eu) / width**2, N)
        offset = (s * e - u) / held
        low, high = self.prior.box[2]
        nearest = np.clip(offset, low, high)
        # With an offset that its bound holds, another spread is optimal.
        s_held = positive_root(squares / width**2 + by_ratio, -(nearest * e + eu) / width**2, N)
        s = np.where(nearest == offset, s, s_held)
        return self.within_box(np.stack([np.log(noise), -np.log(s), nearest], axis=-1))

    def within_box(self, extra: FloatArray) -> FloatArray:
        """Parameters no further out than their bounds."""
        return np.asarray(np.clip(extra, *self.prior.box.T))

    def best_inlier_weight(self, count: FloatArray) -> FloatArray:
        """Maximise ``count log p + (n - count) log(1 - p) - prior.nominal / p``."""
        n, floor = self.y.size, self.prior.nominal
        excess = count - floor
        return np.minimum((excess + np.sqrt(excess**2 + 4.0 * n * floor)) / (2.0 * n), MOST_INLIERS)


def log_factor(variance: FloatArray) -> FloatArray:
    """The logarithm of the factor of a normal density, but for ``2 pi``."""
    return np.asarray(-0.5 * np.log(variance))


def column(values: FloatArray) -> FloatArray:
    """One value for each hypothesis, against all observations."""
    return values[..., None]


def positive_root(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """The ``x > 0`` with ``a x^2 + b x = c``, for positive ``a`` and ``c``."""
    # Nearly equal numbers are never subtracted.
    both = np.abs(b) + np.sqrt(b**2 + 4.0 * a * c)
    return np.where(b > 0.0, 2.0 * c / both, both / (2.0 * a))


# Fraction of outliers from which they are on one side.
MOSTLY = 0.8


# Fraction of observations that are outliers in a way not seen in the fit, and how much further off they may
# be.
UNSEEN, REACH = 1e-3, 10.0


@dataclass(frozen=True, eq=False)
class TiltedMixture:
    """Moments of cavity times likelihood, and the probability of each component; the log density of both."""

    log_z: FloatArray
    moments: Marginals
    responsibility: FloatArray
    log_joint: FloatArray


@dataclass(frozen=True)
class OutlierMoments:
    """Mean and standard deviation of what outliers add to the function, and the share of them above it.

    Where that was not kept, it is the share of normal ones.
    """

    shift: float
    spread: float
    above: float | None = None

    @classmethod
    def among(cls, residual: FloatArray, variance: FloatArray, outlier: FloatArray) -> Self:
        """Moments of observations that are outliers with these probabilities."""
        count = float(outlier.sum())
        shift = float(outlier @ residual) / count
        second = float(outlier @ ((residual - shift) ** 2 - variance)) / count
        return cls(shift, float(np.sqrt(max(second, 0.0))), float(outlier @ (residual > 0.0)) / count)

    @property
    def lean(self) -> Literal["high", "low"] | None:
        """The side that most are on; None if there are many on both."""
        share = float(ndtr(self.shift / max(self.spread, TINY))) if self.above is None else self.above
        return "high" if share > MOSTLY else "low" if share < 1.0 - MOSTLY else None


@dataclass(frozen=True, eq=False)
class FittedContamination(FittedLikelihood):
    """The fitted likelihood, a mixture of normals: the inliers first, then the cells of the outliers.

    The prior of the contamination keeps it from being narrow; ``found`` are the outliers as they are, if
    there are any. The variance of an inlier is the noise times its ``relative_noise``.
    """

    tells_outliers: ClassVar[bool] = True

    contamination: Contamination
    inlier_weight: float
    found: OutlierMoments | None = None
    relative_noise: FloatArray = field(default_factory=lambda: np.ones(1))
    profile: NoiseProfile | None = None

    @property
    def noise_variance(self) -> float:
        """Variance of an inlier, about its geometric mean where that is heteroscedastic."""
        return self.noise

    @property
    def variance_function(self) -> NoiseProfile | None:
        """How the variance of inliers changes."""
        return self.profile

    @classmethod
    def at(cls, extra: FloatArray, latent: MixtureState, model: ContaminationModel) -> Self:
        """The likelihood at a point of an optimisation."""
        contamination = Contamination.of(extra, model.shape)
        return cls(contamination, float(latent.inlier_weight), relative_noise=model.relative_noise)

    @property
    def outliers(self) -> OutlierMoments:
        """Moments of the outliers that were found, or those that would be expected."""
        c = self.contamination
        return self.found or OutlierMoments(float(c.shift), float(c.spread))

    @property
    def noise(self) -> float:
        """Variance of an inlier."""
        return float(self.contamination.noise)

    @cached_property
    def share(self) -> FloatArray:
        """Prior probability of each."""
        cells = self.contamination.shape.centres.size
        return np.append(self.inlier_weight, np.full(cells, (1.0 - self.inlier_weight) / cells))

    @cached_property
    def shift(self) -> FloatArray:
        """Mean of what each adds to the function."""
        return np.append(0.0, self.contamination.cell_shift)

    @cached_property
    def variance(self) -> FloatArray:
        """Its variance, in a row for each observation; or in one row for all."""
        noise = self.noise * self.relative_noise[:, None]
        cells = (len(noise), self.contamination.shape.centres.size)
        return np.hstack([noise, np.full(cells, self.contamination.cell_variance)])

    def tilted(self, y: FloatArray, cavity: Marginals, share: float = 1.0) -> TiltedMixture:
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
        return TiltedMixture(log_z, Marginals(cavity.mean + mean_step, variance), r, log_joint)

    def sites(self, y: FloatArray, responsibility: FloatArray) -> Sites:
        """Sites of observations whose components have these probabilities; their scale is left out."""
        each = responsibility / self.variance
        precision = each.sum(axis=1)
        return Sites(y - each @ self.shift / precision, precision, np.zeros_like(precision))

    def weights(self, responsibility: FloatArray) -> FloatArray:
        """Fraction of an inlier's precision that an observation keeps, on average over its components."""
        precision = (responsibility / self.variance).sum(axis=1)
        return np.asarray(np.minimum(self.noise * self.relative_noise * precision, 1.0))

    def judge(self, y: FloatArray, mean: FloatArray, variance: FloatArray, noise: FloatArray) -> Verdict:
        """Judge observations where the function is ``N(mean, variance)``, for this noise variance.

        They may be outliers like none of the fit: on the other side, or much further off.
        """
        there = replace(self, relative_noise=noise / self.noise)
        tilted, distance = there.tilted(y, Marginals(mean, variance)), y - mean
        reach = REACH**2 * float(self.contamination.shift**2 + self.contamination.spread**2) + variance
        unseen = log(UNSEEN) - 0.5 * (LOG_2PI + np.log(reach) + distance**2 / reach)
        log_density = np.logaddexp(log(1.0 - UNSEEN) + tilted.log_z, unseen)
        inlier, *cells = log(1.0 - UNSEEN) + tilted.log_joint.T
        outlier = np.logaddexp.reduce([unseen, *cells], axis=0)
        return Verdict(log_density, np.asarray(expit(outlier - inlier)))
