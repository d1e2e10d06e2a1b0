"""Files of models that were damaged, changed or made by someone else are refused."""

import json
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.model_files import FILES, FIT, loads, members, readings, rewritten, set_at, zipped

import sturdygp
from sturdygp import ModelFileError
from sturdygp.persistence.archive import (
    CHECKSUM,
    LARGEST_DOCUMENT,
    MOST_MEMBERS,
    ArrayStore,
    array_to_bytes,
    write_archive,
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_load_of_damaged_bytes_is_refused_or_harmless(data, saved, fitted, tmp_path_factory):
    position = data.draw(st.integers(0, len(saved) - 1))
    damage = data.draw(st.sampled_from(["flip", "cut", "insert", "drop"]))
    changed = bytearray(saved)
    if damage == "flip":
        changed[position] ^= data.draw(st.integers(1, 255))
    elif damage == "cut":
        del changed[position:]
    elif damage == "insert":
        changed[position:position] = data.draw(st.binary(min_size=1, max_size=8))
    else:
        del changed[position : position + data.draw(st.integers(1, 8))]
    path = tmp_path_factory.getbasetemp() / "damaged.sgp"
    try:
        model = loads(bytes(changed), path)
    except ModelFileError:
        return
    X = readings(1)[0]
    np.testing.assert_array_equal(model.predict(X, return_std=True), fitted.predict(X, return_std=True))


def test_checksum_notices_every_number_that_is_edited(saved, tmp_path):
    """Whatever number of the document is changed, and whichever array, the checksum tells."""
    path = tmp_path / "model.sgp"
    parts = members(saved, path)

    def edits(node):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, dict | list):
                yield from edits(value)
            elif isinstance(value, int | float):
                node[key] = (not value) if isinstance(value, bool) else value + 1
                yield
                node[key] = value

    document, count = json.loads(parts["model.json"]), 0
    for _ in edits(document["model"]):
        count += 1
        with pytest.raises(ModelFileError, match="does not match its checksum"):
            loads(zipped({**parts, "model.json": json.dumps(document).encode()}, path), path)
    assert count > 30
    for name in parts.keys() - {"model.json"}:
        changed = parts[name][:-1] + bytes([parts[name][-1] ^ 1])
        # The last byte of an empty array is that of its header.
        with pytest.raises(ModelFileError, match=r"does not match its checksum|header that sturdygp"):
            loads(zipped({**parts, name: changed}, path), path)


def test_checksum_is_missed_where_it_should_be(saved, tmp_path):
    path = tmp_path / "model.sgp"
    with pytest.raises(ModelFileError, match="has no checksum: it was changed"):
        loads(rewritten(saved, path, lambda document: document.pop(CHECKSUM)), path)
    # The layout of the document is no part of the content.
    assert loads(rewritten(saved, path, lambda document: None), path)


def test_load_checks_the_numbers_of_the_first_format_without_a_checksum(tmp_path):
    path, content = tmp_path / "model.sgp", (FILES / "model-v1.sgp").read_bytes()
    assert CHECKSUM not in json.loads(members(content, path)["model.json"])
    with pytest.raises(ModelFileError, match="noise_variance should be a finite number above 0"):
        loads(rewritten(content, path, set_at(*FIT, "noise_variance", to=-1.0)), path)


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
def test_load_refuses_numbers_that_json_does_not_have(number, saved, tmp_path):
    path = tmp_path / "model.sgp"
    parts = members(saved, path)
    parts["model.json"] = parts["model.json"].replace(b'"n_iter": ', f'"n_iter": {number}, "x": '.encode())
    with pytest.raises(ModelFileError, match=f"not JSON .it has the number {number}"):
        loads(zipped(parts, path), path)


@pytest.mark.parametrize(
    "name", ["../evil.npy", "/etc/evil.npy", "arrays/../../evil.npy", "arrays/0.npy\n", "x"]
)
def test_load_refuses_members_of_other_names_and_writes_nothing(name, saved, tmp_path):
    path = tmp_path / "in" / "model.sgp"
    path.parent.mkdir()
    content = zipped({**members(saved, path), name: b"evil"}, path)
    with pytest.raises(ModelFileError, match="that sturdygp does not write"):
        loads(content, path)
    assert [each.name for each in tmp_path.rglob("*")] == ["in", "model.sgp"]


def test_load_refuses_bombs_before_they_are_read(saved, tmp_path):
    path = tmp_path / "model.sgp"
    zeros = array_to_bytes(np.zeros(1_000_000))
    bomb = zipped({**members(saved, path), "arrays/0.npy": zeros}, path, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="is compressed"):
        loads(bomb, path)
    with pytest.raises(ModelFileError, match=f"more than the {MOST_MEMBERS} allowed"):
        loads(zipped({f"arrays/{i}.npy": b"" for i in range(MOST_MEMBERS + 1)}, path), path)
    with pytest.raises(ModelFileError, match="missing or doubled"):
        loads(zipped({"model.json": b"{}", "arrays/7.npy": zeros}, path), path)
    with pytest.raises(ModelFileError, match="document is larger"):
        loads(zipped({"model.json": b" " * (LARGEST_DOCUMENT + 1)}, path), path)


def test_load_refuses_members_that_share_their_bytes(tmp_path):
    path = tmp_path / "model.sgp"
    content = bytearray(zipped({"model.json": b" " * 1000, "arrays/0.npy": b" " * 1000}, path))
    second = content.rindex(b"PK\x01\x02")
    # The second entry of the directory points at the data of the first, twice as long as the file.
    content[second + 20 : second + 28] = struct.pack("<II", 4000, 4000)
    with pytest.raises(ModelFileError, match="larger than the file"):
        loads(bytes(content), path)


def test_load_refuses_foreign_files(tmp_path):
    path = tmp_path / "model.sgp"
    for content in (b"", b"hello", b"PK\x05\x06", b"\x80\x04K\x01."):
        with pytest.raises(ModelFileError, match=r"model\.sgp is not a model that can be loaded"):
            loads(content, path)
    with pytest.raises(ModelFileError, match="missing or doubled"):
        loads(zipped({}, path), path)
    write_archive(path, {"other": 1}, ArrayStore())
    with pytest.raises(ModelFileError, match="not a model of sturdygp"):
        sturdygp.load(path)
    with pytest.raises(FileNotFoundError):
        sturdygp.load(tmp_path / "none.sgp")
