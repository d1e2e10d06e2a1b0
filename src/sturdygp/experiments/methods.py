"""The methods that experiments compare, with the settings of each.

``best`` is each method as well as this library can run it, in the same box of the kernel. ``as-published``
has the settings of the paper's published scripts, as far as the estimators allow: their standard, RCGP,
Student-t and oracle models differ from what the papers behind them recommend, and so do the boxes.
Targets come standardised before the faults are added; published settings leave them at that, while the best
ones scale them again by median and MAD.
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

Box: TypeAlias = tuple[float, float]
Told: TypeAlias = Literal["nothing", "second moment", "mean and variance"]

# Published length scales, relative to the range of each input.
NARROW_BOX: Box = (0.02, 5.0)
WIDE_BOX: Box = (1e-3, 100.0)
SEED_RANGE = 2**32


@dataclass(frozen=True, eq=False)
class ComparedMethod:
    """A method: its name in figures, its two settings, and what it is told of the faults.

    ``box`` is that of the published length scales; None means that there is no published setting, and
    that the method keeps its own.
    """

    label: str
    best: BaseGPRegressor
    published: BaseGPRegressor
    box: Box | None
    told: Told = "nothing"


ROBUST_MANY = RobustGPRegressor(faults="many")
ORACLE_CENTRED = OracleGPRegressor(n_starts=2, scale_targets=None)

METHODS: dict[str, ComparedMethod] = {
    "standard": ComparedMethod(
        REGISTRY["standard"].label,
        StandardGPRegressor(n_starts=2),
        StandardGPRegressor(noise="fixed", scale_targets=None),
        WIDE_BOX,
    ),
    "rcgp": ComparedMethod(
        REGISTRY["rcgp"].label,
        RCGPRegressor(n_starts=2),
        RCGPRegressor(
            epsilon=0.05, recentre=0, centre="mean", loo_score="plain", shift_sign=-1, scale_targets=None
        ),
        WIDE_BOX,
    ),
    "student-t": ComparedMethod(
        REGISTRY["student-t"].label,
        StudentTGPRegressor(dof="learn"),
        StudentTGPRegressor(inference="vb", dof=4.0, scale_targets=None),
        WIDE_BOX,
    ),
    "mixture": ComparedMethod(
        REGISTRY["mixture"].label,
        MixtureGPRegressor(),
        MixtureGPRegressor(n_starts=1, scale_targets=None),
        NARROW_BOX,
    ),
    "asor": ComparedMethod(
        REGISTRY["asor"].label,
        AsorGPRegressor(n_starts=7),
        AsorGPRegressor(scale_targets=None),
        NARROW_BOX,
    ),
    "asor-single": ComparedMethod(
        f"{REGISTRY['asor'].label}, one start",
        AsorGPRegressor(),
        AsorGPRegressor(scale_targets=None),
        NARROW_BOX,
    ),
    "asor-gem": ComparedMethod(
        f"{REGISTRY['asor'].label}, Algorithm 1",
        AsorGPRegressor(solver="gem"),
        AsorGPRegressor(solver="gem", scale_targets=None),
        NARROW_BOX,
    ),
    "oracle": ComparedMethod(
        REGISTRY["oracle"].label,
        OracleGPRegressor(n_starts=2, scale_targets=None),
        OracleGPRegressor(scale_targets=None),
        WIDE_BOX,
        told="second moment",
    ),
    "oracle-centred": ComparedMethod(
        f"{REGISTRY['oracle'].label}, mean removed",
        ORACLE_CENTRED,
        ORACLE_CENTRED,
        None,
        told="mean and variance",
    ),
    "robust": ComparedMethod(REGISTRY["robust"].label, RobustGPRegressor(), RobustGPRegressor(), None),
    "robust-many": ComparedMethod(f"{REGISTRY['robust'].label}, many faults", ROBUST_MANY, ROBUST_MANY, None),
}


@dataclass(frozen=True, eq=False)
class Fitting:
    """A model that is ready to be fitted, and how its settings differ from the estimator's defaults."""

    start: Callable[[], BaseGPRegressor]
    settings: str


def prepare(task: Task, data: Data) -> Fitting:
    """Everything but the fit itself, so that it can be timed alone."""
    model = configured(task, data)
    method = METHODS[task.method]
    settings = describe(model, method.box)
    if isinstance(model, OracleGPRegressor):
        return Fitting(partial(model.fit, data.X, data.y, data.mask, *knowledge(method.told, data)), settings)
    return Fitting(partial(model.fit, data.X, data.y), settings)


def configured(task: Task, data: Data) -> BaseGPRegressor:
    """The estimator that a task asks for, not fitted."""
    check_member("method", task.method, tuple(METHODS))
    method, published = METHODS[task.method], task.baselines == "as-published"
    model: BaseGPRegressor = clone(method.published if published else method.best)
    # The starts of a method must not depend on anything but the data's seed.
    model.random_state = task.data_seed % SEED_RANGE
    if not isinstance(model, RobustGPRegressor):
        model.init_noise_variance = NOISE[task.reading].start
    if published and method.box is not None:
        model.kernel = boxed_kernel(data.X, method.box)
    if isinstance(model, OracleGPRegressor) and method.told == "second moment":
        know_noise(model, data.clean.noise_variance)
    return model


def know_noise(oracle: OracleGPRegressor, variance: float | None) -> None:
    """The paper's oracle knows the nominal variance; where nobody does, it has to learn it."""
    if variance is not None:
        oracle.noise, oracle.init_noise_variance = "fixed", variance


def knowledge(told: Told, data: Data) -> tuple[float | None, float]:
    """Variance and mean of the faults as an oracle is told them; without a distribution they are dropped."""
    faults = data.outliers
    if faults is None:
        return None, 0.0
    if told == "second moment":
        return faults.variance + faults.mean**2, 0.0
    return faults.variance, faults.mean


def boxed_kernel(X: FloatArray, box: Box) -> SquaredExponential:
    """The paper's kernel and start, one length scale for all inputs, in another box of length scales."""
    spread = np.ptp(X, axis=0)
    spread[spread == 0.0] = 1.0
    ends = spread[:, None] * np.array(box)
    start = np.clip(paper_length_scale(X), ends[:, 0], ends[:, 1])
    bounds = tuple((low, high) for low, high in ends.tolist())
    return replace(default_kernel(X), length_scale=tuple(start.tolist()), length_scale_bounds=bounds)


def describe(model: BaseGPRegressor, box: Box | None) -> str:
    """The estimator with the arguments that are not its defaults; seed and kernel follow from the data."""
    given = [
        f"{each.name}={value!r}"
        for each in fields(model)
        if each.name not in ("random_state", "kernel")
        and (value := getattr(model, each.name)) != each.default
    ]
    lengths = "" if model.kernel is None else f" with length scales in {box} x range"
    return f"{type(model).__name__}({', '.join(given)}){lengths}"
