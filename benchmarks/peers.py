"""Errors of other libraries' robust Gaussian processes, and ours, on the same data.

``python -m benchmarks.peers [--trials N] [--methods NAME ...]`` fits one output of the paper's synthetic
problem, 100 readings with one-sided or normal faults, in robust units so that nobody has to scale. Every
peer runs as its documentation runs it (``contenders.py``). Prints medians and means over trials of the RMSE
to the true function, as ratios to an oracle that is told the faults and their mean, and the time of a fit
in units of scikit-learn's. Each fit is kept in docs/results/peers.json as soon as it is done, so that a run
that was stopped goes on; ``--table`` prints what is kept. Peers come with ``pip install 'sturdygp[peers]'``.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.contenders import CONTENDERS, timed
from sturdygp import OracleGPRegressor, metrics
from sturdygp.datasets import NormalOutliers, Outliers, UniformOutliers, make_synthetic
from sturdygp.estimators.outputs import Scaling
from sturdygp.report.table import Strong, Table, number

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "peers.json"
FIRST_SEED, TRIALS, ROWS = 1000, 20, 100
FAULTS: dict[str, Outliers] = {"U[0,10]": UniformOutliers(0.0, 10.0), "N(0,25)": NormalOutliers(0.0, 25.0)}
RATES = (0.0, 0.2, 0.4, 0.6, 0.8)
# What is compared, and what a reader knows it as.
METHODS = {
    "robust": "RobustGPRegressor",
    "asor": "AsorGPRegressor",
    "relevance pursuit": "BoTorch, relevance pursuit",
    "robustgp": "robustgp, iteratively trimmed",
    "GPy Student-t": "GPy, Student-t by Laplace",
    "GPyTorch Student-t": "GPyTorch, Student-t, variational",
    "scikit-learn": "scikit-learn, not robust",
}

Key: TypeAlias = tuple[str, str, float, int]


def trial(method: str, fault: str, rate: float, seed: int) -> dict[str, Any]:
    """Error relative to the oracle's and time, or what went wrong."""
    outliers = FAULTS[fault]
    data = make_synthetic(ROWS, rate=rate, outliers=outliers, seed=seed)
    output = seed % data.y.shape[1]
    y, truth, mask = data.y[:, output], data.f_test[:, output], data.outlier_mask[:, output]
    told = OracleGPRegressor(n_starts=2).fit(data.X, y, mask, outliers.variance, outliers.mean)
    scaling = Scaling.of(y, "robust")
    row: dict[str, Any] = {"method": method, "fault": fault, "rate": rate, "seed": seed}
    row["oracle"] = digits(metrics.rmse(truth, told.predict(data.X_test)))
    try:
        (predict, _), seconds = timed(lambda: CONTENDERS[method](data.X, scaling.forward(y)))
        row["rmse"] = digits(metrics.rmse(truth, scaling.centre + scaling.scale * predict(data.X_test)))
    except ModuleNotFoundError:  # a peer that is not installed has not failed
        raise
    except Exception as error:
        return {**row, "error": repr(error)}
    return {**row, "seconds": digits(seconds)}


def digits(value: float) -> float:
    """As many as are worth keeping."""
    return float(f"{value:.4g}")


def stored() -> list[dict[str, Any]]:
    """All fits that were kept."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return rows


def key(row: dict[str, Any]) -> Key:
    """What was fitted by what."""
    return row["method"], row["fault"], row["rate"], row["seed"]


def store(rows: list[dict[str, Any]]) -> None:
    """One line for each fit."""
    lines = ",\n".join(json.dumps(row) for row in sorted(rows, key=key))
    RESULTS.write_text(f"[\n{lines}\n]\n")


def table(rows: list[dict[str, Any]]) -> str:
    """One line for each kind of faults and method; the lowest median of each rate stands out."""
    cells = []
    for fault in FAULTS:
        of_fault = [row for row in rows if row["fault"] == fault]
        lowest = {rate: min(medians(of_fault, rate).values()) for rate in RATES}
        for method, name in METHODS.items():
            done = [row for row in of_fault if row["method"] == method and "error" not in row]
            failed = sum(row["method"] == method and "error" in row for row in of_fault)
            if done:
                ratios = (ratio(done, rate, lowest[rate]) for rate in RATES)
                cells.append((fault, name, *ratios, number(duration(done, of_fault)), str(failed)))
    trials = len({row["seed"] for row in rows})
    title = f"Other libraries, {trials} trials: ratio of median (mean) errors to an oracle's"
    header = ("faults", "method", *(f"{100.0 * rate:.0f} %" for rate in RATES), "time", "failed")
    return Table(title, header, tuple(cells)).markdown()


def medians(rows: list[dict[str, Any]], rate: float) -> dict[str, float]:
    """Median error of each method at a rate."""
    errors: dict[str, list[float]] = {}
    for row in rows:
        if row["rate"] == rate and "error" not in row:
            errors.setdefault(row["method"], []).append(row["rmse"])
    return {method: float(np.median(values)) for method, values in errors.items()}


def duration(done: list[dict[str, Any]], rows: list[dict[str, Any]]) -> float:
    """Median time of a fit in units of that of scikit-learn to the same readings."""
    unit = {key(row)[1:]: row["seconds"] for row in rows if row["method"] == "scikit-learn"}
    return float(np.median([row["seconds"] / unit[key(row)[1:]] for row in done if key(row)[1:] in unit]))


def ratio(rows: list[dict[str, Any]], rate: float, lowest: float) -> str:
    """A cell: medians, and means, which show rare disasters."""
    pairs = [(row["rmse"], row["oracle"]) for row in rows if row["rate"] == rate]
    if not pairs:
        return "-"
    errors, oracle = np.array(pairs).T
    shown = f"{np.median(errors) / np.median(oracle):.2f} ({errors.mean() / oracle.mean():.2f})"
    return Strong(shown) if np.median(errors) <= lowest else shown


def main() -> None:
    """Fit what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--methods", choices=METHODS, nargs="*", default=list(METHODS))
    parser.add_argument("--table", action="store_true", help="only print what is kept, as Markdown")
    arguments = parser.parse_args()
    rows = stored()
    if not arguments.table:
        warnings.simplefilter("ignore")
        done = {key(row) for row in rows}
        seeds = range(FIRST_SEED, FIRST_SEED + arguments.trials)
        for seed, fault, rate, method in product(seeds, FAULTS, RATES, arguments.methods):
            if (method, fault, rate, seed) not in done:
                with threadpool_limits(1):
                    rows.append(trial(method, fault, rate, seed))
                store(rows)
    print(table(rows))


if __name__ == "__main__":
    main()
