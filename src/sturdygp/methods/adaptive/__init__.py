"""Learned contamination: how often readings are faulty, how far off they are, and how they are spread."""

from sturdygp.methods.adaptive.method import Adaptive
from sturdygp.methods.adaptive.prior import REGIMES, ContaminationPrior, Regime

__all__ = ["REGIMES", "Adaptive", "ContaminationPrior", "Regime"]
