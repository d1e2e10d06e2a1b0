"""The demonstration."""

import pytest
from click.testing import CliRunner

from sturdygp.cli.main import main


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(main, arguments, catch_exceptions=False)


def test_demo_prints_tables_and_writes_picture_and_report(run, tmp_path, monkeypatch):
    # A relative folder: its name is printed, and lines are not to be longer than a terminal.
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--output", ".")
    assert result.exit_code == 0
    assert "ASOR-GPR" in result.output
    assert max(map(len, result.output.splitlines())) <= 88
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "demo.png" in report
    assert "probability of being an outlier" in report
