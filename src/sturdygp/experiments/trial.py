"""Execution of one task: draw the data, fit the method, score it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sturdygp import metrics
from sturdygp.estimators.base import BaseGPRegressor, FlaggingGPRegressor
from sturdygp.estimators.robust import RobustGPRegressor
from sturdygp.experiments.methods import prepare
from sturdygp.experiments.problems import Data, draw
from sturdygp.experiments.record import Record, Scores, Timing
from sturdygp.experiments.task import Task

# With more threads timings depend on the number of cores, and workers wait for each other.
BLAS_THREADS = 1
NO_SCORES = Scores()


def run(task: Task) -> Record:
    """Run a task and return its record.

    An error of the fit becomes part of the record; the data are not drawn again. Errors of the task itself,
    such as an unknown name or a missing data file, are raised.

    Examples
    --------
    >>> run(Task(suite="smoke", dataset="synthetic", method="standard", n_train=20, trial=0)).status
    ('CONVERGED', 'CONVERGED', 'CONVERGED', 'CONVERGED')
    """
    with threadpool_limits(BLAS_THREADS):
        data = draw(task)
        fitting = prepare(task, data)
        clock = Clock()
        with collected_warnings() as seen:
            try:
                with clock:
                    model = fitting.fit()
                outcome = assess(model, data)
            except Exception as error:
                outcome = Outcome(error=f"{type(error).__name__}: {error}")
    return Record(
        task=task,
        timing=Timing(clock.wall, clock.cpu),
        settings=fitting.settings,
        warnings=unexpected(seen),
        **vars(outcome),
    )


@dataclass(frozen=True)
class Outcome:
    """Part of a record that depends on the fitted model."""

    scores: Scores = NO_SCORES
    status: tuple[str, ...] = ()
    n_factorizations: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    error: str | None = None


@dataclass
class Clock:
    """Timer of a context, which may end with an error."""

    wall: float = field(default=0.0)
    cpu: float = field(default=0.0)

    def __enter__(self) -> None:
        self.wall, self.cpu = -time.perf_counter(), -time.process_time()

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter()
        self.cpu += time.process_time()


@contextmanager
def collected_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings about the computation, independently of the filters of the process."""
    with warnings.catch_warnings(record=True) as seen:
        # Other categories come from the threads of a worker, which are not part of the task.
        warnings.simplefilter("ignore")
        for category in (RuntimeWarning, UserWarning):
            warnings.simplefilter("always", category)
        yield seen


def unexpected(seen: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return each warning once, without those that the status and the notes of a fit repeat."""
    texts = {
        f"{warning.category.__name__}: {warning.message}"
        for warning in seen
        if not issubclass(warning.category, ConvergenceWarning)
    }
    return tuple(sorted(texts))


def assess(model: BaseGPRegressor, data: Data) -> Outcome:
    """Collect the status and the scores of a fitted model."""
    scores = score(model, data)
    return Outcome(
        scores=scores,
        status=tuple(status.name for status in per_output(model.status_)),
        n_factorizations=tuple(int(count) for count in per_output(model.n_factorizations_)),
        notes=tuple(str(note) for note in per_output(model.note_)),
        error=None if scores.rmse is not None else "the predictions are not finite",
    )


def per_output(values: Any) -> list[Any]:
    """Return a list with an entry for each output, also for a single output."""
    return list(np.atleast_1d(np.asarray(values, dtype=object)))


def score(model: BaseGPRegressor, data: Data) -> Scores:
    """Compute every score that the data allow."""
    clean = data.clean
    mean, std = model.predict(clean.X_test, return_std=True)
    scores = Scores(
        rmse=metrics.rmse(clean.truth, mean),
        mae=metrics.mae(clean.truth, mean),
        nlpd=observation_nlpd(model, data) if data.truth_is_noisy else metrics.nlpd(clean.truth, mean, std),
        coverage=None if clean.function is None else metrics.coverage(clean.function, mean, std),
        contamination_rate=estimated_rate(model),
        **detection_scores(model, data),
    )
    # JSON has no infinities and no NaN.
    return Scores(**{key: finite(value) for key, value in asdict(scores).items()})


def observation_nlpd(model: BaseGPRegressor, data: Data) -> float:
    """Negative log predictive density of test observations, with outliers allowed if the model has them."""
    X, y = data.clean.X_test, data.clean.truth
    if isinstance(model, FlaggingGPRegressor):
        return -float(np.mean(model.log_predictive_density(X, y, allow_outliers=True)))
    return -float(np.mean(model.log_predictive_density(X, y)))


def detection_scores(model: BaseGPRegressor, data: Data) -> dict[str, float]:
    """Score the outlier probabilities of a model that has them."""
    if not isinstance(model, FlaggingGPRegressor):
        return {}
    proba = model.outlier_proba_
    return {
        "average_precision": metrics.average_precision(data.mask, proba),
        "calibration_error": metrics.calibration_error(data.mask, proba),
    }


def estimated_rate(model: BaseGPRegressor) -> float | None:
    """Mean contamination rate over the outputs, of a model that estimates it."""
    return float(np.mean(model.contamination_rate_)) if isinstance(model, RobustGPRegressor) else None


def finite(value: float | None) -> float | None:
    """Return a finite number, or None."""
    return value if value is not None and isfinite(value) else None
