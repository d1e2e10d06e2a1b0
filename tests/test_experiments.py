"""Experiments: tasks and seeds, the store that survives being killed, runs in one place and in several."""

import io
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from sturdygp import OracleGPRegressor, StandardGPRegressor
from sturdygp.cli.main import main
from sturdygp.cli.progress import Progress
from sturdygp.datasets import DataFileError, make_synthetic
from sturdygp.experiments import (
    METHODS,
    NOISE,
    SUITES,
    ComparedMethod,
    Fault,
    Record,
    ResultStore,
    Scores,
    StoreError,
    Task,
    Timing,
    as_rows,
    run,
    run_tasks,
    same_results,
    suite,
)
from sturdygp.experiments.methods import configured, outlier_moments
from sturdygp.experiments.problems import N_TEST, draw
from sturdygp.experiments.runner import check_threads, missing_tasks

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


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The records of an uninterrupted run in this process."""
    store = ResultStore(tmp_path_factory.mktemp("reference") / "smoke.jsonl")
    run_tasks(quick_tasks(), store)
    return store.records()


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "smoke.jsonl")


@pytest.fixture
def command():
    return lambda *arguments: CliRunner().invoke(main, [str(each) for each in arguments])


# --- tasks and their data -------------------------------------------------------------------------


def test_hash_is_the_same_in_every_process():
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


def test_no_two_tasks_of_all_suites_share_a_hash():
    tasks = [task for each in SUITES.values() for task in each.tasks(trials=2)]
    assert len({task.hash for task in tasks}) == len(tasks)


def test_seeds_know_suite_data_fault_and_trial_but_not_method_or_rate():
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


def test_a_higher_rate_contaminates_more_of_the_same_entries():
    clean, some, more = (draw(replace(TASK, rate=rate)) for rate in (0.0, 0.3, 0.6))
    assert not clean.mask.any()
    assert np.all(more.mask[some.mask])
    assert more.mask.sum() > some.mask.sum()
    np.testing.assert_array_equal(some.y[some.mask], more.y[some.mask])
    np.testing.assert_array_equal(more.y[~more.mask], clean.y[~more.mask])


def test_conventions_differ_in_the_size_of_the_same_noise():
    text, std = (draw(replace(TASK, convention=each)).clean for each in ("text", "std"))
    assert (NOISE["text"].true, NOISE["text"].initial) == (0.25, 0.5)
    assert (NOISE["std"].true, NOISE["std"].initial) == (0.0625, 0.25)
    np.testing.assert_array_equal(text.function, std.function)
    function = make_synthetic(20, N_TEST, noise_variance=0.0, seed=TASK.data_seed).f
    np.testing.assert_allclose(text.y - function, 2.0 * (std.y - function), atol=1e-12)


@pytest.mark.parametrize("fault", [Fault(), Fault("symmetric", (3, 9)), Fault("focused", (3, 0.1))])
def test_data_of_the_field_are_split_nine_to_one(fault):
    task = Task(suite="field", dataset="gp-sample", method="standard", trial=0, fault=fault, rate=0.1)
    data = draw(task)
    assert data.y.shape == (270,)
    assert data.clean.truth.shape == (30,)
    assert data.mask.sum() == (0 if fault.kind == "none" else 27)
    assert data.truth_is_noisy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "moon"}, "dataset must be one of synthetic"),
        ({"n_train": None}, "synthetic needs n_train"),
        ({"dataset": "gp-sample"}, "n_train must be None"),
        ({"method": "magic"}, "method must be one of standard"),
    ],
)
def test_a_task_that_cannot_be_run_says_why(change, message):
    with pytest.raises(ValueError, match=message):
        run(replace(TASK, **change))


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
def test_a_task_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(TASK, **change)
    with pytest.raises(ValueError, match="2 parameters"):
        Fault("uniform", (1,))
    with pytest.raises(ValueError, match="kind must be one of"):
        Fault("cosmic")


# --- methods --------------------------------------------------------------------------------------


def test_oracles_know_the_moments_of_the_paper_and_better_ones():
    task = replace(TASK, method="oracle", rate=0.3, convention="std")
    data = draw(task)
    assert outlier_moments("second moment", data) == (pytest.approx(100 / 12 + 25), 0.0)
    assert outlier_moments("mean and variance", data) == (pytest.approx(100 / 12), 5.0)
    model = configured(task, data)
    assert isinstance(model, OracleGPRegressor)
    assert (model.noise, model.init_noise_variance) == ("fixed", 0.0625)
    assert configured(replace(task, method="oracle-centred"), data).noise == "learn"


def test_published_settings_and_boxes():
    data = draw(TASK)
    published = {
        name: configured(replace(TASK, method=name, baselines="as-published"), data) for name in METHODS
    }
    assert (published["standard"].noise, published["standard"].init_noise_variance) == ("fixed", 0.5)
    assert (published["rcgp"].epsilon, published["rcgp"].shift_sign, published["rcgp"].centre) == (
        0.05,
        -1,
        "mean",
    )
    assert (published["student-t"].inference, published["student-t"].dof) == ("vb", 4.0)
    span = np.ptp(data.X, axis=0)
    for name, box in (("asor", (0.02, 5.0)), ("mixture", (0.02, 5.0)), ("rcgp", (1e-3, 100.0))):
        np.testing.assert_allclose(published[name].kernel.length_scale_bounds, np.outer(span, box))
        assert published[name].scale_targets is None
    assert published["robust"].kernel is None
    assert configured(replace(TASK, method="asor"), data).kernel is None


def test_every_method_of_the_smoke_suite_gives_scores(store):
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


def test_observations_of_the_field_are_scored_with_their_noise():
    task = Task(suite="field", dataset="gp-sample", method="asor-single", trial=0)
    scores = run(task).scores
    assert scores.mae < 0.15
    assert -1.0 < scores.nlpd < 0.0  # noise of standard deviation 0.1
    assert scores.coverage > 0.5


# --- suites ---------------------------------------------------------------------------------------


def test_suites_have_the_sizes_of_the_protocol():
    assert len(suite("fig1a").tasks()) == 30 * 9 * 9
    assert len(suite("supplement").tasks(trials=1)) == 13 * 9 * 9
    assert len(suite("field").tasks(trials=1)) == (3 * 4 + 2) * 7
    gem = [task for task in suite("table1").tasks() if task.method == "asor-gem"]
    assert [(task.n_train, task.trial) for task in gem] == [(200, 0), (200, 1), (200, 2)]
    few = suite("fig1b").tasks(trials=2)
    assert set(few) < set(suite("fig1b").tasks())
    assert {task.trial for task in few} == {0, 1}


def test_suites_refuse_what_they_do_not_have():
    with pytest.raises(ValueError, match="suite must be one of smoke"):
        suite("fig9")
    with pytest.raises(ValueError, match="trials must be at least 1"):
        suite("smoke").tasks(trials=0)
    with pytest.raises(ValueError, match="each method of smoke"):
        suite("smoke").tasks(methods=["asor-gem"])


# --- the store ------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was(store):
    with store.writing({"n_jobs": 1}) as appender:
        appender.append(RECORD)
    contents = store.read()
    assert contents.records == [RECORD]
    assert contents.headers[0]["settings"] == {"n_jobs": 1}
    assert contents.headers[0]["packages"]["sturdygp"]
    (row,) = as_rows(contents.records)
    assert (row["contamination"], row["rmse"], row["fit_seconds"]) == ("U[0,10]", 0.3, 0.1)


@pytest.mark.parametrize("lost", [1, 40, 10_000])
def test_a_torn_last_line_is_left_out_and_repaired(store, lost):
    second = replace(RECORD, task=replace(TASK, trial=1))
    with store.writing({}) as appender:
        appender.append(RECORD)
        whole = store.path.read_bytes()
        appender.append(second)
    line = len(store.path.read_bytes()) - len(whole)
    store.path.write_bytes(store.path.read_bytes()[: -min(lost, line - 1)])
    assert store.records() == [RECORD]
    with store.writing({}) as appender:
        assert store.path.read_bytes() == whole
        appender.append(second)
    assert store.records() == [RECORD, second]


def test_a_torn_header_is_written_again(store):
    store.path.write_bytes(b'{"header":{"form')
    with store.writing({}) as appender:
        appender.append(RECORD)
    contents = store.read()
    assert (len(contents.headers), contents.records) == (1, [RECORD])


def test_other_settings_get_a_header_of_their_own(store):
    for settings in ({"n_jobs": 1}, {"n_jobs": 1}, {"n_jobs": 2}):
        with store.writing(settings):
            pass
    assert [header["settings"]["n_jobs"] for header in store.read().headers] == [1, 2]


def test_a_line_that_is_no_record_is_named(store):
    store.path.write_text('{"header":{}}\n{"task":3}\n', encoding="utf-8")
    with pytest.raises(StoreError, match="line 2 of"):
        store.records()


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
def test_two_runs_do_not_write_to_one_file(store):
    with store.writing({}), pytest.raises(StoreError, match="another run"), store.writing({}):
        pass


# --- runs -----------------------------------------------------------------------------------------


def test_two_workers_give_what_one_gives(reference, store):
    run_tasks(quick_tasks(), store, n_jobs=2)
    assert len(store.records()) == len(reference)
    assert same_results(store.records(), reference)


def test_same_results_sees_a_difference(reference):
    other = [replace(reference[0], scores=Scores(rmse=0.0)), *reference[1:]]
    assert not same_results(reference, other)
    assert same_results(reference, [replace(record, timing=Timing(9.0, 9.0)) for record in reference])


def test_killed_and_resumed_gives_the_same_and_repeats_only_what_was_in_flight(reference, store):
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


def test_a_method_that_fails_is_recorded_and_stops_nothing(monkeypatch, store):
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


def test_missing_data_are_reported_before_anything_runs(monkeypatch, tmp_path, store):
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


def test_a_dask_cluster_that_loses_a_worker_gives_the_same(reference, store, tmp_path):
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


def test_dask_workers_with_several_threads_are_refused():
    check_threads(SimpleNamespace(nthreads=lambda: {"a": 1, "b": 1}))
    with pytest.raises(ValueError, match="1 of 2 Dask workers"):
        check_threads(SimpleNamespace(nthreads=lambda: {"a": 1, "b": 4}))


def test_a_cluster_without_dask_says_what_to_install(monkeypatch, command, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = command("reproduce", "smoke", "--dask", "local", "--results", tmp_path)
    assert result.exit_code == 1
    assert "sturdygp[dask]" in result.output


# --- the command line -----------------------------------------------------------------------------


def test_reproduce_and_status(command, tmp_path):
    arguments = (
        "reproduce",
        "smoke",
        "--trials",
        1,
        "--n-jobs",
        1,
        "--method",
        "oracle",
        "--results",
        tmp_path,
    )
    first = command(*arguments)
    assert first.exit_code == 0, first.output
    assert "smoke: 2 tasks run, 0 done before, 0 failed" in first.output
    assert "| Oracle GPR | 2 | 0 | 0 |" in first.output
    assert "smoke: 0 tasks run, 2 done before" in command(*arguments).output
    assert (
        "smoke       text, best: 2 of 36 tasks (5 %), 0 failed"
        in command("status", "--results", tmp_path).output
    )
    assert "not started" in command("status", "fig1a", "--results", tmp_path).output


def test_reproduce_explains_what_it_cannot_do(command, tmp_path):
    result = command("reproduce", "smoke", "--method", "asor-gem", "--results", tmp_path)
    assert result.exit_code == 1
    assert "Error: each method of smoke must be one of" in result.output
    (tmp_path / "smoke.jsonl").write_text("nonsense\n", encoding="utf-8")
    assert "line 1 of" in command("status", "smoke", "--results", tmp_path).output


def test_datasets_are_listed_and_fetched(command, monkeypatch, tmp_path):
    monkeypatch.setenv("STURDYGP_DATA", str(tmp_path))
    monkeypatch.setenv("STURDYGP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "yacht_hydrodynamics.data").write_text("1 2\n", encoding="utf-8")
    lines = command("datasets", "list").output.splitlines()
    states = {line.split()[0]: line[13:28].strip() for line in lines}
    assert (states["yacht"], states["energy"], states["neal-200"]) == (
        "here",
        "to be fetched",
        "to be supplied",
    )
    assert "yacht_hydrodynamics.data" in command("datasets", "fetch", "yacht").output
    refused = command("datasets", "fetch", "neal-200")
    assert refused.exit_code == 1
    assert "no address is known" in refused.output


def test_progress_is_for_terminals_only():
    quiet, terminal = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True
    for stream in (quiet, terminal):
        progress = Progress(2, stream)
        progress.advance(failed=True)
        progress.advance(failed=False)
    assert quiet.getvalue() == ""
    assert "1/2" in terminal.getvalue()
    assert terminal.getvalue().endswith("2/2  0 s left, 1 failed\n")
