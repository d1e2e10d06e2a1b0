"""Gaussian processes conditioned on Gaussian sites."""

from sturdygp.gp.exact import ExactPosterior, condition
from sturdygp.gp.posterior import EvidenceGradient, Marginals, Posterior
from sturdygp.gp.sites import Sites

__all__ = ["EvidenceGradient", "ExactPosterior", "Marginals", "Posterior", "Sites", "condition"]
