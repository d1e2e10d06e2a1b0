"""Many readings: accuracy of inducing points, a hundred thousand rows in memory, a million on a Dask cluster.

``accuracy``: 4000 readings, 400 inducing points against the exact process.
``memory``: 100 000 readings of Friedman's function with 8 inputs, 30 % of them too high, on all cores: time,
peak memory beyond the data and error, beside gradient boosting with absolute loss and, if it is installed,
GPyTorch's stochastic variational process with Student-t noise for the same time. ``cluster``: a million rows
from Parquet on one worker process and on two. Each fit runs in a process of its own. ``--store`` keeps what
was found in docs/results/large.json, ``--table`` prints it again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
from sklearn.datasets import make_friedman1

from sturdygp import AsorGPRegressor, RobustGPRegressor
from sturdygp.datasets import UniformOutliers, make_synthetic
from sturdygp.estimators.outputs import Scaling
from sturdygp.experiments.store import environment
from sturdygp.report.table import Table, number

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "large.json"
INPUTS, INDUCING, INDUCING_ON_CLUSTER, RATE, TOP = 8, 500, 200, 0.3, 30.0
TEST_ROWS, SEED = 5000, 0
ROWS_IN_MEMORY, ROWS_ON_CLUSTER, ROWS_OF_A_BLOCK = 100_000, 1_000_000, 62_500
EXACT_ROWS, EXACT_INDUCING, ROUGHNESS = 4000, 400, 3.0
# Between driver and workers in an evaluation, and held by the driver (docs/scaling.md); bytes a second of a
# network of 10 Gbit.
BYTES_OF_A_ROW, HELD_BYTES_OF_A_ROW, NETWORK = 88, 200, 1.25e9
ESTIMATORS = {"AsorGPRegressor": AsorGPRegressor, "RobustGPRegressor": RobustGPRegressor}

Json: TypeAlias = dict[str, Any]
Predict: TypeAlias = Callable[[np.ndarray], np.ndarray]


def readings(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, readings of which some are too high, and the function."""
    X, f = make_friedman1(n, INPUTS, random_state=seed)
    rng = np.random.default_rng(seed)
    faulty = rng.random(n) < RATE
    return X, f + rng.normal(size=n) + faulty * rng.uniform(0.0, TOP, n), f


def rmse(found: np.ndarray, truth: np.ndarray) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(np.mean((found - truth) ** 2)))


def peak_mb() -> float:
    """Most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def alone(*arguments: object) -> Json:
    """One of the parts below in a process of its own."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments} failed:\n{done.stderr}")
    found: Json = json.loads(done.stdout.splitlines()[-1])
    return found


# ----------------------------------------------------------------------------------------- accuracy


def one_accuracy(name: str, problem: str, inducing: str, seed: int) -> Json:
    """Error of one fit to the paper's synthetic problem, or to one that changes faster."""
    data = make_synthetic(EXACT_ROWS, 500, rate=0.4, outliers=UniformOutliers(0.0, 10.0), seed=seed)
    X, X_test, y, f = data.X, data.X_test, data.y[:, 0], data.f_test[:, 0]
    if problem == "rough":
        wave, wave_test = (np.sin(ROUGHNESS * Z).sum(axis=1) for Z in (X, X_test))
        y, f = y + wave, f + wave_test
    start = time.perf_counter()
    model = ESTIMATORS[name](inducing=None if inducing == "exact" else int(inducing)).fit(X, y)
    return {
        "name": name,
        "problem": problem,
        "inducing": inducing,
        "seed": seed,
        "seconds": time.perf_counter() - start,
        "rmse": rmse(model.predict(X_test), f),
        "peak_mb": peak_mb(),
    }


def accuracy() -> list[Json]:
    """Every estimator, problem and process."""
    rows = []
    for name in ESTIMATORS:
        for problem in ("paper", "rough"):
            for inducing in ("exact", EXACT_INDUCING):
                rows.append(alone("one-accuracy", name, problem, inducing, SEED))
                print(rows[-1], flush=True)
    return rows


def accuracy_table(rows: list[Json]) -> str:
    """Errors side by side."""
    by_key = {(row["name"], row["problem"], row["inducing"]): row for row in rows}
    cells = []
    for name, problem in dict.fromkeys((row["name"], row["problem"]) for row in rows):
        exact, sparse = by_key[name, problem, "exact"], by_key[name, problem, str(EXACT_INDUCING)]
        cells.append(
            (
                name,
                problem,
                *(number(side[key]) for key in ("rmse", "seconds") for side in (exact, sparse)),
                f"{100.0 * (sparse['rmse'] / exact['rmse'] - 1.0):+.1f} %",
            )
        )
    header = ("estimator", "function", "RMSE exact", "RMSE inducing", "s exact", "s inducing", "difference")
    title = f"{EXACT_ROWS} readings, 40 % faulty: {EXACT_INDUCING} inducing points against the exact process"
    return Table(title, header, tuple(cells)).markdown()


