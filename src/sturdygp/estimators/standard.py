"""Ordinary Gaussian process regression, for comparison and for clean data."""

from __future__ import annotations

from typing import Literal

from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.outputs import ScaleTargets
from sturdygp.estimators.validation import check_choice
from sturdygp.methods.standard import Standard


class StandardGPRegressor(BaseGPRegressor):
    """Gaussian process regression with normal noise: not robust, but ours is fast and takes missing targets.

    Parameters
    ----------
    noise : {"learn", "fixed"}
        Learn the noise variance, or keep it at ``init_noise_variance``.
    kernel, init_noise_variance, scale_targets, n_starts, max_iter, tol, random_state, n_jobs, verbose
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

    def __init__(
        self,
        *,
        kernel: object = None,
        noise: Literal["learn", "fixed"] = "learn",
        init_noise_variance: float = 0.5,
        scale_targets: ScaleTargets = "robust",
        n_starts: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: object = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel=kernel,
            init_noise_variance=init_noise_variance,
            scale_targets=scale_targets,
            n_starts=n_starts,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.noise = noise

    def _method(self) -> Standard:
        check_choice("noise", self.noise, ("learn", "fixed"))
        return Standard(learn_noise=self.noise == "learn", **self._common())
