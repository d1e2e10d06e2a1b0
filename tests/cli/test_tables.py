"""The commands for tables, driven as a user would."""

import builtins
import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from importlib import import_module

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sturdygp import StandardGPRegressor, load
from sturdygp.cli.main import main
from sturdygp.cli.tables import errors_in_one_line

FAULTS = [5, 17, 30, 44, 58, 71]


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.fixture
def data(tmp_path):
    """A sensor with a daily rhythm, read every hour; six readings are wrong and two are missing."""
    rng = np.random.default_rng(3)
    hours = np.arange(90.0)
    y = 20.0 + 4.0 * np.sin(2.0 * np.pi * hours / 24.0) + 0.3 * rng.standard_normal(90)
    y[FAULTS] += rng.choice([-1.0, 1.0], len(FAULTS)) * rng.uniform(5.0, 20.0, len(FAULTS))
    y[[10, 11]] = -200.0
    frame = pd.DataFrame(
        {
            "no": np.arange(90),
            "time": pd.date_range("2024-05-01", periods=90, freq="h").strftime("%Y-%m-%d %H:%M"),
            "temperature": y.round(2),
        }
    )
    frame.to_csv(tmp_path / "sensor.csv", index=False)
    return tmp_path / "sensor.csv"


def test_flag_finds_the_faults_and_says_what_it_did(run, data):
    result = run("flag", data, "--target", "temperature", "--missing", "-200")
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    for part in (
        "sensor.csv: 90 rows",
        "Inputs time (days since 2024-05-01)",
        "Left out no (only counts the rows)",
        "88 fitted; 2 without a reading, predicted",
        "readings are probably faulty",
        "sensor_flagged.csv",
    ):
        assert part in said
    assert max(map(len, result.output.replace(str(data.parent), "").splitlines())) <= 80
    table = pd.read_csv(data.with_name("sensor_flagged.csv"))
    flagged = set(np.flatnonzero(table["temperature_flag"].isin([True])))
    # Recall and precision: every fault, and no more than one reading that is none.
    assert flagged >= set(FAULTS)
    assert len(flagged) <= len(FAULTS) + 1
    good = table.drop(index=[*FAULTS, 10, 11])
    inside = good["temperature"].between(good["temperature_lower"], good["temperature_upper"])
    assert inside.mean() > 0.85
    # What was there is there still, and missing readings are predicted.
    original = pd.read_csv(data)
    pd.testing.assert_frame_equal(table[original.columns.tolist()], original)
    assert table.loc[10, "temperature_expected"] == pytest.approx(
        20.0 + 4.0 * np.sin(2 * np.pi * 10 / 24), abs=1.0
    )


def test_flag_prints_json(run, data, tmp_path):
    out = tmp_path / "out.parquet"
    result = run(
        "flag", data, "--target", "temperature", "--inputs", "time", "--missing", "-200", "--method", "asor",
        "--threshold", "0.9", "--out", out, "--json",
    )  # fmt: skip
    document = json.loads(result.stdout)
    assert document["rows"] == {
        "read": 90, "input_missing": 0, "target_missing": 2, "usable": 88, "fitted": 88
    }  # fmt: skip
    assert document["inputs"] == [
        {"name": "time", "kind": "time", "description": "time (days since 2024-05-01)"}
    ]
    assert document["out"] == str(out)
    assert document["method"] == "asor"
    rows = {each["row"] - 1 for each in document["flagged"]["temperature"]}
    assert rows >= set(FAULTS)
    assert all(each["outlier_probability"] > 0.9 for each in document["flagged"]["temperature"])
    table = pd.read_parquet(out)
    assert set(np.flatnonzero(table["temperature_flag"].isin([True]))) == rows


