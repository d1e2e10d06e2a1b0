"""A table whose names and cells would be markup or script if they were let through."""

import numpy as np
import pandas as pd

from sturdygp.tables.flagging import Recipe, flag_table
from sturdygp.tables.prepare import Request, prepare
from sturdygp.tables.read import TableFile

# Names that would be markup, script, one of Plotly's tags or templates if they were let through.
HOSTILE = "<b>load</b></script><script>document.title='owned'</script> %{x} {{ 1 }}"


FAULTS = [7, 20, 41, 66]


def hostile_frame():
    n = 80
    rng = np.random.default_rng(5)
    load = rng.uniform(0.0, 6.0, n)
    frame = pd.DataFrame(
        {
            HOSTILE: load.round(3),
            "site": rng.choice(["north", '<img src="x">'], n),
            "time": pd.date_range("2024-05-01", periods=n, freq="h").strftime("%Y-%m-%d %H:%M"),
            "y": (np.sin(load) + 0.05 * rng.standard_normal(n)).round(4),
        }
    )
    frame.loc[FAULTS, "y"] += [4.0, -5.0, 6.0, -3.0]
    return frame


def flagged(frame, recipe=None, **request):
    file = TableFile(frame)
    prepared = prepare(frame, Request(**({"targets": ("y",)} | request)))
    return flag_table(file, prepared, recipe or Recipe(), 0.5)
