"""Methods that experiments compare, each with two settings.

``best`` is each method as well as this library can run it, with the same bounds on the kernel's parameters.
``as-published`` has the settings of the paper's published scripts, as far as the estimators allow. Their
standard, RCGP, Student-t and oracle models differ from what the papers behind them recommend, and so do their
bounds. Targets are standardised before the outliers are added; the best settings scale them again by median
and MAD, the published ones do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from sklearn.base import clone

from sturdygp._typing import FloatArray
from sturdygp.estimators.asor import AsorGPRegressor
from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.gaussian import OracleGPRegressor, StandardGPRegressor
from sturdygp.estimators.mixture import MixtureGPRegressor
from sturdygp.estimators.rcgp import RCGPRegressor
from sturdygp.estimators.registry import REGISTRY
from sturdygp.estimators.robust import RobustGPRegressor
from sturdygp.estimators.student_t import StudentTGPRegressor
from sturdygp.experiments.problems import Data
from sturdygp.experiments.task import NOISE, Task, check_member
from sturdygp.inference.problem import default_kernel, paper_length_scale
from sturdygp.kernels.stationary import SquaredExponential

Bounds: TypeAlias = tuple[float, float]
Knowledge: TypeAlias = Literal["nothing", "second moment", "mean and variance"]

# Published bounds of length scales, relative to the range of each input.
NARROW: Bounds = (0.02, 5.0)
WIDE: Bounds = (1e-3, 100.0)
# NumPy's legacy seeds, which scikit-learn accepts, have 32 bits.
SEED_RANGE = 2**32


@dataclass(frozen=True, eq=False)
class ComparedMethod:
    """Method with its name in figures, its two settings, and its knowledge of the outliers.

    ``bounds`` are the published bounds of length scales. None means that there is no published setting, and
    that the method keeps its own.
    """

    label: str
    best: BaseGPRegressor
    published: BaseGPRegressor
    bounds: Bounds | None
    knowledge: Knowledge = "nothing"


ROBUST_MANY = RobustGPRegressor(faults="many")
ORACLE_CENTRED = OracleGPRegressor(n_starts=2, scale_targets=None)

METHODS: dict[str, ComparedMethod] = {
    "standard": ComparedMethod(
        REGISTRY["standard"].label,
        StandardGPRegressor(n_starts=2),
        StandardGPRegressor(noise="fixed", scale_targets=None),
        WIDE,
    ),
    "rcgp": ComparedMethod(
        REGISTRY["rcgp"].label,
        RCGPRegressor(n_starts=2),
        RCGPRegressor(
            epsilon=0.05, recentre=0, centre="mean", loo_score="plain", shift_sign=-1, scale_targets=None
        ),
        WIDE,
    ),
    "student-t": ComparedMethod(
        REGISTRY["student-t"].label,
        StudentTGPRegressor(dof="learn"),
        StudentTGPRegressor(inference="vb", dof=4.0, scale_targets=None),
        WIDE,
    ),
    "mixture": ComparedMethod(
        REGISTRY["mixture"].label,
        MixtureGPRegressor(),
        MixtureGPRegressor(n_starts=1, scale_targets=None),
        NARROW,
    ),
    "asor": ComparedMethod(
        REGISTRY["asor"].label,
        AsorGPRegressor(n_starts=7),
        AsorGPRegressor(scale_targets=None),
        NARROW,
    ),
    "asor-single": ComparedMethod(
        f"{REGISTRY['asor'].label}, one start",
        AsorGPRegressor(),
        AsorGPRegressor(scale_targets=None),
        NARROW,
    ),
    "asor-gem": ComparedMethod(
        f"{REGISTRY['asor'].label}, Algorithm 1",
        AsorGPRegressor(solver="gem"),
        AsorGPRegressor(solver="gem", scale_targets=None),
        NARROW,
    ),
    "oracle": ComparedMethod(
        REGISTRY["oracle"].label,
        OracleGPRegressor(n_starts=2, scale_targets=None),
        OracleGPRegressor(scale_targets=None),
        WIDE,
        knowledge="second moment",
    ),
    "oracle-centred": ComparedMethod(
        f"{REGISTRY['oracle'].label}, mean removed",
        ORACLE_CENTRED,
        ORACLE_CENTRED,
        None,
        knowledge="mean and variance",
    ),
    "robust": ComparedMethod(REGISTRY["robust"].label, RobustGPRegressor(), RobustGPRegressor(), None),
    "robust-many": ComparedMethod(f"{REGISTRY['robust'].label}, many faults", ROBUST_MANY, ROBUST_MANY, None),
}


@dataclass(frozen=True, eq=False)
class Fitting:
    """Fit that is ready to run, with the settings that differ from the estimator's defaults."""

    fit: Callable[[], BaseGPRegressor]
    settings: str


