"""Models with the plan of their table."""

import numpy as np
import pytest
from references.tables import faulty_frame

from sturdygp import RobustGPRegressor, StandardGPRegressor, load
from sturdygp.exceptions import ModelFileError
from sturdygp.tables.flagging import Recipe, fit_table, with_results
from sturdygp.tables.model import TableModel
from sturdygp.tables.prepare import Request, prepare


def test_table_model_is_saved_with_its_plan(tmp_path):
    frame = faulty_frame()
    prepared = prepare(frame, Request(targets=("y",), exclude=("z",)))
    fitted = fit_table(prepared, Recipe())
    fitted.model.save(tmp_path / "model.sgp")
    again = TableModel.load(tmp_path / "model.sgp")
    assert again.plan == fitted.model.plan
    new = frame.drop(columns=["y", "z"])
    table = with_results(new, ("y",), again.assess(new), 0.5)
    assert table.columns.tolist() == ["when", "site", "y_expected", "y_lower", "y_upper"]
    np.testing.assert_array_equal(again.assess(frame).expected, fitted.model.assess(frame).expected)
    assert isinstance(load(tmp_path / "model.sgp"), RobustGPRegressor)
    commas = frame.assign(y=frame["y"].astype(str).str.replace(".", ","))
    # Before 3.1, pandas reads numbers in text with a rounding error.
    np.testing.assert_allclose(
        again.plan.for_cells(",").readings(commas), again.plan.readings(frame), rtol=1e-12
    )


def test_table_model_refuses_a_file_without_plan(tmp_path):
    StandardGPRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).save(tmp_path / "model.sgp")
    with pytest.raises(ModelFileError, match="does not say how a table becomes inputs"):
        TableModel.load(tmp_path / "model.sgp")
