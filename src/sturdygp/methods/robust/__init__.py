"""Learned contamination: how often readings are faulty, how far off they are, and how they are spread."""

from sturdygp.methods.robust.method import RobustMethod
from sturdygp.methods.robust.prior import REGIMES, ContaminationPrior, Regime

__all__ = ["REGIMES", "ContaminationPrior", "Regime", "RobustMethod"]
