"""Suites have the sizes of the protocol."""

import pytest

from sturdygp.experiments import suite


def test_suite_has_the_size_of_the_protocol():
    assert len(suite("fig1a").tasks()) == 30 * 9 * 9
    assert len(suite("supplement").tasks(trials=1)) == 13 * 9 * 9
    assert len(suite("field").tasks(trials=1)) == (3 * 4 + 2) * 7
    gem = [task for task in suite("table1").tasks() if task.method == "asor-gem"]
    assert [(task.n_train, task.trial) for task in gem] == [(200, 0), (200, 1), (200, 2)]
    few = suite("fig1b").tasks(trials=2)
    assert set(few) < set(suite("fig1b").tasks())
    assert {task.trial for task in few} == {0, 1}


def test_suite_refuses_what_it_does_not_have():
    with pytest.raises(ValueError, match="suite must be one of smoke"):
        suite("fig9")
    with pytest.raises(ValueError, match="trials must be at least 1"):
        suite("smoke").tasks(trials=0)
    with pytest.raises(ValueError, match="each method of smoke"):
        suite("smoke").tasks(methods=["asor-gem"])
