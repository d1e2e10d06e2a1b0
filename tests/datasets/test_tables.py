"""Readers of the real data sets."""

import json
from pathlib import Path

import numpy as np
import pytest
from references.data_files import REAL_DATA, real, zipped

from sturdygp.datasets import (
    DataFileError,
    load_air_quality,
    load_energy,
    load_motorcycle,
    load_nab,
    load_neal,
    load_well_log,
    load_yacht,
    neal_function,
)
from sturdygp.datasets.tables import NAB_WINDOWS


@pytest.fixture
def offline(monkeypatch):
    def refuse(url, *_):
        raise DataFileError(f"a test asks for {url}")

    monkeypatch.setattr("sturdygp.datasets.fetch.receive", refuse)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("STURDYGP_DATA", str(tmp_path))
    return tmp_path


AIR = """\
Date;Time;CO(GT);PT08.S1(CO);NMHC(GT);C6H6(GT);PT08.S2(NMHC);NOx(GT);PT08.S3(NOx);NO2(GT);PT08.S4(NO2);\
PT08.S5(O3);T;RH;AH;;
10/03/2004;18.00.00;2,6;1360;150;11,9;1046;166;1056;113;1692;1268;13,6;48,9;0,7578;;
10/03/2004;19.00.00;2;1292;112;9,4;955;103;1174;92;1559;-200;13,3;47,7;0,7255;;
11/03/2004;04.00.00;-200;1011;14;1,3;527;21;1818;34;1197;445;10,1;60,5;0,7465;;
11/03/2004;07.00.00;1,1;1144;29;3,2;667;98;1490;82;1339;730;10,2;59,6;0,7417;;
;;;;;;;;;;;;;;;;
;;;;;;;;;;;;;;;;
"""


@pytest.mark.parametrize("line_end", ["\r\n", "\n"])
def test_load_air_quality_keeps_complete_rows(folder, line_end):
    (folder / "AirQualityUCI.csv").write_bytes(AIR.replace("\n", line_end).encode())
    table = load_air_quality()
    np.testing.assert_array_equal(
        table.X,
        [
            [18, 2.6, 1360, 150, 11.9, 1046, 166, 1056, 113, 1692, 1268],
            [7, 1.1, 1144, 29, 3.2, 667, 98, 1490, 82, 1339, 730],
        ],
    )
    np.testing.assert_array_equal(table.y, [[13.6, 48.9, 0.7578], [10.2, 59.6, 0.7417]])
    assert table.feature_names[0] == "hour"
    assert table.feature_names[-1] == "PT08.S5(O3)"
    assert table.target_names == ("T", "RH", "AH")
    assert "Creative Commons" in table.source.licence
    assert "De Vito" in table.source.citation


def write_sheet(path, rows):
    def cell(value):
        if value is None:
            return '<c s="1"/>'
        return f'<c t="s"><v>{value[1:]}</v></c>' if isinstance(value, str) else f"<c><v>{value}</v></c>"

    body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<?xml version="1.0"?><worksheet xmlns="{space}"><sheetData>{body}</sheetData></worksheet>'
    path.write_bytes(zipped(**{"xl/worksheets/sheet1.xml": sheet.encode()}))


def test_load_energy_leaves_out_header_and_empty_rows(folder):
    first, second = [0.98, 514.5, 294, 110.25, 7, 2, 0, 0, 15.55, 21.33], [0.5] * 10
    header = [f"#{i}" for i in range(10)]
    write_sheet(folder / "ENB2012_data.xlsx", [header, first, second, [None] * 10])
    table = load_energy()
    np.testing.assert_array_equal(np.column_stack([table.X, table.y]), [first, second])
    assert table.X.shape == (2, 8)
    assert table.target_names == ("heating load", "cooling load")


