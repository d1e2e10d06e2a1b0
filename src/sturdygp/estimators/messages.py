"""What an estimator says if something went wrong."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from sturdygp.estimators.outputs import FittedOutput, Scaling
from sturdygp.exceptions import RepeatedRowsWarning
from sturdygp.methods.fit import Fit
from sturdygp.status import Status

FAR_FROM_ONE = (
    "output {}: scale_targets=None is for targets with a scale near 1, and these are far from it. They are "
    "counted in units of {:g}, to which init_noise_variance and the constants of a prior refer. Set "
    'scale_targets="robust", or scale y before the fit'
)


def warn_if_unit_is_not_one(index: int, scaling: Scaling) -> None:
    """Targets that were not to be scaled, but had to be counted in another unit."""
    if scaling.scale != 1.0:
        warnings.warn(FAR_FROM_ONE.format(index, scaling.scale), UserWarning, stacklevel=2)


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
