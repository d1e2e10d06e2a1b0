"""Where the search begins: a level that nominal readings may lie around, and everything else a fault."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Kernel
from sturdygp.methods.adaptive.model import EXTRA_BOX, AdaptiveModel, Branches, Contamination, normalised
from sturdygp.methods.alternating import Start

# How sure a start is of the readings near its level, and how unsure of the others.
NEAR, FAR = 0.9, 0.1
# Least number of readings near a level, and least variance of scaled targets around it.
LEAST_NEAR, LEAST_VARIANCE = 3, 1e-4
# Least ratio of spread to nominal standard deviation that a start supposes.
LEAST_RATIO = 2.5


@dataclass(frozen=True)
class Level:
    """The readings nearest to a quantile of the targets, and what share of all they are."""

    quantile: float
    share: float

    def start(self, model: AdaptiveModel, kernel: Kernel) -> Start[Branches]:
        """Half of the variance around the level is signal, half is noise."""
        y = model.y
        away = np.abs(y - np.quantile(y, self.quantile))
        count = max(int(np.ceil(self.share * y.size)), LEAST_NEAR)
        nominal = np.full(y.size, FAR)
        nominal[np.argsort(away, kind="stable")[:count]] = NEAR
        residual = y - np.quantile(y, self.quantile)
        variance = max(float(nominal @ residual**2 / nominal.sum()), LEAST_VARIANCE)
        contamination = supposed(model, residual, nominal, 0.5 * variance)
        branches = Branches(responsibilities(contamination, residual, nominal), float(nominal.mean()))
        scaled = kernel.scaled(variance)
        return Start(
            kernel.with_theta(np.clip(scaled.theta, *kernel.bounds.T)), contamination.extra, branches
        )


def supposed(model: AdaptiveModel, residual: FloatArray, nominal: FloatArray, noise: float) -> Contamination:
    """Shift and spread of the readings that are not nominal."""
    faulty = 1.0 - nominal
    shift = float(faulty @ residual / faulty.sum())
    spread = sqrt(float(faulty @ (residual - shift) ** 2 / faulty.sum()))
    noise = float(np.clip(noise, *np.exp(EXTRA_BOX[0])))
    found = Contamination(noise, shift, max(spread, LEAST_RATIO * sqrt(noise)), model.shape)
    return Contamination.of(found.extra, model.shape)


def responsibilities(c: Contamination, residual: FloatArray, nominal: FloatArray) -> FloatArray:
    """Faulty readings shared among the cells."""
    by_cell = (residual[:, None] - c.cell_shift) ** 2
    cells = normalised(-0.5 * by_cell / c.cell_variance)
    return np.column_stack([nominal, (1.0 - nominal)[:, None] * cells])
