"""The paper's method as an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sturdygp.estimators.base import FlaggingGPRegressor
from sturdygp.estimators.validation import check_choice
from sturdygp.likelihoods.base import FittedLikelihood
from sturdygp.likelihoods.spike_and_slab import AsorPrior, FittedSpikeAndSlab
from sturdygp.methods.asor import Asor, Solver


@dataclass(kw_only=True, eq=False, repr=False)
class AsorGPRegressor(FlaggingGPRegressor):
    """Gaussian process regression with a learned precision multiplier for each observation (ASOR-GPR).

    An observation is an inlier, or its precision is multiplied by a Gamma variable whose rate is learned.
    Outliers lose their influence instead of being discarded.

    Parameters
    ----------
    kernel : kernel of sturdygp or scikit-learn, optional
        In the units of X and y. By default a squared exponential with a length scale for each
        input, started at a fifth of the median distance between inputs.
    inducing : int, array of shape (m, d) or "auto", optional
        Inducing inputs through which the process is seen, or how many to choose among the rows of X; the
        cost is then O(n m^2) instead of O(n^3). ``"auto"`` takes 500 above 3000 rows. Exact by default.
    solver : {"collapsed", "gem"}
        ``"collapsed"`` takes quasi-Newton steps on the collapsed bound; ``"gem"`` is the paper's
        Algorithm 1 to the letter, a thousand times slower, for reference; it has one initialisation and no
        checkpoint. It predicts from the function of its last E-step, from which its weights follow.
    prior : AsorPrior, optional
        The paper's constants by default. They refer to scaled targets.
    optimise_inducing : bool
        Also move the inducing inputs to where the bound is highest; that takes a second fit. Not for kernels
        of scikit-learn.
    init_noise_variance : float
        Initial noise variance of inliers, for scaled targets.
    scale_targets : {"robust", "standard"} or None
        Scale y by median and MAD, by mean and standard deviation, or not at all. With None, y should have a
        scale near 1; below 0.1 or above 15, y is counted in a power of ten near it, with a warning.
    n_starts : int
        Initialisations to optimise from; the bound picks. The first is the paper's. Worth raising from about
        half of the observations being outliers.
    max_iter : int
        Most iterations of the solver.
    tol : float
        Largest derivative of the bound, per observation, at convergence (``"collapsed"``), and less where
        the bound is flat without being at an optimum; relative change of the weighted residual (``"gem"``).
    random_state : int, RandomState or None
        For initialisations beyond the seventh. None stands for a fixed seed: fits are the same, and NumPy's
        global state is neither read nor moved.
    n_jobs : int, optional
        Outputs fitted at a time.
    verbose : int
        1 prints a line for each output, 2 one for each iteration.
    callback : callable, optional
        Called with a :class:`~sturdygp.Progress` after each iteration with all observations. If it returns
        True, the fit ends there, with status ``STOPPED``.
    warm_start : bool
        Start from where the last fit ended, or from its kernel if the data or other arguments have changed.
    checkpoint : path, optional
        File that holds where a fit is, written every half minute; if it is there, the fit goes on from it. It
        is removed when the fit is done. With several outputs, a file for each.

    Attributes
    ----------
    kernel_, mean_, noise_variance_
        Fitted parameters in the units of y; a list or an array if y has two dimensions.
    weights_ : array of the shape of y
        Fraction of an inlier's precision that each observation keeps; NaN where y is missing.
    outlier_proba_ : array of the shape of y
        Probability that each observation is an outlier.
    bound_ : float or array
        Variational bound on the log evidence, all constants included.
    status_ : Status
        How the fit ended. ``at_bounds_`` names kernel parameters held by their bounds.
    n_repeats_ : int or array
        How many rows are taken for copies of others, and do not count.
    n_iter_, n_factorizations_, trace_
        Iterations, Cholesky factorisations, and the bound after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from sturdygp import AsorGPRegressor
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(x[:, 0])
    >>> y[[5, 20, 33]] = 8.0
    >>> model = AsorGPRegressor().fit(x, y)
    >>> np.flatnonzero(model.outlier_proba_ > 0.5)
    array([ 5, 20, 33])
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.1)
    True
    """

    _LIKELIHOOD: ClassVar[type[FittedLikelihood]] = FittedSpikeAndSlab

    solver: Solver = "collapsed"
    prior: AsorPrior | None = None

    def _method(self) -> Asor:
        check_choice("solver", self.solver, ("collapsed", "gem"))
        if self.prior is not None and not isinstance(self.prior, AsorPrior):
            raise ValueError(f"prior must be an AsorPrior or None, got {self.prior!r}")
        if self.solver == "gem" and (self.n_starts != 1 or self.checkpoint is not None):
            raise ValueError(
                'solver="gem" has one initialisation, the paper\'s, and keeps no checkpoint; leave n_starts '
                'and checkpoint out, or use solver="collapsed"'
            )
        return Asor(prior=self.prior or AsorPrior(), solver=self.solver, **self._common())
