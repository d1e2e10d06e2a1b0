"""How much of what faults cost in the field's benchmark is due to the readings they take away.

``python benchmarks/field_limits.py [--jobs N]`` runs the flagship on the field's data sets without faults,
with faults all to one side or to both, and then on the readings that are not faulty alone, which nobody can
tell apart for sure. Needs the data sets, as ``sturdygp reproduce field`` does. What it finds goes into
docs/results/field-limits.json; ``--table`` prints it.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from sturdygp import RobustGPRegressor, metrics
from sturdygp.experiments.problems import draw
from sturdygp.experiments.suites import suite
from sturdygp.experiments.task import Task
from sturdygp.report.table import Table, number

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "field-limits.json"
DATASETS = {"gp-sample": "Synthetic", "energy-heating": "Energy", "yacht": "Yacht"}
KEYS = ("all", "nominal")
FAULTS = {"none": "none", "symmetric": "uniform", "one-sided": "asymmetric"}


def trial(task: Task) -> dict[str, Any]:
    """Errors with all readings, and with those alone that are not faulty."""
    warnings.simplefilter("ignore")
    data = draw(task)
    y, nominal = data.y.ravel(), ~data.mask.ravel()

    def error(kept: np.ndarray) -> float:
        model = RobustGPRegressor().fit(data.X[kept], y[kept])
        return metrics.mae(data.clean.truth.ravel(), model.predict(data.clean.X_test))

    with_all = error(np.ones_like(nominal))
    without_faults = with_all if nominal.all() else error(nominal)
    return {"dataset": task.dataset, "faults": task.fault.kind, "all": with_all, "nominal": without_faults}


def tasks() -> list[Task]:
    """Those of the field's suite with these faults."""
    return [
        task
        for task in suite("field").tasks()
        if task.method == "robust" and task.dataset in DATASETS and task.fault.kind in FAULTS
    ]


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Over the replications of each cell."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["dataset"], row["faults"]), []).append(row)
    return [
        {"dataset": dataset, "faults": faults, **{k: float(np.mean([r[k] for r in cell])) for k in KEYS}}
        for (dataset, faults), cell in cells.items()
    ]


def stored() -> list[dict[str, Any]]:
    """The rows of the table."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text())
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Errors, and by how much they exceed those without faults."""
    clean = {row["dataset"]: row["all"] for row in rows if row["faults"] == "none"}

    def beside_clean(row: dict[str, Any], key: str) -> str:
        return f"{number(row[key])} ({100.0 * (row[key] / clean[row['dataset']] - 1.0):+.1f} %)"

    cells = tuple(
        (DATASETS[row["dataset"]], FAULTS[row["faults"]], *(beside_clean(row, key) for key in KEYS))
        for row in rows
        if row["faults"] != "none"
    )
    header = ("data", "faults", "all readings", "the nominal readings alone")
    return Table("Mean absolute error, and how much more than without faults", header, cells).markdown()


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="only print what is stored, as Markdown")
    arguments = parser.parse_args()
    if not arguments.table:
        rows = Parallel(n_jobs=arguments.jobs, batch_size=1)(delayed(trial)(task) for task in tasks())
        RESULTS.write_text(json.dumps(means(rows), indent=1) + "\n")
    print(table(stored()))


if __name__ == "__main__":
    main()
