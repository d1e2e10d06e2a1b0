"""Runs in one process, in several and on a cluster, give the same."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from references.records import QUICK, quick_tasks

from sturdygp import StandardGPRegressor
from sturdygp.datasets import DataFileError
from sturdygp.experiments import METHODS, ComparedMethod, Scores, Timing, run_tasks, same_results, suite
from sturdygp.experiments.runner import check_threads, missing_tasks


def test_run_tasks_with_two_workers_equals_one(reference, store):
    run_tasks(quick_tasks(), store, n_jobs=2)
    assert len(store.records()) == len(reference)
    assert same_results(store.records(), reference)


def test_same_results_notices_a_difference(reference):
    other = [replace(reference[0], scores=Scores(rmse=0.0)), *reference[1:]]
    assert not same_results(reference, other)
    assert same_results(reference, [replace(record, timing=Timing(9.0, 9.0)) for record in reference])


def test_run_tasks_goes_on_after_being_killed(reference, store):
    methods = [argument for name in QUICK for argument in ("--method", name)]
    arguments = ["reproduce", "smoke", "--n-jobs", "1", "--results", str(store.path.parent), *methods]
    program = [sys.executable, "-c", "from sturdygp.cli.main import main; main()"]
    process = subprocess.Popen([*program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: len(store.records()) >= 4 or process.poll() is not None)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    before = store.path.read_bytes()
    kept = store.records()
    assert 4 <= len(kept) < len(reference)

    seen = []
    tally = run_tasks(quick_tasks(), store, on_record=seen.append)
    assert (tally.skipped, tally.run) == (len(kept), len(reference) - len(kept))
    assert {record.task for record in seen}.isdisjoint(record.task for record in kept)
    assert store.path.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert len(store.records()) == len(reference)
    assert same_results(store.records(), reference)


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_run_tasks_records_a_method_that_fails_and_goes_on(monkeypatch, store):
    # The estimator refuses this when it is fitted.
    broken = ComparedMethod("broken", StandardGPRegressor(max_iter=0), StandardGPRegressor(), None)
    monkeypatch.setitem(METHODS, "standard", broken)
    tasks = suite("smoke").tasks(trials=1, methods=["standard", "oracle"])
    tally = run_tasks(tasks, store)
    assert (tally.run, tally.failed) == (4, 2)
    failed = [record for record in store.records() if record.failed]
    assert {record.task.method for record in failed} == {"standard"}
    assert failed[0].error.startswith("ValueError: max_iter must be a positive")
    assert failed[0].scores == Scores()
    # It would fail again: running anew leaves it alone and still counts it.
    assert run_tasks(tasks, store).failed == 2
    assert missing_tasks(tasks, store) == []


def test_run_tasks_reports_missing_data_before_anything_runs(monkeypatch, tmp_path, store):
    monkeypatch.setenv("STURDYGP_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataFileError, match="must name a folder"):
        run_tasks(suite("fig1b").tasks(trials=1), store)
    assert not store.path.exists()


DASK_RUN = """
import os, signal, sys
from pathlib import Path
from distributed import LocalCluster
from sturdygp.experiments import ResultStore, run_tasks, suite

if __name__ == "__main__":
    killed = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        def kill_once(record):
            if not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)
        tasks = suite("smoke").tasks(methods=sys.argv[2:])
        run_tasks(tasks, ResultStore(Path(sys.argv[1])), dask=cluster.scheduler_address, on_record=kill_once)
    assert killed
"""


def test_run_tasks_on_a_cluster_that_loses_a_worker_gives_the_same(reference, store, tmp_path):
    pytest.importorskip("distributed")
    # A program of its own: the workers import it, and its threads end with it.
    script = tmp_path / "cluster.py"
    script.write_text(DASK_RUN, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(store.path), *QUICK],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(store.records()) == len(reference)
    assert same_results(store.records(), reference)


def test_check_threads_refuses_workers_with_several():
    check_threads(SimpleNamespace(nthreads=lambda: {"a": 1, "b": 1}))
    with pytest.raises(ValueError, match="1 of 2 Dask workers"):
        check_threads(SimpleNamespace(nthreads=lambda: {"a": 1, "b": 4}))