# ------------------------------------------------------------------------------------------- memory


def gradient_boosting(X: np.ndarray, y: np.ndarray, _seconds: float) -> Predict:
    """Scikit-learn's histogram trees, which minimise the absolute error."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415

    model = HistGradientBoostingRegressor(loss="absolute_error", max_iter=500, early_stopping=True)
    found: Predict = model.fit(X, y).predict
    return found


def stochastic_student_t(X: np.ndarray, y: np.ndarray, seconds: float) -> Predict:
    """GPyTorch's stochastic variational process with Student-t noise, for so many seconds."""
    import gpytorch  # noqa: PLC0415
    import torch  # noqa: PLC0415

    torch.manual_seed(0)
    scaling = Scaling.of(y, "robust")
    inputs, targets = torch.from_numpy(X).float(), torch.from_numpy(scaling.forward(y)).float()
    Z = inputs[torch.randperm(len(inputs))[:INDUCING]]

    class Model(gpytorch.models.ApproximateGP):  # type: ignore[misc]
        def __init__(self) -> None:
            q = gpytorch.variational.CholeskyVariationalDistribution(INDUCING)
            super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q))
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=INPUTS))

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model, likelihood = Model(), gpytorch.likelihoods.StudentTLikelihood()
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, len(inputs))
    optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        batch = torch.randint(len(inputs), (1024,))
        optimiser.zero_grad()
        loss = -objective(model(inputs[batch]), targets[batch])
        loss.backward()
        optimiser.step()
    model.eval()

    def predict(X_test: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return scaling.centre + scaling.scale * np.asarray(model(torch.from_numpy(X_test).float()).mean)

    return predict


def ours(name: str) -> Callable[[np.ndarray, np.ndarray, float], Predict]:
    """One of our estimators."""

    def fit(X: np.ndarray, y: np.ndarray, _seconds: float) -> Predict:
        found: Predict = ESTIMATORS[name](inducing=INDUCING).fit(X, y).predict
        return found

    return fit


CONTENDERS = {
    **{name: ours(name) for name in ESTIMATORS},
    "gradient boosting, absolute loss": gradient_boosting,
    "GPyTorch SVGP, Student-t": stochastic_student_t,
}


def one_memory(name: str, n: int, seconds: float) -> Json:
    """One contender; memory is counted from when the data are there."""
    X, y, _ = readings(n, SEED)
    X_test, _, f_test = readings(TEST_ROWS, SEED + 1)
    before, start = peak_mb(), time.perf_counter()
    predict = CONTENDERS[name](X, y, seconds)
    return {
        "name": name,
        "n": n,
        "seconds": time.perf_counter() - start,
        "rmse": rmse(predict(X_test), f_test),
        "peak_mb": peak_mb() - before,
    }


def memory() -> list[Json]:
    """All contenders; the stochastic one gets the time that our slowest took."""
    rows: list[Json] = []
    for name in CONTENDERS:
        longest = max((row["seconds"] for row in rows), default=0.0)
        try:
            rows.append(alone("one-memory", name, ROWS_IN_MEMORY, longest))
        except RuntimeError as error:
            if "ModuleNotFoundError" not in str(error):
                raise
            print(f"left out, not installed: {name}", file=sys.stderr)
            continue
        print(rows[-1], flush=True)
    return rows


def memory_table(rows: list[Json]) -> str:
    """Time, memory, error."""
    cells = [
        (row["name"], number(row["rmse"]), number(row["seconds"]), f"{row['peak_mb']:.0f}") for row in rows
    ]
    title = f"{ROWS_IN_MEMORY} readings, {INPUTS} inputs, 30 % too high, {INDUCING} inducing points"
    return Table(title, ("method", "RMSE", "s", "MB beyond the data"), tuple(cells)).markdown()


# ------------------------------------------------------------------------------------------ cluster


def one_cluster(folder: str, workers: int) -> Json:
    """Fit what is in a folder of Parquet files, and time single looks at all rows."""
    import dask.dataframe as dd  # noqa: PLC0415
    from distributed import Client, LocalCluster  # noqa: PLC0415

    from sturdygp.estimators.distributed import DaskRows  # noqa: PLC0415

    looks: list[float] = []
    gather = DaskRows.gather

    def timed(self: DaskRows, *arguments: Any) -> Any:
        begin = time.perf_counter()
        found = gather(self, *arguments)
        looks.append(time.perf_counter() - begin)
        return found

    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        patch.object(DaskRows, "gather", timed),
    ):
        table = dd.read_parquet(folder)
        start = time.perf_counter()
        model = AsorGPRegressor(inducing=INDUCING_ON_CLUSTER).fit(table.drop(columns="y"), table["y"])
        seconds = time.perf_counter() - start
    X_test, _, f_test = readings(TEST_ROWS, SEED + 1)
    n = model.weights_.size
    return {
        "workers": workers,
        "n": n,
        "seconds": seconds,
        "looks": len(looks),
        "iterations": int(model.n_iter_),
        "seconds_of_a_look": float(np.median(looks)),
        "rows_per_second_and_look": n / float(np.median(looks)),
        "status": str(model.status_),
        "rmse": rmse(np.asarray(model.predict(X_test)), f_test),
        "driver_peak_mb": peak_mb(),
    }


