"""What a task gave: results that are the same wherever it runs, and timings that are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from sturdygp.experiments.task import Json, Task


@dataclass(frozen=True)
class Scores:
    """Errors pooled over all entries of a trial; None where there is nothing to compare with.

    ``nlpd`` is that of test readings where errors are against readings, taken for possible outliers by
    methods that know them; else that of the function. ``coverage`` is that of the function by 95 % intervals.
    ``average_precision`` and ``calibration_error`` judge the outlier probabilities of training readings;
    ``contamination_rate`` is what the method found, on average over outputs, if it estimates one.
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
    """The outcome of one task; ``error`` is what the fit raised, if it did.

    ``status``, ``n_factorizations`` and ``notes`` have an entry for each output. ``settings`` names the
    estimator and its arguments. ``warnings`` are those that the status does not tell.
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
        """Whether there is no result."""
        return self.error is not None

    @property
    def unconverged(self) -> bool:
        """Whether the fit of an output ended early."""
        return any(status != "CONVERGED" for status in self.status)

    @property
    def result(self) -> Json:
        """All that must be the same in every run: the record without its timing."""
        values = asdict(self)
        del values["task"], values["timing"]
        return json_lists(values)

    def to_json(self) -> Json:
        """The record as a dictionary of plain values, results and timings apart."""
        return {
            "hash": self.task.hash,
            "task": self.task.to_json(),
            "result": self.result,
            "timing": asdict(self.timing),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        result: Json = {**values["result"], "scores": Scores(**values["result"]["scores"])}
        for name in ("status", "n_factorizations", "notes", "warnings"):
            result[name] = tuple(result[name])
        return cls(task=Task.from_json(values["task"]), timing=Timing(**values["timing"]), **result)


def json_lists(values: Json) -> Json:
    """Tuples as lists, as they come back from a file."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def same_results(first: Iterable[Record], second: Iterable[Record]) -> bool:
    """Whether two runs gave the same results, in whatever order and time."""
    return by_hash(first) == by_hash(second)


def by_hash(records: Iterable[Record]) -> dict[str, Json]:
    """The result of each task."""
    return {record.task.hash: record.result for record in records}


def as_rows(records: Iterable[Record]) -> list[Json]:
    """A flat table, for figures and data frames: one dictionary for each record.

    Examples
    --------
    >>> task = Task(suite="smoke", dataset="synthetic", method="asor", n_train=20, trial=1)
    >>> row, = as_rows([Record(task=task, timing=Timing(0.5, 0.5), scores=Scores(rmse=0.2))])
    >>> row["method"], row["contamination"], row["rmse"], row["fit_seconds"]
    ('asor', 'none', 0.2, 0.5)
    """
    return [flat(record) for record in records]


def flat(record: Record) -> Json:
    """Task, scores and timing side by side."""
    task, result = record.task.to_json(), record.result
    del task["fault"]
    scores = result.pop("scores")
    return {**task, "contamination": record.task.fault.label, **scores, **result, **asdict(record.timing)}
