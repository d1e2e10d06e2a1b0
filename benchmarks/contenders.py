"""One fit, or one prediction, of one contender in a process of its own: ``python contenders.py --help``.

All contenders get the same data (the paper's synthetic problem, targets scaled by median and MAD), the same
start (a fifth of the median distance, unit variance, noise variance one half) and the same number of BLAS
threads. A small fit of the same kind goes before, so that imports and first calls are not timed. Prints one
line of JSON.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from sturdygp import (
    AsorGPRegressor,
    MixtureGPRegressor,
    RobustGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.datasets import NormalOutliers, make_synthetic
from sturdygp.estimators.outputs import Scaling
from sturdygp.inference.problem import LENGTH_SCALE_BOX, default_kernel

RATE, VARIANCE = 0.4, 10.0
NOISE_START = 0.5
N_TEST, WARM_UP = 100, 30

Predict: TypeAlias = Callable[[np.ndarray], np.ndarray]
Fit: TypeAlias = Callable[[np.ndarray, np.ndarray], tuple[Predict, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Problem:
    """Training data of one or more outputs, and the truth."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    f_test: np.ndarray


def draw(n: int, n_test: int, seed: int, outputs: int) -> Problem:
    """The setting of the paper's table I, in robust units so that nobody has to scale."""
    data = make_synthetic(n, n_test, rate=RATE, outliers=NormalOutliers(0.0, VARIANCE), seed=seed)
    y, f = data.y[:, :outputs], data.f_test[:, :outputs]
    for column in range(outputs):
        scaling = Scaling.of(y[:, column], "robust")
        y[:, column], f[:, column] = scaling.forward(y[:, column]), scaling.forward(f[:, column])
    return Problem(data.X, y[:, 0] if outputs == 1 else y, data.X_test, f[:, 0] if outputs == 1 else f)


# --------------------------------------------------------------------------------------- contenders


