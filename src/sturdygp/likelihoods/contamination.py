"""The contamination likelihood: an observation is an inlier, or off by an amount of learned distribution.

``y = f + e`` with ``e ~ N(0, noise)`` for an inlier and ``e = shift + scale * u`` for an outlier, where
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
from sturdygp.likelihoods.heteroscedastic import VarianceFunction

# Updates of the inlier weight for each update of the responsibilities: they cost O(n).
INLIER_WEIGHT_UPDATES = 2


# Least ratio of the outliers' scale to the standard deviation of the noise in an initialisation.
LEAST_INITIAL_RATIO = 2.5


# The largest mixing weight of inliers: outliers are never quite ruled out.
MOST_INLIERS = 1.0 - 1e-4


@dataclass(frozen=True, eq=False)
class Shape:
    """A standardised distribution of outliers: equally likely normal components of one width."""

    name: str
    centres: FloatArray
    width: float

    @classmethod
    def normal(cls) -> Shape:
        """One component."""
        return cls("normal", np.zeros(1), 1.0)

    @classmethod
    def flat(cls, components: int) -> Shape:
        """Components side by side: constant in the middle, with edges as sharp as a component is wide."""
        centres = (2.0 * np.arange(components) + 1.0) / components - 1.0
        width = 1.0 / components
        scale = sqrt(float(np.mean(centres**2)) + width**2)
        return cls("flat", centres / scale, width / scale)


@dataclass(frozen=True, eq=False)
class MixtureState:
    """Responsibilities in rows, of inliers first and then of each outlier component; and the inlier weight.

    Like everything in this module they may have leading axes, for several hypotheses at once.
    """

    responsibility: FloatArray
    inlier_weight: FloatArray

    def __getitem__(self, index: int) -> MixtureState:
        """Select one of several."""
        return MixtureState(self.responsibility[index], self.inlier_weight[index])

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Probabilities of being an inlier, of each outlier component, and of being an outlier."""
        inlier, components = self.responsibility[..., 0, :], self.responsibility[..., 1:, :]
        return inlier, components, components.sum(axis=-2)


@dataclass(frozen=True, eq=False)
class Contamination:
    """Parameters in the units of the scaled targets: noise variance; shift, scale and shape of outliers."""

    noise: FloatArray
    shift: FloatArray
    scale: FloatArray
    shape: Shape

    @classmethod
    def of(cls, parameters: FloatArray, shape: Shape) -> Contamination:
        """Read the logs of noise variance and scale, and the shift in scales."""
        scale = np.exp(parameters[..., 1])
        return cls(np.exp(parameters[..., 0]), parameters[..., 2] * scale, scale, shape)

    @property
    def parameters(self) -> FloatArray:
        """Likelihood parameters as an optimiser sees them."""
        return np.stack([np.log(self.noise), np.log(self.scale), self.shift / self.scale], axis=-1)

    @property
    def component_shift(self) -> FloatArray:
        """Mean of each outlier component."""
        return np.asarray(self.shift)[..., None] + np.multiply.outer(self.scale, self.shape.centres)

    @property
    def component_variance(self) -> FloatArray:
        """Variance of every outlier component."""
        return (self.scale * self.shape.width) ** 2

    def responsibilities(self, residual: FloatArray, inlier: FloatArray) -> FloatArray:
        """Responsibilities of all components, given the probabilities of being an inlier."""
        by_component = (residual - self.component_shift[:, None]) ** 2
        components = np.asarray(softmax(-0.5 * by_component / self.component_variance, axis=0))
        return np.vstack([inlier, (1.0 - inlier) * components])

    def relative_densities(
        self, squared: FloatArray, by_component: FloatArray, noise: FloatArray
    ) -> FloatArray:
        """Densities at expected squared distances, those of inliers in the first row; the largest is 1.

        ``noise`` is the variance for each observation, or for all.
        """
        component_variance = column(self.component_variance)
        log_density = np.concatenate(
            [
                (log_factor(noise) - 0.5 * squared / noise)[..., None, :],
                (
                    log_factor(component_variance)[..., None]
                    - 0.5 * by_component / component_variance[..., None]
                ),
            ],
            axis=-2,
        )
        log_density -= log_density.max(axis=-2, keepdims=True)
        np.exp(log_density, out=log_density)
        return log_density


