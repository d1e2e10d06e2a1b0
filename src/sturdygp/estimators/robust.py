"""The estimator to reach for: it learns how the data are contaminated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sturdygp.estimators.base import FlaggingGPRegressor
from sturdygp.estimators.outputs import FittedOutput
from sturdygp.estimators.summary import Advice, ContaminationFindings, OutputFindings
from sturdygp.estimators.validation import check_choice
from sturdygp.likelihoods.base import FittedLikelihood
from sturdygp.likelihoods.contamination import FittedContamination
from sturdygp.likelihoods.contamination_prior import REGIMES, ContaminationPrior, Regime
from sturdygp.methods.fit import LedgerEntry, Score
from sturdygp.methods.robust import RobustMethod
from sturdygp.methods.robust.screening import LEVELS

NO_LEDGER = (
    "The hypotheses are not known: the model was saved by a version of sturdygp that did not keep them. "
    "Fit it again to see them."
)
# Estimated rate above which the other regime is worth a try, from either side.
MOST, MANY = 0.5, 0.3
LEGEND = """\
The winner comes first, the others as far as they were optimised. The score adds up, in nats: the ELBO,
the log density of the parameters, what a second length scale costs (occam), what heteroscedastic noise
gains beyond its cost (variance function), the log prior odds of such a hypothesis (structure prior), and
what noise with bounds gains. A star marks a winner that takes more observations for inliers and predicts them
better than a hypothesis with a higher score."""


@dataclass(kw_only=True, eq=False, repr=False)
class RobustGPRegressor(FlaggingGPRegressor):
    """Gaussian process regression that learns the rate, shift and scale of outliers.

    An observation is an inlier, or off by an amount whose mean, standard deviation and shape are learned.
    Outliers may be centred or one-sided; clean data are fitted like an ordinary Gaussian process.

    Parameters
    ----------
    faults : {"few", "many"}
        Whether most observations are inliers, as nearly everywhere, or most may be outliers. The default
        finds up to about 60 % of outliers, and rarely sees any where there are none. Beyond that
        ``"many"`` is more accurate, but may take large noise for a great many outliers.
    prior : ContaminationPrior, optional
        Soft floors under noise, scale of outliers and weight of inliers, in units of the robust scale of y;
        overrides ``faults``.
    n_starts : int
        Levels around which inliers are sought; the bound picks among them.
    init_noise_variance : float
        Fraction of the variance around such a level that is initially taken for noise.
    kernel : Kernel or scikit-learn kernel, optional
        By default a squared exponential with a length scale for each input and, where the bound repays it, a
        second one for finer structure, which would otherwise pass for noise or for outliers.
    inducing, optimise_inducing, scale_targets, max_iter, tol, random_state, n_jobs, verbose
    callback, warm_start, checkpoint
        As for :class:`AsorGPRegressor`.

    Attributes
    ----------
    contamination_rate_ : float or array of shape (d_y,)
        Fraction of outliers.
    contamination_shift_, contamination_spread_ : float or array of shape (d_y,)
        Mean and standard deviation of what outliers add to the function, in the units of y; without outliers
        that are so far off that they would hide the others.
    contamination_shape_ : str or list of str
        ``"normal"`` or ``"flat"``: the shape of the outliers' distribution that the bound preferred.
    component_proba_ : array of shape (n, 2) or (n, d_y, 2)
        Probability that each observation is an inlier, and that it is an outlier.
    outlier_proba_ : array of the shape of y
        The latter.
    inlier_std_ : array of the shape of y
        Standard deviation of an inlier's noise at each observation. It may change along an input or with the
        level of the function, if the data tell that; ``noise_variance_`` is its square where it does not, and
        about the geometric mean of that where it does.
    kernel_, mean_, noise_variance_, bound_, weights_, status_, n_iter_, n_factorizations_, trace_, note_
        As for :class:`AsorGPRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from sturdygp import RobustGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(60)
    >>> y[::2] += rng.uniform(1, 9, 30)  # every second target is too high
    >>> model = RobustGPRegressor().fit(x, y)
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.1)
    True
    >>> print(model.summary().split(";")[0])
    30 of 60 readings are probably faulty
    """

    _LIKELIHOOD: ClassVar[type[FittedLikelihood]] = FittedContamination

    faults: Regime = "few"
    prior: ContaminationPrior | None = None
    n_starts: int = len(LEVELS)
    tol: float = 1e-4

    def _method(self) -> RobustMethod:
        if self.prior is not None and not isinstance(self.prior, ContaminationPrior):
            raise ValueError(f"prior must be a ContaminationPrior or None, got {self.prior!r}")
        check_choice("faults", self.faults, tuple(REGIMES))
        return RobustMethod(prior=self.prior or REGIMES[self.faults], **self._common())

    def _store(self, *, single: bool) -> None:
        super()._store(single=single)
        found = [fitted(output) for output in self._outputs]
        scales = np.array([output.scaling.scale for output in self._outputs])
        outliers = [each.outliers for each in found]

        def numbers(values: list[float]) -> Any:
            return values[0] if single else np.array(values)

        self.contamination_rate_ = numbers([1.0 - each.inlier_weight for each in found])
        shifts = scales * [each.shift for each in outliers]
        spreads = scales * [each.std for each in outliers]
        self.contamination_shift_ = numbers(shifts.tolist())
        self.contamination_spread_ = numbers(spreads.tolist())
        shapes = [each.contamination.shape.name for each in found]
        self.contamination_shape_ = shapes[0] if single else shapes
        self.inlier_std_ = self._stack([output.spread(output.inlier_std) for output in self._outputs])
        self.component_proba_ = np.stack([1.0 - self.outlier_proba_, self.outlier_proba_], axis=-1)

    def explain(self) -> str:
        """Explain why contamination was found, or not.

        Each line is a hypothesis, the winner first. Its score is a sum of terms, in nats: a difference of 3
        is odds of 20 to 1. The others stand as far as they were optimised before they were out of reach.

        Returns
        -------
        str
            A table for each output, with a legend.

        Examples
        --------
        >>> import numpy as np
        >>> from sturdygp import RobustGPRegressor
        >>> x = np.linspace(0, 6, 40)[:, None]
        >>> y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
        >>> y[::8] += 3.0
        >>> print(RobustGPRegressor().fit(x, y).explain().splitlines()[1].split("  ")[0])
        normal outliers
        """
        check_is_fitted(self)
        if not any(output.fit.ledger for output in self._outputs):
            return NO_LEDGER
        tables = [ledger_table(output.fit.ledger, output.scaling.scale) for output in self._outputs]
        if len(tables) > 1:
            tables = [f"Output {index}\n{table}" for index, table in enumerate(tables)]
        return "\n\n".join([*tables, LEGEND])

    def _findings(self, output: FittedOutput, inputs: Sequence[str]) -> OutputFindings:
        likelihood, scale = fitted(output), output.scaling.scale
        outliers = likelihood.outliers
        learned = ContaminationFindings(
            rate=1.0 - likelihood.inlier_weight,
            shift=scale * outliers.shift,
            std=scale * outliers.std,
            shape=likelihood.contamination.shape.name,
            side=outliers.lean,
        )
        return replace(
            super()._findings(output, inputs),
            contamination=learned,
            advice=self._advice(learned.rate, output),
        )

    def _advice(self, rate: float, output: FittedOutput) -> Advice | None:
        """Give the reason to try the other assumption about how common outliers are, if there is one."""
        if rate > MOST:
            return Advice.MOST_ARE_OUTLIERS
        if self.prior is not None or self.faults == "many":
            return None
        if rate > MANY:
            return Advice.MANY_ARE_OUTLIERS
        return Advice.NOISE_EXCEEDS_FUNCTION if output.noise_exceeds_function else None


def ledger_table(ledger: Sequence[LedgerEntry], scale: float) -> str:
    """The ledger as aligned text; the scale is that of the targets."""
    terms = [each.name for each in fields(Score)]
    header = [
        "hypothesis",
        "outliers",
        "noise",
        "iterations",
        *(name.replace("_", " ") for name in terms),
        "score",
    ]
    rows = [
        [
            entry.name + (" *" if entry.convinced else ""),
            f"{entry.outliers:.1%}",
            f"{scale * entry.noise:.3g}",
            str(entry.iterations),
            *(f"{getattr(entry.score, name):.1f}" for name in terms),
            f"{entry.score.total:.1f}",
        ]
        for entry in ledger
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in (header, *rows)
    ]
    return "\n".join(lines)


def fitted(output: FittedOutput) -> FittedContamination:
    """The likelihood that the method found."""
    likelihood = output.fit.likelihood
    if not isinstance(likelihood, FittedContamination):
        raise TypeError(f"a robust fit has a FittedContamination, got {likelihood!r}")
    return likelihood
