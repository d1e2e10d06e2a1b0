"""Trials: every method gives scores."""

from dataclasses import replace

import pytest
from references.records import TASK

from sturdygp.experiments import Task, run, run_tasks, suite


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "moon"}, "dataset must be one of synthetic"),
        ({"n_train": None}, "synthetic needs n_train"),
        ({"dataset": "gp-sample"}, "n_train must be None"),
        ({"method": "magic"}, "method must be one of standard"),
    ],
)
def test_run_refuses_a_task_that_cannot_be_run(change, message):
    with pytest.raises(ValueError, match=message):
        run(replace(TASK, **change))


def test_run_tasks_scores_every_method_of_the_smoke_suite(store):
    tasks = suite("smoke").tasks(trials=1)
    tally = run_tasks(tasks, store)
    assert (tally.run, tally.failed) == (len(tasks), 0)
    for record in store.records():
        assert record.error is None
        assert record.warnings == ()
        assert len(record.status) == len(record.n_factorizations) == 4
        assert 0.0 <= record.scores.coverage <= 1.0
        assert record.scores.mae <= record.scores.rmse < 5.0
        flags = record.task.method in ("asor", "mixture", "robust", "robust-many")
        assert (record.scores.calibration_error is not None) == flags
        assert (record.scores.average_precision is not None) == (flags and record.task.rate > 0)
        assert record.timing.fit_seconds > 0.0


def test_run_scores_the_field_with_its_noise():
    task = Task(suite="field", dataset="gp-sample", method="asor-single", trial=0)
    scores = run(task).scores
    assert scores.mae < 0.15
    assert -1.0 < scores.nlpd < 0.0  # noise of standard deviation 0.1
    assert scores.coverage > 0.5