@dataclass(frozen=True, eq=False)
class ContaminationModel:
    """Contamination as a latent model; ``parameters`` are log noise variance, log scale and offset.

    The noise variance of an observation is the common one times its ``relative_noise``.
    """

    y: FloatArray
    shape: Shape
    prior: ContaminationPrior
    relative_noise: FloatArray = field(default_factory=lambda: np.ones(1))

    def inlier_variance(self, c: Contamination) -> FloatArray:
        """Noise variance of each observation, or one for all."""
        return np.asarray(column(c.noise) * self.relative_noise)

    def sites(self, parameters: FloatArray, latent: MixtureState) -> Sites:
        """Add up the precisions of all components and average their targets; the rest is ``log_scale``."""
        c, r = Contamination.of(parameters, self.shape), latent.responsibility
        inlier, components, outlier = latent.parts
        component_variance, shift = column(c.component_variance), c.component_shift[..., None, :]
        noise = self.inlier_variance(c)
        precision = inlier / noise + outlier / component_variance
        # below = sum_k r_k d_k / (v precision); scatter = sum_k r_k d_k^2 / v - precision below^2
        below = (shift @ components)[..., 0, :] / (component_variance * precision)
        scatter = (shift**2 @ components)[..., 0, :] / component_variance - precision * below**2
        log_inlier_factor = log_factor(noise) + column(np.log(latent.inlier_weight))
        log_outlier_factor = log_factor(c.component_variance) + np.log(
            (1.0 - latent.inlier_weight) / self.shape.centres.size
        )
        entropy = -(r * np.log(np.maximum(r, 1e-300))).sum(axis=-2)
        log_scale = entropy + inlier * log_inlier_factor + outlier * column(log_outlier_factor)
        return Sites(self.y - below, precision, log_scale - 0.5 * (scatter + LOG_2PI))

    def log_prior(self, parameters: FloatArray, latent: MixtureState) -> FloatArray:
        """Log density of the soft floors, up to a constant."""
        p, log_noise, log_outlier_scale, offset = (
            self.prior,
            parameters[..., 0],
            parameters[..., 1],
            parameters[..., 2],
        )
        noise = p.noise_dof * log_noise + p.noise_scale * np.exp(-log_noise)
        ratio, shift = p.ratio**2 * np.exp(log_noise - 2.0 * log_outlier_scale), (offset / p.offset) ** 2
        return -0.5 * (noise + ratio + shift) - p.inliers / latent.inlier_weight

    def parameter_gradient(
        self, parameters: FloatArray, latent: MixtureState, marginals: Marginals
    ) -> FloatArray:
        """Derivatives for given responsibilities, of a single hypothesis."""
        p, (log_noise, log_outlier_scale, offset) = self.prior, parameters
        scale, squared_width = exp(log_outlier_scale), self.shape.width**2
        inlier, components, outlier = latent.parts
        residual = self.y - marginals.mean
        second_moment = residual**2 + marginals.variance
        weighted = float(inlier @ (second_moment / self.relative_noise))
        by_noise = (weighted + p.noise_scale) * exp(-log_noise) - float(inlier.sum()) - p.noise_dof
        # pull = sum_k r_k ((y - mu) / scale - offset - centre_k)
        pull = outlier * (residual / scale - offset) - self.shape.centres @ components
        by_offset = float(pull.sum()) / squared_width
        stretch = float(pull @ residual) / scale + float(outlier @ marginals.variance) / scale**2
        by_scale = stretch / squared_width - float(outlier.sum())
        ratio = p.ratio**2 * exp(log_noise - 2.0 * log_outlier_scale)
        return np.array([0.5 * (by_noise - ratio), by_scale + ratio, by_offset - offset / p.offset**2])

    def update(self, parameters: FloatArray, latent: MixtureState, marginals: Marginals) -> MixtureState:
        """Update the responsibilities and the inlier weight for these moments of the function."""
        c, inlier = Contamination.of(parameters, self.shape), latent.inlier_weight
        residual, variance = self.y - marginals.mean, marginals.variance
        by_component = (residual[..., None, :] - c.component_shift[..., None]) ** 2 + variance[..., None, :]
        density = c.relative_densities(residual**2 + variance, by_component, self.inlier_variance(c))
        as_inlier, as_outlier = density[..., 0, :], density[..., 1:, :].sum(axis=-2) / self.shape.centres.size
        for _ in range(INLIER_WEIGHT_UPDATES):
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
        """Return parameters and latent part, given the probabilities of being an inlier."""
        outlier = 1.0 - inlier
        shift = float(outlier @ residual / outlier.sum())
        scale = sqrt(float(outlier @ (residual - shift) ** 2 / outlier.sum()))
        noise = float(np.clip(noise, *np.exp(self.prior.box[0])))
        scale = max(scale, LEAST_INITIAL_RATIO * sqrt(noise))
        unbounded = Contamination(np.array(noise), np.array(shift), np.array(scale), self.shape)
        c = Contamination.of(self.within_box(unbounded.parameters), self.shape)
        return c.parameters, MixtureState(c.responsibilities(residual, inlier), inlier.mean())

    def best_parameters(
        self, parameters: FloatArray, latent: MixtureState, marginals: Marginals, burden: FloatArray
    ) -> FloatArray:
        """Optimise the noise for this scale, then scale and offset for this noise.

        The prior of the function takes ``burden / 2`` nats for each unit of noise variance. In ``s = 1 /
        scale`` and ``o = offset`` the ELBO is a quadratic form plus ``N log s``.
        """
        p, width = self.prior, self.shape.width
        inlier, components, outlier = latent.parts
        residual = self.y - marginals.mean
        second_moment = residual**2 + marginals.variance
        noise = positive_root(
            (p.ratio * np.exp(-parameters[..., 1])) ** 2 + burden,
            inlier.sum(axis=-1) + p.noise_dof,
            (inlier * (second_moment / self.relative_noise)).sum(axis=-1) + p.noise_scale,
        )
        N, centres = np.maximum(outlier.sum(axis=-1), TINY), self.shape.centres @ components
        e, u, eu = (outlier * residual).sum(axis=-1), centres.sum(axis=-1), (centres * residual).sum(axis=-1)
        held, by_ratio = N + (width / p.offset) ** 2, p.ratio**2 * noise
        squares = (outlier * second_moment).sum(axis=-1)
        s = positive_root((squares - e**2 / held) / width**2 + by_ratio, (e * u / held - eu) / width**2, N)
        offset = (s * e - u) / held
        low, high = self.prior.box[2]
        nearest = np.clip(offset, low, high)
        # With the offset at a bound, another scale is optimal.
        s_held = positive_root(squares / width**2 + by_ratio, -(nearest * e + eu) / width**2, N)
        s = np.where(nearest == offset, s, s_held)
        return self.within_box(np.stack([np.log(noise), -np.log(s), nearest], axis=-1))

    def within_box(self, parameters: FloatArray) -> FloatArray:
        """Clip parameters to their bounds."""
        return np.asarray(np.clip(parameters, *self.prior.box.T))

    def best_inlier_weight(self, count: FloatArray) -> FloatArray:
        """Maximise ``count log p + (n - count) log(1 - p) - prior.inliers / p``."""
        n, floor = self.y.size, self.prior.inliers
        excess = count - floor
        return np.minimum((excess + np.sqrt(excess**2 + 4.0 * n * floor)) / (2.0 * n), MOST_INLIERS)


