"""Errors and ranks against numbers by hand, paired tests against brute force."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.records import grid, record, records_of
from scipy.stats import wilcoxon

from sturdygp.report.accuracy import (
    compare,
    compare_levels,
    error_table,
    holm,
    paired_tables,
    rank_table,
    ranks_at,
)
from sturdygp.report.grid import Cell, grid_of, panels, rate, rmse
from sturdygp.report.table import Strong


def test_error_and_rank_tables_equal_numbers_by_hand():
    cells = grid(
        {
            "standard": [1.0, 2.0, 6.0],
            "asor": [0.5, 0.7, None],
            "robust": [0.1, 0.2, 0.3],
            "oracle": [0.01, 0.01, 0.01],
        }
    )
    rows = {row[0]: row for row in error_table(cells, "t").rows}
    assert rows["Standard GPR"] == ("Standard GPR", "2.00 (3.00)", "0 of 3", "0 of 3")
    assert rows["ASOR-GPR"] == ("ASOR-GPR", "0.600 (0.600), 1 failed", "1 of 3", "0 of 3")
    assert isinstance(rows["Robust GPR"][1], Strong)
    assert not isinstance(rows["Oracle GPR"][1], Strong)
    assert ranks_at(cells, 0.0) == {"robust": 1, "asor": 2, "standard": 3}
    ranks = {row[0]: row[1:3] for row in rank_table(cells, "t").rows}
    assert ranks == {"Robust GPR": ("1", "1.0"), "ASOR-GPR": ("2", "2.0"), "Standard GPR": ("3", "3.0")}


def test_error_table_counts_fits_that_did_not_converge():
    early = replace(record("asor", error=0.1), status=("CONVERGED", "MAX_ITER"))
    cells = grid_of([early, record("asor", 1, error=0.1)], level=rate, measure=rmse)
    assert error_table(cells, "t").rows[0][-2:] == ("0 of 2", "1 of 2")


def test_rank_table_shows_a_method_whose_fits_all_failed_unranked():
    cells = grid({"standard": [1.0, 1.0], "asor": [None, None]})
    assert error_table(cells, "t").rows[1][1:] == ("- (-), 2 failed", "2 of 2", "0 of 2")
    assert rank_table(cells, "t").rows[1][1:3] == ("-", "-")


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_holm_rejects_what_the_stepwise_rule_rejects(p_values):
    corrected = holm(p_values)
    for level in (0.01, 0.05, 0.2):
        rejected = set()
        for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
            if (len(p_values) - step) * p_values[index] > level:
                break
            rejected.add(index)
        assert {i for i, p in enumerate(corrected) if p <= level} == rejected


def test_compare_p_value_is_that_of_all_signs():
    first = [0.1, 0.2, 0.35, 0.3, 0.9, 0.4]
    second = [0.4, 0.25, 0.31, 0.5, 1.3, 0.9]
    pair = compare(Cell(dict(enumerate(first))), Cell(dict(enumerate(second))))
    # If nothing differed, each rank would count for either side; here rank 1 alone counts for the second.
    ranks = range(1, 7)
    sums = [sum(itertools.compress(ranks, signs)) for signs in itertools.product((0, 1), repeat=6)]
    assert pair.p == pytest.approx(2 * np.mean([total <= 1 for total in sums]))
    assert pair.p == wilcoxon(np.subtract(first, second)).pvalue
    assert (pair.pairs, pair.won, pair.lower) == (6, pytest.approx(5 / 6), True)
    assert pair.ratio == pytest.approx(np.median(first) / np.median(second))
    back = compare(Cell(dict(enumerate(second))), Cell(dict(enumerate(first))))
    assert (back.p, back.lower) == (pair.p, False)


def test_compare_pairs_trials_by_number():
    pair = compare(Cell({0: 1.0, 2: 3.0, 5: 1.0}), Cell({2: 6.0, 5: 4.0, 7: 1.0}))
    assert (pair.pairs, pair.won) == (2, 1.0)
    same = compare(Cell({0: 1.0, 1: 2.0}), Cell({0: 1.0, 1: 2.0}))
    assert (same.p, same.won, same.ratio) == (1.0, 0.0, 1.0)
    assert compare(Cell({0: 1.0}), Cell({1: 1.0})).pairs == 0


def test_compare_levels_corrects_across_levels():
    records = records_of("fig1a", methods=["asor", "standard"])
    cells = panels(records)[0].errors
    raw = compare(cells["asor", 0.3], cells["standard", 0.3]).p
    assert compare_levels(cells, "asor", "standard")[0.3].p == pytest.approx(min(1.0, 9 * raw))
    effects, p_values = paired_tables(cells, "asor", "t")
    assert re.fullmatch(r"0\.33\d \(100 %\) \+", effects.rows[0][1])
    assert p_values.rows[0][1] == "0.004"
    assert "no fit failed" in effects.notes[0]


def test_paired_tables_name_failures():
    tables = paired_tables(grid({"asor": [0.1, None, 0.2], "standard": [0.4, 0.5, 0.3]}), "asor", "t")
    assert all("1 of ASOR-GPR" in table.notes[0] for table in tables)
