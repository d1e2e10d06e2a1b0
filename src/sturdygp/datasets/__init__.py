"""Data to try things on, with outliers whose place is known."""

from sturdygp.datasets.contamination import (
    AddedOutliers,
    Contaminated,
    Contamination,
    NormalOutliers,
    Outliers,
    ReplacingOutliers,
    UniformOutliers,
    add_outliers,
)
from sturdygp.datasets.faults import (
    ErrorBurst,
    FocusedOutliers,
    OneSidedShifts,
    StuckSensor,
    SymmetricShifts,
)
from sturdygp.datasets.fetch import DataFileError, find_file
from sturdygp.datasets.files import FILES, DataFile
from sturdygp.datasets.gp_sample import FunctionSample, make_gp_sample
from sturdygp.datasets.synthetic import Dataset, make_synthetic
from sturdygp.datasets.tables import (
    LabelledSeries,
    Table,
    load_air_quality,
    load_energy,
    load_motorcycle,
    load_nab,
    load_neal,
    load_well_log,
    load_yacht,
    neal_function,
)

__all__ = [
    "FILES",
    "AddedOutliers",
    "Contaminated",
    "Contamination",
    "DataFile",
    "DataFileError",
    "Dataset",
    "ErrorBurst",
    "FocusedOutliers",
    "FunctionSample",
    "LabelledSeries",
    "NormalOutliers",
    "OneSidedShifts",
    "Outliers",
    "ReplacingOutliers",
    "StuckSensor",
    "SymmetricShifts",
    "Table",
    "UniformOutliers",
    "add_outliers",
    "find_file",
    "load_air_quality",
    "load_energy",
    "load_motorcycle",
    "load_nab",
    "load_neal",
    "load_well_log",
    "load_yacht",
    "make_gp_sample",
    "make_synthetic",
    "neal_function",
]
