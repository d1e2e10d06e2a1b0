"""Experiments: tasks as data, suites of tasks, a runner, and a store that survives a killed run."""

from sturdygp.experiments.methods import METHODS, ComparedMethod
from sturdygp.experiments.record import Record, Scores, Timing, as_rows, same_results
from sturdygp.experiments.runner import Tally, missing_tasks, run_tasks
from sturdygp.experiments.store import Contents, ResultStore, StoreError
from sturdygp.experiments.suites import SUITES, Suite, suite
from sturdygp.experiments.task import NOISE, Fault, NoiseConstants, Task
from sturdygp.experiments.trial import run

__all__ = [
    "METHODS",
    "NOISE",
    "SUITES",
    "ComparedMethod",
    "Contents",
    "Fault",
    "NoiseConstants",
    "Record",
    "ResultStore",
    "Scores",
    "StoreError",
    "Suite",
    "Tally",
    "Task",
    "Timing",
    "as_rows",
    "missing_tasks",
    "run",
    "run_tasks",
    "same_results",
    "suite",
]
