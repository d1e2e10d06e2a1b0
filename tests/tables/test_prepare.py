"""Columns are recognised, and what was guessed is told."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from references.tables import frame_of, written

from sturdygp.exceptions import TableError
from sturdygp.persistence.record import Record
from sturdygp.tables.diagnostics import misfits
from sturdygp.tables.plan import Plan
from sturdygp.tables.prepare import Request, prepare
from sturdygp.tables.read import read_table


def test_prepare_notes_marks_between_thousands(tmp_path):
    rows = "".join(f"{day};21,5;1.00{day}\n" for day in range(1, 9))
    table = read_table(written(tmp_path, f"day;T;p\n{rows}"))
    assert table.dialect.decimal == ","
    prepared = prepare(table.frame, Request(targets=("p",), decimal=","))
    assert prepared.notes == (
        "p: '1.001' is read as 1001, with marks between thousands; "
        "if that is wrong, tell the decimal mark with --decimal",
    )
    assert prepared.readings[0, 0] == 1001.0


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([f"{day:02}.02.26" for day in range(1, 13)], "in two ways, %H.%M.%S and %d.%m.%y"),
        ([f"{day:02}/02/26" for day in range(1, 13)], "in two ways, %d/%m/%y and"),
        ([f"20-01-26 {hour}:00" for hour in range(12)], "in two ways, %d-%m-%y %H:%M and %y-%m-%d %H:%M"),
        ([f"{day}. Januar 2026" for day in range(1, 13)], "'d' cannot be read .for example '1. Januar 2026'"),
        ([f"Mo 20.01.2026 {hour}h" for hour in range(12)], "'d' cannot be read"),
        (["20 janvier 2026", "21 janvier 2026", "22 janvier 2026"] * 4, "'d' cannot be read .*--categories"),
    ],
)
def test_prepare_refuses_times_that_cannot_be_read(texts, message):
    frame = pd.DataFrame({"d": texts, "x": np.arange(12.0) ** 2, "y": np.arange(12.0)})
    with pytest.raises(TableError, match=message):
        prepare(frame, Request(("y",)))
    assert prepare(frame, Request(("y",), categories=("d",))).plan.inputs[0].kind == "category"
    assert "d (as you asked)" in prepare(frame, Request(("y",), exclude=("d",))).left_out


def test_prepare_guesses_columns_and_names_its_guesses():
    prepared = prepare(frame_of(), Request(targets=("y",)))
    assert [column.describe() for column in prepared.plan.inputs] == [
        "when (hours since 2024-03-01 12:00:00)",
        "site (2 categories: A, B)",
        "load",
    ]
    assert prepared.left_out == (
        "version (the same in every row)",
        "rare (missing in 90 % of the rows)",
        "comment (60 different texts, for example 'remark 0')",
        "nothing (empty)",
        "id (only counts the rows)",
    )
    assert prepared.plan.features == ("when", "site=A", "site=B", "load")
    assert prepared.raw[1].tolist()[:3] == [1.0, 0.0, 1.0]


def test_prepare_lets_guesses_be_overridden():
    frame = frame_of()
    request = Request(targets=("y",), inputs=("load", "id"), time="when", categories=("id",))
    assert [column.kind for column in prepare(frame, request).plan.inputs] == ["time", "number", "category"]
    asked = prepare(frame, Request(targets=("y",), inputs=("comment",), categories=("comment",)))
    assert len(asked.plan.features) == 60
    excluded = prepare(frame, Request(targets=("y",), exclude=("when", "site")))
    # Nothing tells the order now, but a column that is called id counts nothing that matters.
    assert [column.name for column in excluded.plan.inputs] == ["load"]
    assert "site (as you asked)" in excluded.left_out
    texts = frame_of(300)
    with pytest.raises(TableError, match="300 different texts, too many to be an input"):
        prepare(texts, Request(targets=("y",), inputs=("comment",), categories=("comment",)))


def test_prepare_takes_a_count_for_the_input_if_there_is_no_other():
    frame = pd.DataFrame({"index": [1, 2, 3], "y": [1.0, 2.0, 3.0]})
    assert [column.name for column in prepare(frame, Request(targets=("y",))).plan.inputs] == ["index"]
    sensor = pd.DataFrame({"cycle": [5, 6, 7], "t": [1.0, 5.0, 2.0], "y": [1.0, 2.0, 3.0]})
    assert [column.name for column in prepare(sensor, Request(targets=("y",))).plan.inputs] == ["t", "cycle"]


def test_prepare_notes_remarks_among_numbers():
    frame = pd.DataFrame(
        {"t": range(20), "x": ["1.5"] * 10 + ["2"] * 9 + ["fault"], "y": ["2"] * 19 + ["err"]}
    )
    prepared = prepare(frame, Request(targets=("y",)))
    assert prepared.notes == (
        "y: 1 cell is not a number (for example 'err') and counts as missing",
        "x: 1 cell is not a number (for example 'fault') and counts as missing",
    )
    assert np.isnan(prepared.readings[19, 0])


def test_prepare_notes_remarks_among_times():
    frame = frame_of()
    frame.loc[5, "when"] = "unknown"
    prepared = prepare(frame, Request(targets=("y",), inputs=("when",)))
    assert prepared.notes == ("when: 1 cell is not a time (for example 'unknown') and counts as missing",)
    assert np.flatnonzero(np.isnan(prepared.raw[:, 0])).tolist() == [5]


def test_prepare_notes_inputs_far_from_all_others():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.uniform(0.0, 100.0, 200).round(1).astype(str),
            "when": pd.date_range("2026-03-01", periods=200, freq="h").astype(str),
            "skewed": rng.exponential(1.0, 200),
            "mostly": np.where(np.arange(200) % 10, 0.0, 5.0),
            "y": np.arange(200.0),
        }
    )
    assert prepare(frame, Request(("y",))).notes == ()
    frame.loc[[3, 50, 70], "x"] = ["9999", "9999.0", "9999"]
    frame.loc[[8, 9], "when"] = ["2000-01-01 00:00:00", "2000-01-01 01:00:00"]
    prepared = prepare(frame, Request(("y",)))
    assert prepared.notes == (
        "x: 3 values are 9999, far from all others; if that stands for a missing value, say --missing '9999'",
        "when: 2 values are like 2000-01-01 00:00:00, far from all others; "
        "if they are wrong, leave those rows out",
    )
    told = prepare(frame.assign(when=""), Request(("y",), missing=("9999", "-9999")))
    assert told.notes == (
        "--missing 9999 stands in 3 cells of the table",
        "--missing -9999 stands in no cell of the table",
    )
    stamps = pd.DataFrame({"when": pd.date_range("2026-03-01", periods=50, freq="h"), "y": np.arange(50.0)})
    stamps.loc[7, "when"] = pd.Timestamp("2000-01-01")
    (note,) = prepare(stamps, Request(("y",))).notes
    assert note.endswith("1 value is 2000-01-01 00:00:00, far from all others; if that stands for a missing "
                         "value, say --missing '2000-01-01 00:00:00'")  # fmt: skip
    told = prepare(stamps, Request(("y",), missing=("2000-01-01 00:00:00",)))
    assert told.notes == ("--missing 2000-01-01 00:00:00 stands in 1 cell of the table",)
    assert np.flatnonzero(np.isnan(told.raw[:, 0])).tolist() == [7]
    # A tenth of the readings and more are no slip.
    frame.loc[:30, "x"] = "9999"
    assert not [note for note in prepare(frame, Request(("y",))).notes if note.startswith("x")]


def test_prepare_leaves_out_columns_that_cannot_serve():
    frame = pd.DataFrame(
        {
            "t": np.arange(30.0) ** 2,
            "label": [f"{day}/B" for day in range(30)],
            "x": [[1, 2]] * 30,
            "v": np.arange(30.0),
            "v.1": np.arange(30.0),
            "y": np.ones(30),
        }
    )
    prepared = prepare(frame, Request(targets=("y",), repeated=("v", "v.1")))
    assert [column.name for column in prepared.plan.inputs] == ["t"]
    assert prepared.left_out == (
        "label (30 different texts, for example '0/B')",
        "x (its cells hold lists)",
        "v (its name is also that of another column)",
        "v.1 (its name is also that of another column)",
    )


def test_prepare_takes_times_of_day_with_dots_for_no_dates():
    for times in (
        [f"{hour:02}.00.00" for hour in range(24)],
        [f"{hour:02}.{minute:02}.30" for hour in range(1, 24) for minute in range(60)],
    ):
        frame = pd.DataFrame({"at": times, "y": np.arange(float(len(times)))})
        (column,) = prepare(frame, Request(("y",))).plan.inputs
        assert column.kind == "clock"


def test_prepare_shows_a_cell_that_fails():
    days = [f"2024-01-{day:02}" for day in range(1, 31)]
    frame = pd.DataFrame(
        {
            "when": [*days[:25], *["unknown"] * 5],
            "day": [f"01/{day:02}/2024" for day in range(1, 11)] * 3,
            "short": [f"{day:02}.02.24" for day in range(1, 16)] * 2,
            "level": [*map(str, range(20)), *["<0.5"] * 10],
            "stamp": pd.to_datetime(days),
            "y": np.arange(30.0),
        }
    )
    for request, message in (
        (
            Request(("y",), time="when"),
            "'when' does not hold times .for example 'unknown'.; .*2024-01-31 14:00",
        ),
        (Request(("y",), inputs=("when",)), "'when' has 26 different texts .for example 'unknown'"),
        (Request(("y",), inputs=("level",)), "'level' has 21 different texts .for example '<0.5'.*--missing"),
        (
            Request(("level",), inputs=("stamp",)),
            "'level' does not hold numbers .for example '<0.5'.*--missing",
        ),
        (Request(("stamp",), inputs=("y",)), "'stamp' does not hold numbers .for example '2024-01-01"),
        (Request(("y",), time="day"), "'day' can be read in two ways, %d/%m/%Y and %m/%d/%Y .*'01/02/2024'"),
        (Request(("y",), inputs=("short",)), "'short' can be read in two ways, %H.%M.%S and %d.%m.%y .*'01"),
    ):
        with pytest.raises(TableError, match=message):
            prepare(frame, request)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(targets=("z",)), "has no column 'z'; it has 'id', 'when'"),
        (Request(targets=("y",), inputs=("q",)), "has no column 'q'"),
        (Request(targets=("y",), time="q"), "has no column 'q'"),
        (Request(targets=("y",), inputs=("y",)), "'y' cannot be a target and an input"),
        (Request(targets=("y", "y")), "name each target once"),
        (Request(targets=()), "name each target once"),
        (Request(targets=("site",)), "'site' does not hold numbers .for example 'A'"),
        (Request(targets=("nothing",)), "'nothing' has no reading at all"),
        (Request(targets=("y",), inputs=("nothing",)), "'nothing' is empty"),
        (Request(targets=("y",), time="site"), "'site' does not hold times"),
        (
            Request(targets=("y",), inputs=("load",), exclude=("load",)),
            "'load' cannot be an input and be excl",
        ),
        (
            Request(targets=("y",), time="when", exclude=("when",)),
            "'when' cannot be an input and be excluded",
        ),
        (Request(targets=("y",), time="id", categories=("id",)), "'id' cannot be a time and a category"),
        (Request(targets=("y",), repeated=("y", "y.1")), "the name of the column 'y' more than once"),
        (Request(targets=("y",), inputs=("load",), repeated=("load",)), "the column 'load' more than once"),
        (Request(targets=("y",), exclude=("when", "site", "load", "id")), "no column can serve as an input"),
    ],
)
def test_prepare_refuses_requests_that_cannot_be_met(request_, message):
    with pytest.raises(TableError, match=message):
        prepare(frame_of(), request_)


def test_prepare_notes_dates_of_digits_and_takes_them_for_a_target():
    days = pd.date_range("2024-03-20", periods=30).strftime("%Y%m%d")
    frame = pd.DataFrame({"day": days, "y": np.arange(30.0) ** 2})
    prepared = prepare(frame, Request(targets=("y",)))
    assert prepared.plan.inputs[0].describe() == "day (days since 2024-03-20)"
    np.testing.assert_array_equal(prepared.raw[:, 0], np.arange(30.0))
    assert prepared.notes == (
        "day: 20240320 is read as the time 2024-03-20; if these are plain numbers, leave the column out with "
        "--exclude or write them with a decimal mark",
    )
    again = Plan.of(Record("plan", json.loads(json.dumps(prepared.plan.scaled_to(prepared.raw).plain())), []))
    np.testing.assert_array_equal(again.raw_features(frame), prepared.raw)
    readings = prepare(frame, Request(targets=("day",))).readings
    assert readings[0, 0] == 20240320


def notes_on(plan, frame):
    """Notes on cells of a new table for a plan."""
    columns = plan.columns(frame)
    return list(misfits(plan, columns, plan.raw_features(columns), plan.readings(columns)))


def test_prepare_notes_times_without_a_zone_among_others():
    times = [f"2024-01-{day:02}T12:00:00+01:00" for day in range(1, 11)]
    times[3] = "2024-01-04T12:00:00"
    frame = pd.DataFrame({"time": times, "y": np.arange(10.0) ** 2})
    prepared = prepare(frame, Request(targets=("y",)))
    assert prepared.notes == (
        "time: 1 time tells no zone (for example '2024-01-04T12:00:00') and counts as UTC, "
        "which those with a zone become",
    )
    plain = frame.assign(time=[each.removesuffix("+01:00") for each in times])
    local = prepare(plain, Request(targets=("y",)))
    assert local.notes == ()
    # New tables too, whichever way they differ from what the model knows.
    assert "10 times tell no zone" in notes_on(prepared.plan, plain)[0]
    assert notes_on(local.plan, frame)[0].startswith("time: 9 times tell their zone")
    assert "fitted to times without zones" in notes_on(local.plan, frame)[0]


def test_prepare_parses_each_column_once(monkeypatch):
    """Formats are tried, each of them on all cells at most once."""
    n = 200
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2024-01-01", periods=n).strftime("%d.%m.%Y"),
            "clock": [f"{i % 24:02}:{i % 60:02}" for i in range(n)],
            "level": [f"{i / 7:.3f}" for i in range(n)],
            "site": ["A" if i % 3 else "B" for i in range(n)],
            "y": [f"{i % 5}.5" for i in range(n)],
        }
    )
    parsed = Counter()

    def counting(name, parse):
        def run(cells, **how):
            if len(cells) == n:
                parsed[name, how.get("format"), tuple(pd.Series(cells).fillna(""))] += 1
            return parse(cells, **how)

        return run

    for name in ("to_datetime", "to_numeric"):
        monkeypatch.setattr(pd, name, counting(name, getattr(pd, name)))
    prepared = prepare(frame, Request(targets=("y",)))
    assert {column.kind for column in prepared.plan.inputs} == {"time", "clock", "number", "category"}
    assert set(parsed.values()) == {1}
