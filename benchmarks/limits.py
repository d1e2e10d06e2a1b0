"""How much of the flagship's error is due to its search, and how much to what the data do not tell.

``python -m benchmarks.limits [--trials N] [--jobs N]`` fits the synthetic problems of ``accuracy.py`` with
the flagship's model twice more, both times knowing what nobody knows: started from which readings are faulty
and how faults are distributed, and free to go from there; and told how faults are distributed for good, so
that only the function and which readings are faulty remain to be found. Ratios are those of ``accuracy.py``.
Runs of 30 trials go into docs/results/limits.json; ``--table`` prints them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from joblib import Parallel, delayed

from benchmarks import accuracy
from sturdygp import OracleGPRegressor, RobustGPRegressor, metrics
from sturdygp.datasets import Outliers, UniformOutliers
from sturdygp.estimators.outputs import OutputData
from sturdygp.inference.problem import LONGER, Problem, lengthened
from sturdygp.inference.variational import Initialisation, VariationalObjective
from sturdygp.likelihoods.contamination import Contamination, ContaminationModel, MixtureState, Shape
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.methods.fit import Fit
from sturdygp.methods.robust.heteroscedastic import Conclusion
from sturdygp.methods.robust.hypothesis import Hypothesis
from sturdygp.methods.robust.method import calibrated_fit
from sturdygp.methods.robust.prior import FunctionPrior
from sturdygp.methods.robust.search import SHAPES, Found

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "limits.json"
RATES = (0.2, 0.4, 0.6, 0.8)
PROBLEMS = tuple(name for name in accuracy.PROBLEMS if name.startswith("synthetic"))
# Of the synthetic problem.
NOISE_VARIANCE = 0.25
# How sure a start from the truth is of it.
SURE = 0.95
KNOWING = {"started from the truth": False, "told the contamination": True}


@dataclass(frozen=True, eq=False)
class FixedShare(ContaminationModel):
    """The flagship's model with a known share of nominal readings."""

    share: float = field(kw_only=True)

    def best_inlier_weight(self, count: np.ndarray) -> np.ndarray:
        """Whatever the data say."""
        return np.full_like(count, self.share)


@dataclass(frozen=True, eq=False)
class Informed:
    """The flagship's optimisation from the truth, in the units of the scaled targets."""

    faulty: np.ndarray
    contamination: Contamination
    share: float
    told: bool

    def fit(self, problem: Problem) -> Fit:
        """From two length scales; the better one counts."""
        c, n = self.contamination, problem.y.size
        given = (problem.y, c.shape, ContaminationPrior().against(n))
        model = FixedShare(*given, share=self.share) if self.told else ContaminationModel(*given)
        box = np.column_stack([c.parameters, c.parameters]) if self.told else ContaminationPrior().box
        assumed = FunctionPrior.of(problem, ContaminationPrior().signal)
        objective = VariationalObjective(model, problem, box, assumed)
        nominal = np.where(self.faulty, 1.0 - SURE, SURE)
        responsibility = c.responsibilities(problem.y - np.median(problem.y[~self.faulty]), nominal)
        latent = MixtureState(responsibility, np.array(self.share))
        starts = [
            Initialisation(lengthened(problem.kernel, by), c.parameters, latent) for by in (0.0, LONGER)
        ]
        best, spent = objective.optimise_from_all(starts, max_iter=1000, tol=1e-4 * n)
        hypothesis = Hypothesis(model, problem, assumed, best, 0.0)
        return calibrated_fit(problem, Conclusion.at(hypothesis), Found(hypothesis, spent))


class InformedGPRegressor(RobustGPRegressor):
    """The flagship, knowing what it should find out."""

    def fit_knowing(self, data: accuracy.Data, outliers: Outliers, rate: float, *, told: bool) -> Self:
        """Fit each output from its own truth."""
        shape: Shape = SHAPES[1] if isinstance(outliers, UniformOutliers) else SHAPES[0]

        def method_for(output: OutputData) -> Informed:
            scale = output.scaling.scale
            contamination = Contamination(
                np.array(NOISE_VARIANCE / scale**2),
                np.array(outliers.mean / scale),
                np.array(np.sqrt(outliers.variance + NOISE_VARIANCE) / scale),
                shape,
            )
            return Informed(data.mask[:, output.index], contamination, 1.0 - rate, told)

        return self._fit(data.X, data.y, method_for)


def trial(name: str, rate: float, seed: int) -> dict[str, float]:
    """Errors on one data set."""
    warnings.simplefilter("ignore")
    source, outliers = accuracy.PROBLEMS[name]
    data = accuracy.draw(source, outliers, rate, seed)
    oracle = OracleGPRegressor(n_starts=2).fit(data.X, data.y, data.mask, outliers.variance, outliers.mean)
    errors = {"oracle": metrics.rmse(data.truth, oracle.predict(data.X_test))}
    for label, told in KNOWING.items():
        model = InformedGPRegressor().fit_knowing(data, outliers, rate, told=told)
        errors[label] = metrics.rmse(data.truth, model.predict(data.X_test))
    return errors


def markdown() -> str:
    """What is stored, below what the flagship achieves."""
    own = json.loads(accuracy.RESULTS.read_text())["cells"]
    cells = {(c["problem"], c["rate"], c["method"]): c["median_ratio"] for c in own}
    cells |= {(c["problem"], c["rate"], c["knowing"]): c["median_ratio"] for c in stored()}
    rows = [
        f"| problem | | {' | '.join(f'p = {rate:g}' for rate in RATES)} |",
        "|---|---|" + "---|" * len(RATES),
    ]
    for name in PROBLEMS:
        for key, label in (("robust", "told nothing"), *((key, key) for key in KNOWING)):
            values = " | ".join(f"{cells[name, rate, key]:.2f}" for rate in RATES)
            rows.append(f"| {name} | {label} | {values} |")
    return "\n".join(["**Error as a ratio to the oracle's, by what the flagship is told**", "", *rows])


def stored() -> list[dict[str, object]]:
    """The cells of the table."""
    cells: list[dict[str, object]] = json.loads(RESULTS.read_text())["cells"]
    return cells


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=accuracy.TRIALS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="only print what is stored, as Markdown")
    arguments = parser.parse_args()
    if arguments.table:
        print(markdown())
        return
    seeds = range(accuracy.FIRST_SEED, accuracy.FIRST_SEED + arguments.trials)
    cells = []
    for name in PROBLEMS:
        for rate in RATES:
            rows = Parallel(n_jobs=arguments.jobs)(delayed(trial)(name, rate, seed) for seed in seeds)
            oracle = np.median([row["oracle"] for row in rows])
            for label in KNOWING:
                ratio = float(np.median([row[label] for row in rows]) / oracle)
                cells.append({"problem": name, "rate": rate, "knowing": label, "median_ratio": ratio})
                print(f"{name:20} {rate:4.1f} {label:24} {ratio:6.2f}", flush=True)
    if arguments.trials == accuracy.TRIALS:
        RESULTS.write_text(json.dumps({"trials": accuracy.TRIALS, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
