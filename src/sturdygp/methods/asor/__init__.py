"""ASOR-GPR: the paper's model and its two solvers."""

from sturdygp.methods.asor.method import Asor
from sturdygp.methods.asor.model import AsorPrior

__all__ = ["Asor", "AsorPrior"]
