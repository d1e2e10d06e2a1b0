"""Plans survive JSON, and changed ones are refused."""

import json

import numpy as np
import pytest
from references.tables import frame_of

from sturdygp.exceptions import ModelFileError, TableError
from sturdygp.persistence.record import Record
from sturdygp.tables.plan import Plan
from sturdygp.tables.prepare import Request, prepare


def written_plan(plan, **changes):
    """A plan as it comes out of a file."""
    return Record("table", json.loads(json.dumps(plan.plain())) | changes, [])


def test_plan_survives_json_and_reads_new_tables():
    frame = frame_of()
    prepared = prepare(frame, Request(targets=("y",), missing=("-1",)))
    plan = prepared.plan.scaled_to(prepared.raw)
    again = Plan.of(written_plan(plan))
    assert again == plan
    scaled = again.matrix(frame)
    np.testing.assert_allclose(scaled[:, [0, 3]].std(axis=0), 1.0)
    assert set(scaled[:, 1]) == {0.0, 1.0}
    with pytest.raises(TableError, match="lacks the columns 'when', 'load'"):
        again.matrix(frame.drop(columns=["when", "load"]))
    with pytest.raises(TableError, match="categories that the model does not know: C; it knows A, B"):
        again.matrix(frame.assign(site="C"))
    with pytest.raises(TableError, match=r"'when' has times that are written otherwise .*'01/03/2024'"):
        again.matrix(frame.assign(when="01/03/2024"))
    few = again.matrix(frame.assign(when=["01/03/2024", *frame["when"][1:]]))
    assert np.flatnonzero(np.isnan(few[:, 0])).tolist() == [0]
    missing = again.matrix(frame.assign(site=["", *frame["site"][1:]]))
    assert np.isnan(missing[0, 1:3]).all()
    assert np.isfinite(missing[1:]).all()
    assert np.isnan(again.readings(frame.drop(columns="y"))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": [{"kind": "code", "name": "x"}]}, "kind should be one of number"),
        ({"scales": [1.0]}, "as many as there are features"),
        ({"scales": [0.0, 1.0, 1.0, 1.0]}, "positive"),
        ({"targets": "y"}, "targets should be a list"),
        ({"targets": [1]}, "targets should be a list of texts"),
        (
            {"inputs": [{"kind": "time", "name": "t", "time_format": "", "origin": "2024", "unit": "x"}]},
            "unit",
        ),
    ],
)
def test_plan_refuses_a_document_that_was_changed(change, message):
    prepared = prepare(frame_of(), Request(targets=("y",)))
    plan = prepared.plan.scaled_to(prepared.raw)
    with pytest.raises(ModelFileError, match=message):
        Plan.of(written_plan(plan, **change))
