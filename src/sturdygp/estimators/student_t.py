"""Regression with Student-t noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sturdygp.estimators.base import BaseGPRegressor
from sturdygp.estimators.validation import check_choice, check_positive
from sturdygp.methods.student_t import Inference, StudentT


@dataclass(kw_only=True, eq=False, repr=False)
class StudentTGPRegressor(BaseGPRegressor):
    """Gaussian process regression with Student-t noise.

    Parameters
    ----------
    inference : {"ep", "vb", "laplace"}
        Robust expectation propagation, variational Bayes, or Laplace's approximation. The first is
        the most accurate, the second the fastest.
    dof : float or "learn"
        Degrees of freedom; the fewer, the heavier the tails.
    max_factorizations : int
        After so many, expectation propagation or Laplace's approximation is not tried at further parameters:
        some posteriors are close to improper everywhere. A point at which it failed is charged 60.
    kernel, inducing, optimise_inducing, init_noise_variance, scale_targets, n_starts, max_iter, tol
    random_state, n_jobs, verbose, callback, warm_start, checkpoint
        As for :class:`AsorGPRegressor`. The noise variance is the squared scale of the Student-t. A standard
        deviation that includes noise is that of a normal density with the same 95 % interval, since that of
        a Student-t may be infinite; densities of observations are those of the Student-t.

    Attributes
    ----------
    dof_ : float or array of shape (d_y,)
        Degrees of freedom of the noise.
    weights_ : array of the shape of y
        Weight of each observation relative to one that the function meets exactly.
    note_ : str
        Not empty if expectation propagation did not converge and something coarser was used.
    n_factorizations_ : int or array
        Factorisations, with those that points at which EP or Laplace failed are charged.
    kernel_, mean_, noise_variance_, bound_, status_, n_iter_, trace_
        As for :class:`AsorGPRegressor`; the bound approximates the log evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from sturdygp import StudentTGPRegressor
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.05 * np.cos(40 * x[:, 0])
    >>> y[[5, 20, 33]] = 8.0
    >>> model = StudentTGPRegressor(inference="vb").fit(x, y)
    >>> np.argsort(model.weights_)[:3].tolist()
    [33, 20, 5]
    """

    inference: Inference = "ep"
    dof: float | Literal["learn"] = 4.0
    max_factorizations: int = 3000

    def _method(self) -> StudentT:
        check_choice("inference", self.inference, ("ep", "vb", "laplace"))
        check_positive("max_factorizations", self.max_factorizations, integer=True)
        return StudentT(
            self.inference, self._dof(), max_factorizations=self.max_factorizations, **self._common()
        )

    def _dof(self) -> float | None:
        """None if they are to be learned."""
        if isinstance(self.dof, str):
            check_choice("dof", self.dof, ("learn",))
            return None
        check_positive("dof", self.dof)
        return float(self.dof)

    def _store(self, *, single: bool) -> None:
        super()._store(single=single)
        # A model that was saved before these were kept has none.
        dof = [getattr(output.fit.likelihood, "dof", np.nan) for output in self._outputs]
        self.dof_ = dof[0] if single else np.array(dof)
