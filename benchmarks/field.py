"""The benchmark that papers on robust Gaussian processes share (Altamirano, Briol and Knoblauch, 2024).

``python benchmarks/field.py [--replications N] [--jobs N]`` splits each data set 90 to 10, spoils the
training part in four ways and prints the mean over replications of the mean absolute error, beside the values
published for relevance pursuit (Ament et al., 2024), and of the negative log density of test readings, which
robust methods take for possible outliers. Neal's and the motorcycle data are no part of that
benchmark and stay as they are. Runs of 20 replications go into
docs/results/field.json. ``STURDYGP_DATA`` may name a folder with the data; otherwise they are downloaded.
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

from sturdygp import AsorGPRegressor, RobustGPRegressor, StandardGPRegressor, StudentTGPRegressor, metrics
from sturdygp.datasets import (
    Contamination,
    FocusedOutliers,
    OneSidedShifts,
    SymmetricShifts,
    load_energy,
    load_motorcycle,
    load_neal,
    load_yacht,
    make_gp_sample,
)

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "field.json"
DATA = ("Synthetic", "Energy", "Yacht", "Neal", "Motorcycle")
WAYS = ("none", "uniform", "asymmetric", "focused")
METHODS: dict[str, Any] = {
    "robust": RobustGPRegressor(),
    "standard": StandardGPRegressor(n_starts=2),
    "ASOR": AsorGPRegressor(),
    "Student-t": StudentTGPRegressor(dof="learn", inference="vb"),
}
# Mean absolute errors, in the order of WAYS.
RELEVANCE_PURSUIT = {
    "Synthetic": (0.089, 0.090, 0.271, 0.200),
    "Energy": (0.030, 0.031, 0.031, 0.030),
    "Yacht": (0.014, 0.012, 0.027, 0.016),
}
TEST_SHARE, REPLICATIONS = 0.1, 20


def ways(data: str) -> tuple[str, ...]:
    """How a data set is spoiled: in all ways, or not at all."""
    return WAYS if data in RELEVANCE_PURSUIT else WAYS[:1]


def contamination(data: str, way: str) -> Contamination | None:
    """How the training part is spoiled."""
    kinds: dict[str, Contamination | None] = {
        "none": None,
        "uniform": SymmetricShifts(),
        "asymmetric": OneSidedShifts(rate=0.2 if data == "Synthetic" else 0.1),
        "focused": FocusedOutliers(),
    }
    return kinds[way]


def load(data: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and one output; real data are standardised as a whole, as published."""
    if data == "Synthetic":
        sample = make_gp_sample()
        return sample.X, sample.y
    loaders = {"Energy": load_energy, "Yacht": load_yacht, "Neal": load_neal, "Motorcycle": load_motorcycle}
    table = loaders[data]()
    X, y = table.X, table.y if table.y.ndim == 1 else table.y[:, 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def replication(data: str, way: str, seed: int) -> dict[str, Any]:
    """All methods on one split."""
    warnings.simplefilter("ignore")
    X, y = load(data)
    # The split does not depend on the way, so that contaminated errors can be compared with clean ones.
    order = np.random.default_rng([seed, 0]).permutation(len(y))
    test, train = np.split(order, [round(TEST_SHARE * len(y))])
    X_train, y_train, spoil = X[train], y[train], contamination(data, way)
    if spoil is not None:
        X_train, y_train, _ = spoil.contaminate(X_train, y_train, np.random.default_rng([seed, 1]))
    row: dict[str, Any] = {"data": data, "way": way, "seed": seed}
    for name, template in METHODS.items():
        try:
            model = clone(template).fit(X_train, y_train)
        except Exception as error:
            row[name] = {"error": repr(error)}
            continue
        mean, std = model.predict(X[test], return_std=True, include_noise=True)
        row[name] = {
            "mae": metrics.mae(y[test], mean),
            "rmse": metrics.rmse(y[test], mean),
            # A method that knows outliers says how likely readings are, not only nominal ones.
            "nlpd": -float(np.mean(model.log_predictive_density(X[test], y[test], allow_outliers=True)))
            if hasattr(model, "outlier_proba")
            else metrics.nlpd(y[test], mean, std),
            "rate": getattr(model, "contamination_rate_", None),
        }
    return row


def summarise(rows: list[dict[str, Any]], method: str) -> dict[str, Any]:
    """One cell of the table: means over replications, and the standard error of the first."""
    done = [row[method] for row in rows if "error" not in row[method]]
    mae = np.array([cell["mae"] for cell in done])
    rates = [cell["rate"] for cell in done if cell["rate"] is not None]
    return {
        "mae": float(mae.mean()),
        "mae_error": float(mae.std(ddof=1) / np.sqrt(mae.size)) if mae.size > 1 else None,
        "rmse": float(np.mean([cell["rmse"] for cell in done])),
        "nlpd": float(np.mean([cell["nlpd"] for cell in done])),
        "rate": float(np.mean(rates)) if rates else None,
        "failed": len(rows) - len(done),
    }


def stored() -> dict[tuple[str, str, str], dict[str, Any]]:
    """Cells by data, way and method."""
    cells = json.loads(RESULTS.read_text())["cells"] if RESULTS.exists() else []
    return {(cell["data"], cell["way"], cell["method"]): cell for cell in cells}


def store(cells: list[dict[str, Any]]) -> None:
    """Put new cells in the place of old ones."""
    merged = stored() | {(cell["data"], cell["way"], cell["method"]): cell for cell in cells}
    contents = {"replications": REPLICATIONS, "cells": list(merged.values())}
    RESULTS.write_text(json.dumps(contents, indent=1) + "\n")


def markdown() -> str:
    """What is stored, as tables: mean absolute errors, then the same data left as they are."""
    cells = stored()
    finished = [data for data in DATA if all((data, way, m) in cells for way in ways(data) for m in METHODS)]
    errors = [f"| data | method | {' | '.join(WAYS)} |", "|---|---|" + "---|" * len(WAYS)]
    for data, published in RELEVANCE_PURSUIT.items():
        if data not in finished:
            continue
        for method in METHODS:
            row = (f"{cells[data, way, method]['mae']:.3f}" for way in WAYS)
            errors.append(f"| {data} | {method} | {' | '.join(row)} |")
        row = (f"{value:.3f}" for value in published)
        errors.append(f"| {data} | relevance pursuit, published | {' | '.join(row)} |")
    clean = ["| data | RMSE: robust | standard | NLPD: robust | standard | rate found |", "|---" * 6 + "|"]
    for data in finished:
        robust, standard = (cells[data, "none", method] for method in ("robust", "standard"))
        values = (robust["rmse"], standard["rmse"], robust["nlpd"], standard["nlpd"], robust["rate"])
        clean.append(f"| {data} | {' | '.join(f'{value:.3f}' for value in values)} |")
    return "\n".join([*errors, "", *clean])


def main() -> None:
    """Run, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", choices=DATA, nargs="*", default=list(DATA))
    parser.add_argument("--table", action="store_true", help="only print what is stored, as Markdown")
    arguments = parser.parse_args()
    if arguments.table:
        print(markdown())
        return
    cells = []
    print(f"{'data':10} {'way':11} {'method':18}     MAE     +-    RMSE    NLPD   rate failed")
    for data in arguments.data:
        for way in ways(data):
            rows = Parallel(n_jobs=arguments.jobs)(
                delayed(replication)(data, way, seed) for seed in range(arguments.replications)
            )
            for method in METHODS:
                cell = summarise(rows, method)
                cells.append({"data": data, "way": way, "method": method, **cell})
                error = "" if cell["mae_error"] is None else f"{cell['mae_error']:.4f}"
                rate = "" if cell["rate"] is None else f"{cell['rate']:.3f}"
                print(
                    f"{data:10} {way:11} {method:18} {cell['mae']:7.4f} {error:>6} {cell['rmse']:7.4f} "
                    f"{cell['nlpd']:7.3f} "
                    f"{rate:>6} {cell['failed']:6d}",
                    flush=True,
                )
            if data in RELEVANCE_PURSUIT:
                published = RELEVANCE_PURSUIT[data][WAYS.index(way)]
                print(
                    f"{data:10} {way:11} {'relevance pursuit':18} {published:7.3f}  (published)", flush=True
                )
            if arguments.replications == REPLICATIONS:
                store(cells)


if __name__ == "__main__":
    main()
