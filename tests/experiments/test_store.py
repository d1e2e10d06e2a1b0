"""The store of results survives being killed."""

import sys
from dataclasses import fields, replace

import numpy as np
import pytest
from references.records import RECORD, TASK, record, records_of

from sturdygp.experiments import ResultStore, Scores, StoreError, as_rows, same_results
from sturdygp.experiments.store import packed, unpacked
from sturdygp.experiments.suites import FIGURE_METHODS
from sturdygp.experiments.task import canonical


def test_store_gives_back_a_record_as_it_was(store):
    with store.writing({"n_jobs": 1}) as appender:
        appender.append(RECORD)
    contents = store.read()
    assert contents.records == [RECORD]
    assert contents.headers[0]["settings"] == {"n_jobs": 1}
    assert contents.headers[0]["packages"]["sturdygp"]
    (row,) = as_rows(contents.records)
    assert (row["contamination"], row["rmse"], row["fit_seconds"]) == ("U[0,10]", 0.3, 0.1)


@pytest.mark.parametrize("lost", [1, 40, 10_000])
def test_store_leaves_out_and_repairs_a_torn_last_line(store, lost):
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


def test_store_writes_a_torn_header_again(store):
    store.path.write_bytes(b'{"header":{"form')
    with store.writing({}) as appender:
        appender.append(RECORD)
    contents = store.read()
    assert (len(contents.headers), contents.records) == (1, [RECORD])


def test_store_writes_a_header_for_other_settings(store):
    for settings in ({"n_jobs": 1}, {"n_jobs": 1}, {"n_jobs": 2}):
        with store.writing(settings):
            pass
    assert [header["settings"]["n_jobs"] for header in store.read().headers] == [1, 2]


def test_store_names_a_line_that_is_no_record(store):
    store.path.write_text('{"header":{}}\n{"task":3}\n', encoding="utf-8")
    with pytest.raises(StoreError, match="line 2 of"):
        store.records()


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
def test_store_refuses_two_runs_at_once(store):
    with store.writing({}), pytest.raises(StoreError, match="another run"), store.writing({}):
        pass


def test_packed_results_are_read_like_long_ones(tmp_path):
    store, short = ResultStore(tmp_path / "long.jsonl"), ResultStore(tmp_path / "docs" / "short.jsonl")
    odd = replace(record("asor", 7, error=0.25), notes=("a | b", ""), n_factorizations=(3, 4))
    records = [odd, record("asor", 2, failed=True), record("robust", 2, error=0.5, rate=0.3)]
    with store.writing({"n_jobs": 1}) as appender:
        for each in records:
            appender.append(each)
    store.pack(short.path)
    assert same_results(store.records(), short.records())
    assert short.read().headers == store.read().headers
    assert len(short.path.read_text(encoding="utf-8").splitlines()) == 3


def test_packed_results_take_little_room():
    rng = np.random.default_rng(0)
    long = [
        replace(
            each,
            scores=Scores(*rng.uniform(size=len(fields(Scores)))),
            n_factorizations=(30, 127, 41, each.task.trial),
        )
        for each in records_of("fig1a", trials=30, methods=["asor"])
    ]
    short = packed(long)
    assert len(canonical(short)) * len(FIGURE_METHODS) < 300_000
    kept = {each.task: each.scores.rmse for cell in short for each in unpacked(cell)}
    assert kept == {each.task: pytest.approx(each.scores.rmse, rel=1e-5) for each in long}
