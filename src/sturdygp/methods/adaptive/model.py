"""The model: a reading is nominal, or off by a random amount whose distribution is learned.

``y = f + e`` with ``e ~ N(0, noise)`` for a nominal reading and ``e = shift + spread * u`` for a faulty
one, where ``u`` has a fixed :class:`Shape` of zero mean and unit variance. The derivation is in
``docs/contamination.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, sqrt

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, TINY, Sites
from sturdygp.methods.adaptive.prior import ContaminationPrior

# Updates of the nominal share for each update of the responsibilities: they cost O(n).
SHARE_UPDATES = 2
# The largest share: a contaminated branch is never quite ruled out.
MOST_NOMINAL = 1.0 - 1e-4


@dataclass(frozen=True, eq=False)
class Shape:
    """A standardised distribution of faults: equally likely normal cells of one width."""

    name: str
    centres: FloatArray
    width: float

    @classmethod
    def normal(cls) -> Shape:
        """One cell."""
        return cls("normal", np.zeros(1), 1.0)

    @classmethod
    def flat(cls, cells: int) -> Shape:
        """Cells side by side: level in the middle, with edges as sharp as a cell is wide."""
        centres = (2.0 * np.arange(cells) + 1.0) / cells - 1.0
        width = 1.0 / cells
        scale = sqrt(float(np.mean(centres**2)) + width**2)
        return cls("flat", centres / scale, width / scale)


@dataclass(frozen=True, eq=False)
class Branches:
    """Responsibilities in rows, nominal first and then each cell of faults; and the nominal share.

    Like everything in this module they may have axes before the last ones, for several ways to read the data.
    """

    responsibility: FloatArray
    nominal: FloatArray

    def __getitem__(self, index: int) -> Branches:
        """One way out of several."""
        return Branches(self.responsibility[index], self.nominal[index])

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Probability of each reading to be nominal, to be in each cell, and to be faulty."""
        nominal, cells = self.responsibility[..., 0, :], self.responsibility[..., 1:, :]
        return nominal, cells, cells.sum(axis=-2)


@dataclass(frozen=True, eq=False)
class Contamination:
    """Parameters in the units of the scaled targets: nominal variance, and the cells of the faults."""

    noise: FloatArray
    shift: FloatArray
    spread: FloatArray
    shape: Shape

    @classmethod
    def of(cls, extra: FloatArray, shape: Shape) -> Contamination:
        """From the logs of noise variance and spread, and the shift in spreads."""
        spread = np.exp(extra[..., 1])
        return cls(np.exp(extra[..., 0]), extra[..., 2] * spread, spread, shape)

    @property
    def extra(self) -> FloatArray:
        """The parameters as an optimiser sees them."""
        return np.stack([np.log(self.noise), np.log(self.spread), self.shift / self.spread], axis=-1)

    @property
    def cell_shift(self) -> FloatArray:
        """Mean of each cell."""
        return np.asarray(self.shift)[..., None] + np.multiply.outer(self.spread, self.shape.centres)

    @property
    def cell_variance(self) -> FloatArray:
        """Variance of every cell."""
        return (self.spread * self.shape.width) ** 2

    def relative_densities(self, squared: FloatArray, by_cell: FloatArray, noise: FloatArray) -> FloatArray:
        """Densities for expected squared distances, nominal in the first row; the largest is 1.

        ``noise`` is the nominal variance of each reading, or of all.
        """
        cell_variance = column(self.cell_variance)
        log_density = np.concatenate(
            [
                (log_factor(noise) - 0.5 * squared / noise)[..., None, :],
                (log_factor(cell_variance)[..., None] - 0.5 * by_cell / cell_variance[..., None]),
            ],
            axis=-2,
        )
        log_density -= log_density.max(axis=-2, keepdims=True)
        np.exp(log_density, out=log_density)
        return log_density


