"""The report as a text: what it says, what it leaves out, and that nothing in a table becomes markup."""

import builtins
import json
import re
import sys
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sturdygp import MixtureGPRegressor, StandardGPRegressor
from sturdygp.cli.main import main
from sturdygp.kernels import Linear, SquaredExponential
from sturdygp.report.html import readings as drawing
from sturdygp.report.html.charts import trace_chart
from sturdygp.report.html.description import (
    describe_ending,
    describe_kernel,
    influences,
    input_effects,
    parameter_name,
)
from sturdygp.report.html.page import page, section
from sturdygp.report.html.readings import drawn, likeliest, omission, readings_of
from sturdygp.tables.flagging import Recipe, flag_table
from sturdygp.tables.model import TableModel
from sturdygp.tables.prepare import Request, prepare
from sturdygp.tables.read import TableFile

# Names that would be markup, script, one of Plotly's tags or templates if they were let through.
HOSTILE = "<b>load</b></script><script>document.title='owned'</script> %{x} {{ 1 }}"
FAULTS = [7, 20, 41, 66]


def hostile_frame():
    n = 80
    rng = np.random.default_rng(5)
    load = rng.uniform(0.0, 6.0, n)
    frame = pd.DataFrame(
        {
            HOSTILE: load.round(3),
            "site": rng.choice(["north", '<img src="x">'], n),
            "time": pd.date_range("2024-05-01", periods=n, freq="h").strftime("%Y-%m-%d %H:%M"),
            "y": (np.sin(load) + 0.05 * rng.standard_normal(n)).round(4),
        }
    )
    frame.loc[FAULTS, "y"] += [4.0, -5.0, 6.0, -3.0]
    return frame


def flagged(frame, recipe=None, **request):
    file = TableFile(frame)
    prepared = prepare(frame, Request(**({"targets": ("y",)} | request)))
    return flag_table(file, prepared, recipe or Recipe(), 0.5)


@pytest.fixture(scope="module")
def result():
    return flagged(hostile_frame())


@pytest.fixture(scope="module")
def text(result):
    return page(result, f"{HOSTILE}.csv")


