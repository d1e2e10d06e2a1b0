"""The two solvers of ASOR-GPR on the paper's synthetic problem, one output, U[0, 10] outliers.

``python benchmarks/asor.py bounds``  60 problems at n = 60: which solver ends with the higher bound?
``python benchmarks/asor.py counts``  factorisations to convergence at n = 100, single start.
``python benchmarks/asor.py time``    wall time of both at n = 200, in turn, one BLAS thread.
``python benchmarks/asor.py exact``   the variational posterior against an exact sampler.

Each prints a table and writes its rows to docs/results/asor-*.json; ``--table`` prints what is stored.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from sturdygp.datasets import make_synthetic
from sturdygp.inference.problem import Problem, default_kernel
from sturdygp.kernels import SquaredExponential
from sturdygp.likelihoods.spike_and_slab import AsorPrior
from sturdygp.methods.asor import Asor
from sturdygp.methods.fit import Fit
from sturdygp.report.table import Table

Row = dict[str, Any]

RESULTS = Path(__file__).parent.parent / "docs" / "results"
BOUND_RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6)
COUNT_RATES = (0.0, 0.2, 0.4, 0.6)
TRIALS = 10
COUNT_TRIALS = 30
TIME_TRIALS = 3
GEM_ITERATIONS = 1000


def problem(n: int, rate: float, seed: int) -> Problem:
    """The first output, in its own (unit) scale as the paper's constants ask."""
    data = make_synthetic(n, 1, rate=rate, seed=seed)
    return Problem(data.X, data.y[:, 0], default_kernel(data.X), np.random.default_rng(0))


def timed(method: Asor, task: Problem) -> tuple[Fit, float]:
    """A fit and its seconds, one BLAS thread."""
    with threadpool_limits(1):
        start = time.perf_counter()
        fit = method.fit(task)
        return fit, time.perf_counter() - start


def compare(n: int, rate: float, seed: int) -> Row:
    """Both solvers on one problem."""
    task = problem(n, rate, seed)
    collapsed, fast = timed(Asor(), task)
    gem, slow = timed(Asor(solver="gem", max_iter=GEM_ITERATIONS), task)
    return {
        "n": n,
        "rate": rate,
        "seed": seed,
        "collapsed": {
            "bound": collapsed.bound,
            "factorizations": collapsed.n_factorizations,
            "seconds": fast,
            "status": collapsed.status.name,
        },
        "gem": {
            "bound": gem.bound,
            "factorizations": gem.n_factorizations,
            "seconds": slow,
            "status": gem.status.name,
            "iterations": gem.n_iter,
        },
    }


def bounds() -> list[Row]:
    """Final bounds, collapsed against gem."""
    tasks = [(rate, seed) for rate in BOUND_RATES for seed in range(TRIALS)]
    return list(Parallel(n_jobs=2)(delayed(compare)(60, rate, seed) for rate, seed in tasks))


def bounds_table(rows: list[Row]) -> str:
    """By how much collapsed ends higher."""
    cells = []
    for rate, group in by_rate(rows):
        gain = np.array([r["collapsed"]["bound"] - r["gem"]["bound"] for r in group])
        cells.append(
            (
                f"{rate:g}",
                f"{(gain >= -1e-3).sum()} of {len(gain)}",
                *(f"{value:.3f}" for value in (np.median(gain), gain.min(), gain.max())),
                f"{np.median([r['gem']['factorizations'] for r in group]):.0f}",
            )
        )
    header = ("p", "gain >= -0.001", "median gain", "least", "largest", "factorisations of gem, median")
    return Table("Gain in the final bound, collapsed over gem, in nats", header, tuple(cells)).markdown()


def counts() -> list[Row]:
    """Factorisations at n = 100."""
    return [count(rate, seed) for rate in COUNT_RATES for seed in range(COUNT_TRIALS)]


def counts_table(rows: list[Row]) -> str:
    """How many it takes, and how near the best known bound that ends."""
    spent, reached = [], []
    for rate, group in by_rate(rows):
        total, near, seconds = (
            np.array([r[key] for r in group], dtype=float)
            for key in ("factorizations", "within_hundredth", "seconds")
        )
        below = np.array([r["best_known"] - r["bound"] for r in group])
        converged = sum(r["status"] == "CONVERGED" for r in group)
        spent.append(
            (
                f"{rate:g}",
                f"{np.median(total):.1f}",
                f"{np.quantile(total, 0.9):.0f}",
                f"{np.median(near):.1f}",
                f"{np.median(seconds):.3f}",
                f"{converged} of {len(group)}",
            )
        )
        reached.append((f"{rate:g}", f"{(below <= 0.01).sum()} of {len(group)}", f"{below.max():.2f}"))
    header = ("p", "median", "90 % quantile", "median to within .01", "median seconds", "converged")
    costs = Table("Factorisations to convergence, one start", header, tuple(spent))
    ends = Table(
        "Where one start ends", ("p", "within .01 of the best known", "farthest below, nats"), tuple(reached)
    )
    return f"{costs.markdown()}\n\n{ends.markdown()}"


