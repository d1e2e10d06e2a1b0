"""Digits that tell something."""

import numpy as np

from sturdygp.tables.formatting import in_text, readable


def test_readable_digits_are_those_of_the_interval():
    values = np.array([1e9 + 10.0251239, 12.3456789012, 123456.0, 0.1 + 0.2, np.nan])
    shown = readable(values, np.array([0.35, 1e-3, 3e7, 0.0, np.nan]))
    np.testing.assert_array_equal(shown, [1000000010.02512, 12.3456789, 123000.0, 0.3, np.nan])
    assert in_text(1e9 + 10.0251239, 0.35) == "1000000010.025"
    assert in_text(-0.00012345678, 0.0) == "-0.00012345678"
