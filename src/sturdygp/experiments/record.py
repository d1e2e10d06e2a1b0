"""Record of a task: results, which do not depend on where it runs, and timings, which do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from sturdygp.experiments.task import Json, Task


@dataclass(frozen=True)
class Scores:
    """Scores pooled over all entries of a trial; None for those that do not apply.

    ``nlpd`` is that of the test observations if errors are measured against observations, with outliers
    allowed if the method models them; else it is that of the function. ``coverage`` is that of the function
    by 95 % intervals. ``average_precision`` and ``calibration_error`` score the outlier probabilities of the
    training observations. ``contamination_rate`` is the method's estimate, on average over outputs.
    """

    rmse: float | None = None
    mae: float | None = None
    nlpd: float | None = None
    coverage: float | None = None
    average_precision: float | None = None
    calibration_error: float | None = None
    contamination_rate: float | None = None


@dataclass(frozen=True)
class Timing:
    """Wall and processor seconds of the fit, whether it succeeded or not."""

    fit_seconds: float
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class Record:
    """Record of one task; ``error`` is the exception of the fit, if it raised one.

    ``status``, ``n_factorizations`` and ``notes`` have an entry for each output. ``settings`` names the
    estimator and its arguments. ``warnings`` does not repeat what the status says.
    """

    task: Task
    timing: Timing
    scores: Scores = Scores()
    status: tuple[str, ...] = ()
    n_factorizations: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    settings: str = ""
    error: str | None = None

    @property
    def failed(self) -> bool:
        """The fit raised an error, so there is no result."""
        return self.error is not None

    @property
    def unconverged(self) -> bool:
        """The fit of an output stopped before it converged."""
        return any(status != "CONVERGED" for status in self.status)

    @property
    def result(self) -> Json:
        """Record without task and timing, as plain values; it is the same in every run."""
        values = asdict(self)
        del values["task"], values["timing"]
        return json_lists(values)

    def to_json(self) -> Json:
        """Return the record as a dictionary of plain values, with results and timings apart."""
        return {
            "hash": self.task.hash,
            "task": self.task.to_json(),
            "result": self.result,
            "timing": asdict(self.timing),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Invert :meth:`to_json`."""
        result: Json = {**values["result"], "scores": Scores(**values["result"]["scores"])}
        for name in ("status", "n_factorizations", "notes", "warnings"):
            result[name] = tuple(result[name])
        return cls(task=Task.from_json(values["task"]), timing=Timing(**values["timing"]), **result)


def json_lists(values: Json) -> Json:
    """Turn tuples into lists, as JSON does."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def same_results(first: Iterable[Record], second: Iterable[Record]) -> bool:
    """Compare the results of two runs, regardless of order and timings."""
    return by_hash(first) == by_hash(second)


def by_hash(records: Iterable[Record]) -> dict[str, Json]:
    """Return the result of each task."""
    return {record.task.hash: record.result for record in records}


def as_rows(records: Iterable[Record]) -> list[Json]:
    """Flatten records into rows for data frames: one dictionary for each record.

    Examples
    --------
    >>> task = Task(suite="smoke", dataset="synthetic", method="asor", n_train=20, trial=1)
    >>> row, = as_rows([Record(task=task, timing=Timing(0.5, 0.5), scores=Scores(rmse=0.2))])
    >>> row["method"], row["contamination"], row["rmse"], row["fit_seconds"]
    ('asor', 'none', 0.2, 0.5)
    """
    return [as_row(record) for record in records]


def as_row(record: Record) -> Json:
    """Flatten a record: task, scores and timing side by side."""
    task, result = asdict(record.task), record.result
    del task["fault"]
    scores = result.pop("scores")
    return {**task, "contamination": record.task.fault.label, **scores, **result, **asdict(record.timing)}
