"""Parameters that a kernel refuses."""

import numpy as np
import pytest

from sturdygp.kernels import Constant, Matern32, Periodic, SquaredExponential, as_kernel


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SquaredExponential(-1.0), "length_scale must be positive"),
        (lambda: SquaredExponential(variance=np.nan), "variance must be positive"),
        (lambda: SquaredExponential("wide"), "length_scale must be a positive number"),
        (lambda: SquaredExponential(()), "length_scale must be positive"),
        (lambda: SquaredExponential(1.0, (1.0, 2.0)), "variance must be one positive number"),
        (lambda: Constant([2.0]), "variance must be one positive number"),
        (lambda: Periodic(1.0, (1.0, 2.0)), "period must be one positive number"),
        (lambda: Matern32(length_scale_bounds=(-1.0, 2.0)), "0 < low <= high"),
        (lambda: Matern32(length_scale_bounds=(3.0, 2.0)), "0 < low <= high"),
        (lambda: Matern32((1.0, 2.0), length_scale_bounds=((1.0, 2.0),) * 3), "one pair or 2 pairs"),
        (lambda: Matern32(variance_bounds="free"), 'pair (low, high) or "fixed"'),
        (lambda: SquaredExponential((1.0, 2.0))(np.zeros((3, 4))), "2 entries but X has 4 columns"),
        (lambda: as_kernel("rbf"), "expected a sturdygp kernel"),
        (lambda: SquaredExponential() + "noise", "expected a sturdygp kernel"),
    ],
)
def test_kernels_refuse_bad_parameters(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value)
