"""Robust and conjugate Gaussian process regression."""

from __future__ import annotations

from dataclasses import dataclass

from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.validation import check_choice
from sturdygp.methods.rcgp import Centre, LooScore, Rcgp


@dataclass(kw_only=True, eq=False, repr=False)
class RCGPRegressor(BaseGPRegressor):
    """Gaussian process regression with closed-form robust weights (generalised Bayes).

    Readings far from the centre count less; one factorisation gives the posterior, leave-one-out
    predictive densities give kernel and noise.

    Parameters
    ----------
    epsilon : float
        Fraction of observations beyond the soft threshold; zero makes it infinite: ordinary regression.
    recentre : int
        How often the weights are centred anew at leave-one-out predictions.
    centre : {"median", "mean"}
        Where prior mean and first weights are centred.
    loo_score : {"weighted", "plain"}
        Whether the densities of outlying observations count less.
    shift_sign : {1, -1}
        Sign of the shift of the targets; 1 is the minimiser of the loss. ``epsilon=0.05, recentre=0,
        centre="mean", loo_score="plain", shift_sign=-1`` are the settings of the published comparison.
    kernel, inducing, optimise_inducing, init_noise_variance, scale_targets, n_starts, max_iter, tol,
    random_state, n_jobs, verbose, callback, warm_start
        As for :class:`AsorGPRegressor`; ``warm_start`` initialises the last kernel.
    checkpoint : None
        There are none of this method.

    Attributes
    ----------
    bound_ : float or array
        The leave-one-out score. Other attributes are those of :class:`AsorGPRegressor`.
    """

    epsilon: float = 0.2
    recentre: int = 2
    centre: Centre = "median"
    loo_score: LooScore = "weighted"
    shift_sign: int = 1

    def _method(self) -> Rcgp:
        if self.checkpoint is not None:
            raise ValueError("RCGPRegressor keeps no checkpoint of a fit; leave checkpoint out")
        if not 0.0 <= self.epsilon < 1.0:
            raise ValueError(
                f"epsilon must be a fraction of the observations, in [0, 1), got {self.epsilon!r}"
            )
        if self.recentre != int(self.recentre) or self.recentre < 0:
            raise ValueError(f"recentre must be a number of times, 0 or more, got {self.recentre!r}")
        check_choice("centre", self.centre, ("median", "mean"))
        check_choice("loo_score", self.loo_score, ("weighted", "plain"))
        check_choice("shift_sign", self.shift_sign, (1, -1))
        return Rcgp(
            epsilon=self.epsilon,
            recentre=self.recentre,
            centre=self.centre,
            score=self.loo_score,
            shift_sign=float(self.shift_sign),
            **self._common(),
        )