def ours(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[Predict, dict[str, Any]]:
    """One of our estimators."""
    model.fit(X, y)
    facts = {
        "bound": float(np.sum(model.bound_)),
        "factorisations": int(np.sum(model.n_factorizations_)),
        "status": str(model.status_),
    }
    return lambda Z: model.predict(Z, return_std=True)[0], facts


def scikit_learn(X: np.ndarray, y: np.ndarray) -> tuple[Predict, dict[str, Any]]:
    """The ordinary Gaussian process that people use, with the same kernel, start and box."""
    from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: PLC0415
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel  # noqa: PLC0415

    start = np.array(default_kernel(X).length_scale)
    box = np.ptp(X, axis=0)[:, None] * np.array(LENGTH_SCALE_BOX)
    kernel = ConstantKernel(1.0, (1e-4, 1e3)) * RBF(start, box) + WhiteKernel(NOISE_START, (1e-8, 1e2))
    model = GaussianProcessRegressor(kernel).fit(X, y)
    return lambda Z: model.predict(Z, return_std=True)[0], {
        "bound": float(model.log_marginal_likelihood_value_)
    }


def gpy_student_t(X: np.ndarray, y: np.ndarray) -> tuple[Predict, dict[str, Any]]:
    """GPy's Student-t likelihood with Laplace's approximation."""
    import GPy  # noqa: PLC0415

    kernel = GPy.kern.RBF(X.shape[1], ARD=True, lengthscale=np.array(default_kernel(X).length_scale))
    likelihood = GPy.likelihoods.StudentT(deg_free=4, sigma2=NOISE_START)
    inference = GPy.inference.latent_function_inference.Laplace()
    model = GPy.core.GP(X, y[:, None], kernel, likelihood, inference_method=inference)
    model.optimize()
    return lambda Z: model._raw_predict(Z)[0][:, 0], {}


def gpytorch_student_t(X: np.ndarray, y: np.ndarray) -> tuple[Predict, dict[str, Any]]:
    """GPyTorch's Student-t likelihood, variational, with an inducing point for every reading."""
    import gpytorch  # noqa: PLC0415
    import torch  # noqa: PLC0415

    torch.set_default_dtype(torch.float64)
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y)

    class Model(gpytorch.models.ApproximateGP):  # type: ignore[misc]
        def __init__(self) -> None:
            q = gpytorch.variational.CholeskyVariationalDistribution(len(inputs))
            super().__init__(
                gpytorch.variational.VariationalStrategy(self, inputs, q, learn_inducing_locations=False)
            )
            self.mean_module = gpytorch.means.ConstantMean()
            base = gpytorch.kernels.RBFKernel(ard_num_dims=inputs.shape[1])
            base.lengthscale = np.array(default_kernel(X).length_scale)
            self.covar_module = gpytorch.kernels.ScaleKernel(base)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model, likelihood = Model(), gpytorch.likelihoods.StudentTLikelihood()
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, len(inputs))
    optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
    for _ in range(500):
        optimiser.zero_grad()
        loss = -objective(model(inputs), targets)
        loss.backward()
        optimiser.step()
    model.eval()

    def predict(Z: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return np.asarray(model(torch.from_numpy(Z)).mean)

    return predict, {"bound": -float(loss) * len(inputs)}


def fitted_relevance_pursuit(X: np.ndarray, y: np.ndarray) -> Any:
    """BoTorch's relevance pursuit as its documentation runs it, inputs scaled to the unit cube."""
    import torch  # noqa: PLC0415
    from botorch.fit import fit_gpytorch_mll  # noqa: PLC0415
    from botorch.models.robust_relevance_pursuit_model import (  # noqa: PLC0415
        RobustRelevancePursuitSingleTaskGP,
    )
    from botorch.models.transforms import Normalize  # noqa: PLC0415
    from gpytorch.mlls import ExactMarginalLogLikelihood  # noqa: PLC0415

    model = RobustRelevancePursuitSingleTaskGP(
        torch.from_numpy(X), torch.from_numpy(y[:, None]), input_transform=Normalize(X.shape[1])
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def relevance_pursuit(X: np.ndarray, y: np.ndarray) -> tuple[Predict, dict[str, Any]]:
    """Its predictions."""
    import torch  # noqa: PLC0415

    model = fitted_relevance_pursuit(X, y)

    def predict(Z: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return np.asarray(model.posterior(torch.from_numpy(Z)).mean[:, 0])

    return predict, {}


def trimming(X: np.ndarray, y: np.ndarray) -> tuple[Predict, dict[str, Any]]:
    """The iteratively trimmed Gaussian process of robustgp."""
    from robustgp import ITGP  # noqa: PLC0415

    found = ITGP(X, y[:, None])
    return lambda Z: found.gp.predict(Z)[0][:, 0], {}


CONTENDERS: dict[str, Fit] = {
    "asor": lambda X, y: ours(AsorGPRegressor(), X, y),
    "asor-gem": lambda X, y: ours(AsorGPRegressor(solver="gem"), X, y),
    "asor-4-outputs": lambda X, y: ours(AsorGPRegressor(n_jobs=1), X, y),
    "asor-4-outputs-2-jobs": lambda X, y: ours(AsorGPRegressor(n_jobs=2), X, y),
    "robust": lambda X, y: ours(RobustGPRegressor(), X, y),
    "standard": lambda X, y: ours(StandardGPRegressor(), X, y),
    "mixture": lambda X, y: ours(MixtureGPRegressor(), X, y),
    "student-t-vb": lambda X, y: ours(StudentTGPRegressor(inference="vb"), X, y),
    "scikit-learn": scikit_learn,
    "GPy Student-t": gpy_student_t,
    "GPyTorch Student-t": gpytorch_student_t,
    "relevance pursuit": relevance_pursuit,
    "robustgp": trimming,
}


# ------------------------------------------------------------------------------------- measurement


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the seconds it takes."""
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def measure(name: str, problem: Problem, *, repeats: int) -> dict[str, Any]:
    """Time of the fit and of a prediction with standard deviations, error, and what else the fit tells."""
    fit = CONTENDERS[name]
    (predict, facts), fit_seconds = timed(partial(fit, problem.X, problem.y))
    predictions = [timed(partial(predict, problem.X_test)) for _ in range(repeats)]
    error = predictions[0][0] - problem.f_test
    return {
        "name": name,
        "fit_seconds": fit_seconds,
        "predict_seconds": float(np.median([seconds for _, seconds in predictions])),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
        **facts,
    }


# What the time of a function counts as, by the path of its module.
WORK = {
    "factorisations": ("sturdygp/lapack.py",),
    "other linear algebra": ("sturdygp/linalg.py", "sturdygp/gp/"),
    "kernel and its derivatives": ("sturdygp/kernels/",),
}


def shares(name: str, problem: Problem) -> dict[str, float]:
    """Parts of the time of a fit, to judge by a profile; the rest is likelihood, optimiser and Python."""
    profile = cProfile.Profile()
    profile.runcall(CONTENDERS[name], problem.X, problem.y)
    spent = dict.fromkeys((*WORK, "rest"), 0.0)
    for (path, _, _), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        kind = next((k for k, parts in WORK.items() if any(part in path for part in parts)), "rest")
        spent[kind] += own
    return {kind: own / sum(spent.values()) for kind, own in spent.items()}


def main() -> None:
    """Warm up, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=CONTENDERS)
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--n-test", type=int, default=N_TEST)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--outputs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shares", type=int, default=0, help="1 to tell what the time goes into")
    parser.add_argument("--predictions", type=int, default=1, help="repeats of the prediction")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(arguments.threads):
        measure(arguments.name, draw(WARM_UP, N_TEST, 99, arguments.outputs), repeats=1)
        problem = draw(arguments.n, arguments.n_test, arguments.seed, arguments.outputs)
        found = measure(arguments.name, problem, repeats=arguments.predictions)
        if arguments.shares:
            found["shares"] = shares(arguments.name, problem)
        print(json.dumps(found))


if __name__ == "__main__":
    main()
