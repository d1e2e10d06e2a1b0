"""The report as a text: what it says, what it leaves out, and that nothing in a table becomes markup."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pandas as pd
from references.hostile import FAULTS, HOSTILE, flagged, hostile_frame

from sturdygp.report.html.page import page, section
from sturdygp.tables.flagging import Recipe


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


def test_page_makes_no_markup_or_script_of_a_table(text):
    parts = Parts(text)
    assert len(parts.scripts) == 2
    assert not {"b", "img"} & set(parts.tags)
    shown = json.loads(parts.data)["fit-0"]["views"]
    assert [view["name"] for view in shown] == [HOSTILE, "site", "time", "row of the table"]
    # Plotly turns entities back into letters; before that it finds neither a tag nor a template.
    assert not re.search("[<{]", shown[0]["xaxis"]["title"]["text"])
    assert "<" not in parts.data


def test_page_lets_its_own_scripts_run_alone_and_loads_nothing(text):
    policy = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'")
    hashes = set(re.findall("sha256-([^']*)'", policy))
    assert hashes == {b64encode(sha256(s.encode()).digest()).decode() for s in Parts(text).scripts}
    assert not re.search(r"<(link|iframe|object|embed|base)\b", text.split("<script")[0])


def test_page_of_three_hundred_readings_is_small(text):
    # Readings take about half a kilobyte each; the rest is Plotly.
    assert len(text.encode()) + 300 * 1000 < 6e6


def test_section_lists_the_faults_and_describes_the_model(result):
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


def test_page_shows_several_targets_missing_readings_and_a_sample():
    frame = hostile_frame().assign(z=lambda f: 2.0 * f["y"] + 1.0)
    frame.loc[3, "y"] = np.nan
    frame.loc[5, "time"] = ""
    text = page(flagged(frame, Recipe("mixture", sample=60), targets=("y", "z")), "data.csv")
    for part in ('<a href="#target-1">z</a>', "60 fitted, drawn from 79", 'id="fit-1"', "in the sample: "):
        assert part in text
    assert "of 78 readings</strong>" in text
    assert "of 79 readings</strong>" in text


def test_page_says_that_nothing_is_flagged():
    clean = hostile_frame().drop(index=FAULTS)
    text = page(flagged(clean.reset_index(drop=True)), "data.csv")
    assert "<p>None.</p>" in text
    assert "<strong>0 of 76 readings</strong>" in text


def test_page_shows_those_of_many_inputs_that_matter():
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
