"""What single rules of the search buy: fits with and without each of them.

``python benchmarks/ablations.py [RULE ...]`` switches off one rule at a time, on data that show what it is
for, and prints how many fits go wrong with it and without it. All data are seeded; it takes a minute.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from sturdygp import RobustGPRegressor
from sturdygp.datasets import make_synthetic
from sturdygp.inference import variational
from sturdygp.inference.problem import Problem, default_kernel
from sturdygp.methods.asor import Asor
from sturdygp.methods.robust import masking, search
from sturdygp.methods.robust.hypothesis import Hypothesis
from sturdygp.report.table import Table

Array = npt.NDArray[np.float64]

TRIALS = 12
GRID = np.linspace(0.0, 10.0, 80)[:, None]
# What is flagged more often than this, of 80 observations, is no accident.
MANY = 10


@dataclass(frozen=True)
class Ablation:
    """A rule, how to do without it, and a number for each trial that is worse without it."""

    rule: str
    measured: str
    without: tuple[Any, str, Any]
    trial: Callable[[int], float]


def flagged_in_a_peak(seed: int) -> float:
    """Whether a narrow peak without any outlier is taken for outliers."""
    rng = np.random.default_rng(seed)
    x = GRID[:, 0]
    f = 5.0 * np.exp(-0.5 * ((x - rng.uniform(3.0, 7.0)) / 0.25) ** 2) + 0.1 * x
    model = RobustGPRegressor().fit(GRID, f + 0.1 * rng.standard_normal(x.size))
    return float((model.outlier_proba_ > 0.5).sum() > 0)


def flagged_in_noise(seed: int) -> float:
    """Whether mere noise beside three fill values is taken for outliers, when most of them may be."""
    y = 7.0 + np.random.default_rng(seed).standard_normal(GRID.size)
    y[[11, 42, 60]] = -999.0
    model = RobustGPRegressor(faults="many").fit(GRID, y)
    return float((model.outlier_proba_ > 0.5).sum() > MANY)


def missed_ripple(seed: int) -> float:
    """Whether a ripple on a smooth surface is taken for noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (200, 3))
    f = 2.0 * np.sin(X[:, 0]) * np.cos(X[:, 1]) + X[:, 2] + 0.3 * np.sin(10.0 * X[:, 1])
    model = RobustGPRegressor().fit(X, f + 0.05 * rng.normal(size=200))
    return float(model.noise_variance_ > 2.0 * 0.05**2)


def factorisations(seed: int) -> float:
    """Factorisations of the whole kernel matrix that ASOR-GPR takes for 450 observations."""
    data = make_synthetic(450, rate=0.3, seed=seed)
    y = data.y[:, 0]
    scaled = (y - np.median(y)) / 2.0
    problem = Problem(data.X, scaled, default_kernel(data.X), np.random.default_rng(0))
    return Asor().fit(problem).n_factorizations


ABLATIONS = {
    "predicts-more": Ablation(
        "a hypothesis with more inliers wins if it predicts better",
        "peaks taken for outliers",
        (Hypothesis, "predicts_more_than", lambda *_: False),
        flagged_in_a_peak,
    ),
    "mostly-inliers": Ablation(
        "what masking leaves must be inliers for the most part",
        "noise taken for outliers",
        (masking, "MOSTLY_INLIERS", 0.0),
        flagged_in_noise,
    ),
    "allowed-losses": Ablation(
        "a second kernel part may lower the ELBO at first",
        "ripples taken for noise",
        (search, "ALLOWED_LOSSES", (0.0, 0.0)),
        missed_ripple,
    ),
    "stages": Ablation(
        "a fit begins with a sample of the observations",
        "factorisations",
        (variational, "SMALLEST_SAMPLE", np.inf),
        factorisations,
    ),
}


def row(ablation: Ablation) -> tuple[str, ...]:
    """Means over trials with the rule and without it."""
    owner, name, replacement = ablation.without
    with_rule = [ablation.trial(seed) for seed in range(TRIALS)]
    with patch.object(owner, name, replacement):
        without = [ablation.trial(seed) for seed in range(TRIALS)]
    return ablation.rule, ablation.measured, f"{np.mean(with_rule):.2f}", f"{np.mean(without):.2f}"


def main() -> None:
    """Print a row for each rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", metavar="RULE", help=f"one of {', '.join(ABLATIONS)}")
    asked = parser.parse_args().rules or list(ABLATIONS)
    if unknown := set(asked) - set(ABLATIONS):
        parser.error(f"RULE must be one of {', '.join(ABLATIONS)}; got {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore")
    rows = tuple(row(ABLATIONS[name]) for name in asked)
    header = ("Rule", "Measured, for each fit", "with it", "without it")
    print(Table(f"Fits with and without single rules, {TRIALS} data sets each", header, rows).markdown())


if __name__ == "__main__":
    main()