def count(rate: float, seed: int) -> Row:
    """Factorisations until the end, and until the bound is within .01 of where the run ends."""
    task = problem(100, rate, seed)
    fit, seconds = timed(Asor(), task)
    best = max(fit.bound, Asor(tol=1e-8, max_iter=5000).fit(task).bound, Asor(n_starts=7).fit(task).bound)
    # Iterations that were accepted; the share of rejected evaluations is added.
    near = int(np.argmax(np.array(fit.trace) >= fit.bound - 0.01)) + 1
    return {
        "rate": rate,
        "seed": seed,
        "factorizations": fit.n_factorizations,
        "within_hundredth": near * fit.n_factorizations / len(fit.trace),
        "bound": fit.bound,
        "best_known": best,
        "seconds": seconds,
        "status": fit.status.name,
    }


def wall_time() -> list[Row]:
    """Both at n = 200 and p = .4, one problem after the other."""
    return [compare(200, 0.4, seed) for seed in range(TIME_TRIALS)]


def time_table(rows: list[Row]) -> str:
    """Seconds and what they bring."""
    cells = []
    for row in rows:
        fast, slow = row["collapsed"], row["gem"]
        cells.append(
            (
                str(row["seed"]),
                f"{fast['seconds']:.3f}",
                f"{slow['seconds']:.1f}",
                f"{slow['seconds'] / fast['seconds']:.0f}",
                f"{fast['bound'] - slow['bound']:.3f}",
                *(str(each["factorizations"]) for each in (fast, slow)),
            )
        )
    both = ("factorisations of collapsed", "of gem")
    header = ("seed", "seconds of collapsed", "of gem", "ratio", "gain, nats", *both)
    return Table("Time of both solvers", header, tuple(cells)).markdown()


def exact() -> list[Row]:
    """Differences from the exact posterior, in its standard deviations."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from references import gibbs  # noqa: PLC0415  the sampler is a reference of the tests
    from references.posteriors import variational_and_exact  # noqa: PLC0415

    rows: list[Row] = []
    for n, seed in [(n, seed) for n in (40, 100) for seed in range(5)]:
        task = replace(problem(n, 0.25, seed), kernel=SquaredExponential((2.0, 2.0), 1.2))
        marginals, nominal, draws = variational_and_exact(
            task, 0.25, AsorPrior(), seed=seed, n_samples=10_000
        )
        spread = draws.f.std(axis=0)
        mean = np.abs(marginals.mean - draws.f.mean(axis=0)) / spread
        proba = np.abs(nominal - draws.nominal.mean(axis=0))
        figures = {
            "mean_median": float(np.median(mean)),
            "mean_max": float(mean.max()),
            "monte_carlo_error": float(np.median(gibbs.batch_error(draws.f) / spread)),
            "proba_median": float(np.median(proba)),
            "proba_max": float(proba.max()),
            "sd_ratio": float(np.median(np.sqrt(marginals.variance) / spread)),
        }
        rows.append({"n": n, "seed": seed, **figures})
    return rows


def exact_table(rows: list[Row]) -> str:
    """How far mean field is off."""
    kinds = {"mean_median": 3, "mean_max": 2, "monte_carlo_error": 3}
    kinds |= {"proba_median": 3, "proba_max": 2, "sd_ratio": 2}
    cells = tuple(
        (str(row["n"]), str(row["seed"]), *(f"{row[kind]:.{digits}f}" for kind, digits in kinds.items()))
        for row in rows
    )
    means = ("mean: median difference", "largest", "Monte Carlo error")
    header = ("n", "seed", *means, "Ω: median difference", "largest", "median ratio of standard deviations")
    return Table("The variational posterior against an exact sampler", header, cells).markdown()


def by_rate(rows: list[Row]) -> list[tuple[float, list[Row]]]:
    """Rows of one rate of outliers after those of another."""
    rates = dict.fromkeys(row["rate"] for row in rows)
    return [(rate, [row for row in rows if row["rate"] == rate]) for rate in rates]


PARTS = {"bounds": bounds, "counts": counts, "time": wall_time, "exact": exact}
TABLES = {"bounds": bounds_table, "counts": counts_table, "time": time_table, "exact": exact_table}


def path(part: str) -> Path:
    """Where the rows of a part are kept."""
    return RESULTS / f"asor-{part}.json"


def stored() -> dict[str, list[Row]]:
    """The rows of every part."""
    return {part: json.loads(path(part).read_text(encoding="utf-8")) for part in PARTS}


def main() -> None:
    """Run a part, print and store it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--table", action="store_true", help="only print what is stored, as Markdown")
    arguments = parser.parse_args()
    part = arguments.part
    if not arguments.table:
        path(part).write_text(json.dumps(PARTS[part](), indent=1) + "\n", encoding="utf-8")
    print(TABLES[part](stored()[part]))


if __name__ == "__main__":
    main()
