"""What all estimators share: validation, one fit for each output, prediction in the units of y."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from sturdygp._typing import FloatArray
from sturdygp.estimators.outputs import FittedOutput, ScaleTargets, Scaling
from sturdygp.estimators.validation import check_choice, check_targets
from sturdygp.kernels.base import as_kernel
from sturdygp.methods.base import Method, Problem, default_kernel
from sturdygp.optimise import Status

BLAS = ThreadpoolController()
# Below this many rows a second BLAS thread costs more than it brings.
ROWS_FOR_THREADS = 500


class BaseGPRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Fits each output independently and speaks the units of y; a subclass chooses the method."""

    kernel: object
    scale_targets: ScaleTargets
    random_state: object
    n_jobs: int | None
    verbose: int

    @abstractmethod
    def _method(self) -> Method:
        """The method that the constructor's arguments describe; refuses bad ones."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: finite numbers.
        y : array-like of shape (n,) or (n, d_y)
            Targets. NaN marks a missing entry, which only its own output ignores.

        Returns
        -------
        self
        """
        method = self._method()
        check_choice("scale_targets", self.scale_targets, ("robust", "standard", None))
        inputs = np.asarray(validate_data(self, X, dtype=np.float64))
        targets = check_targets(y, inputs)
        columns = targets.reshape(len(targets), -1)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=columns.shape[1])
        with BLAS.limit(limits=self._blas_threads(len(inputs), columns.shape[1])):
            self._outputs = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._fit_output)(method, inputs, column, index, seeds[index])
                for index, column in enumerate(columns.T)
            )
        self._store(single=targets.ndim == 1)
        return self

    def _blas_threads(self, n: int, n_outputs: int) -> int | None:
        """One where outputs run side by side, or matrices are too small to share; else as the user set it."""
        side_by_side = self.n_jobs not in (None, 1) and n_outputs > 1
        return 1 if side_by_side or n < ROWS_FOR_THREADS else None

    def _fit_output(
        self, method: Method, X: FloatArray, y: FloatArray, index: int, seed: int
    ) -> FittedOutput:
        observed = ~np.isnan(y)
        if not observed.any():
            raise ValueError(f"output {index} of y has no observed entry; drop it")
        scaling = Scaling.of(y[observed], self.scale_targets)
        rows = X[observed]
        kernel = (
            default_kernel(rows) if self.kernel is None else as_kernel(self.kernel).scaled(scaling.scale**-2)
        )
        callback = progress_printer(index) if self.verbose > 1 else None
        problem = Problem(rows, scaling.forward(y[observed]), kernel, np.random.default_rng(seed), callback)
        fit = method.fit(problem)
        if self.verbose:
            print(
                f"output {index}: {fit.status.message} after {fit.n_iter} iterations, bound {fit.bound:.6g}"
            )
        return FittedOutput(observed, scaling, fit)

    def _store(self, *, single: bool) -> None:
        """Fitted attributes in the units of y: one value, or one for each output."""
        outputs = self._outputs

        def collect(values: list[Any]) -> Any:
            return values[0] if single else values

        def numbers(values: list[Any]) -> Any:
            return values[0] if single else np.array(values)

        def columns(values: list[FloatArray]) -> FloatArray:
            return values[0] if single else np.column_stack(values)

        self.kernel_ = collect([o.fit.posterior.kernel.scaled(o.scaling.scale**2) for o in outputs])
        self.mean_ = numbers([o.scaling.centre + o.scaling.scale * o.fit.posterior.mean for o in outputs])
        self.noise_variance_ = numbers([o.scaling.scale**2 * o.fit.noise_variance for o in outputs])
        self.bound_ = numbers([float(o.trace()[-1]) for o in outputs])
        self.weights_ = columns([o.spread(o.fit.weights) for o in outputs])
        self.outlier_proba_ = columns([o.spread(o.fit.outlier_proba) for o in outputs])
        self.status_ = collect([o.fit.status for o in outputs])
        self.at_bounds_ = collect([o.fit.at_bounds for o in outputs])
        self.n_iter_ = numbers([o.fit.n_iter for o in outputs])
        self.n_factorizations_ = numbers([o.fit.n_factorizations for o in outputs])
        self.trace_ = collect([o.trace()[:-1] for o in outputs])
        self._single = single
        warn_if_not_converged([o.fit.status for o in outputs])

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        include_noise: bool = False,
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predict the function, or nominal readings of it.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Inputs.
        return_std : bool
            Also return the standard deviation, of the shape of the mean.
        return_cov : bool
            Also return the covariance between rows, shape (m, m) or (m, m, d_y).
        include_noise : bool
            Describe a nominal future reading rather than the function.

        Returns
        -------
        mean : array of shape (m,) or (m, d_y)
        std or cov : array, if asked for
        """
        if return_std and return_cov:
            raise ValueError("ask for return_std or return_cov, not both")
        X = self._check_predict(X)
        if not (return_std or return_cov):
            return self._stack(
                [o.scaling.centre + o.scaling.scale * o.fit.posterior.predict_mean(X) for o in self._outputs]
            )
        predicted = [o.predict(X, include_noise=include_noise) for o in self._outputs]
        mean = self._stack([p.mean for p in predicted])
        if return_std:
            return mean, self._stack([np.sqrt(p.variance) for p in predicted])
        return mean, self._stack([o.covariance(X, include_noise=include_noise) for o in self._outputs])

    def sample_y(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: object = 0,
        include_noise: bool = False,
    ) -> FloatArray:
        """Draw joint samples, shape (m, n_samples) or (m, d_y, n_samples)."""
        X = self._check_predict(X)
        rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        draws = [o.sample(X, n_samples, rng, include_noise=include_noise) for o in self._outputs]
        return draws[0] if self._single else np.stack(draws, axis=1)

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Log density of nominal readings ``y`` at the rows of ``X``, of the shape of ``y``."""
        X, columns = self._check_readings(X, y)
        densities = []
        for output, column in zip(self._outputs, columns.T, strict=True):
            p = output.predict(X, include_noise=True)
            densities.append(-0.5 * (np.log(2.0 * np.pi * p.variance) + (column - p.mean) ** 2 / p.variance))
        return self._stack(densities)

    def outlier_proba(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Probability that each new reading ``y`` at ``X`` is an outlier, of the shape of ``y``."""
        X, columns = self._check_readings(X, y)
        return self._stack([o.outlier_proba(X, c) for o, c in zip(self._outputs, columns.T, strict=True)])

    def _stack(self, values: list[FloatArray]) -> FloatArray:
        return values[0] if self._single else np.stack(values, axis=-1)

    def _check_predict(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def _check_readings(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        X = self._check_predict(X)
        columns = check_targets(y, X).reshape(len(X), -1)
        if columns.shape[1] != len(self._outputs):
            raise ValueError(
                f"y has {columns.shape[1]} outputs but the model was fitted to {len(self._outputs)}"
            )
        return X, columns


def progress_printer(index: int) -> Callable[[int, float], None]:
    """Prints the bound at every iteration of one output."""

    def show(iteration: int, bound: float) -> None:
        print(f"output {index}: iteration {iteration}, bound {bound:.6f}")

    return show


def warn_if_not_converged(statuses: list[Status]) -> None:
    """One warning that names the outputs whose fit did not converge."""
    for status in dict.fromkeys(s for s in statuses if s is not Status.CONVERGED):
        which = [str(i) for i, s in enumerate(statuses) if s is status]
        where = f"output {', '.join(which)}: " if len(statuses) > 1 else ""
        warnings.warn(f"{where}{status.message}", ConvergenceWarning, stacklevel=4)
