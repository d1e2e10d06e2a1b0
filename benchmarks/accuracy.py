"""Accuracy as a ratio to an oracle that knows which readings are faulty.

``python benchmarks/accuracy.py [--trials N] [--jobs N] [--problems NAME ...]`` fits all methods to the same
data, whose seeds start at 1000: the paper's synthetic problem with three kinds of faults, Air Quality and
Energy. For each rate of faults it prints the median and the mean over trials of the RMSE pooled over outputs,
divided by the oracle's; the coverage of 95 % intervals for the function, where it is known; how well the
probabilities find the faults (average precision) and how far they are off (expected calibration error);
factorisations for one output; fits that failed, and those that did not converge. Runs of 30 trials go into
docs/results/accuracy.json, where they replace earlier ones of the same problems and methods (``--methods``).
``STURDYGP_DATA`` may name a folder with the real data; otherwise they are downloaded.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RobustGPRegressor,
    StudentTGPRegressor,
    metrics,
)
from sturdygp.datasets import (
    NormalOutliers,
    Outliers,
    UniformOutliers,
    add_outliers,
    load_air_quality,
    load_energy,
    make_synthetic,
)
from sturdygp.status import Status

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "accuracy.json"
FIRST_SEED, TRIALS, ROWS = 1000, 30, 100
PROBLEMS: dict[str, tuple[str, Outliers]] = {
    "synthetic U[0,10]": ("synthetic", UniformOutliers(0.0, 10.0)),
    "synthetic N(0,25)": ("synthetic", NormalOutliers(0.0, 25.0)),
    "synthetic U[-5,15]": ("synthetic", UniformOutliers(-5.0, 15.0)),
    "Air Quality U[-5,15]": ("air quality", UniformOutliers(-5.0, 15.0)),
    "Energy N(0,25)": ("energy", NormalOutliers(0.0, 25.0)),
}
RATES = (0.0, 0.2, 0.4, 0.6, 0.8)
METHODS: dict[str, Any] = {
    "robust": RobustGPRegressor(),
    "robust, many faults": RobustGPRegressor(faults="many"),
    "ASOR": AsorGPRegressor(),
    "ASOR, starts": AsorGPRegressor(n_starts=7),
    "mixture": MixtureGPRegressor(),
    "Student-t": StudentTGPRegressor(dof="learn"),
}


@dataclass(frozen=True)
class Data:
    """Training readings with known faults, and the truth at the test inputs."""

    X: np.ndarray
    y: np.ndarray
    mask: np.ndarray
    X_test: np.ndarray
    truth: np.ndarray


def draw(source: str, outliers: Outliers, rate: float, seed: int) -> Data:
    """The synthetic problem; or random rows, standardised by those trained on, and others to test on."""
    if source == "synthetic":
        d = make_synthetic(ROWS, rate=rate, outliers=outliers, seed=seed)
        return Data(d.X, d.y, d.outlier_mask, d.X_test, d.f_test)
    table = load_air_quality() if source == "air quality" else load_energy()
    rng = np.random.default_rng(seed)
    train, test = np.split(rng.permutation(len(table.y))[: 2 * ROWS], 2)
    X, y = (
        (part - part[train].mean(axis=0)) / part[train].std(axis=0, ddof=1) for part in (table.X, table.y)
    )
    spoiled, mask = add_outliers(y[train], outliers, rate=rate, rng=rng)
    return Data(X[train], spoiled, mask, X[test], y[test])


def trial(name: str, rate: float, seed: int, methods: list[str]) -> dict[str, Any]:
    """Some methods on one data set."""
    warnings.simplefilter("ignore")
    source, outliers = PROBLEMS[name]
    data = draw(source, outliers, rate, seed)
    oracle = OracleGPRegressor(n_starts=2).fit(data.X, data.y, data.mask, outliers.variance, outliers.mean)
    row: dict[str, Any] = {"mask": data.mask}
    row["oracle"] = metrics.rmse(data.truth, oracle.predict(data.X_test))
    for method in methods:
        try:
            model = clone(METHODS[method]).fit(data.X, data.y)
        except Exception as error:
            row[method] = {"error": repr(error)}
            continue
        mean, std = model.predict(data.X_test, return_std=True)
        row[method] = {
            "rmse": metrics.rmse(data.truth, mean),
            "coverage": metrics.coverage(data.truth, mean, std) if source == "synthetic" else None,
            "factorizations": float(np.median(model.n_factorizations_)),
            "unconverged": sum(status is not Status.CONVERGED for status in np.atleast_1d(model.status_)),
            "proba": getattr(model, "outlier_proba_", None),
        }
    return row


def summarise(rows: list[dict[str, Any]], method: str) -> dict[str, Any]:
    """One cell of the table."""
    done = [row for row in rows if "error" not in row[method]]
    errors = np.array([row[method]["rmse"] for row in done])
    oracle = np.array([row["oracle"] for row in done])
    covered = [row[method]["coverage"] for row in done]
    cell: dict[str, Any] = {
        "median": float(np.median(errors)),
        "median_ratio": float(np.median(errors) / np.median(oracle)),
        "mean_ratio": float(errors.mean() / oracle.mean()),
        "coverage": None if None in covered else float(np.mean(covered)),
        "factorizations": float(np.median([row[method]["factorizations"] for row in done])),
        "failed": len(rows) - len(done),
        "unconverged": sum(row[method]["unconverged"] for row in done),
    }
    if done[0][method]["proba"] is not None:
        mask = np.concatenate([row["mask"].ravel() for row in done])
        proba = np.concatenate([row[method]["proba"].ravel() for row in done])
        cell["calibration_error"] = metrics.calibration_error(mask, proba)
        cell["average_precision"] = metrics.average_precision(mask, proba) if mask.any() else None
    return cell


def shown(value: float | None) -> str:
    """Two decimals, or nothing."""
    return "" if value is None else f"{value:.2f}"


def store(table: list[dict[str, Any]]) -> None:
    """Put new cells in the place of old ones."""
    old = json.loads(RESULTS.read_text())["cells"] if RESULTS.exists() else []
    cells = {tuple(cell[key] for key in ("problem", "rate", "method")): cell for cell in (*old, *table)}
    RESULTS.write_text(json.dumps({"trials": TRIALS, "cells": list(cells.values())}, indent=1) + "\n")


def markdown() -> str:
    """What is stored, as tables: ratios of medians (of means) to the oracle, then the flagship's scores."""
    cells = {
        (cell["problem"], cell["rate"], cell["method"]): cell
        for cell in json.loads(RESULTS.read_text())["cells"]
    }
    head = " | ".join(f"p = {rate:g}" for rate in RATES)
    ratios = [f"| problem | method | {head} |", "|---|---|" + "---|" * len(RATES)]
    scores = [f"| problem | score | {head} |", "|---|---|" + "---|" * len(RATES)]
    for name in PROBLEMS:
        for method in METHODS:
            row = [cells[name, rate, method] for rate in RATES]
            shown_row = (f"{cell['median_ratio']:.2f} ({cell['mean_ratio']:.2f})" for cell in row)
            ratios.append(f"| {name} | {method} | {' | '.join(shown_row)} |")
        row = [cells[name, rate, "robust"] for rate in RATES]
        for key in ("coverage", "average_precision", "calibration_error", "factorizations"):
            values = [cell.get(key) for cell in row]
            if any(value is not None for value in values):
                digits = 0 if key == "factorizations" else 2
                texts = ("-" if value is None else f"{value:.{digits}f}" for value in values)
                scores.append(f"| {name} | {key.replace('_', ' ')} | {' | '.join(texts)} |")
    return "\n".join(
        ["**Error as a ratio to the oracle's**", "", *ratios, "", "**Scores of the flagship**", "", *scores]
    )


