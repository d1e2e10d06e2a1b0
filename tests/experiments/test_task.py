"""Tasks: hashes, seeds and arguments that make no sense."""

import json
from dataclasses import replace

import pytest
from references.records import RECORD, TASK

from sturdygp.experiments import SUITES, Fault, Task, as_rows


def test_task_hash_is_the_same_in_every_process():
    # Computed once, elsewhere: a change here makes every stored result unknown.
    assert TASK.hash == "f75e4cb45a231f78391ee1cb102d8fd8683315d04725c199b650d735818a90c7"
    assert Task.from_json(json.loads(json.dumps(TASK.to_json()))) == TASK
    assert replace(TASK, rate=0).hash == replace(TASK, rate=0.0).hash


def test_task_keeps_the_name_of_a_field_in_stored_results():
    task = replace(TASK, convention="std")
    stored = task.to_json()
    assert stored["reading"] == "std"
    assert "convention" not in stored
    assert Task.from_json(stored) == task
    # Computed once, when the field had the stored name.
    assert task.hash == "1786191ac797931df3c24ccffe500b94f41f18da9da9e047680e9455b8e5399a"
    (row,) = as_rows([replace(RECORD, task=task)])
    assert row["convention"] == "std"


def test_task_hash_differs_between_all_tasks_of_all_suites():
    tasks = [task for each in SUITES.values() for task in each.tasks(trials=2)]
    assert len({task.hash for task in tasks}) == len(tasks)


def test_task_seeds_depend_on_suite_data_fault_and_trial_but_not_method_or_rate():
    same = (
        replace(TASK, method="asor"),
        replace(TASK, rate=0.3),
        replace(TASK, convention="std", baselines="as-published"),
    )
    for task in same:
        assert (task.data_seed, task.fault_seed) == (TASK.data_seed, TASK.fault_seed)
    for task in (replace(TASK, suite="fig1a"), replace(TASK, dataset="energy"), replace(TASK, trial=1)):
        assert task.data_seed != TASK.data_seed
        assert task.fault_seed != TASK.fault_seed
    other = replace(TASK, fault=Fault("uniform", (0, 15)))
    assert other.fault_seed != TASK.fault_seed
    assert other.data_seed == TASK.data_seed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": 1.5}, "rate must be a probability"),
        ({"trial": -1}, "trial must be 0 or more"),
        ({"n_train": 1}, "n_train must be at least 2"),
        ({"convention": "loud"}, "convention must be one of text, std"),
        ({"baselines": "worst"}, "baselines must be one of best, as-published"),
    ],
)
def test_task_refuses_bad_values(change, message):
    with pytest.raises(ValueError, match=message):
        replace(TASK, **change)
    with pytest.raises(ValueError, match="2 parameters"):
        Fault("uniform", (1,))
    with pytest.raises(ValueError, match="kind must be one of"):
        Fault("cosmic")
