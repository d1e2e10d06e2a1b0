"""Charts show what tells something, and no more than a browser can draw."""

import re

import numpy as np
import pandas as pd
from references.hostile import FAULTS, flagged, hostile_frame

from sturdygp.report.html.charts import trace_chart
from sturdygp.report.html.page import page, section


def test_fit_chart_of_one_input_has_a_curve_of_several_points(result):
    several = section(result, 0, "").charts["fit"].views[0].data
    assert several[1]["mode"] == "markers"
    one = section(flagged(hostile_frame(), inputs=("time",)), 0, "").charts["fit"]
    band, line = one.views[0].data[:2]
    assert (band["fill"], line["mode"]) == ("toself", "lines")
    assert line["x"] == sorted(line["x"])
    assert len(line["x"]) == len(line["y"]) >= 300
    assert one.views[0].xaxis["type"] == "date"
    assert one.views[1].data[1]["mode"] == "markers"


def test_charts_are_not_squeezed_by_far_values(result, text):
    assert "range" not in section(result, 0, "").charts["fit"].yaxis
    note = "far off lie outside the picture at first"
    assert note not in text
    frame = hostile_frame()
    frame.loc[FAULTS[0], "y"] = 1e30
    far = flagged(frame)
    low, high = section(far, 0, "").charts["fit"].yaxis["range"]
    # Faults that are near are shown all the same.
    assert low < frame["y"].min() < frame["y"].drop(FAULTS[0]).max() < high < 10.0
    assert note in page(far, "data.csv")
    trace = np.array([-1e6, -3e4, -140.0, -125.0, -121.0, -120.0, -119.5, -119.5])
    low, high = trace_chart(trace).yaxis["range"]
    assert -200.0 < low < -140.0 < -119.5 < high
    assert "range" not in trace_chart(trace[2:]).yaxis
    assert "range" not in trace_chart(trace[:1]).yaxis


def test_charts_keep_the_digits_that_tell_something():
    rng = np.random.default_rng(2)
    seconds = 1774659600.0 + 5.0 * np.arange(60)
    y = 1e7 + 0.02 * np.sin(np.arange(60) / 5.0) + 0.002 * rng.standard_normal(60)
    frame = pd.DataFrame({"epoch": seconds, "y": y.round(4)})
    frame.loc[[11, 40], "y"] += 0.3
    about = section(flagged(frame), 0, "")
    chart = about.charts["fit"]
    (_, line, kept, _), drawn = chart.views[0].data, chart.data[2]
    assert sorted(kept["x"]) == seconds[~frame.index.isin([11, 40])].tolist()
    assert drawn["y"] == frame["y"].drop([11, 40]).tolist()
    assert set(seconds) <= set(line["x"])
    assert 0.02 < np.ptp(line["y"]) < 0.1
    assert len(set(line["y"])) > 100
    assert drawn["customdata"][0][1] == str(frame.loc[0, "y"])
    worst = dict(zip(about.header, [cell.text for cell in about.rows[0]], strict=True))
    row = frame.loc[int(worst["row"]) - 1]
    assert worst["epoch"] == str(int(row["epoch"]))
    assert worst["reading"] == f"{row['y']:.4f}"
    assert re.fullmatch(r"(9999999|10000000)\.\d{3,6}", worst["expected"])
    assert re.search(r"around (9999999|10000000)\.\d+\. ", about.kernel)
    trace = -123456.0 - np.array([3.0, 0.5, 0.25, 0.125, 0.0625])
    assert trace_chart(trace).data[0]["y"] == trace.tolist()
