"""What an estimator says if something went wrong."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from sturdygp.estimators.outputs import FittedOutput
from sturdygp.exceptions import RepeatedRowsWarning
from sturdygp.methods.base import Fit
from sturdygp.status import Status


def warn_if_not_converged(fits: list[Fit]) -> None:
    """One warning for each reason, naming the outputs whose fit did not converge or fell back."""
    reasons: dict[str, list[str]] = {}
    for index, fit in enumerate(fits):
        if fit.status not in (Status.CONVERGED, Status.STOPPED):
            reasons.setdefault(fit.status.message, []).append(str(index))
        if fit.note:
            reasons.setdefault(fit.note, []).append(str(index))
    for reason, which in reasons.items():
        where = f"output {', '.join(which)}: " if len(fits) > 1 else ""
        warnings.warn(f"{where}{reason}", ConvergenceWarning, stacklevel=4)


def warn_of_repeats(outputs: list[FittedOutput]) -> None:
    """One warning if rows are taken for copies, naming the outputs."""
    found = [(str(index), output.repeats_in_words()) for index, output in enumerate(outputs)]
    said = [f"output {index}: {words}" if len(outputs) > 1 else words for index, words in found if words]
    if said:
        advice = "Remove repeated rows from the data if they were copied"
        warnings.warn(f"{'. '.join(said)}. {advice}", RepeatedRowsWarning, stacklevel=4)
