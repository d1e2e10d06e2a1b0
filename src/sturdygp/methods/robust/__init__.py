"""The flagship: a Gaussian process that learns how its data are contaminated."""

from sturdygp.methods.robust.method import RobustMethod

__all__ = ["RobustMethod"]
