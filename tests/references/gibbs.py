"""An exact Gibbs sampler of the ASOR model for a fixed kernel matrix, mean, noise and Gamma rate."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve
from scipy.special import expit, gammaln

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Draws:
    """Draws of the latent function, of the nominal indicators and of the precision multipliers."""

    f: Array
    nominal: npt.NDArray[np.bool_]
    multiplier: Array


def square_root(K: Array) -> Array:
    """A matrix whose product with its own transpose is K, which may be singular."""
    values, vectors = np.linalg.eigh(K)
    root: Array = vectors * np.sqrt(np.clip(values, 0.0, None))
    return root


def draw_f(K: Array, root: Array, y: Array, m: float, precision: Array, rng: np.random.Generator) -> Array:
    """A draw of f given the noise precisions: a prior draw, corrected by its simulated residual."""
    n, scale = len(y), np.sqrt(precision)
    prior = m + root @ rng.standard_normal(n)
    L = np.linalg.cholesky(np.eye(n) + scale[:, None] * K * scale[None, :])
    residual = scale * (y - prior) - rng.standard_normal(n)
    return np.asarray(prior + K @ (scale * cho_solve((L, True), residual)))


def nominal_probability(r: Array, *, noise: float, a: float, b: float, theta: float) -> Array:
    """The probability of the inlier component given y - f, the multiplier integrated out."""
    dof, scale2 = 2 * a, b * noise / a
    log_gauss = -0.5 * (np.log(2 * np.pi * noise) + r**2 / noise)
    log_student = gammaln((dof + 1) / 2) - gammaln(dof / 2) - 0.5 * np.log(np.pi * dof * scale2)
    log_student = log_student - (dof + 1) / 2 * np.log1p(r**2 / (dof * scale2))
    return np.asarray(expit(np.log(theta) + log_gauss - np.log(1 - theta) - log_student))


def sample(
    K: Array,
    y: Array,
    *,
    m: float,
    noise: float,
    a: float,
    b: float,
    theta: float,
    n_samples: int,
    burn_in: int,
    rng: np.random.Generator,
) -> Draws:
    """Draws from the posterior of (f, z, I), after a burn-in that starts with every point nominal."""
    n, root, multiplier = len(y), square_root(K), np.ones(len(y))
    draws = Draws(*(np.empty((n_samples, n), dtype) for dtype in (float, bool, float)))
    for sweep in range(-burn_in, n_samples):
        f = draw_f(K, root, y, m, multiplier / noise, rng)
        r = y - f
        nominal = rng.random(n) < nominal_probability(r, noise=noise, a=a, b=b, theta=theta)
        slab = rng.gamma(a + 0.5, 1 / (b + r**2 / (2 * noise)))
        multiplier = np.where(nominal, 1.0, slab)
        if sweep >= 0:
            draws.f[sweep], draws.nominal[sweep], draws.multiplier[sweep] = f, nominal, multiplier
    return draws


def batch_error(draws: npt.NDArray[np.float64 | np.bool_], n_batches: int = 30) -> Array:
    """The Monte Carlo standard error of the mean of each column, by batch means."""
    length = len(draws) // n_batches
    kept = np.asarray(draws, dtype=np.float64)[len(draws) - length * n_batches :]
    means = kept.reshape(n_batches, length, -1).mean(axis=1)
    return np.asarray(means.std(axis=0, ddof=1) / np.sqrt(n_batches))
