"""Ordinary Gaussian process regression, for comparison and for clean data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.validation import check_choice
from sturdygp.methods.standard import Standard


@dataclass(kw_only=True, eq=False, repr=False)
class StandardGPRegressor(BaseGPRegressor):
    """Gaussian process regression with normal noise: not robust, but ours is fast and takes missing targets.

    Parameters
    ----------
    noise : {"learn", "fixed"}
        Learn the noise variance, or keep it at ``init_noise_variance``.
    kernel, inducing, optimise_inducing, init_noise_variance, scale_targets, n_starts, max_iter, tol
    random_state, n_jobs, verbose, callback, warm_start, checkpoint
        As for :class:`AsorGPRegressor`.

    Attributes
    ----------
    kernel_, mean_, noise_variance_, bound_, weights_, status_, n_iter_, n_factorizations_, trace_
        As for :class:`AsorGPRegressor`; the bound is the log evidence, every weight is one.

    Examples
    --------
    >>> import numpy as np
    >>> from sturdygp import StandardGPRegressor
    >>> x = np.linspace(0, 6, 20)[:, None]
    >>> model = StandardGPRegressor().fit(x, np.sin(x[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.01)
    True
    """

    noise: Literal["learn", "fixed"] = "learn"

    def _method(self) -> Standard:
        check_choice("noise", self.noise, ("learn", "fixed"))
        return Standard(learn_noise=self.noise == "learn", **self._common())
