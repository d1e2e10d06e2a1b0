"""One fitted output: its scaling, its fit, and predictions in the units of its targets."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from typing import Literal, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sturdygp._caching import cached_property
from sturdygp._typing import BoolArray, FloatArray, IntArray
from sturdygp.estimators.summary import OutputFindings, describe_repeats
from sturdygp.exceptions import RepeatedRowsWarning
from sturdygp.gp.hyperparameter_uncertainty import UncertainPosterior
from sturdygp.gp.inputs import Inputs, Rows, gather, joined
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sparse import SparsePosterior
from sturdygp.likelihoods.base import Verdict
from sturdygp.methods.fit import Fit
from sturdygp.status import Status

ScaleTargets: TypeAlias = Literal["robust", "standard"] | None

# Standard deviations to a median absolute deviation, for normal data.
NORMAL_MAD = 1.4826
# Distances below this share of the centre are rounding errors.
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
# The largest scale of targets, or its inverse: larger ones have squares that overflow.
LARGEST = 1e100
# The largest scaled distance of an observation. Its sixth power, and products of its square with an inverse
# kernel matrix, are still numbers.
FARTHEST = 1e40
# Robust scales of targets that count as one where they are not to be scaled. Below a tenth the paper's prior
# takes a function for noise; above fifteen kernels are out of reach of the initial variance. The
# contaminated targets of the published experiments have scales from 0.19 to 8.6.
ABOUT_ONE = (0.1, 15.0)
# Probability above which an observation counts as an outlier.
OUTLIER_PROBABILITY = 0.5


@dataclass(frozen=True, eq=False)
class Scaling:
    """Targets to about zero mean and unit scale, and back."""

    centre: float
    scale: float

    @classmethod
    def of(cls, y: FloatArray, how: ScaleTargets) -> Scaling:
        """Centre and scale of the observed targets; a constant target keeps its scale.

        Targets that are not to be scaled have a scale of one. Where theirs is far from it, they are counted
        in a power of ten: priors, bounds and initial values are for targets of about unit scale.
        """
        if how is not None:
            return cls._measured(y, how)
        scale = cls._measured(y, "robust").scale
        low, high = ABOUT_ONE
        return cls(0.0, 1.0 if low <= scale <= high else 10.0 ** round(log10(scale)))

    @classmethod
    def _measured(cls, y: FloatArray, how: Literal["robust", "standard"]) -> Scaling:
        centre = float(np.median(y) if how == "robust" else y.mean())
        distance = np.abs(y - centre)
        away = distance[distance > ROUNDING * abs(centre)]
        if not away.size:
            return cls(centre, 1.0)
        # If more than half of the targets are equal, the others tell the scale.
        most = distance if 2 * away.size > y.size else away
        scale = float(y.std() if how == "standard" else NORMAL_MAD * np.median(most))
        if not 1.0 / LARGEST < scale < LARGEST:
            raise ValueError(f"y has a scale of {scale:g}; give it in units that bring it nearer to 1")
        return cls(centre, scale)

    def forward(self, y: FloatArray) -> FloatArray:
        """Scaled targets, none of them farther off than ``FARTHEST``."""
        return np.clip((y - self.centre) / self.scale, -FARTHEST, FARTHEST)

    def back(self, marginals: Marginals) -> Marginals:
        """Means and variances in the units of the targets."""
        return Marginals(self.centre + self.scale * marginals.mean, self.scale**2 * marginals.variance)


@dataclass(frozen=True, eq=False)
class OutputData:
    """An output before it is fitted: its column, scaling, and which rows are fitted.

    These are the rows that are observed and repeat no other.
    """

    index: int
    rows: BoolArray
    scaling: Scaling


@dataclass(frozen=True, eq=False)
class FittedOutput:
    """One output: where it was observed, how it was scaled, what was found.

    The fingerprint tells whether another fit has the same data and settings. Observed ``targets`` are None in
    a model of an older file, which did not keep them. If some observed rows repeat others, the fit has an
    observation for several of them, and ``observation`` tells which one each row is.
    """

    observed: BoolArray
    scaling: Scaling
    fit: Fit
    fingerprint: str = ""
    targets: FloatArray | None = None
    observation: IntArray | None = None

    def fitted_to(self, X: FloatArray, y: FloatArray) -> bool:
        """Tell whether these are the inputs and targets of the fit, row by row; no if that is not known."""
        inputs, given = self.fit.posterior.inputs, ~np.isnan(y)
        if self.targets is None or isinstance(inputs, Rows) or not np.array_equal(given, self.observed):
            return False
        return np.array_equal(y[given], self.targets) and np.array_equal(X[given], self._by_row(inputs))

    def spread(self, values: FloatArray) -> FloatArray:
        """Values for the observed entries, NaN for the missing ones."""
        column = np.full(self.observed.shape, np.nan)
        column[self.observed] = self._by_row(values)
        return column

    def _by_row(self, values: FloatArray) -> FloatArray:
        """Values for the observations of the fit, as values for the observed rows."""
        return values if self.observation is None else values[self.observation]

    @property
    def n_repeats(self) -> int:
        """How many rows repeat others and are no observations of their own."""
        return 0 if self.observation is None else self.observation.size - self.fit.weights.size

    @property
    def n_outliers(self) -> int:
        """Number of observations that are probably outliers."""
        proba = self.fit.outlier_proba
        return 0 if proba is None else int((self._by_row(proba) > OUTLIER_PROBABILITY).sum())

    @property
    def outlier_proba(self) -> FloatArray:
        """Probability that each row is an outlier, NaN for missing entries."""
        if self.fit.outlier_proba is None:
            raise TypeError("a likelihood that tells outliers must come with their probabilities")
        return self.spread(self.fit.outlier_proba)

    def findings(self, inputs: Sequence[str]) -> OutputFindings:
        """Findings that every method has, with the names of the inputs."""
        function = self.fit.likelihood.variance_function
        if function is None:
            low = high = self.scaling.scale * float(np.sqrt(self.fit.noise_variance))
        else:
            low, high = float(self.inlier_std.min()), float(self.inlier_std.max())
        return OutputFindings(
            n_observed=int(self.observed.sum()),
            noise=(low, high),
            noise_trend=None if function is None else function.words(inputs),
            n_inducing=self.n_inducing,
            n_repeats=self.n_repeats,
        )

    @cached_property
    def inlier_std(self) -> FloatArray:
        """Standard deviation of the noise of inliers at each observation of the fit, in the units of y."""
        noise, X = np.full(len(self.fit.weights), self.fit.noise_variance), self.fit.posterior.inputs
        if self.fit.likelihood.variance_function is not None:
            noise = self.fit.noise_at(X, gather(X, self.fit.posterior.predict_mean, joined))
        return np.asarray(self.scaling.scale * np.sqrt(noise))

    @property
    def noise_exceeds_function(self) -> bool:
        """Tell whether inliers scatter more than the function varies over the rows of the fit."""
        X = self.fit.posterior.inputs
        function = self.scaling.scale * gather(X, self.fit.posterior.predict_mean, joined)
        return float(np.std(function)) < float(np.median(self.inlier_std))

    @property
    def n_inducing(self) -> int | None:
        """Number of inducing inputs; None for the exact process."""
        posterior = self.fit.posterior
        best = posterior.best if isinstance(posterior, UncertainPosterior) else posterior
        return len(best.features.Z) if isinstance(best, SparsePosterior) else None

    def trace(self) -> FloatArray:
        """The bound after each iteration, a log density in the units of y."""
        values = np.array([*self.fit.trace, self.fit.bound])
        return values - self.fit.n_densities * float(np.log(self.scaling.scale))

    def predict_mean(self, X: FloatArray) -> FloatArray:
        """Means alone, which cost less."""
        return self.scaling.centre + self.scaling.scale * self.fit.posterior.predict_mean(X)

    def _noise_at(self, X: Inputs, mean: FloatArray) -> FloatArray:
        """Noise that an inlier adds to the variance of the function, which has this mean; scaled."""
        return self.fit.likelihood.as_normal(self.fit.noise_at(X, mean))

    def predict(self, X: FloatArray, *, include_noise: bool) -> Marginals:
        """Means and variances, of the function or of inliers (eq:noisy_predictive_distribution)."""
        latent = self.fit.posterior.predict(X)
        noise = self._noise_at(X, latent.mean) if include_noise else 0.0
        return self.scaling.back(Marginals(latent.mean, latent.variance + noise))

    def log_density(self, X: FloatArray, y: FloatArray) -> FloatArray:
        """Log density of inliers, in the units of y."""
        latent = self.fit.posterior.predict(X)
        noise = self.fit.noise_at(X, latent.mean)
        log_density = self.fit.likelihood.log_density(self.scaling.forward(y), latent, noise)
        return np.asarray(log_density - np.log(self.scaling.scale))

    def leave_one_out(self, *, include_noise: bool) -> Marginals:
        """Means and variances at the observations of the fit, each without itself.

        A variance is zero where the kernel knows the function, and NaN where an approximation has none.
        """
        latent = self.fit.posterior.leave_one_out()
        variance = np.where(latent.variance >= 0.0, latent.variance, np.nan)
        noise = self._noise_at(self.fit.posterior.inputs, latent.mean) if include_noise else 0.0
        return self.scaling.back(Marginals(latent.mean, variance + noise))

    def covariance(self, X: FloatArray, *, include_noise: bool) -> FloatArray:
        """Covariance of the function, or of inliers, between the rows of X."""
        covariance = self.fit.posterior.covariance(X)
        if include_noise:
            noise = self._noise_at(X, self.fit.posterior.predict_mean(X))
            covariance = covariance + np.diag(noise)
        return self.scaling.scale**2 * covariance

    def sample(
        self, X: FloatArray, size: int, rng: np.random.Generator, *, include_noise: bool
    ) -> FloatArray:
        """Joint draws, shape (rows, size)."""
        draws = self.fit.posterior.sample(X, size, rng)
        if include_noise:
            noise = self.fit.noise_at(X, self.fit.posterior.predict_mean(X))
            draws = draws + np.sqrt(noise)[:, None] * self.fit.likelihood.draw(draws.shape, rng)
        return self.scaling.centre + self.scaling.scale * draws

    def judge(self, X: FloatArray, y: FloatArray) -> Verdict:
        """Log densities in the units of y and outlier probabilities of observations; NaN for missing ones."""
        given = ~np.isnan(y)
        log_density, proba = np.full((2, *y.shape), np.nan)
        if given.any():
            latent = self.fit.posterior.predict(X[given])
            noise = self.fit.noise_at(X[given], latent.mean)
            scaled = self.scaling.forward(y[given])
            verdict = self.fit.likelihood.judge(scaled, latent.mean, latent.variance, noise)
            log_density[given] = verdict.log_density - np.log(self.scaling.scale)
            proba[given] = verdict.outlier_proba
        return Verdict(log_density, proba)


FAR_FROM_ONE = (
    "output {}: scale_targets=None is for targets with a scale near 1, and these are far from it. They are "
    "counted in units of {:g}, to which init_noise_variance and the constants of a prior refer. Set "
    'scale_targets="robust", or scale y before the fit'
)


def warn_if_unit_is_not_one(index: int, scaling: Scaling) -> None:
    """Targets that were not to be scaled, but had to be counted in another unit."""
    if scaling.scale != 1.0:
        warnings.warn(FAR_FROM_ONE.format(index, scaling.scale), UserWarning, stacklevel=2)


def warn_if_not_converged(fits: list[Fit]) -> None:
    """One warning for each reason, naming the outputs whose fit did not converge or fell back."""
    reasons: dict[str, list[str]] = {}
    for index, fit in enumerate(fits):
        if fit.status not in (Status.CONVERGED, Status.STOPPED):
            reasons.setdefault(fit.status.message, []).append(str(index))
        if fit.note:
            reasons.setdefault(fit.note, []).append(str(index))
    for reason, which in reasons.items():
        where = f"output {', '.join(which)}: " if len(fits) > 1 else ""
        warnings.warn(f"{where}{reason}", ConvergenceWarning, stacklevel=4)


def warn_of_repeats(outputs: list[FittedOutput]) -> None:
    """One warning if rows are taken for copies, naming the outputs."""
    counts = [(index, output.n_repeats) for index, output in enumerate(outputs) if output.n_repeats]
    several = len(outputs) > 1
    said = [f"output {index}: " * several + describe_repeats(count) for index, count in counts]
    if said:
        advice = "Remove repeated rows from the data if they were copied"
        warnings.warn(f"{'. '.join(said)}. {advice}", RepeatedRowsWarning, stacklevel=4)
