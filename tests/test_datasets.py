"""Data sets and contaminations: downloads against a local server, readers, and contaminated entries."""

import hashlib
import io
import json
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from sturdygp.datasets import (
    FILES,
    AddedOutliers,
    DataFile,
    DataFileError,
    ErrorBurst,
    FocusedOutliers,
    NormalOutliers,
    OneSidedShifts,
    ReplacingOutliers,
    StuckSensor,
    SymmetricShifts,
    UniformOutliers,
    add_outliers,
    find_file,
    load_air_quality,
    load_energy,
    load_motorcycle,
    load_nab,
    load_neal,
    load_well_log,
    load_yacht,
    make_gp_sample,
    make_synthetic,
    neal_function,
)
from sturdygp.datasets.fetch import cache_folder, platform_cache
from sturdygp.datasets.tables import NAB_WINDOWS

REAL_DATA = os.environ.get("STURDYGP_DATA")
real = pytest.mark.skipif(not REAL_DATA, reason="STURDYGP_DATA names no folder with the data files")


# --- finding and downloading files ----------------------------------------------------------------

CONTENTS = b"times,accel\n" + b"".join(b"%d.5,-%d\n" % (i, i) for i in range(20_000))


class Server:
    """Answers on loopback with what a test puts into ``answers``: status, body and stated length."""

    def __init__(self):
        self.answers = {}
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                status, body, length = outer.answers.get(self.path, (404, b"", 0))
                self.send_response(status)
                if length is not None:
                    self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def serve(self, path, body, *, status=200, length=-1):
        self.answers[path] = (status, body, len(body) if length == -1 else length)
        return f"http://127.0.0.1:{self.http.server_port}{path}"

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("STURDYGP_DATA", raising=False)
    monkeypatch.setenv("STURDYGP_CACHE", str(tmp_path / "cache" / "sturdygp"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache" / "sturdygp"


@pytest.fixture
def register(monkeypatch):
    def enter(url, contents=CONTENTS, name="motorcycle.csv", **fields):
        checksum = hashlib.sha256(contents).hexdigest()
        file = DataFile(name, len(contents), checksum, "free", "nobody", url=url, **fields)
        monkeypatch.setitem(FILES, name, file)

    return enter


def zipped(**members):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, contents in members.items():
            opened.writestr(name, contents)
    return archive.getvalue()


def left_in(folder):
    return sorted(path.name for path in folder.rglob("*")) if folder.exists() else []


def test_a_file_is_downloaded_once_and_then_found_in_the_cache(server, cache, register):
    register(server.serve("/file", CONTENTS))
    path = find_file("motorcycle.csv")
    assert path == cache / "motorcycle.csv"
    assert path.read_bytes() == CONTENTS
    assert find_file("motorcycle.csv") == path
    assert server.requests == ["/file"]
    assert left_in(cache) == ["motorcycle.csv"]
    assert len(load_motorcycle().y) == 20_000


def test_a_member_of_an_archive_is_checked_and_stored_alone(server, cache, register):
    archive = zipped(other=b"not this", wanted=CONTENTS)
    register(server.serve("/file.zip", archive), member="wanted")
    assert find_file("motorcycle.csv").read_bytes() == CONTENTS
    assert left_in(cache) == ["motorcycle.csv"]


def test_progress_counts_up_to_the_length(server, cache, register):
    seen = []
    register(server.serve("/file", CONTENTS))
    find_file("motorcycle.csv", progress=lambda *received: seen.append(received))
    received, totals = zip(*seen, strict=True)
    assert list(received) == sorted(set(received))
    assert received[-1] == len(CONTENTS)
    assert set(totals) == {len(CONTENTS)}


def test_progress_is_told_if_the_length_is_unknown(server, cache, register):
    seen = []
    register(server.serve("/file", CONTENTS, length=None))
    find_file("motorcycle.csv", progress=lambda *received: seen.append(received))
    assert seen[-1] == (len(CONTENTS), None)


FAILURES = {
    "cut short": (
        lambda server: server.serve("/f", CONTENTS[:100], length=len(CONTENTS)),
        {},
        "100 (of|bytes)",
    ),
    "cut short, length unknown": (
        lambda server: server.serve("/f", CONTENTS[:100], length=None),
        {},
        "100 bytes with sha256",
    ),
    "wrong bytes": (lambda server: server.serve("/f", CONTENTS[::-1]), {}, "with sha256"),
    "missing": (lambda server: server.serve("/f", b"gone", status=404), {}, "404 Not Found"),
    "server fault": (lambda server: server.serve("/f", b"", status=503), {}, "503"),
    "no archive": (lambda server: server.serve("/f", CONTENTS), {"member": "wanted"}, "zip archive"),
    "cut archive": (
        lambda server: server.serve("/f", zipped(wanted=CONTENTS)[:500]),
        {"member": "wanted"},
        "zip archive",
    ),
    "no such member": (
        lambda server: server.serve("/f", zipped(other=CONTENTS)),
        {"member": "wanted"},
        "no file wanted",
    ),
    "wrong member": (
        lambda server: server.serve("/f", zipped(wanted=CONTENTS[:-1])),
        {"member": "wanted"},
        "with sha256",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_download_says_what_happened_and_leaves_nothing(server, cache, register, failure):
    serve, fields, what = FAILURES[failure]
    url = serve(server)
    register(url, **fields)
    with pytest.raises(DataFileError, match=what) as caught:
        find_file("motorcycle.csv")
    for part in (url, str(cache), "STURDYGP_DATA", "motorcycle.csv"):
        assert part in str(caught.value)
    assert left_in(cache) == []


def test_a_failure_can_be_followed_by_success(server, cache, register):
    url = server.serve("/file", CONTENTS[:-1])
    register(url)
    with pytest.raises(DataFileError):
        find_file("motorcycle.csv")
    server.serve("/file", CONTENTS)
    assert find_file("motorcycle.csv").read_bytes() == CONTENTS


def test_an_unreachable_server(cache, register):
    server = Server()
    url = server.serve("/file", CONTENTS)
    server.close()
    register(url)
    with pytest.raises(DataFileError, match="refused") as caught:
        find_file("motorcycle.csv", timeout=5.0)
    assert url in str(caught.value)
    assert left_in(cache) == []


def test_a_server_that_does_not_answer_in_time(cache, register, monkeypatch):
    silent = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)  # listens, but nobody accepts
    with silent:
        register(f"http://127.0.0.1:{silent.server_port}/file")
        with pytest.raises(DataFileError, match="timed out"):
            find_file("motorcycle.csv", timeout=0.1)


def test_a_cache_that_cannot_be_written(server, cache, register):
    cache.parent.mkdir()
    cache.write_text("a file where the folder should be")
    register(server.serve("/file", CONTENTS))
    with pytest.raises(DataFileError, match="could not be downloaded"):
        find_file("motorcycle.csv")


def test_a_broken_callback_is_the_callers_error_and_leaves_nothing(server, cache, register):
    register(server.serve("/file", CONTENTS))
    with pytest.raises(ZeroDivisionError):
        find_file("motorcycle.csv", progress=lambda *_: 1 // 0)
    assert left_in(cache) == []


def test_a_file_without_an_address_says_where_to_put_it(cache):
    with pytest.raises(DataFileError, match=r"Put neal_odata_200\.txt into") as caught:
        load_neal(rows=200)
    assert str(cache) in str(caught.value)


def test_spacing_may_be_left_out_of_the_checksum(server, cache, register):
    register(server.serve("/file", b"1  2\r\n3 4 \r\n\r\n"), contents=b"1 2 3 4", any_spacing=True)
    assert find_file("motorcycle.csv").read_bytes() == b"1  2\r\n3 4 \r\n\r\n"


def test_the_users_folder_comes_first_and_is_trusted(server, cache, register, tmp_path, monkeypatch):
    register(server.serve("/file", CONTENTS))
    find_file("motorcycle.csv")
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("STURDYGP_DATA", str(own))
    assert find_file("motorcycle.csv").parent == cache
    (own / "motorcycle.csv").write_bytes(b"mine")
    assert find_file("motorcycle.csv") == own / "motorcycle.csv"
    assert server.requests == ["/file"]


def test_a_users_folder_that_does_not_exist(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("STURDYGP_DATA", str(tmp_path / "mistyped"))
    with pytest.raises(DataFileError, match="mistyped"):
        find_file("motorcycle.csv")


def test_an_unknown_name(cache):
    with pytest.raises(ValueError, match=r"no data file is called 'motor'.*motorcycle\.csv"):
        find_file("motor")


def test_the_cache_is_where_the_platform_has_it(monkeypatch):
    for variable in ("STURDYGP_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    home = Path("home")
    assert platform_cache("linux", home) == home / ".cache"
    assert platform_cache("darwin", home) == home / "Library" / "Caches"
    assert platform_cache("win32", home) == home / "AppData" / "Local"
    monkeypatch.setenv("XDG_CACHE_HOME", "xdg")
    monkeypatch.setenv("LOCALAPPDATA", "local")
    assert platform_cache("linux", home) == Path("xdg")
    assert platform_cache("darwin", home) == home / "Library" / "Caches"
    assert platform_cache("win32", home) == Path("local")
    assert cache_folder().name == "sturdygp"


def test_every_file_has_what_its_user_must_know():
    for name, file in FILES.items():
        assert file.name == name
        assert len(file.sha256) == 64
        assert file.size > 0
        assert file.licence
        assert file.citation
        assert file.url is None or file.url.startswith("https://")
        assert (file.member is not None) == (file.url is not None and file.url.endswith(".zip"))


# --- readers --------------------------------------------------------------------------------------


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
def test_air_quality_keeps_complete_rows(folder, line_end):
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


def test_energy_leaves_out_header_and_empty_rows(folder):
    first, second = [0.98, 514.5, 294, 110.25, 7, 2, 0, 0, 15.55, 21.33], [0.5] * 10
    header = [f"#{i}" for i in range(10)]
    write_sheet(folder / "ENB2012_data.xlsx", [header, first, second, [None] * 10])
    table = load_energy()
    np.testing.assert_array_equal(np.column_stack([table.X, table.y]), [first, second])
    assert table.X.shape == (2, 8)
    assert table.target_names == ("heating load", "cooling load")


def test_energy_written_by_a_spreadsheet_library(folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [[f"X{i}" for i in range(10)], [0.98, 514.5, 294, 110.25, 7, 2, 0, 0, 15.55, 21.33]]
    for row in rows:
        book.active.append(row)
    book.save(folder / "ENB2012_data.xlsx")
    np.testing.assert_array_equal(np.append(load_energy().X, load_energy().y), rows[1])


def test_yacht_and_its_uneven_blanks(folder):
    (folder / "yacht_hydrodynamics.data").write_text(
        "-2.3 0.568 4.78 3.99 3.17 0.125 0.11 \n0.0  0.565 4.77 3.99 3.15 0.125 12.40\n\n"
    )
    table = load_yacht()
    np.testing.assert_array_equal(table.X[1], [0.0, 0.565, 4.77, 3.99, 3.15, 0.125])
    np.testing.assert_array_equal(table.y, [0.11, 12.4])


def test_neal_has_two_files(folder):
    (folder / "neal_odata.txt").write_text(" +1.17211   +1.26807\n -2.15495   -0.21665\n")
    (folder / "neal_odata_200.txt").write_text(" -0.17308   +1.10456\n")
    np.testing.assert_array_equal(load_neal().X, [[1.17211], [-2.15495]])
    np.testing.assert_array_equal(load_neal().y, [1.26807, -0.21665])
    np.testing.assert_array_equal(load_neal(rows=200).y, [1.10456])
    with pytest.raises(ValueError, match="rows must be 200 or 1100, got 100"):
        load_neal(rows=100)


def test_motorcycle(folder):
    (folder / "motorcycle.csv").write_text('"times","accel"\n2.4,0\n2.6,-1.3\n')
    table = load_motorcycle()
    np.testing.assert_array_equal(table.X, [[2.4], [2.6]])
    np.testing.assert_array_equal(table.y, [0.0, -1.3])


def test_well_log_is_indexed(folder):
    (folder / "well_log.txt").write_text("1.3353060e+05\n1.3711910e+05\n")
    table = load_well_log()
    np.testing.assert_array_equal(table.X, [[0.0], [1.0]])
    np.testing.assert_array_equal(table.y, [133530.6, 137119.1])


def test_nab_marks_windows_with_both_ends(folder):
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
def test_a_file_of_another_format_is_named(folder, name, contents, load):
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
def test_real_files_are_read_whole(offline, load, shape, mean):
    table = load()
    assert table.X.shape == shape
    assert table.X.shape[1] == len(table.feature_names)
    assert len(table.y) == len(table.X)
    assert np.isfinite(table.X).all()
    np.testing.assert_allclose(table.y.mean(axis=0), mean, rtol=1e-3)


@real
def test_real_neal_is_near_its_function(offline):
    table = load_neal()
    residual = np.abs(table.y - neal_function(table.X[:, 0]))
    assert (residual > 0.3).sum() == 43
    assert (residual[:100] > 0.3).sum() == 3


@real
def test_real_windows_are_those_of_the_benchmark(offline):
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


@real
def test_real_files_have_the_stated_checksums():
    for name, file in FILES.items():
        contents = (Path(REAL_DATA) / name).read_bytes()
        # A tool may have rewritten the line ends of this one.
        if name != "AirQualityUCI.csv" or len(contents) == file.size:
            assert file.checksum(contents) == file.sha256, name


# --- contamination --------------------------------------------------------------------------------

N = 200
DISTRIBUTIONS = [UniformOutliers(5.0, 10.0), NormalOutliers(20.0, 4.0)]
EXACT = [SymmetricShifts, OneSidedShifts, FocusedOutliers, StuckSensor, ErrorBurst]
EVERY = {
    **{
        f"{kind.__name__} {type(outliers).__name__}": lambda rate, kind=kind, outliers=outliers: kind(
            outliers, rate
        )
        for kind in (AddedOutliers, ReplacingOutliers)
        for outliers in DISTRIBUTIONS
    },
    **{kind.__name__: kind for kind in EXACT},
}
every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def clean(*outputs, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-3.0, 3.0, (N, 2)), rng.standard_normal((N, *outputs))


def spoil(contamination, X, y, seed=1):
    return contamination.contaminate(X, y, np.random.default_rng(seed))


@every
@pytest.mark.parametrize("outputs", [(), (1,), (3,)])
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_observations_differ_exactly_where_the_mask_is_true(make, outputs, rate):
    X, y = clean(*outputs)
    before = X.copy(), y.copy()
    spoilt = spoil(make(rate), X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    assert spoilt.y.shape == spoilt.mask.shape == y.shape
    assert spoilt.mask.dtype == bool
    np.testing.assert_array_equal(spoilt.y != y, spoilt.mask)


@every
def test_inputs_move_only_with_focused_points(make):
    X, y = clean(3)
    spoilt = spoil(make(0.3), X, y)
    moved = (spoilt.X != X).any(axis=1)
    expected = spoilt.mask[:, 0] if isinstance(make(0.3), FocusedOutliers) else np.zeros(N, dtype=bool)
    np.testing.assert_array_equal(moved, expected)


@every
def test_a_seed_gives_the_same_again(make):
    X, y = clean(2)
    first, again, other = (spoil(make(0.3), X, y, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    np.testing.assert_array_equal(first.mask, again.mask)
    assert not np.array_equal(first.y, other.y)


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize(("rate", "count"), [(0.1, 20), (0.145, 29), (0.299, 59), (0.003, 0), (1.0, N)])
def test_the_share_is_exact_in_each_output(kind, rate, count):
    X, y = clean(3)
    expected = min(count, N - 1) if kind is StuckSensor else count
    np.testing.assert_array_equal(spoil(kind(rate), X, y).mask.sum(axis=0), expected)


@pytest.mark.parametrize("kind", [AddedOutliers, ReplacingOutliers])
def test_the_rate_is_a_probability_for_each_observation(kind):
    X, y = clean(50)
    mask = spoil(kind(UniformOutliers(5.0, 10.0), 0.3), X, y).mask
    assert abs(mask.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / mask.size)


@pytest.mark.parametrize(
    "make", [make for name, make in EVERY.items() if name not in {"StuckSensor", "ErrorBurst"}]
)
def test_a_higher_rate_adds_to_the_same_outliers(make):
    X, y = clean(2)
    few, many = spoil(make(0.2), X, y), spoil(make(0.5), X, y)
    assert (many.mask | ~few.mask).all()
    np.testing.assert_array_equal(few.y[few.mask], many.y[few.mask])


@pytest.mark.parametrize("outliers", DISTRIBUTIONS)
def test_added_outliers_are_those_of_the_function(outliers):
    X, y = clean(2)
    spoilt = spoil(AddedOutliers(outliers, 0.3), X, y)
    expected, mask = add_outliers(y, outliers, rate=0.3, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(spoilt.y, expected)
    np.testing.assert_array_equal(spoilt.mask, mask)


def test_replacing_outliers_forget_the_observation():
    X, y = clean()
    replaced = spoil(ReplacingOutliers(UniformOutliers(5.0, 10.0), 0.3), X, y)
    elsewhere = spoil(ReplacingOutliers(UniformOutliers(5.0, 10.0), 0.3), X, y + 100.0)
    np.testing.assert_array_equal(replaced.y[replaced.mask], elsewhere.y[replaced.mask])
    assert ((replaced.y[replaced.mask] >= 5.0) & (replaced.y[replaced.mask] <= 10.0)).all()
    added = spoil(AddedOutliers(UniformOutliers(5.0, 10.0), 0.3), X, y)
    np.testing.assert_array_equal(added.mask, replaced.mask)
    np.testing.assert_allclose((added.y - y)[added.mask], replaced.y[added.mask])


@pytest.mark.parametrize("outliers", DISTRIBUTIONS)
def test_distributions_state_their_moments(outliers):
    draws = outliers.draw(np.random.default_rng(0), (20_000,))
    assert abs(draws.mean() - outliers.mean) < 0.05
    assert abs(draws.var() / outliers.variance - 1.0) < 0.05


def sizes_in_deviations(spoilt, y):
    return ((spoilt.y - y) / y.std(axis=0))[spoilt.mask]


@pytest.mark.parametrize("kind", [SymmetricShifts, OneSidedShifts, ErrorBurst])
def test_shifts_are_three_to_nine_deviations_of_each_output(kind):
    X, y = clean(3)
    sizes = np.abs(sizes_in_deviations(spoil(kind(0.5), X, y * [0.01, 1.0, 100.0]), y * [0.01, 1.0, 100.0]))
    assert sizes.min() >= 3.0 - 1e-9
    assert sizes.max() <= 9.0 + 1e-9
    assert abs(sizes.mean() - 6.0) < 0.5


@pytest.mark.parametrize("kind", [SymmetricShifts, ErrorBurst])
def test_symmetric_shifts_go_both_ways(kind):
    X, y = clean()
    sizes = sizes_in_deviations(spoil(kind(0.5), X, y), y)
    assert 0.3 < (sizes > 0).mean() < 0.7


def test_one_sided_shifts_go_one_way_that_varies():
    X, y = clean()
    sides = set()
    for seed in range(20):
        sign = np.sign(sizes_in_deviations(spoil(OneSidedShifts(0.2), X, y, seed), y))
        assert (sign == sign[0]).all()
        sides.add(sign[0])
    assert sides == {-1.0, 1.0}


def test_focused_outliers_lie_in_their_box():
    X, y = clean()
    spoilt = spoil(FocusedOutliers(0.2), X, y)
    middle = [np.argsort(X[:, j], kind="stable")[N // 2] for j in range(2)]
    level = np.median(y[middle]) - 3.0 * y.std()
    for j in range(2):
        half_side = 0.5 * 0.1 * 2 * np.median(np.abs(X[:, j] - np.median(X[:, j])))
        distance = np.abs(spoilt.X[spoilt.mask, j] - X[middle[j], j])
        assert distance.max() <= half_side + 1e-12
        assert distance.max() > 0.8 * half_side
    depth = level - spoilt.y[spoilt.mask]
    deviation = 0.1 * np.median(np.abs(y - np.median(y)))
    assert depth.min() >= -1e-12
    assert 0.8 * deviation < depth.max() <= deviation + 1e-12


def test_focused_outliers_move_whole_points():
    X, y = clean(3)
    mask = spoil(FocusedOutliers(0.2), X, y).mask
    assert (mask == mask[:, :1]).all()


@pytest.mark.parametrize("kind", [StuckSensor, ErrorBurst])
@pytest.mark.parametrize("seed", range(10))
def test_runs_are_consecutive_and_lie_anywhere(kind, seed):
    X, y = clean(2)
    mask = spoil(kind(0.15), X, y, seed).mask
    for column in mask.T:
        assert np.ptp(np.flatnonzero(column)) == 29


def test_runs_reach_both_ends():
    X, y = clean()
    starts = {int(spoil(ErrorBurst(0.98), X, y, seed).mask.argmax()) for seed in range(60)}
    assert starts == {0, 1, 2, 3, 4}
    starts = {int(spoil(StuckSensor(0.98), X, y, seed).mask.argmax()) for seed in range(60)}
    assert starts == {1, 2, 3, 4}


def test_a_stuck_sensor_repeats_the_last_good_observation():
    X, y = clean(2)
    spoilt = spoil(StuckSensor(0.2), X, y)
    for before, after, mask in zip(y.T, spoilt.y.T, spoilt.mask.T, strict=True):
        assert (after[mask] == before[mask.argmax() - 1]).all()


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
@every
def test_a_rate_that_is_no_probability_is_refused(make, rate):
    with pytest.raises(ValueError, match="rate must be a probability, got"):
        make(rate)


@every
def test_data_that_cannot_be_contaminated_are_refused(make):
    X, y = clean()
    with pytest.raises(ValueError, match=r"got \(200, 2\) and \(199,\)"):
        spoil(make(0.1), X, y[1:])
    with pytest.raises(ValueError, match=r"X must have shape"):
        spoil(make(0.1), X[:, 0], y)
    with pytest.raises(ValueError, match="1 observations in y are not finite"):
        spoil(make(0.1), X, np.where(np.arange(N) == 3, np.nan, y))


@pytest.mark.parametrize("kind", [SymmetricShifts, OneSidedShifts, ErrorBurst])
@pytest.mark.parametrize(("low", "high"), [(0.0, 9.0), (9.0, 3.0), (3.0, float("inf"))])
def test_sizes_that_are_no_range_are_refused(kind, low, high):
    with pytest.raises(ValueError, match="0 < low <= high"):
        kind(0.1, low, high)


def test_focused_sizes_are_checked():
    with pytest.raises(ValueError, match="depth must be positive"):
        FocusedOutliers(depth=0.0)


@pytest.mark.parametrize("kind", [SymmetricShifts, OneSidedShifts, ErrorBurst, FocusedOutliers])
def test_constant_observations_are_refused_where_sizes_are_deviations(kind):
    with pytest.raises(ValueError, match="constant"):
        spoil(kind(0.1), clean()[0], np.ones(N))


# --- synthetic data -------------------------------------------------------------------------------


def test_the_papers_problem_keeps_its_random_stream():
    data = make_synthetic(5, 3, rate=0.5, seed=7)
    again = make_synthetic(5, 3, rate=0.5, seed=7)
    np.testing.assert_array_equal(data.y, again.y)
    expected = [2.763036227836405, 9.001136595963116, -0.12195095241145629, 8.012698138371196]
    np.testing.assert_allclose(data.y[0], expected, rtol=1e-9)
    np.testing.assert_array_equal(data.outlier_mask[0], [True, True, False, True])


def test_a_gp_sample_is_what_the_benchmark_draws():
    sample = make_gp_sample(seed=3)
    np.testing.assert_allclose(sample.X[:, 0], np.linspace(0.0, 20.0, 300))
    assert 0.08 < (sample.y - sample.f).std() < 0.12
    np.testing.assert_array_equal(sample.y, make_gp_sample(seed=3).y)
    assert not np.array_equal(sample.f, make_gp_sample(seed=4).f)


def test_gp_samples_have_the_covariance_of_the_kernel():
    draws = np.array([make_gp_sample(21, low=-1.0, high=4.0, seed=seed).f for seed in range(2000)])
    x = np.linspace(-1.0, 4.0, 21)
    expected = np.exp(-0.5 * np.subtract.outer(x, x) ** 2)
    assert np.abs(draws.T @ draws / len(draws) - expected).max() < 0.15


def test_gp_sample_parameters_count():
    quiet = make_gp_sample(50, variance=4.0, length_scale=100.0, noise_variance=0.0, seed=1)
    np.testing.assert_array_equal(quiet.y, quiet.f)
    assert np.ptp(quiet.f) < 0.2 * 4.0
    with pytest.raises(ValueError, match=r"low < high.*low=3\.0, high=2\.0"):
        make_gp_sample(low=3.0, high=2.0)
