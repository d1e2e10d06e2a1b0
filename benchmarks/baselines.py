"""Student-t approximations against long sampling, at fixed hyperparameters.

``python benchmarks/baselines.py`` prints, for three problems and each approximation, how far its means and
standard deviations are from those of a Gibbs sampler, and writes docs/results/student-t.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sturdygp.datasets import make_synthetic
from sturdygp.gp.exact import ExactPrior
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import Sites
from sturdygp.inference.expectation_propagation import NaturalSites, Propagation
from sturdygp.inference.laplace import approximate
from sturdygp.kernels import SquaredExponential
from sturdygp.likelihoods.student_t import TLikelihood

ROOT = Path(__file__).parent.parent
SAMPLES = 40_000
NOISE, DOF = 0.2, 4.0
E_STEPS = 300


class ZeroMean(ExactPrior):
    """A prior whose mean is zero, so that all four posteriors have the same one."""

    def condition(self, sites: Sites, mean: float | None = None) -> Any:
        """Condition with mean zero."""
        return super().condition(sites, 0.0)


def approximations(prior: ZeroMean, y: np.ndarray) -> dict[str, Marginals]:
    """Marginals of the three approximations."""
    likelihood = TLikelihood(NOISE, DOF)
    precision = np.full(y.size, 1.0 / NOISE)
    for _ in range(E_STEPS):
        variational = prior.condition(Sites(y, precision, np.zeros_like(y))).marginals()
        precision = likelihood.weight(variational.second_moment(y)) / NOISE
    start = NaturalSites(precision, precision * y)
    propagated = Propagation(prior, y, likelihood).run(start, careful=True).posterior.marginals()
    expanded = approximate(prior, y, likelihood, 0.0, variational.mean).posterior.marginals()
    return {"EP": propagated, "VB": variational, "Laplace": expanded}


def main() -> None:
    """Print the table and store it."""
    sys.path.insert(0, str(ROOT / "tests"))
    from references import gibbs  # noqa: PLC0415  the sampler is a reference of the tests

    rows = []
    print("problem  method   mean: rms    max  sd ratio: median    min    max  Monte Carlo error")
    for seed in range(3):
        data = make_synthetic(40, 1, rate=0.15, seed=seed)
        y = data.y[:, 0]
        prior = ZeroMean.at(SquaredExponential((2.0, 2.0), 1.2), data.X)
        draws = gibbs.sample(
            prior.linearised.value,
            y,
            m=0.0,
            noise=NOISE,
            a=DOF / 2,
            b=DOF / 2,
            theta=1e-12,
            n_samples=SAMPLES,
            burn_in=1000,
            rng=np.random.default_rng(seed),
        )
        mean, spread = draws.f.mean(axis=0), draws.f.std(axis=0)
        error = float(np.median(gibbs.batch_error(draws.f) / spread))
        for name, marginals in approximations(prior, y).items():
            off = np.abs(marginals.mean - mean) / spread
            ratio = np.sqrt(marginals.variance) / spread
            figures = [np.sqrt(np.mean(off**2)), off.max(), np.median(ratio), ratio.min(), ratio.max(), error]
            rows.append({"problem": seed, "method": name, "figures": [float(f) for f in figures]})
            a, b, c, d, e, f = figures
            print(f"{seed:7d}  {name:7s} {a:10.3f} {b:6.3f} {c:17.3f} {d:6.3f} {e:6.3f} {f:18.3f}")
    target = ROOT / "docs" / "results" / "student-t.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
