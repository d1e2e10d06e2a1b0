"""The command that runs experiments."""

import sys


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
