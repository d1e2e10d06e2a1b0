"""Accuracy on the paper's synthetic problem, as a ratio to an oracle that knows the faults.

``python benchmarks/accuracy.py [--trials N] [--jobs N]`` fits all methods to the same data.
Seeds start at 1000.
For each contamination and rate it prints the median and the mean over trials of the RMSE pooled over outputs,
divided by the oracle's; the coverage of 95 % intervals for the function; the expected calibration error of
the probabilities; factorisations in an output; and failed fits. Runs of 30 trials or more go to
docs/results/accuracy.json.
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

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    OracleGPRegressor,
    RobustGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.datasets import NormalOutliers, Outliers, UniformOutliers, make_synthetic

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "accuracy.json"
FIRST_SEED = 1000
CONTAMINATIONS: dict[str, Outliers] = {
    "U[0,10]": UniformOutliers(0.0, 10.0),
    "N(0,25)": NormalOutliers(0.0, 25.0),
    "U[-5,15]": UniformOutliers(-5.0, 15.0),
}
RATES = (0.0, 0.2, 0.4, 0.6, 0.8)
METHODS: dict[str, Any] = {
    "robust": RobustGPRegressor(),
    "ASOR": AsorGPRegressor(),
    "ASOR, starts": AsorGPRegressor(n_starts=7),
    "mixture": MixtureGPRegressor(),
    "Student-t": StudentTGPRegressor(dof="learn"),
}
BINS = 10


def trial(name: str, rate: float, seed: int) -> dict[str, Any]:
    """All methods on one data set."""
    warnings.simplefilter("ignore")
    outliers = CONTAMINATIONS[name]
    data = make_synthetic(rate=rate, outliers=outliers, seed=seed)
    oracle = OracleGPRegressor(n_starts=2).fit(
        data.X, data.y, data.outlier_mask, outliers.variance, outliers.mean
    )
    row: dict[str, Any] = {"contamination": name, "rate": rate, "seed": seed, "mask": data.outlier_mask}
    row["oracle"] = rmse(np.asarray(oracle.predict(data.X_test)), data.f_test)
    for method, template in METHODS.items():
        try:
            model = clone(template).fit(data.X, data.y)
        except Exception as error:
            row[method] = {"error": repr(error)}
            continue
        mean, std = model.predict(data.X_test, return_std=True)
        row[method] = {
            "rmse": rmse(mean, data.f_test),
            "coverage": float(np.mean(np.abs(mean - data.f_test) <= 1.96 * std)),
            "factorizations": float(np.median(model.n_factorizations_)),
            "proba": getattr(model, "outlier_proba_", None),
        }
    return row


def rmse(mean: np.ndarray, truth: np.ndarray) -> float:
    """Pooled over outputs."""
    return float(np.sqrt(np.mean((mean - truth) ** 2)))


def calibration_error(proba: np.ndarray, mask: np.ndarray) -> float:
    """Expected difference between a probability and how often it is right, over ten bins."""
    bins = np.minimum((BINS * proba).astype(int), BINS - 1)
    gaps = [
        abs(proba[bins == b].mean() - mask[bins == b].mean()) * np.mean(bins == b) for b in np.unique(bins)
    ]
    return float(np.sum(gaps))


def summarise(rows: list[dict[str, Any]], method: str) -> dict[str, float | None]:
    """One cell of the table."""
    done = [row for row in rows if "error" not in row[method]]
    errors = np.array([row[method]["rmse"] for row in done])
    oracle = np.array([row["oracle"] for row in done])
    flagged = [row for row in done if row[method]["proba"] is not None]
    proba = np.concatenate([row[method]["proba"].ravel() for row in flagged]) if flagged else None
    mask = np.concatenate([row["mask"].ravel() for row in flagged]) if flagged else None
    return {
        "median": float(np.median(errors)),
        "median_ratio": float(np.median(errors) / np.median(oracle)),
        "mean_ratio": float(errors.mean() / oracle.mean()),
        "coverage": float(np.mean([row[method]["coverage"] for row in done])),
        "calibration_error": None if proba is None or mask is None else calibration_error(proba, mask),
        "factorizations": float(np.median([row[method]["factorizations"] for row in done])),
        "failed": len(rows) - len(done),
    }


def main() -> None:
    """Run the sweep, print the table, store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.trials)
    table = []
    print(f"{'contamination':14} rate method        median  ratio  mean ratio  covers   ECE  factors  failed")
    for name in CONTAMINATIONS:
        for rate in RATES:
            rows = Parallel(n_jobs=arguments.jobs)(delayed(trial)(name, rate, seed) for seed in seeds)
            for method in METHODS:
                cell = summarise(rows, method)
                table.append({"contamination": name, "rate": rate, "method": method, **cell})
                ece = "" if cell["calibration_error"] is None else f"{cell['calibration_error']:.3f}"
                print(
                    f"{name:14} {rate:4.1f} {method:12} {cell['median']:7.3f} {cell['median_ratio']:6.2f} "
                    f"{cell['mean_ratio']:11.2f} {cell['coverage']:7.2f} {ece:>5} "
                    f"{cell['factorizations']:8.0f} {cell['failed']:7d}",
                    flush=True,
                )
    if arguments.trials >= 30:
        RESULTS.write_text(json.dumps({"trials": arguments.trials, "cells": table}, indent=1) + "\n")


if __name__ == "__main__":
    main()