def log_factor(variance: FloatArray) -> FloatArray:
    """Log normalising factor of a normal density, without ``2 pi``."""
    return np.asarray(-0.5 * np.log(variance))


def column(values: FloatArray) -> FloatArray:
    """Broadcast one value for each hypothesis against all observations."""
    return values[..., None]


def positive_root(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return the ``x > 0`` with ``a x^2 + b x = c``, for positive ``a`` and ``c``."""
    # Nearly equal numbers are never subtracted.
    both = np.abs(b) + np.sqrt(b**2 + 4.0 * a * c)
    return np.where(b > 0.0, 2.0 * c / both, both / (2.0 * a))


# Fraction of outliers on one side from which they are one-sided.
ONE_SIDED = 0.8


# Fraction of new observations that are outliers unlike those of the fit, and how much farther off they may
# be.
UNSEEN, REACH = 1e-3, 10.0


@dataclass(frozen=True, eq=False)
class TiltedMixture:
    """Moments of cavity times likelihood, responsibilities, and log joint densities with the components."""

    log_z: FloatArray
    moments: Marginals
    responsibility: FloatArray
    log_joint: FloatArray


@dataclass(frozen=True)
class OutlierMoments:
    """Mean and standard deviation of what outliers add to the function, and the fraction above it.

    Files of old versions lack the fraction; it is then that of a normal distribution.
    """

    shift: float
    std: float
    above: float | None = None

    @classmethod
    def among(cls, residual: FloatArray, variance: FloatArray, outlier: FloatArray) -> Self:
        """Compute the moments of residuals, weighted by the probabilities of being an outlier."""
        count = float(outlier.sum())
        shift = float(outlier @ residual) / count
        second = float(outlier @ ((residual - shift) ** 2 - variance)) / count
        return cls(shift, float(np.sqrt(max(second, 0.0))), float(outlier @ (residual > 0.0)) / count)

    @property
    def lean(self) -> Literal["high", "low"] | None:
        """Side of the function that most outliers are on; None if there are many on both."""
        fraction = float(ndtr(self.shift / max(self.std, TINY))) if self.above is None else self.above
        return "high" if fraction > ONE_SIDED else "low" if fraction < 1.0 - ONE_SIDED else None


@dataclass(frozen=True, eq=False)
class FittedContamination(FittedLikelihood):
    """The fitted contamination likelihood, a mixture of normals: inliers first, then the outlier components.

    The prior keeps the contamination from being narrow; ``found`` are the moments of the outliers as they
    are, if there are any. The variance of an inlier is the noise times its ``relative_noise``.
    """

    tells_outliers: ClassVar[bool] = True

    contamination: Contamination
    inlier_weight: float
    found: OutlierMoments | None = None
    relative_noise: FloatArray = field(default_factory=lambda: np.ones(1))
    variance_function: VarianceFunction | None = None

    @property
    def noise_variance(self) -> float:
        """Variance of an inlier; about its geometric mean where the noise is heteroscedastic."""
        return self.noise

    @classmethod
    def at(cls, parameters: FloatArray, latent: MixtureState, model: ContaminationModel) -> Self:
        """Build the likelihood at a point of an optimisation."""
        contamination = Contamination.of(parameters, model.shape)
        return cls(contamination, float(latent.inlier_weight), relative_noise=model.relative_noise)

    @property
    def outliers(self) -> OutlierMoments:
        """Moments of the outliers that were found, or else those that the prior expects."""
        c = self.contamination
        return self.found or OutlierMoments(float(c.shift), float(c.scale))

    @property
    def noise(self) -> float:
        """Variance of an inlier."""
        return float(self.contamination.noise)

    @cached_property
    def mixing_weight(self) -> FloatArray:
        """Mixing weight of each component."""
        components = self.contamination.shape.centres.size
        return np.append(self.inlier_weight, np.full(components, (1.0 - self.inlier_weight) / components))

    @cached_property
    def shift(self) -> FloatArray:
        """Mean of what each component adds to the function."""
        return np.append(0.0, self.contamination.component_shift)

    @cached_property
    def variance(self) -> FloatArray:
        """Variance of each component, in a row for each observation or in one row for all."""
        noise = self.noise * self.relative_noise[:, None]
        components = (len(noise), self.contamination.shape.centres.size)
        return np.hstack([noise, np.full(components, self.contamination.component_variance)])

    def tilted(self, y: FloatArray, cavity: Marginals, power: float = 1.0) -> TiltedMixture:
        """Integrate the likelihood against normal cavities."""
        if power != 1.0:
            raise NotImplementedError("a power of a mixture is not a mixture; use power=1")
        total = cavity.variance[:, None] + self.variance
        delta = (y - cavity.mean)[:, None] - self.shift
        log_joint = np.log(self.mixing_weight) - 0.5 * (LOG_2PI + np.log(total) + delta**2 / total)
        log_z = np.asarray(logsumexp(log_joint, axis=1))
        # softmax keeps probabilities at most one, to the last bit.
        r = np.asarray(softmax(log_joint, axis=1))
        gain = cavity.variance[:, None] / total
        step = gain * delta
        mean_step = (r * step).sum(axis=1)
        variance = (r * (gain * self.variance + (step - mean_step[:, None]) ** 2)).sum(axis=1)
        return TiltedMixture(log_z, Marginals(cavity.mean + mean_step, variance), r, log_joint)

    def sites(self, y: FloatArray, responsibility: FloatArray) -> Sites:
        """Sites of observations with these responsibilities, without their ``log_scale``."""
        each = responsibility / self.variance
        precision = each.sum(axis=1)
        return Sites(y - each @ self.shift / precision, precision, np.zeros_like(precision))

    def weights(self, responsibility: FloatArray) -> FloatArray:
        """Fraction of an inlier's precision that each observation keeps, averaged over components."""
        precision = (responsibility / self.variance).sum(axis=1)
        return np.asarray(np.minimum(self.noise * self.relative_noise * precision, 1.0))

    def judge(self, y: FloatArray, mean: FloatArray, variance: FloatArray, noise: FloatArray) -> Verdict:
        """Judge observations where the function is ``N(mean, variance)``, for this noise variance.

        New outliers may be unlike those of the fit: on the other side, or much farther off.
        """
        there = replace(self, relative_noise=noise / self.noise)
        tilted, distance = there.tilted(y, Marginals(mean, variance)), y - mean
        reach = REACH**2 * float(self.contamination.shift**2 + self.contamination.scale**2) + variance
        unseen = log(UNSEEN) - 0.5 * (LOG_2PI + np.log(reach) + distance**2 / reach)
        log_density = np.logaddexp(log(1.0 - UNSEEN) + tilted.log_z, unseen)
        inlier, *components = log(1.0 - UNSEEN) + tilted.log_joint.T
        outlier = np.logaddexp.reduce([unseen, *components], axis=0)
        return Verdict(log_density, np.asarray(expit(outlier - inlier)))
