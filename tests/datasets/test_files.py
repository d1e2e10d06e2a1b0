"""The register of data files."""

from pathlib import Path

from references.data_files import REAL_DATA, real

from sturdygp.datasets import FILES


def test_files_have_what_their_users_must_know():
    for name, file in FILES.items():
        assert file.name == name
        assert len(file.sha256) == 64
        assert file.size > 0
        assert file.licence
        assert file.citation
        assert file.url is None or file.url.startswith("https://")
        assert (file.member is not None) == (file.url is not None and file.url.endswith(".zip"))


@real
def test_files_have_the_stated_checksums():
    for name, file in FILES.items():
        contents = (Path(REAL_DATA) / name).read_bytes()
        # A tool may have rewritten the line ends of this one.
        if name != "AirQualityUCI.csv" or len(contents) == file.size:
            assert file.checksum(contents) == file.sha256, name
