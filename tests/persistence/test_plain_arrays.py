"""Arrays come back as they were, and headers are not believed."""

import numpy as np
import pytest

from sturdygp import ModelFileError
from sturdygp.persistence.archive import array_from_bytes, array_to_bytes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"(3,)", b"(9,)", "does not fit the size"),
        (b"<f8", b"|O1", "header that sturdygp does not write"),
        (b"<f8", b"<f1", "not allowed"),
        (b"False", b"exit ", "header that sturdygp does not write"),
        (b"\x01\x00", b"\x02\x00", "header that sturdygp does not write"),
    ],
)
def test_array_from_bytes_does_not_believe_headers(old, new, message):
    content = array_to_bytes(np.arange(3.0))
    with pytest.raises(ModelFileError, match=message):
        array_from_bytes(content.replace(old, new, 1))


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3)),
        np.zeros((4, 0)),
        np.array(2.0),
        np.asfortranarray(np.ones((3, 2))),
        np.array([True, False]),
    ],
    ids=str,
)
def test_array_from_bytes_gives_back_the_array_in_its_order(array):
    again = array_from_bytes(array_to_bytes(array))
    np.testing.assert_array_equal(again, array, strict=True)
    assert again.flags.f_contiguous == array.flags.f_contiguous
    assert again.flags.writeable


def test_array_to_bytes_writes_plain_arrays_alone():
    with pytest.raises(ValueError, match="type object cannot be saved"):
        array_to_bytes(np.array([{}]))
    boolean = bytearray(array_to_bytes(np.array([True])))
    boolean[-1] = 7
    with pytest.raises(ModelFileError, match="truth values"):
        array_from_bytes(bytes(boolean))
