"""Base of all estimators: validation, one fit for each output, fitted attributes, findings, saving."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, TypedDict

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from sturdygp._threads import threads_for_fit
from sturdygp._typing import FloatArray, IntArray
from sturdygp.estimators.callbacks import FitCallback, FitHooks, PathLike, check_hooks, fingerprint
from sturdygp.estimators.distributed import DaskRows, computed, head, is_dask
from sturdygp.estimators.inducing import Engine, Inducing, engine_for, fitted, inducing_inputs
from sturdygp.estimators.outputs import (
    FittedOutput,
    OutputData,
    ScaleTargets,
    Scaling,
    warn_if_not_converged,
    warn_if_unit_is_not_one,
    warn_of_repeats,
)
from sturdygp.estimators.predicting import Predictor, mean_r2
from sturdygp.estimators.saving import ModelState, write_model
from sturdygp.estimators.summary import OutputFindings, describe
from sturdygp.estimators.validation import (
    as_numbers,
    check_choice,
    check_magnitude,
    check_positive,
    check_targets,
    input_names,
    kernel_for,
    warn_if_noise_is_there_twice,
)
from sturdygp.exceptions import NotFiniteError, NotPositiveDefiniteError
from sturdygp.gp.inputs import Inputs, Rows, where
from sturdygp.inference.problem import Problem, default_kernel, default_kernel_over_time, in_memory
from sturdygp.kernels.base import Kernel, as_kernel
from sturdygp.likelihoods.base import FittedLikelihood, Verdict
from sturdygp.methods.fit import Method
from sturdygp.methods.ties import Repeats, resolution

CHECK = "Check the scale of the data, that of the kernel, which is in the units of y, and its bounds"
OVERFLOW = "numbers on the way are too large, or too small, to be represented"
# Arguments that do not tell one fit from another: they show in its arrays, or may change when it goes on.
NOT_OF_THE_FIT = (
    *("kernel", "inducing", "random_state"),
    *("max_iter", "tol", "n_jobs", "verbose", "callback", "warm_start", "checkpoint"),
)


class Common(TypedDict):
    """Arguments that every method takes."""

    noise_variance: float
    n_starts: int
    max_iter: int
    tol: float


@dataclass(kw_only=True, eq=False, repr=False)
class BaseGPRegressor(MultiOutputMixin, RegressorMixin, Predictor):
    """Fits each output independently and speaks the units of y; a subclass chooses the method.

    As a dataclass an estimator gets the constructor that scikit-learn asks for: explicit, keyword-only
    arguments that are stored and nothing else.
    """

    kernel: object = None
    engine: Engine = "auto"
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
    callback: FitCallback | None = None
    warm_start: bool = False
    checkpoint: PathLike | None = None

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
            Targets. NaN marks a missing entry, which only its own output ignores. Rows that repeat others
            exactly, more often than chance explains, are taken for copies and do not count; a warning says
            so, and ``n_repeats_`` how many.

        Returns
        -------
        self
        """
        self._method()  # refuses bad arguments before anything is done
        return self._fit(X, y, self._method_for)

    def _method_for(self, _output: OutputData) -> Method:
        """The method for one output; some depend on its scale."""
        return self._method()

    def _fit(
        self,
        X: Any,
        y: Any,
        method_for: Callable[[OutputData], Method],
        known: Sequence[FloatArray] = (),
    ) -> Self:
        """Fit each output with the method that its data ask for; ``known`` is what else rows differ in."""
        check_choice("scale_targets", self.scale_targets, ("robust", "standard", None))
        warn_if_noise_is_there_twice(self.kernel)
        inputs = self._check_inputs(X)
        targets = check_targets(computed(y)[0] if is_dask(y) else y, inputs)
        columns = targets.reshape(len(targets), -1)
        seeds = self._seeds(columns.shape[1])
        hooks = self._hooks(columns.shape[1])
        side_by_side = self.n_jobs not in (None, 1) and columns.shape[1] > 1
        with threads_for_fit(len(inputs), side_by_side=side_by_side):
            self._outputs = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._fit_output)(
                    method_for, hooks, inputs, column, index, seeds[index], [k[:, index] for k in known]
                )
                for index, column in enumerate(columns.T)
            )
        hooks.finish(self._outputs)
        self._store(single=targets.ndim == 1)
        warn_if_not_converged([output.fit for output in self._outputs])
        warn_of_repeats(self._outputs)
        return self

    def _seeds(self, n_outputs: int) -> IntArray:
        """A seed for each output; without ``random_state`` a fixed one, which NumPy's global state is not."""
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        return np.asarray(rng.randint(np.iinfo(np.int32).max, size=n_outputs))

    def _check_inputs(self, X: Any) -> Inputs:
        """An array, or rows that stay where Dask has them."""
        if is_dask(X):
            validate_data(self, head(X), dtype=np.float64)
            rows: Inputs = DaskRows.of(X)
        else:
            rows = np.asarray(validate_data(self, as_numbers(X), dtype=np.float64))
        check_magnitude(rows, self)
        return rows

    def _fit_output(
        self,
        method_for: Callable[[OutputData], Method],
        hooks: FitHooks,
        X: Inputs,
        y: FloatArray,
        index: int,
        seed: int,
        known: Sequence[FloatArray],
    ) -> FittedOutput:
        observed = ~np.isnan(y)
        if not observed.any():
            raise ValueError(f"output {index} of y has no observed entry; drop it")
        repeats = repeats_of(where(X, observed), y[observed], [column[observed] for column in known])
        rows = observed.copy()
        rows[observed] = repeats.kept
        data = OutputData(index, rows, Scaling.of(y[rows], self.scale_targets))
        if self.scale_targets is None:
            warn_if_unit_is_not_one(index, data.scaling)
        problem = self._problem(where(X, rows), data.scaling.forward(y[rows]), data.scaling, seed)
        method = method_for(data)
        mark = fingerprint(problem, method, self._settings())
        problem = hooks.attach(problem, index, mark)
        try:
            fit = fitted(method, problem, optimise_inducing=self.optimise_inducing)
        except NotFiniteError as error:
            raise NotFiniteError(f"output {index} cannot be fitted: {OVERFLOW}. {CHECK}") from error
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(f"output {index} cannot be fitted: {error}. {CHECK}") from error
        if self.verbose:
            print(f"output {index}: {fit.status.message}, {fit.n_iter} iterations, bound {fit.bound:.6g}")
        observation = repeats.observation if repeats.count else None
        return FittedOutput(observed, data.scaling, fit, mark, y[observed], observation)

    def _problem(self, X: Inputs, scaled: FloatArray, scaling: Scaling, seed: int) -> Problem:
        """One output as a method sees it."""
        given = self.kernel is not None
        kernel: Kernel = kernel_for(as_kernel(self.kernel), scaling.scale, X) if given else default_kernel(X)
        engine = engine_for(self.engine, self.inducing, kernel if given else None, X)
        if engine == "markov" and not given:
            kernel = default_kernel_over_time(in_memory(X))
        inducing = "auto" if engine == "inducing" and self.inducing is None else self.inducing
        return Problem(
            X,
            scaled,
            kernel,
            np.random.default_rng(seed),
            inducing=inducing_inputs(inducing, kernel, X),
            markov=engine == "markov",
            ours=not given,
            resolution=resolution(scaled),
        )

    def _hooks(self, n_outputs: int) -> FitHooks:
        """Hooks that the caller wants: listeners, a checkpoint, an earlier fit."""
        check_hooks(self.verbose, self.callback, self.checkpoint)
        listeners: list[FitCallback] = [print] if self.verbose > 1 else []
        if self.callback is not None:
            listeners = [*listeners, self.callback]
        previous = getattr(self, "_outputs", []) if self.warm_start else []
        return FitHooks(n_outputs, listeners, self.checkpoint, previous)

    def _settings(self) -> str:
        """Arguments that tell one fit from another."""
        names = (each.name for each in fields(self) if each.name not in NOT_OF_THE_FIT)
        return f"{type(self).__name__} {[(name, getattr(self, name)) for name in names]}"

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
        self.n_repeats_ = numbers([o.n_repeats for o in outputs])

    def save(self, path: PathLike) -> None:
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
        features = getattr(self, "feature_names_in_", None)
        names = [each.name for each in fields(self)]
        return ModelState(
            estimator=type(self).__name__,
            parameters={name: getattr(self, name) for name in names if name != "callback"},
            outputs=self._outputs,
            single=self._single,
            n_features=int(self.n_features_in_),
            feature_names=None if features is None else tuple(map(str, features)),
        )

    def restore(self, state: ModelState) -> Self:
        """Become the fitted model of a state, without fitting."""
        self._outputs = list(state.outputs)
        self.n_features_in_ = state.n_features
        if state.feature_names is not None:
            self.feature_names_in_ = np.array(state.feature_names, dtype=object)
        self._store(single=state.single)
        return self

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Coefficient of determination of the targets that are not missing, averaged over outputs.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Inputs.
        y : array-like of shape (m,) or (m, d_y)
            Targets; NaN is a missing one.
        sample_weight : array-like of shape (m,), optional
            How much each row counts.

        Returns
        -------
        float
            1 for a perfect prediction, 0 for one that is no better than the mean of the targets.
        """
        checked, columns = self._check_observations(X, y)
        predicted = np.reshape(self.predict_checked(checked, False, False, False), columns.shape)
        return mean_r2(columns, predicted, _check_sample_weight(sample_weight, checked))

    def summary(self, inputs: Iterable[str] | None = None) -> str:
        """Describe the findings in a paragraph for each output; inputs may be given other names."""
        paragraphs = [describe(each) for each in self.findings(inputs)]
        if len(paragraphs) > 1:
            paragraphs = [f"Output {index}: {text}" for index, text in enumerate(paragraphs)]
        return "\n".join(paragraphs)

    def findings(self, inputs: Iterable[str] | None = None) -> list[OutputFindings]:
        """Return as data what :meth:`summary` says of each output; inputs may be given other names."""
        check_is_fitted(self)
        names = input_names(self, inputs)
        return [self._findings(output, names) for output in self._outputs]

    def _findings(self, output: FittedOutput, inputs: Sequence[str]) -> OutputFindings:
        """Findings about one output; a subclass adds what its method tells."""
        return output.findings(inputs)


def repeats_of(X: Inputs, y: FloatArray, known: Sequence[FloatArray]) -> Repeats:
    """Find the rows that repeat others; rows that are not in memory are not compared."""
    return Repeats.none(len(y)) if isinstance(X, Rows) else Repeats.of(X, y, *known)


@dataclass(kw_only=True, eq=False, repr=False)
class FlaggingGPRegressor(BaseGPRegressor):
    """A regressor whose method tells outliers from inliers, by a likelihood of this type."""

    _LIKELIHOOD: ClassVar[type[FittedLikelihood]]

    def _store(self, *, single: bool) -> None:
        super()._store(single=single)
        self.outlier_proba_ = self._stack([output.outlier_proba for output in self._outputs])

    def outlier_proba(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Probability that each new observation ``y`` at ``X`` is an outlier, of the shape of ``y``."""
        return self._stack([verdict.outlier_proba for verdict in self._judge(X, y)])

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike, allow_outliers: bool = False) -> FloatArray:
        """Log density of observations ``y`` at the rows of ``X``, of the shape of ``y``.

        Observations are taken for inliers, or for outliers as often as the model expects them: as it found
        them, or as its prior says where that is fixed (:class:`~sturdygp.AsorGPRegressor`: one half).
        """
        if not allow_outliers:
            return super().log_predictive_density(X, y)
        return self._stack([verdict.log_density for verdict in self._judge(X, y)])

    def _findings(self, output: FittedOutput, inputs: Sequence[str]) -> OutputFindings:
        return replace(super()._findings(output, inputs), n_outliers=output.n_outliers)

    def _judge(self, X: ArrayLike, y: ArrayLike) -> list[Verdict]:
        X, columns = self._check_observations(X, y)
        pairs = zip(self._outputs, columns.T, strict=True)
        return [output.judge(X, column) for output, column in pairs]
