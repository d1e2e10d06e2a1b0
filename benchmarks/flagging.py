"""``sturdygp flag`` on whole files: how long it takes, and what it finds where that is known.

Air Quality (carbon monoxide from the other columns, no labels), two temperature series of the Numenta Anomaly
Benchmark (labelled stretches of time, in which most readings are normal), and Yacht with a tenth of the
readings moved by one to six standard deviations, up or down. ``python benchmarks/flagging.py`` runs the
command as a person would, ``--store`` keeps what was found in docs/results/flagging.json, ``--table`` prints
it again. ``STURDYGP_DATA`` may name a folder with the data; otherwise they are downloaded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from sturdygp.datasets import find_file, load_nab, load_yacht
from sturdygp.report.table import Table, number
from sturdygp.tables.read import read_table

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "flagging.json"
SERIES = ("machine_temperature_system_failure", "ambient_temperature_system_failure")
MOVED_SHARE, SEED = 0.1, 0

Json: TypeAlias = dict[str, Any]


def flagged(folder: Path, data: Path, target: str, *options: str) -> tuple[np.ndarray, float]:
    """Which rows the command flags, and its seconds from start to end."""
    out, start = folder / "flagged.csv", time.perf_counter()
    command = [sys.executable, "-m", "sturdygp", "flag", str(data), "--target", target, *options]
    subprocess.run([*command, "--out", str(out), "--quiet"], check=True)
    seconds = time.perf_counter() - start
    return read_table(out).frame[f"{target}_flag"].eq("True").to_numpy(), seconds


def air_quality(folder: Path) -> Json:
    """The whole file, with -200 for missing."""
    flags, seconds = flagged(folder, find_file("AirQualityUCI.csv"), "CO(GT)", "--missing", "-200")
    return row("Air Quality, CO(GT)", flags, seconds)


def series(folder: Path, name: Any) -> Json:
    """A labelled series; a window is found if a reading in it is flagged."""
    flags, seconds = flagged(folder, find_file(f"nab_{name}.csv"), "value")
    inside = load_nab(name).in_window
    windows = np.flatnonzero(np.diff(inside.astype(int), prepend=0, append=0)).reshape(-1, 2)
    found = sum(bool(flags[start:end].any()) for start, end in windows)
    known = f"{found} of {len(windows)} windows"
    return row(f"NAB, {name.partition('_')[0]} temperature", flags, seconds, known)


def yacht(folder: Path) -> Json:
    """Resistance with faults of known places."""
    table, rng = load_yacht(), np.random.default_rng(SEED)
    y = table.y.ravel().copy()
    moved = rng.choice(y.size, round(MOVED_SHARE * y.size), replace=False)
    y[moved] += rng.choice([-1.0, 1.0], moved.size) * rng.uniform(1.0, 6.0, moved.size) * y.std()
    data = folder / "yacht.csv"
    inputs = pd.DataFrame(table.X, columns=[f"x{i}" for i in range(table.X.shape[1])])
    inputs.assign(resistance=y).to_csv(data, index=False)
    flags, seconds = flagged(folder, data, "resistance")
    hits = float(flags[moved].sum())
    known = f"recall {hits / moved.size:.2f}, precision {hits / flags.sum():.2f}"
    return row("Yacht, faults added", flags, seconds, known)


def row(name: str, flags: np.ndarray, seconds: float, known: str = "-") -> Json:
    """One file."""
    return {"name": name, "rows": flags.size, "flagged": int(flags.sum()), "known": known, "seconds": seconds}


def measure() -> Iterator[Json]:
    """All files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield air_quality(folder)
        for each in SERIES:
            yield series(folder, each)
        yield yacht(folder)


def table(rows: list[Json]) -> str:
    """One line for each file."""
    cells = [
        (each["name"], str(each["rows"]), str(each["flagged"]), each["known"], number(each["seconds"]))
        for each in rows
    ]
    header = ("file", "rows", "flagged", "of what is known", "s")
    return Table("What sturdygp flag finds in whole files", header, tuple(cells)).markdown()


def stored() -> list[Json]:
    """What was kept."""
    rows: list[Json] = json.loads(RESULTS.read_text())
    return rows


def main() -> None:
    """Run, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--table", action="store_true", help="print what is kept instead of measuring")
    arguments = parser.parse_args()
    rows = stored() if arguments.table else list(measure())
    print(table(rows))
    if arguments.store:
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
