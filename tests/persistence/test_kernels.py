"""Kernels come back as they were."""

import json

import numpy as np
import pytest
from references.model_files import BEST, loads, readings, rewritten, set_at, zipped
from sklearn.gaussian_process import kernels as sk

from sturdygp import ModelFileError
from sturdygp.kernels import (
    Constant,
    Linear,
    Matern12,
    Matern32,
    Periodic,
    RationalQuadratic,
    SquaredExponential,
)
from sturdygp.persistence.kernels import decode_any_kernel, encode_kernel
from sturdygp.persistence.record import Record

KERNELS = [
    SquaredExponential(
        (1.0, 2.5), 3.0, length_scale_bounds=((0.1, 10.0), (0.2, 20.0)), variance_bounds="fixed"
    ),
    Matern12(0.1) * Matern32(0.3, length_scale_bounds=(0.1, np.inf)) + Linear((1.0, 2.0)),
    Constant(2.0, variance_bounds=[1, 10]) * (RationalQuadratic(alpha=0.7) + Periodic(1.0, 0.5)),
    sk.Matern([1.0, 2.0], [(0.1, 10.0), (0.2, 20.0)], nu=np.inf),
    sk.RationalQuadratic(1.5) + sk.ExpSineSquared() * sk.WhiteKernel(0.3, "fixed"),
    sk.Exponentiation(sk.DotProduct(0.3), 2) + sk.ConstantKernel(3.0),
    3.5,
]


@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=repr)
def test_decode_any_kernel_gives_back_the_kernel(kernel):
    written = json.loads(json.dumps(encode_kernel(kernel), allow_nan=False))
    again = decode_any_kernel(Record("kernel", written, []))
    X = readings()[0]
    assert repr(again) == repr(kernel)
    np.testing.assert_array_equal(again(X), kernel(X))
    np.testing.assert_array_equal(again.theta, kernel.theta)
    np.testing.assert_array_equal(again.bounds, kernel.bounds)


def test_load_refuses_a_kernel_nested_without_end(saved, tmp_path):
    kernel = {"class": "Constant", "variance": 1.0, "variance_bounds": "fixed"}
    for _ in range(200):
        kernel = {"class": "Sum", "parts": [kernel]}
    path = tmp_path / "model.sgp"
    with pytest.raises(ModelFileError, match="nested more than 60 deep"):
        loads(rewritten(saved, path, set_at(*BEST, "kernel", to=kernel)), path)
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(ModelFileError, match="not JSON"):
        loads(zipped({"model.json": deep}, path), path)
