"""Gaussian processes over time in O(n), beside tinygp and celerite2: one thread, repeats in turn.

``python benchmarks/markov.py`` measures sums of one and of three Matérn 3/2 kernels (2 and 6 states), at
10^4, 10^5 and 10^6 times, on a grid and at random. What is compiled is compiled before; a round calls every
contender once, and the least of all rounds counts, which other work on the machine disturbs least. Evidence,
and evidence with gradient and marginals, are set against tinygp's quasiseparable solver on JAX (value; value
and gradient) and celerite2 (value: it has gradients only through JAX or PyMC, and an approximation of this
kernel). Peers come with ``pip install 'sturdygp[peers]'``; what is not installed is left out. ``--store``
keeps what was found in docs/results/markov.json, ``--table`` prints it again.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    # Before any of them counts the processors.
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sturdygp.experiments.store import environment, installed
from sturdygp.gp import Sites
from sturdygp.gp.markov import MarkovPrior
from sturdygp.gp.timeline import Timeline
from sturdygp.kernels import Kernel, Matern32, Sum
from sturdygp.report.table import Table, number

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "markov.json"
SIZES = (10_000, 100_000, 1_000_000)
# Length scale and standard deviation of each part.
PARTS = ((1.0, 1.0), (3.0, 0.7), (10.0, 0.5))
NOISE = 0.01
# Rounds for the smallest size; fewer for larger ones, but some.
ROUNDS, LEAST_ROUNDS = 40, 7
# The gradient of tinygp with six states takes most of a minute at a million times, and as long to compile.
LARGEST_GRADIENT = {2: 1_000_000, 6: 100_000}
TARGETS = {("evidence", 2): 0.3, ("evidence", 6): 0.5, ("all", 2): 0.1}

Run: TypeAlias = Callable[[], float]


def series(n: int, *, grid: bool) -> tuple[np.ndarray, np.ndarray]:
    """Times of which ten come in a unit, and what is observed."""
    rng = np.random.default_rng(0)
    t = 0.125 * np.arange(n) if grid else np.sort(rng.uniform(0.0, 0.125 * n, n))
    return t, np.sin(t) + math.sqrt(NOISE) * rng.normal(size=n)


def ours(t: np.ndarray, y: np.ndarray, states: int) -> dict[str, Run]:
    """Sorting and numbering of the times are done once, as in a fit."""
    parts = tuple(Matern32(scale, sd**2) for scale, sd in PARTS[: states // 2])
    kernel: Kernel = Sum(parts) if len(parts) > 1 else parts[0]
    timeline, sites = Timeline.of(t[:, None]), Sites.gaussian(y, NOISE)

    def evidence() -> float:
        return MarkovPrior.at(kernel, timeline).condition(sites, 0.0).log_evidence

    def everything() -> float:
        posterior = MarkovPrior.at(kernel, timeline).condition(sites, 0.0)
        posterior.gradient()
        posterior.marginals()
        return posterior.log_evidence

    return {"sturdygp": evidence, "sturdygp, all": everything}


def tinygp(t: np.ndarray, y: np.ndarray, states: int) -> dict[str, Run]:
    """Compiled before."""
    import jax  # noqa: PLC0415
    from tinygp import GaussianProcess  # noqa: PLC0415
    from tinygp.kernels import quasisep  # noqa: PLC0415

    jax.config.update("jax_enable_x64", True)  # noqa: FBT003

    def value(parameters: Any) -> Any:
        parts = [quasisep.Matern32(scale=p[0], sigma=p[1]) for p in parameters]
        kernel = parts[0]
        for part in parts[1:]:
            kernel = kernel + part
        return GaussianProcess(kernel, t, diag=NOISE).log_probability(y)

    parameters = jax.numpy.array(PARTS[: states // 2])
    evidence, gradient = jax.jit(value), jax.jit(jax.value_and_grad(value))
    runs: dict[str, Run] = {"tinygp": lambda: float(evidence(parameters))}
    if len(t) <= LARGEST_GRADIENT[states]:
        runs["tinygp, gradient"] = lambda: float(jax.block_until_ready(gradient(parameters))[0])
    return runs


def celerite2(t: np.ndarray, y: np.ndarray, states: int) -> dict[str, Run]:
    """Its C++ solver."""
    import celerite2 as peer  # noqa: PLC0415

    first, *others = (peer.terms.Matern32Term(sigma=sd, rho=scale) for scale, sd in PARTS[: states // 2])
    process, diagonal = peer.GaussianProcess(sum(others, start=first), mean=0.0), np.full(len(t), NOISE)

    def evidence() -> float:
        process.compute(t, diag=diagonal, check_sorted=False)
        return float(process.log_likelihood(y))

    return {"celerite2": evidence}


def measure(n: int, states: int, *, grid: bool) -> dict[str, Any]:
    """All contenders in turn, after each has run once."""
    t, y = series(n, grid=grid)
    runs = ours(t, y, states)
    for peer, make in (("tinygp", tinygp), ("celerite2", celerite2)):
        if installed(peer) is not None:
            runs |= make(t, y, states)
    values = {name: run() for name, run in runs.items()}
    seconds = dict.fromkeys(runs, math.inf)
    for _ in range(max(LEAST_ROUNDS, ROUNDS * SIZES[0] // n)):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    exact = values["sturdygp"]
    # tinygp's model is the same; celerite2's is near.
    if abs(values.get("tinygp", exact) - exact) > 1e-6 * abs(exact):
        raise RuntimeError(f"tinygp finds {values['tinygp']!r}, sturdygp {exact!r}")
    return {"n": n, "states": states, "grid": grid, "seconds": seconds, "evidence": values}


def table(rows: list[dict[str, Any]]) -> str:
    """Milliseconds, and ratios to the faster peer and to tinygp's gradient."""
    header = (
        "times", "n", "states", "evidence, ms", "tinygp", "celerite2", "ratio", "target",
        "with gradient and marginals, ms", "tinygp's gradient", "ratio", "target",
    )  # fmt: skip
    cells = []
    for row in rows:
        s = {name: 1e3 * value for name, value in row["seconds"].items()}
        tiny, celerite, gradient = (
            s.get(name, math.nan) for name in ("tinygp", "celerite2", "tinygp, gradient")
        )
        targets = (TARGETS.get((what, row["states"])) for what in ("evidence", "all"))
        first, second = ("-" if each is None else f"<= {each:g}" for each in targets)
        cells.append(
            (
                "grid" if row["grid"] else "random", f"{row['n']}", str(row["states"]),
                number(s["sturdygp"]), number(tiny), number(celerite),
                number(s["sturdygp"] / np.fmin(tiny, celerite)), first,
                number(s["sturdygp, all"]), number(gradient), number(s["sturdygp, all"] / gradient), second,
            )
        )  # fmt: skip
    return Table("Gaussian processes over time, one thread", header, tuple(cells)).markdown()


def stored() -> list[dict[str, Any]]:
    """What was kept."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text())["rows"]
    return rows


def main() -> None:
    """Measure, print, and keep if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--table", action="store_true", help="print what is kept instead of measuring")
    arguments = parser.parse_args()
    if arguments.table:
        rows = stored()
    else:
        rows = [
            measure(n, states, grid=grid)
            for grid in (True, False)
            for states in (2, 6)
            for n in arguments.sizes
        ]
    print(table(rows))
    if arguments.store:
        packages = {name: installed(name) for name in ("numba", "tinygp", "jax", "celerite2")}
        found = {"rows": rows, "environment": environment(), "peers": packages}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
