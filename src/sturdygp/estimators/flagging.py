"""What estimators share whose method tells outliers from nominal readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from sturdygp._typing import FloatArray
from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.outputs import FittedOutput
from sturdygp.likelihoods.base import FittedLikelihood, Verdict


@dataclass(kw_only=True, eq=False, repr=False)
class FlaggingGPRegressor(BaseGPRegressor):
    """A regressor whose method tells outliers from inliers, by a likelihood of this type."""

    LIKELIHOOD: ClassVar[type[FittedLikelihood]]

    def _store(self, *, single: bool) -> None:
        super()._store(single=single)
        self.outlier_proba_ = self._stack([output.outlier_proba for output in self._outputs])

    def outlier_proba(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Probability that each new reading ``y`` at ``X`` is an outlier, of the shape of ``y``."""
        return self._stack([verdict.outlier_proba for verdict in self._judge(X, y)])

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike, allow_outliers: bool = False) -> FloatArray:
        """Log density of readings ``y`` at the rows of ``X``, of the shape of ``y``.

        Readings are taken for nominal, or for outliers as often as the model expects them: as it found them,
        or as its prior says where that is fixed (:class:`~sturdygp.AsorGPRegressor`: one half).
        """
        if not allow_outliers:
            return super().log_predictive_density(X, y)
        return self._stack([verdict.log_density for verdict in self._judge(X, y)])

    def _describe(self, output: FittedOutput, inputs: Sequence[str]) -> str:
        """One output in words."""
        return f"{output.faulty_in_words()}. {output.scatter(inputs)}"

    def _judge(self, X: ArrayLike, y: ArrayLike) -> list[Verdict]:
        X, columns = self._check_readings(X, y)
        pairs = zip(self._outputs, columns.T, strict=True)
        return [output.judge(X, column) for output, column in pairs]
