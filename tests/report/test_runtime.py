"""Times and their exponents against regressions and exact power laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.records import record, records_of

from sturdygp.experiments.suites import SIZES
from sturdygp.report.runtime import PAPER_SECONDS, power_law, ratio_table, runtimes, seconds_table


@settings(deadline=None)
@given(st.floats(-1.0, 4.0), st.floats(1e-6, 10.0))
def test_power_law_finds_exact_exponents(exponent, factor):
    law = power_law({n: factor * n**exponent for n in SIZES})
    assert law.exponent == pytest.approx(exponent, abs=1e-8)
    assert law.factor == pytest.approx(factor, rel=1e-6)
    assert law.error == pytest.approx(0.0, abs=1e-6)


def test_power_law_error_is_that_of_a_regression():
    times = {100.0: 1.0, 200.0: 9.0, 400.0: 60.0, 800.0: 600.0}
    design = np.column_stack([np.ones(4), np.log(list(times))])
    y = np.log(list(times.values()))
    solution, (residual,), *_ = np.linalg.lstsq(design, y)
    error = np.sqrt(residual / 2 * np.linalg.inv(design.T @ design)[1, 1])
    law = power_law(times)
    assert (law.exponent, law.error) == (pytest.approx(solution[1]), pytest.approx(error))
    assert power_law({100.0: 1.0}) is None
    assert str(power_law({100.0: 1.0, 200.0: 8.0})) == "3.00"


def test_seconds_table_stands_beside_the_papers():
    times = runtimes(records_of("table1", trials=2))
    rows = {row[0]: row for row in seconds_table(times, "t").rows}
    ours = 8e-6 * 1000**2.5
    assert rows["ASOR-GPR"][5] == f"{ours:.0f} (335.96)"
    assert rows["ASOR-GPR"][6].startswith("2.50 ± 0.00 (1.7")
    assert rows["Robust GPR"][1] == f"{5e-6 * 200**2.5:.2f}"
    assert rows["ASOR-GPR, Algorithm 1"][2:7] == ("-",) * 5
    assert rows["ASOR-GPR, Algorithm 1"][7:] == ("0 of 2", "0 of 2")
    ratios = {row[0]: row for row in ratio_table(times, "t").rows}
    assert (
        ratios["GMM-GPR"][1] == f"4.50 ({PAPER_SECONDS['mixture'][200] / PAPER_SECONDS['standard'][200]:.0f})"
    )


def test_runtimes_leave_out_failed_fits():
    cells = runtimes([record("asor", seconds=1.0, error=0.1), record("asor", 1, seconds=9.0, failed=True)])
    assert (cells["asor", 100.0].median, cells["asor", 100.0].failed) == (1.0, 1)
