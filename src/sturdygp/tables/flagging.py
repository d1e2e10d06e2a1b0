"""Fitting a model to a table, and finding its faulty readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd

from sturdygp._caching import cached_property
from sturdygp._typing import BoolArray, FloatArray
from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.callbacks import FitCallback
from sturdygp.estimators.inducing import AUTO_COUNT, EXACT_ROWS
from sturdygp.estimators.outputs import Scaling
from sturdygp.estimators.registry import REGISTRY
from sturdygp.estimators.summary import describe
from sturdygp.exceptions import TableError
from sturdygp.gp.inputs import evenly_spaced
from sturdygp.inference.problem import VARIANCE_BOX, default_kernel, median_distance
from sturdygp.kernels.base import Kernel
from sturdygp.kernels.stationary import SquaredExponential
from sturdygp.likelihoods.contamination_prior import Regime
from sturdygp.tables.formatting import readable
from sturdygp.tables.model import Assessment, TableModel
from sturdygp.tables.prepare import FEWEST_ROWS, Prepared
from sturdygp.tables.read import TableFile

# How the command line chooses a regime of the method robust.
REGIME_OPTIONS: Mapping[Regime, str] = {"few": "leave out --many-faults", "many": "--many-faults"}
PROBA_DECIMALS = 6
# With what a formula begins in a spreadsheet that opens a text file.
FORMULA_STARTS = ("=", "+", "-", "@")
# Features above which each has no length scale of its own where readings are fewer still: they cannot tell so
# many, and the time that it takes to learn them grows with their cube.
MANY_FEATURES = 50
ONE_LENGTH_SCALE = (
    "{} features but {} rows to learn from: one length scale is learned for all features together; "
    "name the inputs that matter with --inputs for one each"
)


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

    def estimator(self, rows: int, kernel: Kernel | None = None) -> BaseGPRegressor:
        """The model for a table of so many rows: exact for few, with inducing inputs for many.

        All rows of the table count, also if a sample is fitted: each is predicted, and that takes the time.
        """
        automatic = "auto" if rows <= EXACT_ROWS else AUTO_COUNT
        special: dict[str, Any] = {} if kernel is None else {"kernel": kernel}
        if self.many_faults:
            special["faults"] = "many"
        inducing = self.inducing or automatic
        return REGISTRY[self.method].estimator(
            inducing=inducing, random_state=self.seed, callback=self.callback, **special
        )


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A model, the rows that it was fitted to, how many rows there were of which kind, and notes."""

    model: TableModel
    fitted: BoolArray
    rows: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def summaries(self) -> dict[str, str]:
        """Findings about each target in a paragraph, in the words of the command line."""
        sampled = "in the sample: " if self.rows["fitted"] < self.rows["usable"] else ""
        plan, estimator = self.model.plan, self.model.estimator
        found = zip(plan.targets, estimator.findings(plan.features), strict=True)
        return {target: sampled + describe(each, REGIME_OPTIONS) for target, each in found}


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
    shared = X.shape[1] > max(MANY_FEATURES, len(X))
    notes = (ONE_LENGTH_SCALE.format(X.shape[1], len(X)),) if shared else ()
    estimator = recipe.estimator(int(complete.sum()), shared_kernel(X, y) if shared else None)
    estimator.fit(X, y[:, 0] if len(plan.targets) == 1 else y)
    rows |= {"usable": int((complete & read).sum()), "fitted": int(fitted.sum())}
    return FittedTable(TableModel(plan, estimator), fitted, rows, notes)


def shared_kernel(X: FloatArray, y: FloatArray) -> SquaredExponential:
    """A kernel with one length scale for all features, at first the median distance between rows.

    Its bounds are those of the usual kernel, for distances in so many directions and the units of ``y``.
    """
    usual = default_kernel(X)
    low, high = np.array(usual.length_scale_bounds, dtype=np.float64).T
    squares = [Scaling.of(column[~np.isnan(column)], "robust").scale ** 2 for column in y.T]
    least, most = VARIANCE_BOX
    return SquaredExponential(
        median_distance(evenly_spaced(X)),
        float(np.exp(np.mean(np.log(squares)))),
        length_scale_bounds=(float(low.min()), float(high.max()) * sqrt(X.shape[1])),
        variance_bounds=(least * min(squares), most * max(squares)),
    )


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
    """Result of flagging a table, from which messages, a file and a report are made."""

    file: TableFile
    prepared: Prepared
    fit: FittedTable
    assessment: Assessment
    threshold: float

    @property
    def flagged(self) -> BoolArray:
        """Which readings are probably faulty, shape (rows, targets)."""
        return flags(self.assessment, self.threshold)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The table with the results as further columns."""
        return with_results(self.file.frame, self.prepared.plan.targets, self.assessment, self.threshold)


def flag_table(file: TableFile, prepared: Prepared, recipe: Recipe, threshold: float) -> FlagResult:
    """Fit a model that tells outliers, and judge every row of the table."""
    fit = fit_table(prepared, recipe)
    assessment = fit.model.assess_rows(prepared.raw, prepared.readings, fit.fitted)
    return FlagResult(file, prepared, fit, assessment, threshold)


def result_names(target: str) -> dict[str, str]:
    """The columns that are added for a target.

    A name that a spreadsheet would take for a formula gets a quote before it, as people write it there.
    """
    name = f"'{target}" if target.startswith(FORMULA_STARTS) else target
    return {
        "outlier_proba": f"{name}_outlier_probability",
        "expected": f"{name}_expected",
        "lower": f"{name}_lower",
        "upper": f"{name}_upper",
        "flag": f"{name}_flag",
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
    """The table with the results as further columns."""
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