def cluster() -> list[Json]:
    """One worker, then two, on the same files."""
    import pandas as pd  # noqa: PLC0415

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for part in range(ROWS_ON_CLUSTER // ROWS_OF_A_BLOCK):
            X, y, _ = readings(ROWS_OF_A_BLOCK, 1000 + part)
            table = pd.DataFrame(X, columns=[f"x{i}" for i in range(INPUTS)]).assign(y=y)
            table.to_parquet(Path(folder) / f"part-{part:03d}.parquet")
        for workers in (2, 1):
            rows.append(alone("one-cluster", folder, workers))
            print(rows[-1], flush=True)
    return rows


def cluster_table(rows: list[Json]) -> str:
    """Throughput and scaling."""
    cells = [
        (
            str(row["workers"]),
            number(row["rmse"]),
            number(row["seconds"]),
            str(row["iterations"]),
            str(row["looks"]),
            number(row["seconds_of_a_look"]),
            f"{row['rows_per_second_and_look']:.0f}",
            f"{row['driver_peak_mb']:.0f}",
        )
        for row in sorted(rows, key=lambda row: int(row["workers"]))
    ]
    header = ("workers", "RMSE", "s", "iterations", "looks", "s of a look", "rows/s", "MB of the driver")
    title = (
        f"{ROWS_ON_CLUSTER} readings in Parquet, AsorGPRegressor, {INDUCING_ON_CLUSTER} inducing points, Dask"
    )
    measured = Table(title, header, tuple(cells)).markdown()
    return f"{measured}\n{extrapolated(min(rows, key=lambda row: -int(row['workers']))).markdown()}"


def extrapolated(row: Json) -> Table:
    """An iteration of larger fits, if workers are as fast as these and the network is all the driver's."""
    looks = row["looks"] / row["iterations"]
    of_a_worker = row["rows_per_second_and_look"] / row["workers"]
    cells = [
        (
            f"{n:.0e}".replace("e+0", "e"),
            str(workers),
            number(looks * n / (workers * of_a_worker)),
            number(n * BYTES_OF_A_ROW / NETWORK),
            number(n * HELD_BYTES_OF_A_ROW / 1e9),
        )
        for n, workers in ((1e6, 2), (1e7, 10), (1e8, 100), (1e9, 100))
    ]
    header = ("rows", "workers", "s of looks", "s of network", "GB of the driver")
    return Table("One iteration of larger fits, extrapolated", header, tuple(cells))


# --------------------------------------------------------------------------------------------- main

SINGLE: dict[str, tuple[Callable[..., Json], tuple[type, ...]]] = {
    "one-accuracy": (one_accuracy, (str, str, str, int)),
    "one-memory": (one_memory, (str, int, float)),
    "one-cluster": (one_cluster, (str, int)),
}
PARTS = {"accuracy": accuracy, "memory": memory, "cluster": cluster}
TABLES = {"accuracy": accuracy_table, "memory": memory_table, "cluster": cluster_table}


def stored() -> Json:
    """What was kept."""
    contents: Json = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return contents


def main() -> None:
    """Measure, print, and keep if asked to."""
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1 and sys.argv[1] in SINGLE:
        part, kinds = SINGLE[sys.argv[1]]
        print(json.dumps(part(*(kind(value) for kind, value in zip(kinds, sys.argv[2:], strict=True)))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--table", action="store_true", help="print what is kept instead of measuring")
    arguments = parser.parse_args()
    rows = stored()[arguments.part] if arguments.table else PARTS[arguments.part]()
    print(TABLES[arguments.part](rows))
    if arguments.store:
        RESULTS.write_text(
            json.dumps({**stored(), arguments.part: rows, "environment": environment()}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
