"""What all estimators share: validation, one fit for each output, prediction in the units of y."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self, TypeAlias, TypedDict

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from sturdygp._typing import FloatArray
from sturdygp.estimators.distributed import DaskRows, head, is_dask, predict_blocks
from sturdygp.estimators.inducing import Inducing, fitted, inducing_inputs
from sturdygp.estimators.messages import progress_printer, warn_if_not_converged
from sturdygp.estimators.outputs import FittedOutput, OutputData, ScaleTargets, Scaling
from sturdygp.estimators.saving import ModelState, write_model
from sturdygp.estimators.validation import check_choice, check_positive, check_targets
from sturdygp.gp.rows import Inputs, Rows
from sturdygp.kernels.base import as_kernel
from sturdygp.methods.base import Method, Problem, default_kernel

Predicted: TypeAlias = FloatArray | tuple[FloatArray, FloatArray]

BLAS = ThreadpoolController()
# Below this many rows a second BLAS thread brings little, and costs much if the other core is busy.
ROWS_FOR_THREADS = 2000


class Common(TypedDict):
    """Arguments that every method takes."""

    noise_variance: float
    n_starts: int
    max_iter: int
    tol: float


@dataclass(kw_only=True, eq=False, repr=False)
class BaseGPRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Fits each output independently and speaks the units of y; a subclass chooses the method.

    As a dataclass an estimator gets the constructor that scikit-learn asks for: explicit, keyword-only
    arguments that are stored and nothing else.
    """

    kernel: object = None
    inducing: Inducing = None
    optimise_inducing: bool = False
    init_noise_variance: float = 0.5
    scale_targets: ScaleTargets = "robust"
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-5
    random_state: object = None
    n_jobs: int | None = None
    verbose: int = 0

    @abstractmethod
    def _method(self) -> Method:
        """The method that the constructor's arguments describe; refuses bad ones."""

    def _common(self) -> Common:
        """The checked arguments that every method takes."""
        check_positive("init_noise_variance", self.init_noise_variance)
        check_positive("n_starts", self.n_starts, integer=True)
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)
        return {
            "noise_variance": self.init_noise_variance,
            "n_starts": self.n_starts,
            "max_iter": self.max_iter,
            "tol": self.tol,
        }

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: finite numbers. The rows of a Dask array or DataFrame stay where they are; they need
            ``inducing``.
        y : array-like of shape (n,) or (n, d_y)
            Targets. NaN marks a missing entry, which only its own output ignores.

        Returns
        -------
        self
        """
        method = self._method()
        return self._fit(X, y, lambda _: method)

    def _fit(self, X: Any, y: Any, method_for: Callable[[OutputData], Method]) -> Self:
        """Fit each output with the method that its data ask for."""
        check_choice("scale_targets", self.scale_targets, ("robust", "standard", None))
        inputs = self._check_inputs(X)
        targets = check_targets(y.compute() if is_dask(y) else y, inputs)
        columns = targets.reshape(len(targets), -1)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=columns.shape[1])
        with BLAS.limit(limits=self._blas_threads(len(inputs), columns.shape[1])):
            self._outputs = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._fit_output)(method_for, inputs, column, index, seeds[index])
                for index, column in enumerate(columns.T)
            )
        self._store(single=targets.ndim == 1)
        warn_if_not_converged([output.fit for output in self._outputs])
        return self

    def _check_inputs(self, X: Any) -> Inputs:
        """An array, or rows that stay where Dask has them."""
        if not is_dask(X):
            return np.asarray(validate_data(self, X, dtype=np.float64))
        validate_data(self, head(X), dtype=np.float64)
        return DaskRows.of(X)

    def _blas_threads(self, n: int, n_outputs: int) -> int | None:
        """One where outputs run side by side, or matrices are too small to share; else as the user set it."""
        side_by_side = self.n_jobs not in (None, 1) and n_outputs > 1
        return 1 if side_by_side or n < ROWS_FOR_THREADS else None

    def _fit_output(
        self,
        method_for: Callable[[OutputData], Method],
        X: Inputs,
        y: FloatArray,
        index: int,
        seed: int,
    ) -> FittedOutput:
        observed = ~np.isnan(y)
        if not observed.any():
            raise ValueError(f"output {index} of y has no observed entry; drop it")
        data = OutputData(index, observed, Scaling.of(y[observed], self.scale_targets))
        rows, scaling = X.where(observed) if isinstance(X, Rows) else X[observed], data.scaling
        kernel = (
            default_kernel(rows) if self.kernel is None else as_kernel(self.kernel).scaled(scaling.scale**-2)
        )
        problem = Problem(
            rows,
            scaling.forward(y[observed]),
            kernel,
            np.random.default_rng(seed),
            callback=progress_printer(index) if self.verbose > 1 else None,
            inducing=inducing_inputs(self.inducing, kernel, rows),
        )
        fit = fitted(method_for(data), problem, optimise_inducing=self.optimise_inducing)
        if self.verbose:
            print(f"output {index}: {fit.status.message}, {fit.n_iter} iterations, bound {fit.bound:.6g}")
        return FittedOutput(observed, scaling, fit)

    def _store(self, *, single: bool) -> None:
        """Fitted attributes in the units of y: one value, or one for each output."""
        outputs = self._outputs

        def collect(values: list[Any]) -> Any:
            return values[0] if single else values

        def numbers(values: list[Any]) -> Any:
            return values[0] if single else np.array(values)

        self.kernel_ = collect([o.fit.posterior.kernel.scaled(o.scaling.scale**2) for o in outputs])
        self.mean_ = numbers([o.scaling.centre + o.scaling.scale * o.fit.posterior.mean for o in outputs])
        self.noise_variance_ = numbers([o.scaling.scale**2 * o.fit.noise_variance for o in outputs])
        self.bound_ = numbers([float(o.trace()[-1]) for o in outputs])
        self._single = single
        self.weights_ = self._stack([o.spread(o.fit.weights) for o in outputs])
        self.status_ = collect([o.fit.status for o in outputs])
        self.at_bounds_ = collect([o.fit.at_bounds for o in outputs])
        self.n_iter_ = numbers([o.fit.n_iter for o in outputs])
        self.n_factorizations_ = numbers([o.fit.n_factorizations for o in outputs])
        self.trace_ = collect([o.trace()[:-1] for o in outputs])
        self.note_ = collect([o.fit.note for o in outputs])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file; :func:`sturdygp.load` brings it back.

        The file holds arrays and a JSON document, no pickle. It needs four bytes for each pair of rows.

        Parameters
        ----------
        path : path
            The file, which is replaced if it is there. ``.sgp`` is the usual ending.

        Raises
        ------
        ValueError
            The kernel, or an argument such as ``random_state``, is an object of a class that is not ours.
        """
        write_model(path, self.state())

    def state(self) -> ModelState:
        """All that makes the fitted model, for saving."""
        check_is_fitted(self)
        if not type(self).__module__.startswith("sturdygp."):
            raise ValueError(
                f"{type(self).__name__} is a class of your own; only those of sturdygp are saved"
            )
        names = getattr(self, "feature_names_in_", None)
        return ModelState(
            estimator=type(self).__name__,
            parameters={each.name: getattr(self, each.name) for each in fields(self)},
            outputs=self._outputs,
            single=self._single,
            n_features=int(self.n_features_in_),
            feature_names=None if names is None else tuple(map(str, names)),
        )

    def restore(self, state: ModelState) -> Self:
        """Become the fitted model of a state, without fitting."""
        self._outputs = list(state.outputs)
        self.n_features_in_ = state.n_features
        if state.feature_names is not None:
            self.feature_names_in_ = np.array(state.feature_names, dtype=object)
        self._store(single=state.single)
        return self

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        include_noise: bool = False,
    ) -> Predicted:
        """Predict the function, or nominal readings of it.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Inputs. A Dask array or DataFrame leads to Dask arrays.
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
        if is_dask(X):
            return self._predict_dask(X, return_std, return_cov, include_noise)
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

    def _predict_dask(self, X: Any, return_std: bool, return_cov: bool, include_noise: bool) -> Predicted:
        """Dask arrays, computed when they are asked for."""
        if return_cov:
            raise ValueError("the covariance between all rows of a Dask collection is too large; ask for std")
        self._check_predict(head(X))
        found: Predicted = predict_blocks(self, X, return_std=return_std, include_noise=include_noise)
        return found

    def leave_one_out(self, include_noise: bool = False) -> tuple[FloatArray, FloatArray]:
        """Predict every training reading from the others; kernel and noise stay as fitted to all.

        Parameters
        ----------
        include_noise : bool
            Describe a nominal reading rather than the function.

        Returns
        -------
        mean, std : arrays of the shape of y
            NaN where y is missing.
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

    def summary(self) -> str:
        """What was found, in words: one paragraph for each output."""
        check_is_fitted(self)
        several = len(self._outputs) > 1
        return "\n".join(
            (f"Output {index}: " if several else "") + self._describe(output) + output.approximation()
            for index, output in enumerate(self._outputs)
        )

    def _describe(self, output: FittedOutput) -> str:
        """One output in words."""
        return f"Fitted to {int(output.observed.sum())} readings. {output.scatter()}"

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