class Parts(HTMLParser):
    """The tags of a page, the scripts that run and the data that do not."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.data, self.kind = [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.kind = (dict(attributes).get("type") or "run") if tag == "script" else None

    def handle_endtag(self, tag):
        self.kind = None

    def handle_data(self, data):
        if self.kind == "run":
            self.scripts.append(data)
        elif self.kind is not None:
            self.data += data


def test_nothing_in_a_table_becomes_markup_or_script(text):
    parts = Parts(text)
    assert len(parts.scripts) == 2
    assert not {"b", "img"} & set(parts.tags)
    shown = json.loads(parts.data)["fit-0"]["views"]
    assert [view["name"] for view in shown] == [HOSTILE, "site", "time", "row of the table"]
    # Plotly turns entities back into letters; before that it finds neither a tag nor a template.
    assert not re.search("[<{]", shown[0]["xaxis"]["title"]["text"])
    assert "<" not in parts.data


def test_only_the_scripts_of_the_page_may_run_and_nothing_may_be_loaded(text):
    policy = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'")
    hashes = set(re.findall("sha256-([^']*)'", policy))
    assert hashes == {b64encode(sha256(s.encode()).digest()).decode() for s in Parts(text).scripts}
    assert not re.search(r"<(link|iframe|object|embed|base)\b", text.split("<script")[0])


def test_a_report_of_three_hundred_readings_is_small(text):
    # Readings take about half a kilobyte each; the rest is Plotly.
    assert len(text.encode()) + 300 * 1000 < 6e6


def test_a_section_lists_the_faults_and_tells_the_model(result):
    about = section(result, 0, "Summary.")
    assert about.flagged == len(FAULTS)
    assert sorted(int(row[0].text) - 1 for row in about.rows) == FAULTS
    found = ["reading", "expected", "from", "to", "probability"]
    assert about.header == ["row", *found, HOSTILE, "site", "time"]
    assert about.header[about.sorted_by] == "probability"
    first = dict(zip(about.header, about.rows[0], strict=True))
    frame = hostile_frame()
    row = int(first["row"].text) - 1
    assert first["time"].text == frame.loc[row, "time"]
    assert first["site"].text == frame.loc[row, "site"]
    assert first["reading"].value == frame.loc[row, "y"]
    assert first["from"].value < first["expected"].value < first["to"].value
    assert about.influences[0].feature == HOSTILE
    assert about.influences[0].strength in {"strong", "moderate"}
    assert "squared exponential kernel" in about.kernel
    assert "the fit converged." in about.ending


def test_one_input_has_a_curve_several_have_points(result):
    several = section(result, 0, "").charts["fit"].views[0].data
    assert several[1]["mode"] == "markers"
    one = section(flagged(hostile_frame(), inputs=("time",)), 0, "").charts["fit"]
    band, line = one.views[0].data[:2]
    assert (band["fill"], line["mode"]) == ("toself", "lines")
    assert line["x"] == sorted(line["x"])
    assert len(line["x"]) == len(line["y"]) >= 300
    assert one.views[0].xaxis["type"] == "date"
    assert one.views[1].data[1]["mode"] == "markers"


def test_far_values_do_not_squeeze_a_picture(result, text):
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


def test_numbers_keep_the_digits_that_tell_something():
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


def test_pictures_of_many_readings_are_drawn_from_a_sample(result, monkeypatch):
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


def test_several_targets_missing_readings_and_a_sample():
    frame = hostile_frame().assign(z=lambda f: 2.0 * f["y"] + 1.0)
    frame.loc[3, "y"] = np.nan
    frame.loc[5, "time"] = ""
    text = page(flagged(frame, Recipe("mixture", sample=60), targets=("y", "z")), "data.csv")
    for part in ('<a href="#target-1">z</a>', "60 fitted, drawn from 79", 'id="fit-1"', "in the sample: "):
        assert part in text
    assert "of 78 readings</strong>" in text
    assert "of 79 readings</strong>" in text


def test_nothing_flagged_is_said():
    clean = hostile_frame().drop(index=FAULTS)
    text = page(flagged(clean.reset_index(drop=True)), "data.csv")
    assert "<p>None.</p>" in text
    assert "<strong>0 of 76 readings</strong>" in text


def test_models_in_words(result):
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


def test_of_many_inputs_those_are_shown_that_matter():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((70, 130))
    y = X[:, 7] + X[:, 99] + 0.05 * rng.standard_normal(70)
    y[[3, 30]] += 9.0
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(130)]).assign(y=y)
    few = flagged(frame, Recipe("mixture"), inputs=("c7", "c99", "c5"))
    assert section(few, 0, "").inputs_left_out == ""
    many = flagged(frame, Recipe("mixture"))
    about = section(many, 0, "")
    assert about.inputs_left_out.startswith("Shown are 50 of 130 inputs")
    shown = {each.feature for each in about.influences}
    assert len(shown) == 50
    assert {"c7", "c99"} <= shown
    assert len(about.axes) == 51
    assert shown == set(about.header) & set(frame.columns)
    assert {len(row) for row in about.rows} <= {len(about.header)}
    text = page(many, "data.csv")
    assert text.count("Shown are 50 of 130 inputs") == 2
    assert "130 features but 70 rows to learn from" in text


def test_parameters_at_a_bound_are_named_by_their_inputs(result):
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


# ------------------------------------------------------------------------------------ the command


@pytest.fixture
def data(tmp_path):
    hostile_frame().drop(columns=[HOSTILE, "site"]).to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def flag(data, *options):
    return CliRunner().invoke(main, ["flag", str(data), "--target", "y", *map(str, options)])


def test_flag_writes_a_report_beside_the_table(data):
    assert "Report" in flag(data).stdout
    assert "Faulty readings in data.csv" in data.with_name("data_flagged.html").read_text(encoding="utf-8")


def test_flag_writes_the_report_where_it_is_told(data, tmp_path):
    path = tmp_path / "new" / "look.html"
    document = json.loads(flag(data, "--report", path, "--json").stdout)
    assert document["report"] == str(path)
    assert path.exists()
    assert not data.with_name("data_flagged.html").exists()


def test_flag_is_quiet_and_writes_no_report_if_told_so(data):
    assert flag(data, "--quiet").output == ""
    report = data.with_name("data_flagged.html")
    assert report.exists()
    report.unlink()
    assert json.loads(flag(data, "--no-report", "--json").stdout)["report"] is None
    assert not report.exists()


def test_a_report_does_not_overwrite_a_table(data):
    result = flag(data, "--report", data)
    assert result.exit_code == 1
    assert "is the table itself" in result.stderr
    assert not data.with_name("data_flagged.csv").exists()


def test_without_plotly_the_table_is_written_all_the_same(data, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("plotly"):
            raise ModuleNotFoundError("No module named 'plotly'", name="plotly")
        return real(name, *arguments, **keywords)

    monkeypatch.delitem(sys.modules, "sturdygp.report.html.page")
    monkeypatch.setattr(builtins, "__import__", without)
    said = " ".join(flag(data).stdout.split())
    assert "Report none; a report needs the extra of that name: pip install 'sturdygp[report]'" in said
    assert data.with_name("data_flagged.csv").exists()
    assert "sturdygp[report]" in flag(data, "--report", "x.html").stderr
