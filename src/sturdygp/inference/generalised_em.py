"""Algorithm 1 of the paper to the letter: variational generalised EM with gradient descent on the kernel.

It is the reference for the collapsed solver: one function for each block update, and the ELBO after each.
``K`` stands for the kernel matrix with ``JITTER`` added to its diagonal throughout.

The algorithm ends with one more E-step at the learned parameters ``m``, ``kappa``, ``sigma^2`` and ``b``:
first ``q(f)``, from the weights of the last iteration, then ``q(I)``, from that ``q(f)``. Both are stored,
with the parameters. Predictions come from the stored ``q(f)`` (eq:predictive_latent_distribution), so the
weights that are stored and reported are those that it implies, not those that it came from. The two agree
only at convergence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.exact import ExactPosterior, condition
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import Sites
from sturdygp.inference.variational import expected_log_sites
from sturdygp.kernels.base import Kernel, Pullback
from sturdygp.likelihoods.spike_and_slab import AsorModel, Multipliers, update_multipliers, update_rate
from sturdygp.linalg.cholesky import cholesky, diagonal

JITTER = 1e-6


STEP = 0.05


ARMIJO = 1e-4


SMALLEST_STEP = 1e-7


INNER_ITERATIONS = 25


@dataclass(frozen=True, eq=False)
class GemState:
    """Parameters ``Theta``, and the two factors of ``q(Z)`` (eq:latent_and_parameter_sets).

    The factors are ``q(f) = N(mu, C)`` and ``multipliers`` (eq:latent_variational_factorization).
    ``precision`` is the diagonal of the ``Lambda`` that gave ``q(f)``.
    """

    model: AsorModel
    X: FloatArray
    kernel: Kernel
    noise_variance: float
    mean: float
    multipliers: Multipliers
    mu: FloatArray
    C: FloatArray
    log_det_C: float
    precision: FloatArray
    n_factorizations: int = 0

    @property
    def weighted_residual(self) -> float:
        """``S_j = sum_i w_ij S_ij``, whose relative change ends the iteration."""
        return float(self.multipliers.weight @ self.marginals.second_moment(self.model.y))

    @property
    def marginals(self) -> Marginals:
        """Means and variances of ``q(f)``."""
        return Marginals(self.mu, self.C.diagonal())

    @property
    def D(self) -> FloatArray:
        """``C + (mu - m)(mu - m)'`` (eq:dj_definition)."""
        centred = self.mu - self.mean
        return self.C + np.outer(centred, centred)

    @property
    def posterior(self) -> ExactPosterior:
        """``q(f)`` at any input (eq:predictive_latent_distribution).

        As ``K^-1 (mu - m) = (K + Lambda^-1)^-1 (y - m)`` (eq:qf_parameters), that is a process conditioned on
        sites; the jitter of ``K`` stands in the variance of the sites, since it is no part of the function.
        """
        precision = self.precision / (1.0 + JITTER * self.precision)
        sites = Sites(self.model.y, precision, np.zeros_like(precision))
        return condition(self.kernel, self.X, sites, self.mean)

    @property
    def elbo(self) -> float:
        """The evidence lower bound at these parameters and factors, with every constant.

        It is the expected log of the joint density plus the entropy of the factors; the joint density is the
        right-hand side of eq:joint_posterior_all_unknowns.
        """
        parameters = np.array([log(self.noise_variance)])
        divergence = PriorTerm.at(self.kernel, self.X).objective(self.D) - 0.5 * (
            len(self.X) + self.log_det_C
        )
        expected = expected_log_sites(self.model.sites(parameters, self.multipliers), self.marginals)
        return expected - divergence + self.model.log_prior(parameters, self.multipliers)


@dataclass(frozen=True, eq=False)
class PriorTerm:
    """``K^-1``, ``log |K|`` and the pullback of the kernel at one set of parameters."""

    inverse: FloatArray
    log_det: float
    pullback: Pullback

    @classmethod
    def at(cls, kernel: Kernel, X: FloatArray) -> PriorTerm:
        """Factorise the prior covariance."""
        linear = kernel.linearise(X)
        factor = cholesky(jittered(linear.value), overwrite=True)
        triangle = factor.inverse_triangle()
        inverse = triangle + triangle.T
        diagonal(inverse)[:] *= 0.5
        return cls(inverse, factor.log_det, linear.pullback)

    def objective(self, D: FloatArray) -> float:
        """``J = tr(K^-1 D) / 2 + log |K| / 2`` (eq:kappa_negative_objective)."""
        return 0.5 * (float(np.vdot(self.inverse, D)) + self.log_det)

    def gradient(self, D: FloatArray) -> FloatArray:
        """The gradient of ``J`` with respect to ``theta`` (eq:log_kernel_gradient)."""
        return self.pullback(0.5 * (self.inverse - self.inverse @ D @ self.inverse))


def jittered(K: FloatArray) -> FloatArray:
    """A copy with ``JITTER`` on its diagonal."""
    K = K.copy()
    diagonal(K)[:] += JITTER
    return K


