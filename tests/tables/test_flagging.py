"""Tables with outliers: fits, samples, and results."""

import numpy as np
import pandas as pd
import pytest
from references.tables import faulty_frame

from sturdygp.cli.tables import fit, flag
from sturdygp.estimators.registry import FLAGGING, FOR_TABLES, REGISTRY
from sturdygp.estimators.summary import Advice
from sturdygp.exceptions import TableError
from sturdygp.experiments.methods import METHODS
from sturdygp.tables.cells import Cells
from sturdygp.tables.flagging import (
    Recipe,
    check_results_absent,
    choose_rows,
    fit_table,
    flag_table,
    result_names,
)
from sturdygp.tables.prepare import Request, prepare
from sturdygp.tables.read import TableFile


def test_flag_table_finds_faults_in_several_targets():
    file = TableFile(faulty_frame())
    prepared = prepare(file.frame, Request(targets=("y", "z"), inputs=("when",)))
    result = flag_table(file, prepared, Recipe(), 0.5)
    assert np.flatnonzero(result.flagged[:, 0]).tolist() == [7, 20, 41, 66]
    assert np.flatnonzero(result.flagged[:, 1]).tolist() == [3, 50]
    assert result.fit.rows == {
        "read": 80,
        "input_missing": 1,
        "target_missing": 0,
        "usable": 79,
        "fitted": 79,
    }
    table = result.table
    assert table.columns.tolist()[:4] == ["when", "site", "y", "z"]
    assert set(table.columns[4:]) == {*result_names("y").values(), *result_names("z").values()}
    # A reading that is missing is predicted all the same; a row without inputs cannot be.
    assert np.isfinite(table.loc[10, "y_expected"])
    assert np.isnan(table.loc[10, "y_outlier_probability"])
    assert table.loc[30, ["y_expected", "y_lower", "z_outlier_probability"]].isna().all()
    # Nobody judged these.
    assert table["y_flag"].isna().to_numpy().nonzero()[0].tolist() == [10, 30]
    good = table.drop(index=[3, 7, 10, 20, 30, 41, 50, 66])
    assert good["y"].between(good["y_lower"], good["y_upper"]).mean() > 0.85


def test_flag_table_fits_a_sample_and_judges_every_row():
    file = TableFile(faulty_frame())
    prepared = prepare(file.frame, Request(targets=("y",), inputs=("when",)))
    result = flag_table(file, prepared, Recipe("mixture", sample=40, seed=1), 0.5)
    assert result.fit.fitted.sum() == 40
    assert np.flatnonzero(result.flagged[:, 0]).tolist() == [7, 20, 41, 66]
    proba = result.assessment.outlier_proba
    assert np.isnan(proba).sum() == 2
    np.testing.assert_array_equal(proba[result.fit.fitted, 0], result.fit.model.estimator.outlier_proba_)


def test_flag_table_fits_many_rows_through_inducing_inputs():
    t = np.arange(3001.0) / 500.0
    frame = pd.DataFrame({"t": t, "y": np.sin(t) + 0.1 * np.random.default_rng(0).standard_normal(3001)})
    frame.loc[[100, 2000], "y"] += 3.0
    prepared = prepare(frame, Request(targets=("y",)))
    result = flag_table(TableFile(frame), prepared, Recipe(), 0.5)
    assert np.flatnonzero(result.flagged[:, 0]).tolist() == [100, 2000]
    assert "inducing inputs." in result.fit.model.estimator.summary()
    few = fit_table(prepare(frame[:100], Request(targets=("y",))), Recipe(inducing=7))
    assert "through 7 inducing inputs." in few.model.estimator.summary()


def test_fit_table_fits_a_sample_of_a_long_table_through_inducing_inputs():
    """Every row is predicted: with an exact fit a sample would take longer than all rows."""
    rng = np.random.default_rng(2)
    n = 3001
    x = np.linspace(0.0, 20.0, n)
    frame = pd.DataFrame({"x": x, "y": np.sin(x) + 0.1 * rng.standard_normal(n)})
    prepared = prepare(frame, Request(targets=("y",)))
    fitted = fit_table(prepared, Recipe("mixture", sample=60))
    assert "inducing inputs" in fitted.model.estimator.summary()
    exact = fit_table(prepare(frame[:-1], Request(targets=("y",))), Recipe("mixture", sample=60))
    assert "inducing inputs" not in exact.model.estimator.summary()


