"""Data to try things on, with outliers whose place is known."""

from sturdygp.datasets.contamination import NormalOutliers, Outliers, UniformOutliers, add_outliers
from sturdygp.datasets.synthetic import Dataset, make_synthetic

__all__ = ["Dataset", "NormalOutliers", "Outliers", "UniformOutliers", "add_outliers", "make_synthetic"]
