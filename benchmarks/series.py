"""Series in which faults are easily mistaken: small beside the function, rounded, uneven noise, a peak.

``python benchmarks/series.py [--trials N] [--jobs N]`` counts which faults each method flags, and how many
good readings: a wave on a trend, noise of 0.2, a tenth of the readings too high; waves without any faults
whose readings are rounded; noise that is a tenth of the level, or grows with time, with and without faults; a
peak of few readings; a constant with fill values; a signal that is lost now and then; uniform noise; few
readings of a calibration curve. Runs of 10 trials go into docs/results/series.json;
``--table`` prints them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from sturdygp import AsorGPRegressor, MixtureGPRegressor, RobustGPRegressor
from sturdygp.report.table import Table

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "series.json"
TRIALS, FIRST_SEED, ROWS, FEW_ROWS = 10, 3000, 200, 80
NOISE, FAULTY = 0.2, 0.1
METHODS = {"robust": RobustGPRegressor(), "ASOR": AsorGPRegressor(), "mixture": MixtureGPRegressor()}

Series = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator], Series]


def along_a_trend(rng: np.random.Generator, slope: float, size: float) -> Series:
    """Readings, and which are faulty."""
    t, bad = np.arange(ROWS), rng.random(ROWS) < FAULTY
    function = 5.0 * np.sin(2.0 * np.pi * t / 50.0) + slope * t
    return function + NOISE * rng.standard_normal(ROWS) + size * bad, bad


def rounded(rng: np.random.Generator, amplitude: float, noise: float) -> Series:
    """Readings to the next whole number, none of them faulty."""
    function = 20.0 + amplitude * np.sin(2.0 * np.pi * np.arange(ROWS) / 100.0)
    return np.round(function + noise * rng.standard_normal(ROWS)), np.zeros(ROWS, dtype=bool)


def uneven(rng: np.random.Generator, growing: float, rate: float) -> Series:
    """Noise of a tenth of the level, or growing so many times over with time; faults 12 too high."""
    t, bad = np.linspace(0.0, 1.0, ROWS), rng.random(ROWS) < rate
    function = 5.0 + 4.0 * np.sin(2.0 * np.pi * 2.5 * t)
    noise = NOISE * growing**t if growing else 0.1 * function
    return function + noise * rng.standard_normal(ROWS) + 12.0 * bad, bad


def peak(rng: np.random.Generator, size: float, rate: float) -> Series:
    """A peak five readings wide at half of its height of 25 times the noise, on a slope."""
    t, bad = np.arange(FEW_ROWS), rng.random(FEW_ROWS) < rate
    function = 25.0 * NOISE * np.exp(-0.5 * ((t - rng.uniform(24, 56)) / 2.1) ** 2) + 0.01 * t
    return function + NOISE * rng.standard_normal(FEW_ROWS) + size * bad, bad


def within_bounds(rng: np.random.Generator) -> Series:
    """Uniform noise around a wave that is no larger."""
    function = np.sin(2.0 * np.pi * np.arange(ROWS) / 100.0)
    return function + rng.uniform(-1.0, 1.0, ROWS), np.zeros(ROWS, dtype=bool)


def lost(rng: np.random.Generator) -> Series:
    """A signal that is lost a third of the time, which is written down as zero."""
    bad = rng.random(ROWS) < 1.0 / 3.0
    function = 10.0 + np.sin(2.0 * np.pi * np.arange(ROWS) / 100.0)
    return np.where(bad, 0.0, function + NOISE * rng.standard_normal(ROWS)), bad


def calibration(rng: np.random.Generator) -> Series:
    """A curve with two plateaus, in few readings with noise of 8 %."""
    level = 2.0 + 100.0 / (1.0 + np.exp(-np.linspace(-5.0, 5.0, FEW_ROWS // 2)))
    return level * (1.0 + 0.08 * rng.standard_normal(level.size)), np.zeros(level.size, dtype=bool)


def constant(rng: np.random.Generator) -> Series:
    """Noise around a constant, and three fill values."""
    y, bad = 7.0 + rng.standard_normal(FEW_ROWS), np.zeros(FEW_ROWS, dtype=bool)
    bad[rng.choice(FEW_ROWS, 3, replace=False)] = True
    return np.where(bad, -999.0, y), bad


PROBLEMS: dict[str, Draw] = {
    "faults of 2, no trend": lambda rng: along_a_trend(rng, 0.0, 2.0),
    "faults of 2, 0.5 a step": lambda rng: along_a_trend(rng, 0.5, 2.0),
    "faults of 5, 0.5 a step": lambda rng: along_a_trend(rng, 0.5, 5.0),
    "rounded, noise of 0.3 steps": lambda rng: rounded(rng, 1.0, 0.3),
    "rounded, noise of a step": lambda rng: rounded(rng, 1.0, 1.0),
    "rounded noise alone": lambda rng: rounded(rng, 0.0, 0.5),
    "noise of a tenth of the level": lambda rng: uneven(rng, 0.0, 0.0),
    "such noise, faults of 12": lambda rng: uneven(rng, 0.0, FAULTY),
    "noise grows tenfold with time": lambda rng: uneven(rng, 10.0, 0.0),
    "growing noise, faults of 12": lambda rng: uneven(rng, 10.0, FAULTY),
    "a peak of five readings": lambda rng: peak(rng, 0.0, 0.0),
    "such a peak, faults of 3": lambda rng: peak(rng, 3.0, 0.05),
    "a constant, three of -999": constant,
    "a third of the readings zero": lost,
    "uniform noise as large as the wave": within_bounds,
    "40 readings of a curve, noise of 8 %": calibration,
}


def trial(problem: str, method: str, seed: int) -> tuple[int, int, int, int]:
    """Faults, those found, good readings, and those flagged."""
    warnings.simplefilter("ignore")
    y, bad = PROBLEMS[problem](np.random.default_rng(seed))
    flagged = clone(METHODS[method]).fit(np.arange(float(y.size))[:, None], y).outlier_proba_ > 0.5
    return int(bad.sum()), int(flagged[bad].sum()), int((~bad).sum()), int(flagged[~bad].sum())


def stored() -> list[dict[str, Any]]:
    """The rows of the table."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text())["rows"]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """What was found, and what was flagged although it is good."""
    cells = tuple(
        (
            row["problem"],
            *(f"{100.0 * row[name]['found']:.0f} %" if row[name]["faults"] else "-" for name in METHODS),
            *(f"{100.0 * row[name]['false']:.1f} %" for name in METHODS),
        )
        for row in rows
    )
    header = ("series", *(f"{name} finds" for name in METHODS), *(f"{name} flags good" for name in METHODS))
    return Table("Faults found in series, and good readings flagged", header, cells).markdown()


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
    for problem in PROBLEMS:
        row: dict[str, Any] = {"problem": problem}
        for name in METHODS:
            counts = Parallel(n_jobs=arguments.jobs)(delayed(trial)(problem, name, seed) for seed in seeds)
            faults, found, good, false = np.sum(counts, axis=0).tolist()
            row[name] = {"faults": faults, "found": found / max(faults, 1), "false": false / good}
        rows.append(row)
    print(table(rows))
    if arguments.trials == TRIALS:
        RESULTS.write_text(json.dumps({"trials": TRIALS, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