def test_load_energy_reads_what_a_spreadsheet_library_writes(folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [[f"X{i}" for i in range(10)], [0.98, 514.5, 294, 110.25, 7, 2, 0, 0, 15.55, 21.33]]
    for row in rows:
        book.active.append(row)
    book.save(folder / "ENB2012_data.xlsx")
    np.testing.assert_array_equal(np.append(load_energy().X, load_energy().y), rows[1])


def test_load_yacht_reads_uneven_blanks(folder):
    (folder / "yacht_hydrodynamics.data").write_text(
        "-2.3 0.568 4.78 3.99 3.17 0.125 0.11 \n0.0  0.565 4.77 3.99 3.15 0.125 12.40\n\n"
    )
    table = load_yacht()
    np.testing.assert_array_equal(table.X[1], [0.0, 0.565, 4.77, 3.99, 3.15, 0.125])
    np.testing.assert_array_equal(table.y, [0.11, 12.4])


def test_load_neal_reads_two_files(folder):
    (folder / "neal_odata.txt").write_text(" +1.17211   +1.26807\n -2.15495   -0.21665\n")
    (folder / "neal_odata_200.txt").write_text(" -0.17308   +1.10456\n")
    np.testing.assert_array_equal(load_neal().X, [[1.17211], [-2.15495]])
    np.testing.assert_array_equal(load_neal().y, [1.26807, -0.21665])
    np.testing.assert_array_equal(load_neal(rows=200).y, [1.10456])
    with pytest.raises(ValueError, match="rows must be 200 or 1100, got 100"):
        load_neal(rows=100)


def test_load_motorcycle_reads_its_file(folder):
    (folder / "motorcycle.csv").write_text('"times","accel"\n2.4,0\n2.6,-1.3\n')
    table = load_motorcycle()
    np.testing.assert_array_equal(table.X, [[2.4], [2.6]])
    np.testing.assert_array_equal(table.y, [0.0, -1.3])


def test_load_well_log_is_indexed(folder):
    (folder / "well_log.txt").write_text("1.3353060e+05\n1.3711910e+05\n")
    table = load_well_log()
    np.testing.assert_array_equal(table.X, [[0.0], [1.0]])
    np.testing.assert_array_equal(table.y, [133530.6, 137119.1])


def test_load_nab_marks_windows_with_both_ends(folder):
    (folder / "nab_ambient_temperature_system_failure.csv").write_text(
        "timestamp,value\n2013-12-15 06:00:00,69.5\n2013-12-15 07:00:00,70\n2013-12-15 07:30:00,70.25\n"
        "2013-12-30 09:00:00,1\n2013-12-30 10:00:00,2\n"
    )
    series = load_nab("ambient_temperature_system_failure")
    np.testing.assert_array_equal(series.X[:, 0], [0.0, 1.0, 1.5, 363.0, 364.0])
    np.testing.assert_array_equal(series.y, [69.5, 70.0, 70.25, 1.0, 2.0])
    np.testing.assert_array_equal(series.in_window, [False, True, True, True, False])
    assert series.timestamps[0] == np.datetime64("2013-12-15T06:00:00")
    assert series.source.licence.startswith("MIT")
    with pytest.raises(ValueError, match="no series is called 'nyc_taxi'"):
        load_nab("nyc_taxi")


@pytest.mark.parametrize(
    ("name", "contents", "load"),
    [
        ("AirQualityUCI.csv", b"Date;Time\n10/03/2004;18.00.00;1,5;;\n", load_air_quality),
        ("AirQualityUCI.csv", b"", load_air_quality),
        ("ENB2012_data.xlsx", b"PK", load_energy),
        ("ENB2012_data.xlsx", zipped(book=b""), load_energy),
        ("yacht_hydrodynamics.data", b"1 2 3\n", load_yacht),
        ("neal_odata.txt", b"<html>\n", load_neal),
        ("motorcycle.csv", b"times,accel\n1,two\n", load_motorcycle),
        ("motorcycle.csv", b"\xff\xfe\x00", load_motorcycle),
        (
            "nab_machine_temperature_system_failure.csv",
            b"timestamp,value\nyesterday,1\n",
            lambda: load_nab("machine_temperature_system_failure"),
        ),
    ],
)
def test_load_names_a_file_of_another_format(folder, name, contents, load):
    (folder / name).write_bytes(contents)
    with pytest.raises(DataFileError, match=f"{name} does not have the format") as caught:
        load()
    assert str(folder) in str(caught.value)


@real
@pytest.mark.parametrize(
    ("load", "shape", "mean"),
    [
        (load_air_quality, (827, 11), [15.60, 49.05, 0.8319]),
        (load_energy, (768, 8), [22.3072, 24.5878]),
        (load_yacht, (308, 6), 10.4954),
        (load_neal, (1100, 1), 1.0420),
        (lambda: load_neal(200), (200, 1), 1.0436),
        (load_motorcycle, (133, 1), -25.5459),
        (load_well_log, (4050, 1), 116257.52),
        (lambda: load_nab("ambient_temperature_system_failure"), (7267, 1), 71.2424),
        (lambda: load_nab("machine_temperature_system_failure"), (22695, 1), 85.9265),
    ],
)
def test_load_reads_real_files_whole(offline, load, shape, mean):
    table = load()
    assert table.X.shape == shape
    assert table.X.shape[1] == len(table.feature_names)
    assert len(table.y) == len(table.X)
    assert np.isfinite(table.X).all()
    np.testing.assert_allclose(table.y.mean(axis=0), mean, rtol=1e-3)


@real
def test_load_neal_is_near_its_function(offline):
    table = load_neal()
    residual = np.abs(table.y - neal_function(table.X[:, 0]))
    assert (residual > 0.3).sum() == 43
    assert (residual[:100] > 0.3).sum() == 3


@real
def test_load_nab_windows_are_those_of_the_benchmark(offline):
    counts = {name: load_nab(name).in_window.sum() for name in NAB_WINDOWS}
    assert counts == {
        "ambient_temperature_system_failure": 726,
        "machine_temperature_system_failure": 2268,
    }
    labels = Path(REAL_DATA) / "nab_labels.json"
    if labels.is_file():
        for file, label in json.loads(labels.read_text()).items():
            windows = NAB_WINDOWS[file.removeprefix("nab_").removesuffix(".csv")]
            assert [list(window) for window in windows] == label["anomaly_windows"]
