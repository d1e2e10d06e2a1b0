"""The methods by name: saved models, tables, the command line and experiments read this list."""

from __future__ import annotations

from dataclasses import dataclass

from sturdygp.estimators.asor import AsorGPRegressor
from sturdygp.estimators.base import BaseGPRegressor, FlaggingGPRegressor
from sturdygp.estimators.gaussian import OracleGPRegressor, StandardGPRegressor
from sturdygp.estimators.mixture import MixtureGPRegressor
from sturdygp.estimators.rcgp import RCGPRegressor
from sturdygp.estimators.robust import RobustGPRegressor
from sturdygp.estimators.student_t import StudentTGPRegressor


@dataclass(frozen=True)
class Registered:
    """A method: its name in commands and results, its name in figures, and its estimator.

    ``needs_truth`` says that a fit must be given the outliers, which a table does not tell.
    """

    name: str
    label: str
    estimator: type[BaseGPRegressor]
    needs_truth: bool = False

    @property
    def tells_outliers(self) -> bool:
        """Tell whether it gives probabilities of outliers."""
        return issubclass(self.estimator, FlaggingGPRegressor)


# In the order in which a command offers them.
REGISTRY: dict[str, Registered] = {
    each.name: each
    for each in (
        Registered("robust", "Robust GPR", RobustGPRegressor),
        Registered("asor", "ASOR-GPR", AsorGPRegressor),
        Registered("mixture", "GMM-GPR", MixtureGPRegressor),
        Registered("student-t", "Student-t GPR", StudentTGPRegressor),
        Registered("rcgp", "RCGPR", RCGPRegressor),
        Registered("standard", "Standard GPR", StandardGPRegressor),
        Registered("oracle", "Oracle GPR", OracleGPRegressor, needs_truth=True),
    )
}
# Methods for a table, and those of them that flag its rows.
FOR_TABLES = tuple(name for name, each in REGISTRY.items() if not each.needs_truth)
FLAGGING = tuple(name for name in FOR_TABLES if REGISTRY[name].tells_outliers)


def estimator_named(name: str) -> type[BaseGPRegressor] | None:
    """The estimator whose class has this name; None if there is none."""
    return next((each.estimator for each in REGISTRY.values() if each.estimator.__name__ == name), None)
