"""Regression with a Gaussian-mixture likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sturdygp.estimators.base import FlaggingGPRegressor
from sturdygp.estimators.validation import check_positive
from sturdygp.likelihoods.base import FittedLikelihood
from sturdygp.likelihoods.mixture import FittedMixture, MixturePrior
from sturdygp.methods.mixture import Mixture


@dataclass(kw_only=True, eq=False, repr=False)
class MixtureGPRegressor(FlaggingGPRegressor):
    """Gaussian process regression with noise that is a mixture of normal distributions.

    One component is that of the inliers, the others are broader; their mixing weights and variances are
    learned.

    Parameters
    ----------
    start_ratios : sequence of float
        Initial variances of the broad components, over that of the inliers. Empty: ordinary regression.
    prior : MixturePrior, optional
        Keeps the variance of inliers from collapsing onto interpolated observations.
    n_starts : int
        Initialisations to optimise from; the bound picks. The likelihood has many local optima: with many
        outliers a single one may lose the component of the inliers.
    kernel, inducing, optimise_inducing, init_noise_variance, scale_targets, max_iter, tol, random_state,
    n_jobs, verbose, callback, warm_start, checkpoint
        As for :class:`AsorGPRegressor`.

    Attributes
    ----------
    kernel_, mean_, noise_variance_, bound_, weights_, outlier_proba_, status_, n_iter_, trace_
        As for :class:`AsorGPRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from sturdygp import MixtureGPRegressor
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.05 * np.cos(40 * x[:, 0])
    >>> y[[5, 20, 33]] = 8.0
    >>> model = MixtureGPRegressor().fit(x, y)
    >>> np.flatnonzero(model.outlier_proba_ > 0.5).tolist()
    [5, 20, 33]
    """

    _LIKELIHOOD: ClassVar[type[FittedLikelihood]] = FittedMixture

    start_ratios: Sequence[float] = (10.0,)
    prior: MixturePrior | None = None
    n_starts: int = 7

    def _method(self) -> Mixture:
        for ratio in self.start_ratios:
            check_positive("every entry of start_ratios", ratio)
        if self.prior is not None and not isinstance(self.prior, MixturePrior):
            raise ValueError(f"prior must be a MixturePrior or None, got {self.prior!r}")
        return Mixture(tuple(self.start_ratios), self.prior or MixturePrior(), **self._common())
