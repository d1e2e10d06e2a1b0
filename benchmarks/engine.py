"""One evaluation of the engine (evidence, gradient, marginals) against its two LAPACK calls.

Run with ``make bench`` or ``python benchmarks/engine.py``. Both sides use one BLAS thread, the
same matrix and the same process, and their repeats alternate; the ratio of the medians is printed.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from sturdygp.gp import Sites, condition
from sturdygp.kernels import SquaredExponential

CASES = ((100, 8, 400, 4.0), (1000, 8, 21, 1.6), (2000, 8, 9, 1.4))
MEMORY_TARGET = 5.0


def problem(n: int, d: int) -> tuple[SquaredExponential, np.ndarray, Sites]:
    """Points, targets and per-point precisions such as a robust fit meets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n)
    kernel = SquaredExponential(tuple(np.linspace(1.0, 4.0, d)), 1.5)
    return kernel, X, Sites.gaussian(y, rng.uniform(0.05, 5.0, n))


def evaluate(kernel: SquaredExponential, X: np.ndarray, sites: Sites) -> float:
    """What one step of a fit computes."""
    posterior = condition(kernel, X, sites)
    gradient, marginals = posterior.gradient(), posterior.marginals()
    return posterior.log_evidence + float(gradient.kernel.sum() + marginals.variance.sum())


def lapack_calls(B: np.ndarray) -> Callable[[], None]:
    """``dpotrf`` and ``dpotri`` on the matrix that the evaluation factorises."""

    def run() -> None:
        factor, _ = lapack.dpotrf(B, lower=1)
        lapack.dpotri(factor, lower=1, overwrite_c=1)

    return run


def medians(functions: list[Callable[[], object]], repeats: int) -> list[float]:
    """Median seconds of each function, repeats taken in turn."""
    times = np.empty((repeats, len(functions)))
    for row in times:
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            row[i] = time.perf_counter() - start
    return [float(median) for median in np.median(times, axis=0)]


def peak_matrices(function: Callable[[], object], n: int) -> float:
    """Peak memory of a call, in matrices of n x n doubles."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8.0 * n * n)


def main() -> None:
    """Print one line for each size."""
    header = ("n", "d", "LAPACK ms", "ours ms", "ratio", "target", "peak n^2", "target")
    print("{:>5} {:>3} {:>10} {:>9} {:>6} {:>7} {:>9} {:>7}".format(*header))
    with threadpool_limits(1):
        for n, d, repeats, target in CASES:
            kernel, X, sites = problem(n, d)
            root = np.sqrt(sites.precision)
            B = np.asfortranarray(np.eye(n) + root[:, None] * kernel(X) * root)

            def ours(arguments: tuple[SquaredExponential, np.ndarray, Sites] = (kernel, X, sites)) -> float:
                return evaluate(*arguments)

            base, own = medians([lapack_calls(B), ours], repeats)
            memory = peak_matrices(ours, n)
            print(
                f"{n:5d} {d:3d} {1e3 * base:10.3f} {1e3 * own:9.3f} {own / base:6.2f} {target:7.1f} "
                f"{memory:9.2f} {MEMORY_TARGET:7.1f}"
            )


if __name__ == "__main__":
    main()