def initial_state(
    model: AsorModel, X: FloatArray, kernel: Kernel, noise_variance: float, rate: float
) -> GemState:
    """Initialisation of Algorithm 1: all weights one, the mean at the median target."""
    n, mean = len(X), float(np.median(model.y))
    multipliers = Multipliers.all_inliers(n, rate, model.prior)
    mu, C, precision = np.full(n, mean), np.eye(n), np.zeros(n)
    return GemState(model, X, kernel, noise_variance, mean, multipliers, mu, C, 0.0, precision)


def update_function(state: GemState) -> GemState:
    """``q(f)`` (eq:qf_parameters), without an inverse of ``K``.

    With ``K = L L'`` it is ``C = L (I + L' Lambda L)^-1 L'``. A difference ``K - ...`` would have negative
    variances where there is hardly any noise.
    """
    precision = state.multipliers.weight / state.noise_variance
    K = jittered(state.kernel(state.X))
    prior = cholesky(K, overwrite=True)
    L = prior.lower
    A = L.T @ (precision[:, None] * L)
    diagonal(A)[:] += 1.0
    factor = cholesky(A, overwrite=True)
    H = factor.half_solve(L.T)
    C = H.T @ H
    mu = state.mean + C @ (precision * (state.model.y - state.mean))
    log_det_C = prior.log_det - factor.log_det
    spent = state.n_factorizations + 2
    return replace(state, mu=mu, C=C, log_det_C=log_det_C, precision=precision, n_factorizations=spent)


def update_factors(state: GemState) -> GemState:
    """``q(I)`` at the current noise and rate (eq:residual_statistics to eq:wij_final)."""
    R = state.marginals.second_moment(state.model.y) / state.noise_variance
    return replace(state, multipliers=update_multipliers(R, state.multipliers.rate, state.model.prior))


def update_noise(state: GemState) -> GemState:
    """``sigma^2`` (eq:sigma_point_estimate)."""
    prior, n = state.model.prior, state.model.y.size
    variance = (state.weighted_residual + prior.noise_scale) / (n + prior.noise_dof + 2.0)
    return replace(state, noise_variance=variance)


def update_slab_rate(state: GemState) -> GemState:
    """``b`` (eq:bj_point_estimate); ``q(I)`` stays, so its divergence from the prior changes."""
    q, a = state.multipliers, state.model.prior.slab_shape
    rate = update_rate(q, state.model.prior)
    # E[log p(I | b)] of the slab: a log b - b E[I].
    slab = 1.0 - q.inlier_proba
    change = slab * a * (log(rate) - log(q.rate)) - (q.weight - q.inlier_proba) * (rate - q.rate)
    return replace(state, multipliers=replace(q, rate=rate, log_scale=q.log_scale + change))


def update_mean(state: GemState) -> GemState:
    """``m`` (eq:mj_point_estimate)."""
    weights = PriorTerm.at(state.kernel, state.X).inverse.sum(axis=0)
    mean = float(weights @ state.mu) / float(weights.sum())
    return replace(state, mean=mean, n_factorizations=state.n_factorizations + 1)


def update_kernel(state: GemState) -> GemState:
    """Normalised gradient descent with Armijo backtracking (eq:normalized_kernel_gradient_step)."""
    D, kernel, count = state.D, state.kernel, 1
    here = PriorTerm.at(kernel, state.X)
    unit = parameter_units(kernel)
    for _ in range(INNER_ITERATIONS):
        g = unit * here.gradient(D)
        found, tried = backtrack(state.X, D, kernel, here.objective(D), g, unit)
        count += tried
        if found is None:
            break
        kernel, here = found
    return replace(state, kernel=kernel, n_factorizations=state.n_factorizations + count)


def parameter_units(kernel: Kernel) -> FloatArray:
    """``d theta / d phi``: the paper descends in half the log variance (eq:log_kernel_parameterization)."""
    return np.array([2.0 if name.endswith("variance") else 1.0 for name in kernel.parameter_names])


def backtrack(
    X: FloatArray, D: FloatArray, kernel: Kernel, value: float, g: FloatArray, unit: FloatArray
) -> tuple[tuple[Kernel, PriorTerm] | None, int]:
    """Halve the step until eq:kernel_backtracking_rule holds; also return how many candidates it took."""
    length, tried, step = max(1.0, float(np.linalg.norm(g))), 0, STEP
    low, high = kernel.bounds.T
    while step >= SMALLEST_STEP:
        tried += 1
        candidate = kernel.with_theta(np.clip(kernel.theta - unit * step * g / length, low, high))
        try:
            there = PriorTerm.at(candidate, X)
        except NotPositiveDefiniteError:
            step *= 0.5
            continue
        if there.objective(D) <= value - ARMIJO * step * float(g @ g) / length:
            return (candidate, there), tried
        step *= 0.5
    return None, tried


# Two coordinate updates (eq:variational_coordinate_update), then the M-step by blocks (eq:M_step_argmax).
BLOCKS = (update_function, update_factors, update_noise, update_slab_rate, update_mean, update_kernel)


def iterate(state: GemState) -> Iterator[GemState]:
    """The state after each generalised-EM iteration, without end."""
    while True:
        for block in BLOCKS:
            state = block(state)
        yield state


def final_e_step(state: GemState) -> GemState:
    """The closing E-step of Algorithm 1, at the learned parameters (eq:final_latent_posterior)."""
    return update_factors(update_function(state))
