"""What the flagship makes of data without faults whose noise is about as large as the function, or larger.

``python benchmarks/weak_signal.py [--trials N] [--jobs N]`` draws a smooth function of two inputs with unit
noise, and compares the flagship, as it is and with ``faults="many"``, with an ordinary process: how
often it takes over a tenth of all readings for faulty, errors, and how much of the function 95 % intervals
cover. Runs of 40 trials go into docs/results/weak-signal.json; ``--table`` prints them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from sturdygp import RobustGPRegressor, StandardGPRegressor, metrics
from sturdygp.report.table import Table

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "weak-signal.json"
TRIALS, FIRST_SEED, TEST_ROWS = 40, 1000, 300
SIZES, AMPLITUDES = (30, 50, 100, 250), (0.0, 0.3, 0.7, 1.5)
# Rate of faults above which data that have none are misread.
MISREAD = 0.1
MODELS = {
    "robust": RobustGPRegressor(),
    "many": RobustGPRegressor(faults="many"),
    "standard": StandardGPRegressor(),
}


def trial(n: int, amplitude: float, seed: int) -> dict[str, float]:
    """All three on one data set."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X, X_test = rng.uniform(-3.0, 3.0, (n, 2)), rng.uniform(-3.0, 3.0, (TEST_ROWS, 2))
    f, f_test = (amplitude * np.sin(Z[:, 0]) * np.cos(0.5 * Z[:, 1]) for Z in (X, X_test))
    y = f + rng.standard_normal(n)
    row = {}
    for name, fresh in MODELS.items():
        model = clone(fresh).fit(X, y)
        mean, std = model.predict(X_test, return_std=True)
        row[f"{name} misread"] = float(getattr(model, "contamination_rate_", 0.0) > MISREAD)
        row[f"{name} rmse"] = metrics.rmse(f_test, mean)
        row[f"{name} coverage"] = metrics.coverage(f_test, mean, std)
    return row


def stored() -> list[dict[str, Any]]:
    """The rows of the table."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text())["rows"]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Means over trials."""
    cells = tuple(
        (
            str(row["n"]),
            f"{row['amplitude']:g}",
            *(f"{100.0 * row[f'{name} misread']:.0f} %" for name in ("robust", "many")),
            *(f"{row[f'{name} rmse']:.2f}" for name in MODELS),
            *(f"{row[f'{name} coverage']:.2f}" for name in MODELS),
        )
        for row in rows
    )
    names = ("", ", many faults", ", ordinary")
    misread, error, covers = ([f"{score}{name}" for name in names] for score in ("misread", "RMSE", "covers"))
    header = ("n", "amplitude", *misread[:2], *error, *covers)
    return Table("No faults, and noise of unit variance", header, cells).markdown()


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="only print what is stored, as Markdown")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(stored()))
        return
    seeds, rows = range(FIRST_SEED, FIRST_SEED + arguments.trials), []
    for n in SIZES:
        for amplitude in AMPLITUDES:
            found = Parallel(n_jobs=arguments.jobs)(delayed(trial)(n, amplitude, seed) for seed in seeds)
            means = {key: float(np.mean([row[key] for row in found])) for key in found[0]}
            rows.append({"n": n, "amplitude": amplitude, **means})
    print(table(rows))
    if arguments.trials == TRIALS:
        RESULTS.write_text(json.dumps({"trials": TRIALS, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
