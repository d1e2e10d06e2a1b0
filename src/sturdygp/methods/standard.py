"""Ordinary Gaussian process regression: every reading has the same normal noise."""

from __future__ import annotations

from dataclasses import dataclass

from sturdygp.methods.base import Fit, Problem
from sturdygp.methods.gaussian import Gaussian


@dataclass(frozen=True)
class Standard:
    """The likelihood itself chooses the sites."""

    noise_variance: float = 0.5
    learn_noise: bool = True
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-5

    def fit(self, problem: Problem) -> Fit:
        """Fit one output."""
        common = Gaussian(self.noise_variance, self.learn_noise, self.n_starts, self.max_iter, self.tol)
        return common.fit(problem)
