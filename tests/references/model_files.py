"""Saved models, and the changes that someone may make to them."""

import json
import zipfile
from pathlib import Path

import numpy as np

import sturdygp
from sturdygp.persistence.archive import CHECKSUM, checksum

FILES = Path(__file__).parents[1] / "files"


def readings(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (25, 2))
    y = np.stack([np.sin(X[:, 0]), np.cos(X[:, 1])], axis=1) + 0.05 * rng.standard_normal((25, 2))
    y[[3, 9, 15], 0] += 5.0
    y[4, 1] = np.nan
    return X, y


def loads(content, path):
    path.write_bytes(content)
    return sturdygp.load(path)


def members(content, path):
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(saved, path, change):
    """The file with its JSON document changed, by someone who makes its checksum anew."""
    parts = members(saved, path)
    document = json.loads(parts["model.json"])
    change(document)
    return sealed(document, parts, path)


def sealed(document, parts, path):
    """A file with this document and the arrays of another one, its checksum right."""
    arrays = [parts[name] for name in sorted(parts, key=lambda n: (len(n), n)) if name != "model.json"]
    if CHECKSUM in document:
        document[CHECKSUM] = checksum(document, arrays)
    return zipped({**parts, "model.json": json.dumps(document).encode()}, path)


def zipped(parts, path, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path.read_bytes()


def set_at(*keys, to):
    def change(document):
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = to

    return change


FIT = ("model", "outputs", 0, "fit")


BEST = (*FIT, "posterior", "best")


OUTLIERS = (*FIT, "outlier_model")