def test_flag_quiet_prints_nothing(run, data):
    result = run("flag", data, "--target", "temperature", "--missing", "-200", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert data.with_name("sensor_flagged.csv").exists()


def test_predict_after_fit(run, data, tmp_path):
    model = tmp_path / "models" / "sensor.sgp"
    fitted = run("fit", data, "--target", "temperature", "--missing", "-200", "--save", model)
    assert fitted.exit_code == 0, fitted.output
    assert "Saved" in fitted.output
    new = tmp_path / "new.tsv"
    new.write_text("time\ttemperature\n2024-05-03 01:00\t21.1\n2024-05-03 02:00\t90\n\t20\n")
    result = run("predict", model, new)
    assert result.exit_code == 0, result.output
    assert "1 without an input" in result.output
    assert "temperature: 1 of 2 readings" in result.output
    table = pd.read_csv(tmp_path / "new_predicted.tsv", sep="\t")
    assert table["temperature_flag"].tolist()[:2] == [False, True]
    assert pd.isna(table["temperature_flag"][2])
    truth = 20.0 + 4.0 * np.sin(2 * np.pi * np.array([1.0, 2.0]) / 24.0)
    np.testing.assert_allclose(table["temperature_expected"][:2], truth, atol=0.5)
    assert np.isnan(table["temperature_expected"][2])
    only_inputs = tmp_path / "only.csv"
    only_inputs.write_text("time\n2024-05-03 01:00\n")
    document = json.loads(run("predict", model, only_inputs, "--json").stdout)
    assert document["columns"] == ["temperature_expected", "temperature_lower", "temperature_upper"]


def test_predict_with_a_model_that_does_not_flag(run, data, tmp_path):
    model = tmp_path / "model.sgp"
    arguments = ("--target", "temperature", "--missing", "-200", "--method", "standard", "--sample", "30")
    result = run("fit", data, *arguments, "--save", model, "--json")
    assert json.loads(result.stdout)["rows"]["fitted"] == 30
    predicted = run("predict", model, data, "--out", tmp_path / "out.csv")
    assert predicted.exit_code == 0
    assert "Flagged" not in predicted.output


def test_predict_is_told_how_a_table_is_written(run, tmp_path):
    def table(name, rows):
        path = tmp_path / name
        path.write_text("t,x,y\n" + "".join(f'"{t}","{x}","{y}"\n' for t, x, y in rows))
        return path

    old = table("old.csv", [(f"{t},5", f"{t % 7},0", f"{t},25") for t in range(30)])
    model = tmp_path / "model.sgp"
    fitted = run("fit", old, "--target", "y", "--decimal", ",", "--method", "standard", "--save", model)
    assert fitted.exit_code == 0, fitted.output
    new = table("new.csv", [("3,5", "1,0", "3,25"), ("4,5", "gone", "4,25"), ("5,5", "odd", "5,25")])
    message = failing(run, "predict", model, new)
    assert "no row of" in message
    assert "t: 3 cells are not numbers (for example '3,5')" in message
    assert not (tmp_path / "new_predicted.csv").exists()
    result = run("predict", model, new, "--decimal", ",", "--missing", "gone")
    assert result.exit_code == 0, result.output
    assert "Note      x: 1 cell is not a number (for example 'odd')" in result.output
    assert "--missing gone stands in 1 cell of the table" in result.output
    assert pd.read_csv(tmp_path / "new_predicted.csv")["y_expected"].notna().tolist() == [True, False, False]
    bars = tmp_path / "bars.csv"
    bars.write_text("t/x\n3.5/1\n")
    assert run("predict", model, bars, "--separator", "/").exit_code == 0
    lacking = tmp_path / "lacking.csv"
    lacking.write_text("t,z\n3.5,1\n")
    assert "the table lacks the column 'x'; it has 't', 'z'" in failing(run, "predict", model, lacking)
    twice = tmp_path / "twice.csv"
    twice.write_text("t,x,x\n3.5,1,2\n")
    assert "the column 'x' more than once" in failing(run, "predict", model, twice)


def test_flag_goes_on_when_a_reader_goes_away(data, tmp_path):
    out = tmp_path / "out.csv"
    arguments = ("flag", data, "--target", "temperature", "--inputs", "time", "--method", "mixture")
    command = [sys.executable, "-m", "sturdygp", *map(str, arguments), "--out", str(out), "--no-report"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
    assert out.exists()


def command_for(*arguments):
    return [sys.executable, "-m", "sturdygp", *map(str, arguments)]


@pytest.mark.parametrize("closed", ["2>&-", "0<&- >&- 2>&-"])
def test_flag_works_with_closed_streams(data, closed):
    """With no stream for errors, Python has none to ask for a terminal, and files would take its number."""
    arguments = ("flag", data, "--target", "temperature", "--method", "mixture", "--no-report")
    command = f"exec {shlex.join(command_for(*arguments))} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert ("Written" in done.stdout) == (">&- 2" not in closed)
    table = pd.read_csv(data.with_name("sensor_flagged.csv"))
    assert len(table) == 90
    failed = subprocess.run(["sh", "-c", command.replace("temperature", "pressure")], check=False)
    assert failed.returncode == 1


def test_flag_interrupted_has_an_exit_code_of_its_own(run, data, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sturdygp.cli.table_work.flag_table", interrupted)
    result = run("flag", data, "--target", "temperature")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted\n"
    assert not data.with_name("sensor_flagged.csv").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals of another kind")
def test_flag_is_ended_by_control_c(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 50.0, (2500, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=np.sin(X[:, 0]) + rng.standard_normal(2500))
    frame.to_csv(tmp_path / "long.csv", index=False)
    command = command_for("flag", tmp_path / "long.csv", "--target", "y")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def listen():
        """A shell starts what runs in the background with interrupts ignored."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    pipes |= {"preexec_fn": listen, "env": os.environ | {"PYTHONUNBUFFERED": "1"}}
    with subprocess.Popen(command, **pipes) as process:
        # What the inputs are is told just before the fit.
        while not process.stdout.readline().startswith("Inputs"):
            pass
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "Interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["long.csv"]


ESCAPES = "\x1b[2J\x1b]0:owned\x07\x9b31m\u202e"


@pytest.mark.filterwarnings("error")
def test_commands_let_nothing_of_a_table_command_the_terminal(run, data):
    """As on a terminal, which gets colours and all that begins like them."""
    frame = pd.read_csv(data).rename(columns={"temperature": f"t{ESCAPES}", "no": f"n{ESCAPES}"})
    frame["remark"] = [f"{ESCAPES}{index}" for index in range(len(frame))]
    frame["state"] = [f"{ESCAPES}{index % 2}" for index in range(len(frame))]
    path = data.with_name("hostile.csv")
    frame.to_csv(path, index=False)
    commands = [
        ("flag", path, "--target", f"t{ESCAPES}", "--method", "mixture", "--no-report"),
        ("fit", path, "--target", f"t{ESCAPES}", "--method", "mixture", "--save", path.with_suffix(".sgp")),
        ("predict", path.with_suffix(".sgp"), path),
        ("flag", path, "--target", "remark"),
        ("flag", path, "--target", "remark", "--debug"),
        ("flag", path, "--target", f"no{ESCAPES}"),
        ("flag", f"{ESCAPES}.csv", "--target", "y"),
        (ESCAPES,),
        (f"--{ESCAPES}",),
    ]
    codes = []
    for command in commands:
        result = CliRunner().invoke(main, [str(each) for each in command], color=True)
        codes.append(result.exit_code)
        assert not set(result.output) & set("\x1b\x07\x9b\u202e")
        assert "\\x1b[2J" in result.output
    assert codes == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    written = pd.read_csv(data.with_name("hostile_flagged.csv"))
    assert written[frame.columns.tolist()].astype(str).equals(frame.astype(str))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
def test_flag_names_a_full_disk(data, tmp_path):
    arguments = ("flag", data, "--target", "temperature", "--out", tmp_path / "out.csv", "--no-report")
    command = [sys.executable, "-m", "sturdygp", *map(str, arguments)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "Error: what the command prints cannot be written (No space left on device); send it elsewhere\n"
    )
    with pytest.raises(click.ClickException) as told, errors_in_one_line(debug=False):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert told.value.message == "No space left on device"


def failing(run, *arguments):
    """A command that fails with an error in one line."""
    result = run(*arguments)
    lines = result.stderr.strip().splitlines()
    assert result.exit_code == 1
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    assert result.stdout == ""
    return lines[0]


def test_commands_fail_in_one_line_with_exit_code_one(run, data, tmp_path):
    target = ("--target", "temperature")
    assert "has no column 'pressure'" in failing(run, "flag", data, "--target", "pressure")
    assert "is the table itself" in failing(run, "flag", data, *target, "--out", data)
    assert "does not end in one of" in failing(run, "flag", data, *target, "--out", tmp_path / "x.doc")
    assert "is not a model that can be loaded" in failing(run, "predict", data, data)
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "is not a table" in failing(run, "flag", empty, *target)
    twice = tmp_path / "twice.csv"
    twice.write_text("t,y,y_flag\n1,2,True\n2,3,False\n")
    assert "already has the column 'y_flag'" in failing(run, "flag", twice, "--target", "y")


def test_commands_refuse_files_before_they_work(run, data, tmp_path, monkeypatch):
    target, before = ("--target", "temperature"), data.read_bytes()
    monkeypatch.setattr("sturdygp.cli.table_work.read_table", None)
    for command, message in (
        (("fit", data, *target, "--save", data), "is the table itself; choose another file with --save"),
        (("flag", data, *target, "--report", data), "is the table itself; choose another file with --report"),
        (
            ("flag", data, *target, "--out", tmp_path / "x.csv", "--report", tmp_path / "x.csv"),
            "is the table of results; choose another file with --report",
        ),
        (("predict", tmp_path / "sensor.csv", data, "--out", data), "is the table itself"),
        (("fit", data, *target, "--save", data / "new" / "model.sgp"), "sensor.csv is not a folder"),
        (("flag", data, *target, "--out", data / "x.csv"), "sensor.csv is not a folder"),
        (("flag", data, *target, "--report", data / "x.html"), "sensor.csv is not a folder"),
    ):
        assert message in failing(run, *command)
    model = tmp_path / "model.csv"
    model.touch()
    assert "is the model; choose another" in failing(run, "predict", model, data, "--out", model)
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    assert "permission denied" in failing(run, "fit", data, *target, "--save", tmp_path / "model.sgp")
    assert data.read_bytes() == before


def test_flag_takes_a_link_to_the_table_for_the_table(run, data, tmp_path):
    link = tmp_path / "link.csv"
    os.link(data, link)
    message = failing(run, "flag", data, "--target", "temperature", "--out", link)
    assert "link.csv is the table itself" in message


def test_flag_keeps_earlier_results_after_a_failure(run, data, monkeypatch):
    out, report = data.with_name("sensor_flagged.csv"), data.with_name("sensor_flagged.html")
    out.write_text("earlier")
    report.write_text("earlier")

    def half(frame, path, dialect):
        path.write_text("half")
        raise ValueError("no more room")

    monkeypatch.setattr("sturdygp.cli.table_work.write_table", half)
    result = run("flag", data, "--target", "temperature", "--method", "mixture")
    assert "no more room" in result.stderr
    assert (out.read_text(), report.read_text()) == ("earlier", "earlier")
    assert sorted(each.name for each in data.parent.iterdir()) == [data.name, out.name, report.name]


def test_fit_takes_tabs_written_as_in_programs(run, tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("t\ty\n" + "".join(f"{t}\t{t % 3}\n" for t in range(9)))
    arguments = ("fit", path, "--target", "y", "--method", "standard", "--save", tmp_path / "m.sgp")
    assert run(*arguments, "--separator", "\\t").exit_code == 0


def test_commands_look_at_the_ending_of_the_data_first(run, tmp_path):
    path = tmp_path / "ok.dat"
    path.touch()
    for arguments in (("flag", path), ("fit", path, "--save", tmp_path / "m.sgp")):
        assert "Error: ok.dat does not end in one of" in failing(run, *arguments, "--target", "y")


def test_flag_refuses_one_row(run, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("t,y\n1,2\n")
    assert "the table has 1 row, too few to fit" in failing(run, "flag", path, "--target", "y")


def test_predict_flags_above_the_threshold(run, data, tmp_path):
    model, out = tmp_path / "model.sgp", tmp_path / "out.csv"
    run("fit", data, "--target", "temperature", "--missing", "-200", "--method", "mixture", "--save", model)
    for threshold in (0.001, 0.5):
        result = run("predict", model, data, "--threshold", threshold, "--out", out, "--json")
        assert json.loads(result.stdout)["threshold"] == threshold
        table = pd.read_csv(out)
        judged = table.dropna(subset="temperature_flag")
        above = judged["temperature_outlier_probability"] > threshold
        assert judged["temperature_flag"].isin([True]).tolist() == above.tolist()


def test_flag_takes_most_readings_for_good_unless_told_otherwise(run, data, tmp_path):
    noise = pd.DataFrame({"t": range(100), "y": np.random.default_rng(5).standard_normal(100).round(1)})
    path = tmp_path / "noise.csv"
    noise.to_csv(path, index=False)
    misread = run("flag", path, "--target", "y", "--no-report", "--many-faults").stdout
    assert "That is most of them" in misread
    assert "say so: leave out --many-faults." in misread
    assert "faults=" not in misread
    result = run("flag", path, "--target", "y", "--no-report", "--json")
    assert len(json.loads(result.stdout)["flagged"]["y"]) < 10
    assert "if they may be, compare with --many-faults." in result.stdout
    refused = failing(run, "flag", data, "--target", "temperature", "--many-faults", "--method", "asor")
    assert "--many-faults is for the method robust alone, and the method is asor" in refused
    model = tmp_path / "model.sgp"
    assert run("fit", path, "--target", "y", "--many-faults", "--save", model).exit_code == 0
    assert load(model).faults == "many"


def test_flag_refuses_a_target_whose_name_stands_twice(run, tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("t,v,v\n1,2,2\n2,3,3\n3,4,4\n")
    assert "the column 'v' more than once" in failing(run, "flag", path, "--target", "v")


def test_debug_shows_where_an_error_arose(run, data):
    result = run("flag", data, "--target", "pressure", "--debug")
    assert result.exit_code == 1
    assert "Traceback (most recent call last)" in result.stderr
    assert "table_work.py" in result.stderr
    assert "TableError: the table has no column 'pressure'" in result.stderr


def test_commands_not_understood_exit_with_two(run, data):
    for arguments in (
        ("flag", data),
        ("flag", "nowhere.csv", "--target", "y"),
        ("flag", data, "--target", "temperature", "--method", "magic"),
        ("flag", data, "--target", "temperature", "--threshold", "1.5"),
        ("flag", data, "--target", "temperature", "--threshold", "nan"),
        ("flag", data, "--target", "temperature", "--separator", "::"),
        ("flag", data, "--target", "temperature", "--separator", '"'),
        ("flag", data, "--target", "temperature", "--report", "r.html", "--no-report"),
        ("predict", data, data, "--threshold", "0"),
        ("fit", data, "--target", "temperature"),
    ):
        assert run(*arguments).exit_code == 2
    assert "Exit code: 0" in run("flag", "--help").output


def test_flag_without_pandas_says_what_to_install(run, data, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return real(name, *arguments, **keywords)

    for name in [
        each for each in sys.modules if each.startswith(("sturdygp.tables", "sturdygp.cli.table_work"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'sturdygp[tables]'" in failing(run, "flag", data, "--target", "temperature")


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_flag_refuses_a_format_without_its_library_before_the_fit(run, data, tmp_path, monkeypatch, ending):
    read, work = (import_module(f"sturdygp.{name}") for name in ("tables.read", "cli.table_work"))
    monkeypatch.setattr(read, "find_spec", lambda name: None)
    monkeypatch.setattr(work, "flag_table", lambda *arguments: pytest.fail("fitted in vain"))
    said = failing(run, "flag", data, "--target", "temperature", "--out", tmp_path / f"flagged.{ending}")
    assert f".{ending} files need another library" in said


def test_fit_warns_if_it_did_not_converge(run, data, monkeypatch):
    from sturdygp.tables.flagging import REGISTRY

    def hasty(inducing, random_state, callback):
        return StandardGPRegressor(max_iter=1, random_state=random_state)

    monkeypatch.setitem(REGISTRY, "standard", replace(REGISTRY["standard"], estimator=hasty))
    arguments = ("--target", "temperature", "--method", "standard", "--save", data.with_name("m.sgp"))
    result = run("fit", data, *arguments)
    assert "Warning   stopped at max_iter" in result.output
