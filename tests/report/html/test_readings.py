"""Readings that a report draws."""

import numpy as np

from sturdygp.report.html import readings as drawing
from sturdygp.report.html.page import page
from sturdygp.report.html.readings import drawn, likeliest, omission, readings_of


def test_drawn_readings_are_a_sample_of_many(result, monkeypatch):
    readings = readings_of(result, 0)
    assert omission(drawn(readings), readings) == ""
    monkeypatch.setattr(drawing, "MOST_DRAWN", 30)
    few = drawn(readings)
    assert (few.flagged.sum(), (~few.flagged).sum()) == (4, 30)
    assert np.all(np.diff(few.row) > 0)
    assert "30 of 76 readings that were not flagged, to keep" in omission(few, readings)
    np.testing.assert_array_equal(drawn(readings).row, few.row)
    assert "30 of 76 readings that were not flagged" in page(result, "data.csv")
    monkeypatch.setattr(drawing, "MOST_DRAWN", 3)
    assert "and 3 of 4 flagged readings" in omission(drawn(readings), readings)
    worst = likeliest(readings, 2)
    assert len(worst) == 2
    assert worst.proba.min() >= np.sort(readings.proba)[-2]
