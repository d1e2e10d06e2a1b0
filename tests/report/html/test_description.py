"""The description of a model in a report."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from references.hostile import HOSTILE, flagged, hostile_frame

from sturdygp import MixtureGPRegressor, StandardGPRegressor
from sturdygp.kernels import Linear, SquaredExponential
from sturdygp.report.html.description import (
    describe_ending,
    describe_kernel,
    influences,
    input_effects,
    parameter_name,
)
from sturdygp.report.html.page import section
from sturdygp.tables.flagging import Recipe
from sturdygp.tables.model import TableModel


def test_description_puts_models_in_words(result):
    plan, raw = result.fit.model.plan, result.prepared.raw
    x, y = plan.matrix(hostile_frame()), hostile_frame()["y"]
    model = TableModel(plan, StandardGPRegressor(kernel=Linear()).fit(x, y))
    assert "The kernel is Linear(" in describe_kernel(model, 0)
    assert influences(model, 0, raw) == []
    two = SquaredExponential((1.0,) * x.shape[1]) + SquaredExponential((0.2,) * x.shape[1], 0.01)
    model = TableModel(plan, StandardGPRegressor(kernel=two).fit(x, y))
    assert "Finer structure that varies by about" in describe_kernel(model, 0)
    assert len(influences(model, 0, raw)) == x.shape[1]
    with pytest.warns(match="max_iter"):
        hasty = MixtureGPRegressor(max_iter=1).fit(x, y)
    assert "the fit stopped at max_iter" in describe_ending(TableModel(plan, hasty), 0)


def test_influence_is_what_an_input_changes_not_its_length_scale():
    rng = np.random.default_rng(4)
    minute, lamp, load = np.arange(120.0), rng.choice(["A", "B", "C"], 120), rng.uniform(0.0, 1.0, 120)
    y = 10.0 + 0.01 * minute + 0.02 * rng.standard_normal(120)
    frame = pd.DataFrame({"lamp": lamp, "load": load, "minute": minute, "y": y})
    found = section(flagged(frame, Recipe("mixture")), 0, "").influences
    # A straight line has a length scale that is long, and explains everything.
    assert found[0].feature == "minute"
    assert found[0].strength == "strong"
    assert {each.strength for each in found[1:]} <= {"weak", "hardly any"}


def test_effects_are_those_of_a_known_function(result):
    plan, raw = result.fit.model.plan, result.prepared.raw

    def effects(function):
        model = TableModel(plan, SimpleNamespace(predict=lambda x: function(*x.T)))
        return input_effects(model, 0, raw)

    # The variance of a sum is that of its terms: 0.8 and 0.6 squared are one.
    load, site, time = effects(lambda load, north, other, time: 0.8 * load + 0.6 * time)
    assert (load, site, time) == (pytest.approx(0.8, abs=0.1), 0.0, pytest.approx(0.6, abs=0.1))
    assert effects(lambda load, north, other, time: north - other)[1] == pytest.approx(1.0, abs=0.1)
    assert not effects(lambda load, *_: np.full_like(load, 3.0)).any()


def test_description_names_parameters_at_a_bound_by_their_inputs(result):
    model = result.fit.model
    features = model.plan.features
    assert parameter_name("length_scale[1]", model.plan) == f"length scale of {features[1]}"
    assert parameter_name("variance", model.plan) == "variance"
    finer = parameter_name("parts[1].length_scale[1]", model.plan)
    assert finer == f"length scale of {features[1]} in the finer structure"
    held = SimpleNamespace(
        weights_=np.ones(3), status_=SimpleNamespace(message="converged"), n_iter_=3, note_="",
        at_bounds_=("length_scale[0]",),
    )  # fmt: skip
    assert f"Held by a bound: length scale of {HOSTILE}." in describe_ending(TableModel(model.plan, held), 0)
