"""Gaussian process regression with normal noise: the standard model, and one that knows the outliers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sturdygp._typing import FloatArray
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
    """Scale a noise variance that is known, and so in the units of y, like the targets."""
    if method.learn_noise:
        return method
    return replace(method, noise_variance=method.noise_variance / output.scaling.scale**2)


@dataclass(kw_only=True, eq=False, repr=False)
class OracleGPRegressor(BaseGPRegressor):
    """Gaussian process regression with known outliers: as well as any robust method could do.

    Parameters
    ----------
    noise : {"learn", "fixed"}
        Learn the noise variance of inliers, or keep it at ``init_noise_variance``, which then is in the units
        of y, squared.
    kernel, inducing, optimise_inducing, init_noise_variance, scale_targets, n_starts, max_iter, tol
    random_state, n_jobs, verbose, callback, warm_start, checkpoint
        As for :class:`AsorGPRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from sturdygp import OracleGPRegressor
    >>> x = np.linspace(0, 6, 20)[:, None]
    >>> y = np.sin(x[:, 0])
    >>> y[4] = 30.0
    >>> model = OracleGPRegressor().fit(x, y, outlier_mask=np.arange(20) == 4)
    >>> bool(abs(model.predict(x[4:5])[0] - np.sin(x[4, 0])) < 0.01)
    True
    """

    noise: Literal["learn", "fixed"] = "learn"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        outlier_mask: ArrayLike | None = None,
        outlier_variance: ArrayLike | None = None,
        outlier_mean: ArrayLike = 0.0,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: finite numbers.
        y : array-like of shape (n,) or (n, d_y)
            Targets; NaN marks a missing entry.
        outlier_mask : array-like of the shape of y, optional
            Which entries are outliers; none by default.
        outlier_variance : float or array-like of the shape of y, optional
            What contamination adds to the noise variance of an outlier. By default it is infinite:
            an outlier says nothing.
        outlier_mean : float or array-like of the shape of y
            Mean of what contamination adds; it is removed.

        Returns
        -------
        self
        """
        check_choice("noise", self.noise, ("learn", "fixed"))
        common, shape = self._common(), np.asarray(y).shape
        mask = full_column("outlier_mask", False if outlier_mask is None else outlier_mask, shape) != 0.0
        variance = full_column(
            "outlier_variance", np.inf if outlier_variance is None else outlier_variance, shape
        )
        mean = full_column("outlier_mean", outlier_mean, shape)
        if not np.isfinite(mean[mask]).all():
            raise ValueError("outlier_mean must be finite where outlier_mask is set; 0 if it is not known")
        if not np.all(variance >= 0.0):
            raise ValueError("outlier_variance must not be negative; leave it out to drop the outliers")

        def method_for(output: OutputData) -> Oracle:
            rows, scale = output.rows, output.scaling.scale
            method = Oracle(
                outlier_mask=mask[rows, output.index],
                outlier_variance=variance[rows, output.index] / scale**2,
                outlier_mean=mean[rows, output.index] / scale,
                learn_noise=self.noise == "learn",
                **common,
            )
            return known_noise_scaled(method, output)

        # Readings that are the same but for what is known of them are not.
        return self._fit(X, y, method_for, [np.where(mask, each, 0.0) for each in (1.0, variance, mean)])

    def _method(self) -> Oracle:
        raise NotImplementedError("the oracle's method depends on the output")


def full_column(name: str, value: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """The value for every entry of y, as a table with one column for each output."""
    try:
        full = np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
    except ValueError:
        raise ValueError(
            f"{name} must be one number or have the shape of y, {shape}; got {np.shape(value)}"
        ) from None
    return full if len(shape) > 1 else full.reshape(-1, 1)
