"""Figures show what the records hold."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.records import errors, records_of

from sturdygp.experiments import METHODS
from sturdygp.experiments.suites import FIGURE_METHODS, RATES, SIZES
from sturdygp.report.figures import COLOURS, MARKERS, box_figure, legible, separated, time_figure
from sturdygp.report.grid import METHOD_ORDER, in_order, panels
from sturdygp.report.runtime import runtimes


def test_colours_and_markers_cover_every_method():
    assert set(COLOURS) == set(MARKERS) == set(METHODS)
    assert in_order(METHODS) == METHOD_ORDER


def test_box_figure_has_a_box_for_each_method_and_level():
    records = records_of("fig1a", trials=3)
    figure = box_figure(panels(records), 3.5)
    (axis,) = figure.axes
    boxes = [patch for patch in axis.patches if patch.get_zorder() == 2]
    assert len(boxes) == len(FIGURE_METHODS) * len(RATES)
    assert [tick.get_text() for tick in axis.get_xticklabels()] == [f"{level:g}" for level in RATES]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        METHODS[method].label for method in in_order(FIGURE_METHODS)
    ]
    assert axis.get_title() == "Synthetic, U[0,10]"
    assert axis.get_yscale() == "log"


def test_box_figure_draws_medians_and_names_failures():
    figure = box_figure(panels(errors({"standard": [1.0, 2.0, 6.0], "asor": [0.5, 0.7, None]})), 7.0)
    (axis,) = figure.axes
    levels = {line.get_ydata()[0] for line in axis.lines if len(set(line.get_ydata())) == 1}
    assert {2.0, 0.6} <= levels
    assert axis.get_title() == "Synthetic, U[0,10] (1 fit failed)"


def test_panels_do_not_depend_on_the_order_of_records():
    records = records_of("supplement", trials=1, methods=["asor"])
    titles = [panel.title for panel in panels(records)]
    assert titles == [panel.title for panel in panels(records[::-1])]
    assert len(titles) == 13
    assert [axis.get_title() for axis in box_figure(panels(records), 7.0).axes] == titles


def test_time_figure_names_curves_with_their_exponents():
    figure = time_figure(runtimes(records_of("table1", trials=2)), 7.0)
    names = [text.get_text() for text in figure.axes[0].texts]
    assert len(names) == 9
    assert "RCGPR, $n^{2.5}$" in names
    assert "ASOR-GPR, Algorithm 1" in names


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_separated_names_are_apart_and_in_order(heights):
    moved = separated(sorted(heights), 0.1)
    assert all(second - first >= 0.1 - 1e-9 for first, second in itertools.pairwise(moved))
    assert np.mean(moved) == pytest.approx(np.mean(heights))


def test_legible_numbers_on_a_narrow_axis_do_not_touch():
    assert legible(SIZES, 5.0) == list(SIZES)
    assert legible(SIZES, 1.7) == [200, 400, 600, 1000]
