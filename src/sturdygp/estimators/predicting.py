"""Predictions of a fitted estimator, samples and densities, in the units of y."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sturdygp._threads import threads_for_prediction
from sturdygp._typing import FloatArray
from sturdygp.estimators.distributed import head, is_dask, predict_blocks
from sturdygp.estimators.outputs import FittedOutput
from sturdygp.estimators.validation import as_numbers, check_magnitude, check_targets

Predicted: TypeAlias = FloatArray | tuple[FloatArray, FloatArray]


class Predictor(BaseEstimator):
    """Outputs that were fitted; ``_single`` if y had one dimension."""

    _outputs: list[FittedOutput]
    _single: bool

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        include_noise: bool = False,
    ) -> Predicted:
        """Predict the function, or inliers around it.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Inputs. A Dask array or DataFrame leads to Dask arrays.
        return_std : bool
            Also return the standard deviation, of the shape of the mean.
        return_cov : bool
            Also return the covariance between rows, shape (m, m) or (m, m, d_y).
        include_noise : bool
            Describe a future inlier rather than the function.

        Returns
        -------
        mean : array of shape (m,) or (m, d_y)
        std or cov : array, if required
        """
        if return_std and return_cov:
            raise ValueError("ask for return_std or return_cov, not both")
        if is_dask(X):
            return self._predict_dask(X, return_std, return_cov, include_noise)
        return self.predict_checked(self._check_predict(X), return_std, return_cov, include_noise)

    def predict_checked(
        self, X: FloatArray, return_std: bool, return_cov: bool, include_noise: bool
    ) -> Predicted:
        """Predict at inputs that are an array like those of the fit."""
        with threads_for_prediction(len(X) * len(self._outputs[0].observed)):
            if return_std:
                predicted = [o.predict(X, include_noise=include_noise) for o in self._outputs]
                mean = self._stack([p.mean for p in predicted])
                return mean, self._stack([np.sqrt(p.variance) for p in predicted])
            mean = self._stack([o.predict_mean(X) for o in self._outputs])
            if not return_cov:
                return mean
            return mean, self._stack([o.covariance(X, include_noise=include_noise) for o in self._outputs])

    def _predict_dask(self, X: Any, return_std: bool, return_cov: bool, include_noise: bool) -> Predicted:
        """Dask arrays, which are lazy."""
        if return_cov:
            raise ValueError("the covariance between all rows of a Dask collection is too large; ask for std")
        self._check_predict(head(X))
        found: Predicted = predict_blocks(self, X, return_std=return_std, include_noise=include_noise)
        return found

    def leave_one_out(self, include_noise: bool = False) -> tuple[FloatArray, FloatArray]:
        """Predict every training target from the others; kernel and noise stay as fitted to all.

        A row and those that are taken for its copies are left out together.

        Parameters
        ----------
        include_noise : bool
            Describe an inlier rather than the function.

        Returns
        -------
        mean, std : arrays of the shape of y
            NaN where y is missing. So is a standard deviation that Laplace's approximation has not without
            that observation.
        """
        check_is_fitted(self)
        left_out = [(o, o.leave_one_out(include_noise=include_noise)) for o in self._outputs]
        mean = self._stack([o.spread(marginals.mean) for o, marginals in left_out])
        return mean, self._stack([o.spread(np.sqrt(marginals.variance)) for o, marginals in left_out])

    def sample_y(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: object = 0,
        include_noise: bool = False,
    ) -> FloatArray:
        """Draw joint samples, shape (m, n_samples) or (m, d_y, n_samples).

        With ``random_state=None`` they differ from call to call; NumPy's global state is left alone.
        """
        X = self._check_predict(X)
        rng = generator(random_state)
        draws = [o.sample(X, n_samples, rng, include_noise=include_noise) for o in self._outputs]
        return draws[0] if self._single else np.stack(draws, axis=1)

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Log density of inliers ``y`` at the rows of ``X``, of the shape of ``y``."""
        X, columns = self._check_observations(X, y)
        pairs = zip(self._outputs, columns.T, strict=True)
        return self._stack([output.log_density(X, column) for output, column in pairs])

    def has_targets(self, y: ArrayLike) -> bool:
        """Tell whether these are the targets of the fit, of its shape; yes if that is not known."""
        columns = np.reshape(np.asarray(y, dtype=np.float64), (len(np.asarray(y)), -1))
        pairs = zip(self._outputs, columns.T, strict=True)
        return all(o.targets is None or np.array_equal(c[o.observed], o.targets) for o, c in pairs)

    def fitted_to(self, X: ArrayLike, y: ArrayLike) -> bool:
        """Tell whether these are the inputs and targets of the fit, row by row; no if that is not known."""
        X, columns = self._check_observations(X, y)
        pairs = zip(self._outputs, columns.T, strict=True)
        return all(output.fitted_to(X, column) for output, column in pairs)

    def _stack(self, values: list[FloatArray]) -> FloatArray:
        return values[0] if self._single else np.stack(values, axis=-1)

    def _check_predict(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        checked = np.asarray(validate_data(self, as_numbers(X), dtype=np.float64, reset=False))
        check_magnitude(checked, self)
        return checked

    def _check_observations(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        X = self._check_predict(X)
        columns = check_targets(y, X).reshape(len(X), -1)
        if columns.shape[1] != len(self._outputs):
            raise ValueError(
                f"y has {columns.shape[1]} outputs but the model was fitted to {len(self._outputs)}"
            )
        return X, columns


def generator(random_state: object) -> np.random.Generator:
    """A generator that follows a seed or another generator; without one, a fresh one."""
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def mean_r2(y: FloatArray, predicted: FloatArray, weight: FloatArray) -> float:
    """Coefficient of determination of what is not missing, averaged over the columns that are not empty."""
    given = ~np.isnan(y)
    if not given.any():
        raise ValueError("y has no entry that is not missing; there is nothing to score")
    columns = zip(y.T, predicted.T, given.T, strict=True)
    return float(np.mean([r2_score(t[g], p[g], sample_weight=weight[g]) for t, p, g in columns if g.any()]))
