"""Algorithm 1 of the ASOR-GPR paper for one scalar output, equation by equation, with dense inverses.

Comments carry the equation labels of the paper. A positive constant is added to the diagonal of K wherever
its inverse or its determinant is needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve
from scipy.spatial.distance import pdist
from scipy.special import digamma, expit, gammaln, xlogy

Array = npt.NDArray[np.float64]

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Constants:
    """Priors, starting values and settings of the descent, as in Section III of the paper."""

    a: float = 1.0  # eq:latent_precision_prior
    theta: float = 0.5  # eq:latent_precision_prior
    A: float = 10.0  # eq:b_prior
    B: float = 0.45  # eq:b_prior
    nu0: float = 3.0  # eq:sigma_prior
    s0: float = 1.25  # eq:sigma_prior
    b_start: float = 20.0
    noise_start: float = 0.5
    sigma_f_start: float = 1.0
    step: float = 0.05  # eq:normalized_kernel_gradient_step
    armijo: float = 1e-4  # eq:kernel_backtracking_rule
    min_step: float = 1e-7
    inner: int = 25
    jitter: float = 1e-6


PAPER = Constants()


@dataclass
class State:
    """The variational factors and parameters, with the number of factorisations of K spent so far."""

    mu: Array  # eq:qf_parameters
    C: Array  # eq:qf_parameters
    w: Array  # eq:wij_final
    omega: Array  # eq:omega_closed_form
    b_tilde: Array  # eq:gamma_branch_updated_parameters
    S: Array  # eq:residual_statistics
    noise: float  # eq:sigma_point_estimate
    b: float  # eq:bj_point_estimate
    m: float  # eq:mj_point_estimate
    phi: Array  # eq:log_kernel_parameterization
    n_cholesky: int


def kernel(phi: Array, X: Array) -> Array:
    """The kernel matrix without jitter."""
    squares = (X[:, None, :] - X[None, :, :]) ** 2
    sigma_f2, ell = np.exp(2 * phi[0]), np.exp(phi[1:])  # eq:log_kernel_parameterization
    return sigma_f2 * np.exp(-0.5 * (squares / ell**2).sum(axis=2))  # eq:ard_se_kernel


def jittered(phi: Array, X: Array, jitter: float) -> Array:
    """The kernel matrix with jitter on its diagonal."""
    return kernel(phi, X) + jitter * np.eye(len(X))


def J(phi: Array, D: Array, X: Array, jitter: float) -> float:  # noqa: N802
    """The kernel objective, infinite where K is not positive definite."""
    try:
        L = np.linalg.cholesky(jittered(phi, X, jitter))
    except np.linalg.LinAlgError:
        return float("inf")
    half_log_det = np.log(np.diag(L)).sum()
    return float(0.5 * np.trace(cho_solve((L, True), D)) + half_log_det)  # eq:kappa_negative_objective


def grad_J(phi: Array, D: Array, X: Array, jitter: float) -> Array:  # noqa: N802
    """The gradient of the kernel objective in the logarithms of its parameters."""
    K, K_inv = kernel(phi, X), np.linalg.inv(jittered(phi, X, jitter))
    squares = (X[:, None, :] - X[None, :, :]) ** 2
    by_ell = (K * squares[:, :, r] / np.exp(2 * phi[r + 1]) for r in range(X.shape[1]))
    dK = [2 * K, *by_ell]  # eq:kernel_log_derivatives
    inner = K_inv - K_inv @ D @ K_inv  # eq:log_kernel_gradient
    return np.array([0.5 * np.sum(inner * dK_r.T) for dK_r in dK])  # eq:log_kernel_gradient


def start(X: Array, y: Array, constants: Constants) -> State:
    """The initial state: every observation nominal, the latent function at its prior."""
    n, d = X.shape
    m = float(np.median(y))
    ell = 0.2 * np.median(pdist(X))
    phi = np.log(np.array([constants.sigma_f_start, *[ell] * d]))  # eq:log_kernel_parameterization
    mu, C = np.full(n, m), jittered(phi, X, constants.jitter)  # eq:gp_prior
    S = (y - mu) ** 2 + np.diag(C)  # eq:residual_statistics
    noise, b = constants.noise_start, constants.b_start
    return State(mu, C, np.ones(n), np.ones(n), np.full(n, b), S, noise, b, m, phi, 0)


def update_f(X: Array, y: Array, state: State, constants: Constants) -> State:
    """The E-step of the latent function."""
    K_inv = np.linalg.inv(jittered(state.phi, X, constants.jitter))
    Lambda = np.diag(state.w) / state.noise  # eq:asor_weight_and_precision
    C = np.linalg.inv(K_inv + Lambda)  # eq:qf_parameters
    mu = C @ (K_inv @ np.full(len(y), state.m) + Lambda @ y)  # eq:qf_parameters
    S = (y - mu) ** 2 + np.diag(C)  # eq:residual_statistics
    return replace(state, mu=mu, C=C, S=S, n_cholesky=state.n_cholesky + 1)


def update_multipliers(state: State, constants: Constants) -> State:
    """The E-step of the precision multipliers."""
    a, b, theta = constants.a, state.b, constants.theta
    R = state.S / state.noise  # eq:residual_statistics
    a_tilde, b_tilde = a + 0.5, b + R / 2  # eq:gamma_branch_updated_parameters
    log_nominal = np.log(theta) + gammaln(a) - R / 2  # eq:omega_closed_form, in logarithms
    log_slab = np.log(1 - theta) + gammaln(a_tilde) + a * np.log(b) - a_tilde * np.log(b_tilde)  # the same
    omega = expit(log_nominal - log_slab)  # eq:omega_closed_form
    w = omega + (1 - omega) * a_tilde / b_tilde  # eq:wij_final
    return replace(state, omega=omega, b_tilde=b_tilde, w=w)


def update_noise(state: State, constants: Constants) -> State:
    """The M-step of the nominal noise variance."""
    S_j = state.w @ state.S  # eq:sigma_point_estimate
    noise = (S_j + constants.s0) / (len(state.S) + constants.nu0 + 2)  # eq:sigma_point_estimate
    return replace(state, noise=float(noise))


def update_b(state: State, constants: Constants) -> State:
    """The M-step of the Gamma rate."""
    outlying, a_tilde = 1 - state.omega, constants.a + 0.5  # eq:gamma_branch_updated_parameters
    above = constants.A - 1 + constants.a * outlying.sum()  # eq:bj_point_estimate
    below = constants.B + (outlying * a_tilde / state.b_tilde).sum()  # eq:bj_point_estimate
    return replace(state, b=float(above / below))


def update_m(X: Array, state: State, constants: Constants) -> State:
    """The M-step of the constant mean, whose K is the one of the E-step."""
    K_inv, ones = np.linalg.inv(jittered(state.phi, X, constants.jitter)), np.ones(len(X))
    m = (ones @ K_inv @ state.mu) / (ones @ K_inv @ ones)  # eq:mj_point_estimate
    return replace(state, m=float(m), n_cholesky=state.n_cholesky + 1)


def update_kernel(
    X: Array, state: State, constants: Constants, lower: Array | None = None, upper: Array | None = None
) -> State:
    """The generalised M-step of the kernel: normalised gradient descent with backtracking."""
    c, phi = constants, state.phi
    delta = state.mu - state.m
    D = state.C + np.outer(delta, delta)  # eq:dj_definition
    value, count = J(phi, D, X, c.jitter), 1  # eq:kappa_negative_objective
    for _ in range(c.inner):
        g = grad_J(phi, D, X, c.jitter)  # eq:log_kernel_gradient
        norm, alpha, accepted, count = float(np.linalg.norm(g)), c.step, False, count + 1
        while alpha >= c.min_step and not accepted:
            candidate = phi - alpha * g / max(1.0, norm)  # eq:normalized_kernel_gradient_step
            if lower is not None or upper is not None:
                candidate = np.clip(candidate, lower, upper)
            value_new, count = J(candidate, D, X, c.jitter), count + 1
            decrease = c.armijo * alpha * norm**2 / max(1.0, norm)
            accepted = value_new <= value - decrease  # eq:kernel_backtracking_rule
            alpha /= 2
        if not accepted:
            break
        phi, value = candidate, value_new
    return replace(state, phi=phi, n_cholesky=state.n_cholesky + count)


def iterate(
    X: Array,
    y: Array,
    n_iter: int,
    constants: Constants = PAPER,
    lower: Array | None = None,
    upper: Array | None = None,
    tol: float = 1e-5,
) -> Iterator[State]:
    """The states after successive generalised-EM iterations, until S_j settles."""
    state, previous = start(X, y, constants), None
    for _ in range(n_iter):
        state = update_f(X, y, state, constants)
        state = update_multipliers(state, constants)
        state = update_noise(state, constants)
        state = update_b(state, constants)
        state = update_m(X, state, constants)
        state = update_kernel(X, state, constants, lower, upper)
        yield state
        S_j = float(state.w @ state.S)  # eq:sigma_point_estimate
        if previous is not None and abs(S_j - previous) / max(abs(previous), TINY) < tol:
            return
        previous = S_j


def final_e_step(X: Array, y: Array, state: State, constants: Constants) -> State:
    """The E-step that closes Algorithm 1."""
    return update_multipliers(update_f(X, y, state, constants), constants)


def predict(X: Array, Z: Array, state: State, constants: Constants = PAPER) -> tuple[Array, Array]:
    """Mean and variance of the function at the rows of Z from the stored q(f)."""
    K_inv = np.linalg.inv(jittered(state.phi, X, constants.jitter))
    n = len(X)
    both = kernel(state.phi, np.vstack([X, Z]))
    k, k_ss = both[:n, n:], both[n:, n:]
    mean = state.m + k.T @ K_inv @ (state.mu - state.m)  # eq:predictive_latent_distribution
    added = K_inv @ state.C @ K_inv - K_inv  # eq:predictive_latent_distribution
    return mean, np.diag(k_ss) + np.einsum("ia,ij,ja->a", k, added, k)


def elbo(
    X: Array,
    y: Array,
    *,
    mu: Array,
    C: Array,
    omega: Array,
    a_tilde: Array | float,
    b_tilde: Array,
    noise: float,
    b: float,
    m: float,
    phi: Array,
    constants: Constants,
    jitter: float,
) -> float:
    """The evidence lower bound with every normalising constant, for factors that need not be optimal."""
    c, n, slab, log_2pi = constants, len(y), 1 - omega, np.log(2 * np.pi)
    mean, log_mean = a_tilde / b_tilde, digamma(a_tilde) - np.log(b_tilde)
    R = ((y - mu) ** 2 + np.diag(C)) / noise  # eq:residual_statistics
    w = omega + slab * mean  # eq:wij_final
    D = C + np.outer(mu - m, mu - m)  # eq:dj_definition
    log_slab = c.a * np.log(b) - gammaln(c.a) + (c.a - 1) * log_mean - b * mean  # eq:gamma_definitions
    slab_entropy = a_tilde - np.log(b_tilde) + gammaln(a_tilde) + (1 - a_tilde) * digamma(a_tilde)
    alpha, beta = c.nu0 / 2, c.s0 / 2  # eq:sigma_prior
    terms = [
        np.sum(slab * log_mean - log_2pi - np.log(noise) - w * R) / 2,  # eq:scalar_likelihood_explicit
        np.sum(xlogy(omega, c.theta) + slab * (np.log(1 - c.theta) + log_slab)),  # eq:latent_precision_prior
        np.sum(slab * slab_entropy - xlogy(omega, omega) - xlogy(slab, slab)),  # eq:qI_final_spike_gamma
        -J(phi, D, X, jitter) - n * log_2pi / 2,  # eq:gp_prior
        n * (1 + log_2pi) / 2 + np.linalg.slogdet(C)[1] / 2,  # eq:qf_parameters
        alpha * np.log(beta) - gammaln(alpha) - (alpha + 1) * np.log(noise) - beta / noise,  # eq:sigma_prior
        c.A * np.log(c.B) - gammaln(c.A) + (c.A - 1) * np.log(b) - c.B * b,  # eq:b_prior
    ]
    return float(sum(terms))