def main() -> None:
    """Run the sweep, print the table, store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--problems", choices=PROBLEMS, nargs="*", default=list(PROBLEMS))
    parser.add_argument("--methods", choices=METHODS, nargs="*", default=list(METHODS))
    parser.add_argument("--table", action="store_true", help="only print what is stored, as Markdown")
    arguments = parser.parse_args()
    if arguments.table:
        print(markdown())
        return
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.trials)
    table = []
    print(
        f"{'problem':20} rate {'method':13} median  ratio  mean ratio  covers   AP   ECE  factors  failed  "
        "unconverged"
    )
    for name in arguments.problems:
        for rate in RATES:
            rows = Parallel(n_jobs=arguments.jobs)(
                delayed(trial)(name, rate, seed, arguments.methods) for seed in seeds
            )
            for method in arguments.methods:
                cell = summarise(rows, method)
                table.append({"problem": name, "rate": rate, "method": method, **cell})
                print(
                    f"{name:20} {rate:4.1f} {method:12} {cell['median']:7.3f} {cell['median_ratio']:6.2f} "
                    f"{cell['mean_ratio']:11.2f} {shown(cell['coverage']):>7} "
                    f"{shown(cell.get('average_precision')):>4} {shown(cell.get('calibration_error')):>5} "
                    f"{cell['factorizations']:8.0f} {cell['failed']:7d} {cell['unconverged']:12d}",
                    flush=True,
                )
            if arguments.trials == TRIALS:
                store(table)


if __name__ == "__main__":
    main()
