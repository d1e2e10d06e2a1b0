"""Fitting a model to a table, and finding its faulty readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sturdygp._typing import BoolArray
from sturdygp.estimators.asor import AsorGPRegressor
from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.mixture import MixtureGPRegressor
from sturdygp.estimators.progress import FitCallback
from sturdygp.estimators.rcgp import RCGPRegressor
from sturdygp.estimators.robust import RobustGPRegressor
from sturdygp.estimators.standard import StandardGPRegressor
from sturdygp.estimators.student_t import StudentTGPRegressor
from sturdygp.tables.digits import readable
from sturdygp.tables.errors import TableError
from sturdygp.tables.model import Assessment, TableModel
from sturdygp.tables.prepare import FEWEST_ROWS, Prepared
from sturdygp.tables.read import TableFile

FLAGGING: Mapping[str, type[BaseGPRegressor]] = {
    "robust": RobustGPRegressor,
    "asor": AsorGPRegressor,
    "mixture": MixtureGPRegressor,
}
METHODS: Mapping[str, type[BaseGPRegressor]] = {
    **FLAGGING,
    "student-t": StudentTGPRegressor,
    "rcgp": RCGPRegressor,
    "standard": StandardGPRegressor,
}
PROBA_DECIMALS = 6


@dataclass(frozen=True)
class Recipe:
    """Which model to fit, to how many rows, through how many inducing inputs; None leaves it open.

    The callback hears of every iteration. ``many_faults`` tells the method robust that most readings may be
    wrong.
    """

    method: str = "robust"
    inducing: int | None = None
    sample: int | None = None
    seed: int = 0
    callback: FitCallback | None = None
    many_faults: bool = False

    def __post_init__(self) -> None:
        if self.many_faults and self.method != "robust":
            raise TableError(
                f"--many-faults is for the method robust alone, and the method is {self.method}; "
                "leave one of them out"
            )

    def estimator(self) -> BaseGPRegressor:
        """The model: exact for few rows, with inducing inputs for many."""
        cls, inducing = METHODS[self.method], self.inducing or "auto"
        believed: dict[str, Any] = {"faults": "many"} if self.many_faults else {}
        return cls(inducing=inducing, random_state=self.seed, callback=self.callback, **believed)


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A model, the rows that it was fitted to, and how many rows there were of which kind."""

    model: TableModel
    fitted: BoolArray
    rows: Mapping[str, int]


def fit_table(prepared: Prepared, recipe: Recipe) -> FittedTable:
    """Fit a model to the complete rows of a table, or to a sample of them."""
    complete: BoolArray = ~np.any(np.isnan(prepared.raw), axis=1)
    read: BoolArray = ~np.all(np.isnan(prepared.readings), axis=1)
    rows = {
        "read": len(prepared.raw),
        "input_missing": int((~complete).sum()),
        "target_missing": int((complete & ~read).sum()),
    }
    fitted = choose_rows(complete & read, recipe.sample, recipe.seed)
    plan = prepared.plan.scaled_to(prepared.raw[complete])
    X, y = plan.scaled(prepared.raw[fitted]), prepared.readings[fitted]
    estimator = recipe.estimator().fit(X, y[:, 0] if len(plan.targets) == 1 else y)
    rows |= {"usable": int((complete & read).sum()), "fitted": int(fitted.sum())}
    return FittedTable(TableModel(plan, estimator), fitted, rows)


def choose_rows(usable: BoolArray, sample: int | None, seed: int) -> BoolArray:
    """All rows that can be used, or a sample of them; refuses too few."""
    count = int(usable.sum())
    if count < FEWEST_ROWS:
        raise TableError(
            f"only {count} of {len(usable)} rows {'has' if count == 1 else 'have'} a target and all inputs; "
            "choose inputs that are missing less often with --inputs, or leave some out with --exclude"
        )
    wanted = count if sample is None else min(sample, count)
    if wanted == count:
        return usable
    chosen = np.zeros(len(usable), dtype=bool)
    chosen[np.random.default_rng(seed).choice(np.flatnonzero(usable), wanted, replace=False)] = True
    return chosen


@dataclass(frozen=True, eq=False)
class FlagResult:
    """All that flagging a table gave: what a person is told, a file and a report are made of it."""

    file: TableFile
    prepared: Prepared
    fit: FittedTable
    assessment: Assessment
    threshold: float

    @property
    def flagged(self) -> BoolArray:
        """Which readings are probably faulty, shape (rows, targets)."""
        return flags(self.assessment, self.threshold)

    @property
    def table(self) -> pd.DataFrame:
        """The table with the results beside it."""
        return with_results(self.file.frame, self.prepared.plan.targets, self.assessment, self.threshold)


def flag_table(file: TableFile, prepared: Prepared, recipe: Recipe, threshold: float) -> FlagResult:
    """Fit a model that tells outliers, and judge every row of the table."""
    fit = fit_table(prepared, recipe)
    return FlagResult(file, prepared, fit, fit.model.assess(file.frame, fit.fitted), threshold)


def result_names(target: str) -> dict[str, str]:
    """The columns that are added for a target."""
    return {
        "outlier_proba": f"{target}_outlier_probability",
        "expected": f"{target}_expected",
        "lower": f"{target}_lower",
        "upper": f"{target}_upper",
        "flag": f"{target}_flag",
    }


def check_results_absent(frame: pd.DataFrame, targets: tuple[str, ...]) -> None:
    """Refuse a table that has results already: they would be taken for inputs, or overwritten."""
    present = [name for target in targets for name in result_names(target).values() if name in frame]
    if present:
        raise TableError(
            f"the table already has the column {present[0]!r}, as a result would; "
            "use the original table, or rename that column"
        )


def flags(assessment: Assessment, threshold: float) -> BoolArray:
    """Which readings are probably faulty; none if the model does not tell."""
    proba = assessment.outlier_proba
    return np.zeros(assessment.readings.shape, dtype=bool) if proba is None else proba > threshold


def with_results(
    frame: pd.DataFrame, targets: tuple[str, ...], assessment: Assessment, threshold: float
) -> pd.DataFrame:
    """The table with the results beside it."""
    added: dict[str, object] = {}
    flagged, proba = flags(assessment, threshold), assessment.outlier_proba
    for index, target in enumerate(targets):
        names = result_names(target)
        half = (assessment.upper[:, index] - assessment.lower[:, index]) / 2.0
        for name in ("expected", "lower", "upper"):
            added[names[name]] = readable(getattr(assessment, name)[:, index], half)
        if proba is not None and not np.isnan(assessment.readings[:, index]).all():
            added[names["outlier_proba"]] = proba[:, index].round(PROBA_DECIMALS)
            # A reading that nobody judged is neither good nor faulty.
            added[names["flag"]] = pd.arrays.BooleanArray(flagged[:, index], np.isnan(proba[:, index]))
    return pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)