def test_flag_table_passes_over_cells_once(monkeypatch):
    frame = pd.DataFrame({"a": np.arange(30.0) ** 2, "b": ["x", "y"] * 15, "y": np.arange(30.0)}).astype(str)
    looked, of = [], Cells.of

    def counted(column, cell_format):
        looked.append(column.name)
        return of(column, cell_format)

    monkeypatch.setattr(Cells, "of", staticmethod(counted))
    file, prepared = TableFile(frame), prepare(frame, Request(targets=("y",)))
    flag_table(file, prepared, Recipe("mixture"), 0.5)
    assert sorted(looked) == ["a", "b", "y"]


def spectra(n=60, wavelengths=200):
    """Smooth curves of which one hidden amount determines everything, and the readings; three are faulty."""
    rng = np.random.default_rng(6)
    amount, place = rng.uniform(0.0, 1.0, n), np.linspace(0.0, 1.0, wavelengths)
    curves = np.outer(amount, np.exp(-((place - 0.5) ** 2) / 0.02)) + 0.01 * rng.standard_normal(
        (n, wavelengths)
    )
    y = 100.0 * amount + 0.5 * rng.standard_normal(n)
    y[[4, 22, 41]] += 60.0
    return pd.DataFrame(curves, columns=[f"w{i}" for i in range(wavelengths)]).assign(y=y, z=1e-6 * y)


def test_flag_table_shares_a_length_scale_among_many_features_of_few_rows():
    frame = spectra()
    prepared = prepare(frame, Request(targets=("y", "z")))
    result = flag_table(TableFile(frame), prepared, Recipe(), 0.5)
    assert [np.ndim(kernel.length_scale) for kernel in result.fit.model.estimator.kernel_] == [0, 0]
    assert result.fit.notes == (
        "200 features but 60 rows to learn from: one length scale is learned for all features together; "
        "name the inputs that matter with --inputs for one each",
    )
    # In whatever units the targets are.
    for column in range(2):
        assert np.flatnonzero(result.flagged[:, column]).tolist() == [4, 22, 41]
    few = prepare(frame, Request(targets=("y",), inputs=tuple(f"w{i}" for i in range(50))))
    assert fit_table(few, Recipe("mixture", sample=20)).notes == ()


def test_choose_rows_samples_usable_rows():
    usable = np.ones(5001, dtype=bool)
    assert choose_rows(usable, None, 0).all()
    assert choose_rows(usable, 100, 0).sum() == 100
    np.testing.assert_array_equal(choose_rows(usable, 100, 0), choose_rows(usable, 100, 0))
    assert choose_rows(usable[:10], 100, 0).sum() == 10
    with pytest.raises(TableError, match="only 0 of 9 rows have a target and all inputs"):
        choose_rows(np.zeros(9, dtype=bool), None, 0)


def test_check_results_absent_refuses_earlier_results():
    with pytest.raises(TableError, match="already has the column 'y_flag'"):
        check_results_absent(pd.DataFrame({"y": [1.0], "y_flag": [True]}), ("y",))


def test_recipe_methods_are_those_of_the_registry():
    assert FLAGGING == ("robust", "asor", "mixture")
    assert set(FOR_TABLES) == set(REGISTRY) - {"oracle"}
    for name in FOR_TABLES:
        assert type(Recipe(name).estimator(10)) is REGISTRY[name].estimator
    for command, names in ((flag, FLAGGING), (fit, FOR_TABLES)):
        choice = next(each for each in command.params if each.name == "method").type
        assert tuple(choice.choices) == names
    for name, registered in REGISTRY.items():
        assert METHODS[name].label == registered.label
        assert type(METHODS[name].best) is registered.estimator


def test_flag_result_joins_its_table_once():
    X = np.arange(30.0)
    frame = pd.DataFrame({"x": X, "y": np.sin(X / 4.0)})
    prepared = prepare(frame, Request(targets=("y",), inputs=("x",)))
    result = flag_table(TableFile(frame), prepared, Recipe("asor"), 0.5)
    assert result.table is result.table


def test_fit_table_summaries_are_made_from_findings_and_name_options():
    rng = np.random.default_rng(0)
    x = np.arange(80.0)
    noise = rng.standard_normal((80, 2))
    frame = pd.DataFrame({"x": x, "a": noise[:, 0], 'faults="many"': noise[:, 1]})
    prepared = prepare(frame, Request(targets=("a", 'faults="many"'), inputs=("x",)))
    fitted = fit_table(prepared, Recipe())
    found = fitted.model.estimator.findings(["x"])
    assert [each.advice for each in found] == [Advice.NOISE_EXCEEDS_FUNCTION] * 2
    for text, each in zip(fitted.summaries.values(), found, strict=True):
        assert text.endswith("compare with --many-faults.")
        assert text.startswith(f"None of {each.n_observed} readings")
    assert 'compare with faults="many".' in fitted.model.estimator.summary()
    assert fitted.model.estimator.summary().splitlines()[1].startswith("Output 1: ")
