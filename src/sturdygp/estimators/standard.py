"""Ordinary Gaussian process regression, for comparison and for clean data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.outputs import OutputData
from sturdygp.estimators.validation import check_choice
from sturdygp.methods.gaussian import Oracle, Standard

M = TypeVar("M", Standard, Oracle)


@dataclass(kw_only=True, eq=False, repr=False)
class StandardGPRegressor(BaseGPRegressor):
    """Gaussian process regression with normal noise: not robust, but ours is fast and takes missing targets.

    Parameters
    ----------
    noise : {"learn", "fixed"}
        Learn the noise variance, or keep it at ``init_noise_variance``, which then is in the units of y,
        squared.
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

    def _method_for(self, output: OutputData) -> Standard:
        return known_noise_scaled(self._method(), output)


def known_noise_scaled(method: M, output: OutputData) -> M:
    """The same method with a noise variance that is known, and so in the units of y, in scaled ones."""
    if method.learn_noise:
        return method
    return replace(method, noise_variance=method.noise_variance / output.scaling.scale**2)
