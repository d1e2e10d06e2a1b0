"""Where the search begins: a level that nominal readings may lie around, and everything else a fault."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np
from scipy.special import softmax

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Kernel
from sturdygp.methods.adaptive.model import AdaptiveModel, Branches, Contamination
from sturdygp.methods.alternating import Start

# Least number of readings near a level, and least variance of scaled targets around it.
LEAST_NEAR, LEAST_VARIANCE = 3, 1e-4
# Least ratio of spread to nominal standard deviation that a start supposes.
LEAST_RATIO = 2.5


@dataclass(frozen=True, eq=False)
class Supposition:
    """Contamination, branches and a factor of the kernel; or several of each, along the first axes."""

    extra: FloatArray
    latent: Branches
    amplitude: FloatArray

    @classmethod
    def stacked(cls, suppositions: list[Self]) -> Self:
        """Several as one."""
        latent = Branches(
            np.stack([each.latent.responsibility for each in suppositions]),
            np.stack([each.latent.nominal for each in suppositions]),
        )
        extra, amplitude = ([getattr(s, name) for s in suppositions] for name in ("extra", "amplitude"))
        return cls(np.stack(extra), latent, np.stack(amplitude))

    def __getitem__(self, index: int) -> Self:
        """One out of several."""
        return type(self)(self.extra[index], self.latent[index], self.amplitude[index])

    def at(self, kernel: Kernel) -> Start[Branches]:
        """Where a climb with this kernel starts."""
        theta = np.clip(kernel.scaled(float(self.amplitude)).theta, *kernel.bounds.T)
        return Start(kernel.with_theta(theta), self.extra, self.latent)


@dataclass(frozen=True)
class Level:
    """The share of all readings that is nearest to a quantile of the targets is probably nominal."""

    quantile: float
    share: float
    near: float = 0.9
    far: float = 0.1

    def supposition(self, model: AdaptiveModel, noise_share: float) -> Supposition:
        """A share of the variance around the level is noise, and all of it signal."""
        y = model.y
        residual = y - np.quantile(y, self.quantile)
        count = max(int(np.ceil(self.share * y.size)), LEAST_NEAR)
        nominal = np.full(y.size, self.far)
        nominal[np.argsort(np.abs(residual), kind="stable")[:count]] = self.near
        variance = max(float(nominal @ residual**2 / nominal.sum()), LEAST_VARIANCE)
        return Supposition(*branches_of(model, residual, nominal, noise_share * variance), np.array(variance))


TRUSTING = Level(0.5, 1.0, near=0.999)
# Where nominal readings are sought; beyond these, at random.
QUANTILES, SHARES = (0.5, 0.05, 0.95, 0.25, 0.75, 0.15, 0.85, 0.35, 0.65), (0.3, 0.15)
LEVELS = (Level(0.5, 0.7), *(Level(quantile, share) for quantile in QUANTILES for share in SHARES))


def levels(count: int, rng: np.random.Generator) -> list[Level]:
    """The first few are fixed."""
    more = [Level(rng.uniform(0.05, 0.95), rng.uniform(0.2, 0.6)) for _ in range(count - len(LEVELS))]
    return [*LEVELS[:count], *more]


def branches_of(
    model: AdaptiveModel, residual: FloatArray, nominal: FloatArray, noise: float
) -> tuple[FloatArray, Branches]:
    """Contamination and branches of readings that are nominal with these probabilities."""
    contamination = supposed(model, residual, nominal, noise)
    branches = Branches(responsibilities(contamination, residual, nominal), nominal.mean())
    return contamination.extra, branches


def supposed(model: AdaptiveModel, residual: FloatArray, nominal: FloatArray, noise: float) -> Contamination:
    """Shift and spread of the readings that are not nominal."""
    faulty = 1.0 - nominal
    shift = float(faulty @ residual / faulty.sum())
    spread = sqrt(float(faulty @ (residual - shift) ** 2 / faulty.sum()))
    noise = float(np.clip(noise, *np.exp(model.prior.box[0])))
    spread = max(spread, LEAST_RATIO * sqrt(noise))
    found = Contamination(np.array(noise), np.array(shift), np.array(spread), model.shape)
    return Contamination.of(model.within_box(found.extra), model.shape)


def responsibilities(c: Contamination, residual: FloatArray, nominal: FloatArray) -> FloatArray:
    """Faulty readings shared among the cells."""
    by_cell = (residual - c.cell_shift[:, None]) ** 2
    cells = np.asarray(softmax(-0.5 * by_cell / c.cell_variance, axis=0))
    return np.vstack([nominal, (1.0 - nominal) * cells])
