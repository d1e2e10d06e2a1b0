"""A fitted model with its plan: it takes tables, and is saved in one file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Self

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.estimators.base import BaseGPRegressor, FlaggingGPRegressor
from sturdygp.estimators.loading import naming_file, read_model
from sturdygp.estimators.saving import write_model
from sturdygp.exceptions import ModelFileError
from sturdygp.tables.plan import Plan, Table

# Half the width of a 95 % interval, in standard deviations.
WIDTH_95 = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Assessment:
    """Judgement of a model on a table: arrays of shape (rows, targets), NaN where nothing can be said.

    ``lower`` and ``upper`` bound 95 % of good readings; ``outlier_proba`` is None if the model does not
    tell outliers.
    """

    readings: FloatArray
    expected: FloatArray
    lower: FloatArray
    upper: FloatArray
    outlier_proba: FloatArray | None


@dataclass(frozen=True, eq=False)
class TableModel:
    """An estimator that was fitted to the columns of a table."""

    plan: Plan
    estimator: BaseGPRegressor

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write model and plan to a file; ``sturdygp.load`` reads the model in it."""
        write_model(path, self.estimator.state(), self.plan.plain())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote."""
        estimator, record = read_model(path)
        if record is None:
            raise ModelFileError(
                f"{os.fspath(path)} does not say how a table becomes inputs: it was saved by a program; "
                "make one with sturdygp fit, or use sturdygp.load in a program"
            )
        with naming_file(path):
            plan = Plan.of(record)
            if len(plan.features) != estimator.n_features_in_ or len(plan.targets) != np.size(
                estimator.mean_
            ):
                raise record.fail("inputs", "the columns that the model was fitted to")
        return cls(plan, estimator)

    def assess(self, table: Table) -> Assessment:
        """Judge a table that the model has not seen."""
        columns = self.plan.columns(table)
        return self.assess_rows(self.plan.raw_features(columns), self.plan.readings(columns))

    def assess_rows(
        self, raw: FloatArray, readings: FloatArray, fitted: BoolArray | None = None
    ) -> Assessment:
        """Judge readings with features in their own units.

        Rows that the model was ``fitted`` to are marked, and stand in their order.
        """
        X = self.plan.scaled(raw)
        usable: BoolArray = ~np.any(np.isnan(X), axis=1)
        expected, std = np.full((2, *readings.shape), np.nan)
        if usable.any():
            mean, deviation = self.estimator.predict(X[usable], return_std=True, include_noise=True)
            expected[usable] = as_columns(mean)
            std[usable] = as_columns(deviation)
        return Assessment(
            readings=readings,
            expected=expected,
            lower=expected - WIDTH_95 * std,
            upper=expected + WIDTH_95 * std,
            outlier_proba=self._outlier_proba(X, readings, usable, fitted),
        )

    def _outlier_proba(
        self, X: FloatArray, readings: FloatArray, usable: BoolArray, fitted: BoolArray | None
    ) -> FloatArray | None:
        """Readings that the model was fitted to are judged as it found them, others as new ones."""
        model = self.estimator
        if not isinstance(model, FlaggingGPRegressor):
            return None
        proba = np.full(readings.shape, np.nan)
        new = usable if fitted is None else usable & ~fitted
        if new.any():
            single = model.outlier_proba_.ndim == 1
            judged = model.outlier_proba(X[new], readings[new, 0] if single else readings[new])
            proba[new] = as_columns(judged)
        if fitted is not None:
            proba[fitted] = as_columns(model.outlier_proba_)
        return proba


def as_columns(values: FloatArray | tuple[FloatArray, FloatArray]) -> FloatArray:
    """One column for each target, also if there is only one."""
    table = np.asarray(values)
    return table.reshape(len(table), -1)
