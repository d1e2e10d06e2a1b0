"""Times and masks as numbers, before scikit-learn looks at them: it would drop the unit and the mask."""

from __future__ import annotations

from typing import Any

import numpy as np

# What a time is counted from, and in.
EPOCH, SECOND = np.datetime64(0, "ns"), np.timedelta64(1, "s")


def as_numbers(values: Any) -> Any:
    """Times in seconds since 1970, durations in seconds, masked entries as NaN; everything else as it is.

    Examples
    --------
    >>> days = np.array(["1970-01-02", "NaT"], dtype="datetime64[D]")
    >>> as_numbers(days).tolist()
    [86400.0, nan]
    """
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    if hasattr(values, "dtypes") and hasattr(values, "columns"):
        return _frame_as_numbers(values)
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    return _seconds(values, kind) if kind in ("M", "m") else values


def _frame_as_numbers(frame: Any) -> Any:
    """A table with its times as numbers; itself if it has none."""
    kinds = [getattr(dtype, "kind", "") for dtype in frame.dtypes]
    if not {"M", "m"} & set(kinds):
        return frame
    changed = frame.copy()
    for position, kind in enumerate(kinds):
        if kind in ("M", "m"):
            changed.isetitem(position, _seconds(frame.iloc[:, position], kind))
    return changed


def _seconds(values: Any, kind: str) -> Any:
    name = "datetime64[ns]" if kind == "M" else "timedelta64[ns]"
    # A column of a table converts its zone, too.
    given = values.to_numpy(dtype=name) if hasattr(values, "to_numpy") else np.asarray(values).astype(name)
    return (given - EPOCH if kind == "M" else given) / SECOND