def prepare(task: Task, data: Data) -> Fitting:
    """Prepare everything but the fit itself, which is timed."""
    model = configured(task, data)
    method = METHODS[task.method]
    settings = describe(model, method.bounds)
    if isinstance(model, OracleGPRegressor):
        return Fitting(
            partial(model.fit, data.X, data.y, data.mask, *outlier_moments(method.knowledge, data)), settings
        )
    return Fitting(partial(model.fit, data.X, data.y), settings)


def configured(task: Task, data: Data) -> BaseGPRegressor:
    """Return the estimator of a task, not fitted."""
    check_member("method", task.method, tuple(METHODS))
    method, published = METHODS[task.method], task.baselines == "as-published"
    model: BaseGPRegressor = clone(method.published if published else method.best)
    # The initialisations of a method must depend on nothing but the data's seed.
    model.random_state = task.data_seed % SEED_RANGE
    if not isinstance(model, RobustGPRegressor):
        model.init_noise_variance = NOISE[task.convention].initial
    if published and method.bounds is not None:
        model.kernel = published_kernel(data.X, method.bounds)
    if isinstance(model, OracleGPRegressor) and method.knowledge == "second moment":
        set_known_noise(model, data.clean.noise_variance)
    return model


def set_known_noise(oracle: OracleGPRegressor, variance: float | None) -> None:
    """Fix the noise variance of the paper's oracle if it is known; otherwise the oracle learns it."""
    if variance is not None:
        oracle.noise, oracle.init_noise_variance = "fixed", variance


def outlier_moments(knowledge: Knowledge, data: Data) -> tuple[float | None, float]:
    """Return variance and mean of the outliers for an oracle; variance None makes it drop the outliers."""
    outliers = data.outliers
    if outliers is None:
        return None, 0.0
    if knowledge == "second moment":
        return outliers.variance + outliers.mean**2, 0.0
    return outliers.variance, outliers.mean


def published_kernel(X: FloatArray, bounds: Bounds) -> SquaredExponential:
    """Return the paper's kernel with its initial length scale for all inputs, in the published bounds."""
    extent = np.ptp(X, axis=0)
    extent[extent == 0.0] = 1.0
    ends = extent[:, None] * np.array(bounds)
    initial = np.clip(paper_length_scale(X), ends[:, 0], ends[:, 1])
    pairs = tuple((low, high) for low, high in ends.tolist())
    return replace(default_kernel(X), length_scale=tuple(initial.tolist()), length_scale_bounds=pairs)


def describe(model: BaseGPRegressor, bounds: Bounds | None) -> str:
    """Write the estimator with the arguments that are not its defaults, except seed and kernel."""
    given = [
        f"{each.name}={value!r}"
        for each in fields(model)
        if each.name not in ("random_state", "kernel")
        and (value := getattr(model, each.name)) != each.default
    ]
    lengths = "" if model.kernel is None else f" with length scales in {bounds} x range"
    return f"{type(model).__name__}({', '.join(given)}){lengths}"
