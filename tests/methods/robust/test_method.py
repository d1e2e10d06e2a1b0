"""The posterior that the flagship concludes with."""

import numpy as np

from sturdygp import RobustGPRegressor
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.inference.expectation_propagation import Propagation


def test_settled_agrees_with_propagation_and_with_its_own_cavities(monkeypatch):
    """The fallback agrees with propagation where both work; its verdicts are those of its own cavities."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 10.0, 60)[:, None]
    outlier = np.arange(60) % 7 == 3
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=60) + outlier * rng.normal(0.0, 3.0, 60)
    propagated = RobustGPRegressor().fit(x, y)
    monkeypatch.setattr(Propagation, "run", improper)
    fallback = RobustGPRegressor().fit(x, y)
    np.testing.assert_allclose(fallback.outlier_proba_, propagated.outlier_proba_, atol=0.15)
    for ours, theirs in zip(
        fallback.predict(x, return_std=True), propagated.predict(x, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=0.03)
    found = fallback._outputs[0]
    cavity = found.fit.posterior.best.leave_one_out()
    noise = found.fit.noise_at(x, cavity.mean)
    verdict = found.fit.likelihood.judge(found.scaling.forward(y), cavity.mean, cavity.variance, noise)
    np.testing.assert_allclose(verdict.outlier_proba, fallback.outlier_proba_, atol=0.01)


def improper(*_arguments, **_options):
    raise NotPositiveDefiniteError("no fixed point")