@dataclass(frozen=True, eq=False)
class AdaptiveModel:
    """The likelihood as a latent model; ``extra`` are log noise variance, log spread and offset.

    The nominal variance of a reading is the noise variance times its ``relative_noise``.
    """

    y: FloatArray
    shape: Shape
    prior: ContaminationPrior
    relative_noise: FloatArray = field(default_factory=lambda: np.ones(1))

    def nominal_variance(self, c: Contamination) -> FloatArray:
        """That of each reading, or one that is the same for all."""
        return np.asarray(column(c.noise) * self.relative_noise)

    def sites(self, extra: FloatArray, latent: Branches) -> Sites:
        """Precisions of all branches added up; their targets averaged; the rest stands in the scale."""
        c, r = Contamination.of(extra, self.shape), latent.responsibility
        nominal, cells, faulty = latent.parts
        cell_variance, shift = column(c.cell_variance), c.cell_shift[..., None, :]
        noise = self.nominal_variance(c)
        precision = nominal / noise + faulty / cell_variance
        # Distance of the target below the reading, and the spread of the branches around it.
        below = (shift @ cells)[..., 0, :] / (cell_variance * precision)
        scatter = (shift**2 @ cells)[..., 0, :] / cell_variance - precision * below**2
        before_nominal = log_factor(noise) + column(np.log(latent.nominal))
        before_cell = log_factor(c.cell_variance) + np.log((1.0 - latent.nominal) / self.shape.centres.size)
        entropy = -(r * np.log(np.maximum(r, 1e-300))).sum(axis=-2)
        log_scale = entropy + nominal * before_nominal + faulty * column(before_cell)
        return Sites(self.y - below, precision, log_scale - 0.5 * (scatter + LOG_2PI))

    def log_prior(self, extra: FloatArray, latent: Branches) -> FloatArray:
        """Log density of the soft floors, up to a constant."""
        p, log_noise, log_spread, offset = self.prior, extra[..., 0], extra[..., 1], extra[..., 2]
        noise = p.noise_dof * log_noise + p.noise_scale * np.exp(-log_noise)
        ratio, shift = p.ratio**2 * np.exp(log_noise - 2.0 * log_spread), (offset / p.offset) ** 2
        return -0.5 * (noise + ratio + shift) - p.nominal / latent.nominal

    def extra_gradient(self, extra: FloatArray, latent: Branches, marginals: Marginals) -> FloatArray:
        """Derivatives for given responsibilities, of one way to read the data."""
        p, (log_noise, log_spread, offset) = self.prior, extra
        spread, squared_width = exp(log_spread), self.shape.width**2
        nominal, cells, faulty = latent.parts
        residual = self.y - marginals.mean
        second_moment = residual**2 + marginals.variance
        weighted = float(nominal @ (second_moment / self.relative_noise))
        by_noise = (weighted + p.noise_scale) * exp(-log_noise) - float(nominal.sum()) - p.noise_dof
        # Sums over cells of responsibility times residual distance, in spreads.
        pull = faulty * (residual / spread - offset) - self.shape.centres @ cells
        by_offset = float(pull.sum()) / squared_width
        stretch = float(pull @ residual) / spread + float(faulty @ marginals.variance) / spread**2
        by_spread = stretch / squared_width - float(faulty.sum())
        ratio = p.ratio**2 * exp(log_noise - 2.0 * log_spread)
        return np.array([0.5 * (by_noise - ratio), by_spread + ratio, by_offset - offset / p.offset**2])

    def update(self, extra: FloatArray, latent: Branches, marginals: Marginals) -> Branches:
        """Responsibilities and the nominal share for these moments of the function."""
        c, nominal = Contamination.of(extra, self.shape), latent.nominal
        residual, variance = self.y - marginals.mean, marginals.variance
        by_cell = (residual[..., None, :] - c.cell_shift[..., None]) ** 2 + variance[..., None, :]
        density = c.relative_densities(residual**2 + variance, by_cell, self.nominal_variance(c))
        is_nominal, is_faulty = density[..., 0, :], density[..., 1:, :].sum(axis=-2) / self.shape.centres.size
        for _ in range(SHARE_UPDATES):
            weight = column(nominal) * is_nominal
            nominal = self.best_share((weight / (weight + column(1.0 - nominal) * is_faulty)).sum(axis=-1))
        density[..., 0, :] *= column(nominal)
        density[..., 1:, :] *= column((1.0 - nominal) / self.shape.centres.size)[..., None]
        density /= density.sum(axis=-2, keepdims=True)
        return Branches(density, nominal)

    def best_extra(
        self, extra: FloatArray, latent: Branches, marginals: Marginals, burden: FloatArray
    ) -> FloatArray:
        """The noise that is optimal for this spread, then the spread and offset that are for this noise.

        Something else takes ``burden / 2`` nats for each unit of noise variance. In ``s = 1 / spread`` and
        ``o = offset`` the bound is a quadratic form plus ``N log s``.
        """
        p, width = self.prior, self.shape.width
        nominal, cells, faulty = latent.parts
        residual = self.y - marginals.mean
        second_moment = residual**2 + marginals.variance
        noise = positive_root(
            (p.ratio * np.exp(-extra[..., 1])) ** 2 + burden,
            nominal.sum(axis=-1) + p.noise_dof,
            (nominal * (second_moment / self.relative_noise)).sum(axis=-1) + p.noise_scale,
        )
        N, centres = np.maximum(faulty.sum(axis=-1), TINY), self.shape.centres @ cells
        e, u, eu = (faulty * residual).sum(axis=-1), centres.sum(axis=-1), (centres * residual).sum(axis=-1)
        held, by_ratio = N + (width / p.offset) ** 2, p.ratio**2 * noise
        squares = (faulty * second_moment).sum(axis=-1)
        s = positive_root((squares - e**2 / held) / width**2 + by_ratio, (e * u / held - eu) / width**2, N)
        offset = (s * e - u) / held
        low, high = self.prior.box[2]
        nearest = np.clip(offset, low, high)
        # With an offset that its bound holds, another spread is optimal.
        s_held = positive_root(squares / width**2 + by_ratio, -(nearest * e + eu) / width**2, N)
        s = np.where(nearest == offset, s, s_held)
        return self.within_box(np.stack([np.log(noise), -np.log(s), nearest], axis=-1))

    def within_box(self, extra: FloatArray) -> FloatArray:
        """Parameters no further out than their bounds."""
        return np.asarray(np.clip(extra, *self.prior.box.T))

    def best_share(self, count: FloatArray) -> FloatArray:
        """Where ``count log p + (n - count) log(1 - p) - prior.nominal / p`` is largest."""
        n, floor = self.y.size, self.prior.nominal
        excess = count - floor
        return np.minimum((excess + np.sqrt(excess**2 + 4.0 * n * floor)) / (2.0 * n), MOST_NOMINAL)


def log_factor(variance: FloatArray) -> FloatArray:
    """What stands before the exponential of a normal density, but for ``2 pi``."""
    return np.asarray(-0.5 * np.log(variance))


def column(values: FloatArray) -> FloatArray:
    """One value for each way to read the data, against all of its readings."""
    return values[..., None]


def positive_root(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """The ``x > 0`` with ``a x^2 + b x = c``, for positive ``a`` and ``c``."""
    # Nearly equal numbers are never subtracted.
    both = np.abs(b) + np.sqrt(b**2 + 4.0 * a * c)
    return np.where(b > 0.0, 2.0 * c / both, both / (2.0 * a))
