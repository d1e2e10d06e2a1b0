"""The two solvers of ASOR-GPR on the paper's synthetic problem, one output, U[0, 10] outliers.

``python benchmarks/asor.py bounds``  60 problems at n = 60: which solver ends with the higher bound?
``python benchmarks/asor.py counts``  factorisations to convergence at n = 100, single start.
``python benchmarks/asor.py time``    wall time of both at n = 200, in turn, one BLAS thread.
``python benchmarks/asor.py exact``   the variational posterior against an exact sampler.

Each prints a table and writes it to docs/results/asor-*.json.
"""

from __future__ import annotations

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
from sturdygp.kernels import SquaredExponential
from sturdygp.methods.asor import Asor, AsorPrior
from sturdygp.methods.base import Fit, Problem, default_kernel

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


def save(name: str, rows: list[Row]) -> None:
    """Store what was printed."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"asor-{name}.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def bounds() -> None:
    """Final bounds, collapsed against gem."""
    tasks = [(rate, seed) for rate in BOUND_RATES for seed in range(TRIALS)]
    rows = Parallel(n_jobs=2)(delayed(compare)(60, rate, seed) for rate, seed in tasks)
    save("bounds", rows)
    print("   p  collapsed >= gem - 1e-3  median gain    worst  gem factorisations")
    for rate in BOUND_RATES:
        group = [r for r in rows if r["rate"] == rate]
        gain = np.array([r["collapsed"]["bound"] - r["gem"]["bound"] for r in group])
        spent = np.median([r["gem"]["factorizations"] for r in group])
        reached = f"{(gain >= -1e-3).sum()} of {len(gain)}"
        print(f"{rate:4.1f} {reached:>24} {np.median(gain):12.3f} {gain.min():8.3f} {spent:19.0f}")


def counts() -> None:
    """Factorisations at n = 100."""
    rows: list[Row] = []
    print(
        f"{'p':>4} {'to convergence':>15} {'(p90)':>6} {'to within .01':>14} {'seconds':>8} {'converged':>10}"
    )
    for rate in COUNT_RATES:
        group = [count(rate, seed) for seed in range(COUNT_TRIALS)]
        rows += group
        spent = np.array([r["factorizations"] for r in group], dtype=float)
        near = np.array([r["within_hundredth"] for r in group], dtype=float)
        seconds = np.array([r["seconds"] for r in group], dtype=float)
        converged = sum(r["status"] == "CONVERGED" for r in group)
        print(
            f"{rate:4.1f} {np.median(spent):15.1f} {np.quantile(spent, 0.9):6.0f} {np.median(near):14.1f} "
            f"{np.median(seconds):8.3f} {converged:4d} of {len(group)}"
        )
    save("counts", rows)


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


def wall_time() -> None:
    """Wall time at n = 200 and p = .4, one problem after the other."""
    rows = [compare(200, 0.4, seed) for seed in range(TIME_TRIALS)]
    save("time", rows)
    print(f"{'seed':>4} {'collapsed s':>12} {'gem s':>8} {'ratio':>7} {'bound gained':>13}")
    for row in rows:
        fast, slow = row["collapsed"], row["gem"]
        ratio, gain = slow["seconds"] / fast["seconds"], fast["bound"] - slow["bound"]
        print(f"{row['seed']:4d} {fast['seconds']:12.3f} {slow['seconds']:8.1f} {ratio:7.0f} {gain:13.3f}")


def exact() -> None:
    """Differences from the exact posterior, in its standard deviations."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from references import gibbs  # noqa: PLC0415  the sampler is a reference of the tests
    from references.posteriors import variational_and_exact  # noqa: PLC0415

    rows: list[Row] = []
    print("   n seed  mean: median    max  MC error  proba: median    max  sd ratio")
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
        a, b, c, d, e, f = figures.values()
        print(f"{n:4d} {seed:4d} {a:13.3f} {b:6.2f} {c:9.3f} {d:14.3f} {e:6.2f} {f:9.2f}")
    save("exact", rows)


COMMANDS = {"bounds": bounds, "counts": counts, "time": wall_time, "exact": exact}

if __name__ == "__main__":
    COMMANDS[sys.argv[1] if len(sys.argv) > 1 else "counts"]()
