"""Commands that run experiments and print their tables, figures and claims."""

import sys

import pytest
from click.testing import CliRunner
from references.records import records_of

from sturdygp.cli.main import main
from sturdygp.experiments import ResultStore
from sturdygp.report.grid import Setting


def test_reproduce_without_dask_says_what_to_install(monkeypatch, command, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = command("reproduce", "smoke", "--dask", "local", "--results", tmp_path)
    assert result.exit_code == 1
    assert "sturdygp[dask]" in result.output


def test_reproduce_runs_what_is_left_and_status_counts_it(command, tmp_path):
    arguments = (
        "reproduce",
        "smoke",
        "--trials",
        1,
        "--n-jobs",
        1,
        "--method",
        "oracle",
        "--results",
        tmp_path,
    )
    first = command(*arguments)
    assert first.exit_code == 0, first.output
    assert "smoke: 2 tasks run, 0 done before, 0 failed" in first.output
    assert "| Oracle GPR | 2 | 0 | 0 |" in first.output
    assert "smoke: 0 tasks run, 2 done before" in command(*arguments).output
    assert (
        "smoke       text, best: 2 of 36 tasks (5 %), 0 failed"
        in command("status", "--results", tmp_path).output
    )
    assert "not started" in command("status", "fig1a", "--results", tmp_path).output


def test_reproduce_explains_what_it_cannot_do(command, tmp_path):
    result = command("reproduce", "smoke", "--method", "asor-gem", "--results", tmp_path)
    assert result.exit_code == 1
    assert "Error: each method of smoke must be one of" in result.output
    (tmp_path / "smoke.jsonl").write_text("nonsense\n", encoding="utf-8")
    assert "line 1 of" in command("status", "smoke", "--results", tmp_path).output


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with the results of a small run."""
    folder = tmp_path_factory.mktemp("results")
    arguments = ["--n-jobs", "1", "--method", "oracle", "--method", "asor", "--results", str(folder)]
    done = CliRunner().invoke(main, ["reproduce", "smoke", *arguments])
    assert done.exit_code == 0, done.output
    return folder


def test_figure_and_table_of_a_run(command, results, tmp_path):
    for name, start in (("a.png", b"\x89PNG"), ("new/a.pdf", b"%PDF")):
        done = command("figure", "smoke", "--results", results, "--out", tmp_path / name, "--width", 3.5)
        assert done.exit_code == 0, done.output
        assert (tmp_path / name).read_bytes().startswith(start)
    printed = command("table", "smoke", "--results", results).output
    assert "smoke (text, best; 2 trials), Synthetic, U[0,10]: median (mean) RMSE" in printed
    assert "| ASOR-GPR |" in printed
    assert "AsorGPRegressor(" in printed
    assert "Made on" in printed
    out = tmp_path / "new" / "table.tex"
    command("table", "smoke", "--results", results, "--format", "latex", "--out", out)
    assert out.read_text(encoding="utf-8").count(r"\begin{tabular}") == printed.count("\n|---")


def test_export_gives_the_same_tables(command, results, tmp_path):
    done = command("export", "smoke", "--results", results, "--out", tmp_path / "smoke.jsonl")
    assert done.exit_code == 0, done.output
    long, short = (command("table", "smoke", "--results", folder).output for folder in (results, tmp_path))
    assert long == short
    assert command("reproduce", "smoke", "--method", "asor", "--results", tmp_path).output.startswith(
        "smoke: 0 tasks run, 4 done before"
    )


def test_report_commands_name_the_command_that_makes_missing_results(command, results, tmp_path):
    refusals = {
        ("table", "fig1a"): "run sturdygp reproduce fig1a",
        ("figure", "fig1b", "--baselines", "as-published"): "reproduce fig1b --baselines as-published",
        ("table", "table1", "--convention", "std"): "run sturdygp reproduce table1 --convention std",
        ("table", "claims"): "to judge claims by: run sturdygp reproduce fig1a",
        ("export", "field", "--out", tmp_path / "field.jsonl"): "run sturdygp reproduce field",
    }
    for arguments, message in refusals.items():
        refused = command(*arguments, "--results", tmp_path)
        assert refused.exit_code == 1
        assert message in refused.output
        assert f"--results {tmp_path}" in refused.output
    wrong = command("figure", "smoke", "--results", results, "--out", tmp_path / "a.docx")
    assert wrong.exit_code == 1
    assert "Format 'docx' is not supported" in wrong.output
    same = command("export", "smoke", "--results", results, "--out", results / "smoke.jsonl")
    assert "choose another file" in same.output


def test_table_of_claims_has_all_settings_or_one(command, tmp_path):
    with ResultStore(tmp_path / "fig1a.jsonl").writing({}) as appender:
        for convention in ("text", "std"):
            for each in records_of("fig1a", trials=1, convention=convention):
                appender.append(each)
    both = command("table", "claims", "--results", tmp_path).output
    one = command("table", "claims", "--results", tmp_path, "--convention", "std").output
    assert "text, best; 1 trial, 0 failed" in both
    assert "std, best; 1 trial, 0 failed" in both
    assert "text, best" not in one
    assert Setting("std") == Setting("std", "best")
