"""What an estimator says while it is fitted, and afterwards if something went wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from sklearn.exceptions import ConvergenceWarning

from sturdygp.methods.base import Fit
from sturdygp.status import Status


def progress_printer(index: int) -> Callable[[int, float], None]:
    """Prints the bound at every iteration of one output."""

    def show(iteration: int, bound: float) -> None:
        print(f"output {index}: iteration {iteration}, bound {bound:.6f}")

    return show


def warn_if_not_converged(fits: list[Fit]) -> None:
    """One warning for each reason, naming the outputs whose fit did not converge or fell back."""
    reasons: dict[str, list[str]] = {}
    for index, fit in enumerate(fits):
        if fit.status is not Status.CONVERGED:
            reasons.setdefault(fit.status.message, []).append(str(index))
        if fit.note:
            reasons.setdefault(fit.note, []).append(str(index))
    for reason, which in reasons.items():
        where = f"output {', '.join(which)}: " if len(fits) > 1 else ""
        warnings.warn(f"{where}{reason}", ConvergenceWarning, stacklevel=4)
