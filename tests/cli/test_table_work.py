"""Files that the commands for tables write, and when."""

import builtins
import json
import sys

import pytest
from click.testing import CliRunner
from references.hostile import HOSTILE, hostile_frame

from sturdygp.cli.main import main
from sturdygp.cli.table_work import replacing


def test_replacing_puts_a_file_in_its_place_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "out.csv"
    with replacing(path) as partial:
        partial.write_text("first")
        assert not path.exists()
    assert path.read_text() == "first"
    assert list(path.parent.iterdir()) == [path]
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    with replacing(link) as partial:
        partial.write_text("second")
    assert link.is_symlink()
    assert path.read_text() == "second"
    with replacing(tmp_path / "new") as same:
        assert same == tmp_path / "new"


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


def test_flag_does_not_overwrite_the_table_by_its_report(data):
    result = flag(data, "--report", data)
    assert result.exit_code == 1
    assert "is the table itself" in result.stderr
    assert not data.with_name("data_flagged.csv").exists()


def test_flag_without_plotly_writes_the_table_all_the_same(data, monkeypatch):
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
