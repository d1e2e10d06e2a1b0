"""Tasks and records of experiments that nobody ran, with the results that a test asks for."""

from dataclasses import replace

import numpy as np

from sturdygp.experiments import Fault, Record, Scores, Task, Timing, suite
from sturdygp.report.grid import grid_of, rate, rmse

QUICK = ("oracle", "standard", "asor")


TASK = Task(
    suite="smoke",
    dataset="synthetic",
    method="standard",
    n_train=20,
    trial=0,
    fault=Fault("uniform", (0, 10)),
)


RECORD = Record(
    task=TASK, timing=Timing(0.1, 0.2), scores=Scores(rmse=0.3), status=("CONVERGED",), n_factorizations=(7,)
)


def quick_tasks():
    return suite("smoke").tasks(methods=QUICK)


PROBLEM = Task(
    suite="fig1a", dataset="synthetic", method="", n_train=100, trial=0, fault=Fault("uniform", (0, 10))
)


HEADER = {
    "cpu": "Some CPU",
    "system": "Linux x86_64",
    "python": "3.11.7",
    "packages": {"numpy": "2.0", "scipy": "1.15"},
    "blas": ["openblas 0.3"],
    "blas_threads": 1,
    "settings": {"n_jobs": 1, "dask": False},
}


# Lower is better; the paper's story as it tells it.
STORY = {
    "oracle": 0.2,
    "oracle-centred": 0.1,
    "robust": 0.15,
    "robust-many": 0.17,
    "asor": 0.3,
    "mixture": 0.4,
    "student-t": 0.5,
    "rcgp": 0.6,
    "standard": 0.9,
}


PAPER_SPEED = {
    "oracle": 1,
    "standard": 2,
    "rcgp": 3,
    "student-t": 4,
    "asor": 8,
    "mixture": 9,
    "asor-single": 1,
    "asor-gem": 99,
    "robust": 5,
    "robust-many": 5,
    "oracle-centred": 1,
}


def record(method, trial=0, *, error=None, seconds=1.0, failed=False, **task):
    return Record(
        task=replace(PROBLEM, method=method, trial=trial, **task),
        timing=Timing(seconds, seconds),
        scores=Scores() if failed else Scores(rmse=error, mae=error),
        status=() if failed else ("CONVERGED", "CONVERGED"),
        error="LinAlgError: no" if failed else None,
    )


def errors(by_method):
    """Records with these errors at rate 0, one for each trial."""
    return [
        record(method, trial, error=value, failed=value is None)
        for method, values in by_method.items()
        for trial, value in enumerate(values)
    ]


def grid(by_method):
    return grid_of(errors(by_method), level=rate, measure=rmse)


def records_of(name, *, trials=12, errors=STORY, speed=PAPER_SPEED, **options):
    """Records of a whole suite, with errors and times that differ between methods as given, and by chance."""
    rng = np.random.default_rng(0)
    records = []
    for task in suite(name).tasks(trials=trials, **options):
        noise = np.exp(0.01 * rng.standard_normal())
        seconds = 1e-6 * speed[task.method] * (task.n_train or 100) ** 2.5
        scores = Scores(rmse=errors.get(task.method, 1.0) * noise)
        records.append(
            Record(task=task, timing=Timing(seconds, seconds), scores=scores, status=("CONVERGED",))
        )
    return records
