"""Tables that tests read, fit and report."""

import numpy as np
import pandas as pd

from sturdygp.tables.cells import CellFormat, Cells


def written(tmp_path, text, name="table.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_text(text, encoding=encoding)
    return path


def cells(*values, **how):
    return Cells.of(pd.Series(list(values)), CellFormat(**how))


def frame_of(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "when": pd.date_range("2024-03-01 12:00", periods=n, freq="h").astype(str),
            "site": np.where(np.arange(n) % 3 == 0, "A", "B"),
            "load": rng.uniform(0, 1e4, n),
            "version": "2.1",
            "rare": np.where(np.arange(n) % 10 == 0, 1.5, np.nan),
            "comment": [f"remark {i}" for i in range(n)],
            "nothing": [None] * n,
            "y": np.sin(np.arange(n) / 5.0) + 0.05 * rng.standard_normal(n),
        }
    )


def faulty_frame():
    frame = frame_of(80)[["when", "site", "y"]].copy()
    frame["z"] = np.cos(np.arange(80) / 7.0) + 0.05 * np.random.default_rng(1).standard_normal(80)
    frame.loc[[7, 20, 41, 66], "y"] += 4.0
    frame.loc[[3, 50], "z"] -= 5.0
    frame.loc[10, "y"] = np.nan
    frame.loc[30, "when"] = ""
    return frame
