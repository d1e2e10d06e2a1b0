"""Data files: downloads against a local server, caches and folders of the user."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from references.data_files import zipped

from sturdygp.datasets import FILES, DataFile, DataFileError, find_file, load_motorcycle, load_neal
from sturdygp.datasets.fetch import cache_folder, platform_cache

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


def left_in(folder):
    return sorted(path.name for path in folder.rglob("*")) if folder.exists() else []


def test_find_file_downloads_once_and_then_finds_the_cache(server, cache, register):
    register(server.serve("/file", CONTENTS))
    path = find_file("motorcycle.csv")
    assert path == cache / "motorcycle.csv"
    assert path.read_bytes() == CONTENTS
    assert find_file("motorcycle.csv") == path
    assert server.requests == ["/file"]
    assert left_in(cache) == ["motorcycle.csv"]
    assert len(load_motorcycle().y) == 20_000


def test_find_file_checks_and_stores_a_member_of_an_archive_alone(server, cache, register):
    archive = zipped(other=b"not this", wanted=CONTENTS)
    register(server.serve("/file.zip", archive), member="wanted")
    assert find_file("motorcycle.csv").read_bytes() == CONTENTS
    assert left_in(cache) == ["motorcycle.csv"]


def test_find_file_progress_counts_up_to_the_length(server, cache, register):
    seen = []
    register(server.serve("/file", CONTENTS))
    find_file("motorcycle.csv", progress=lambda *received: seen.append(received))
    received, totals = zip(*seen, strict=True)
    assert list(received) == sorted(set(received))
    assert received[-1] == len(CONTENTS)
    assert set(totals) == {len(CONTENTS)}


def test_find_file_progress_knows_no_length_if_there_is_none(server, cache, register):
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
def test_find_file_names_a_failed_download_and_leaves_nothing(server, cache, register, failure):
    serve, fields, what = FAILURES[failure]
    url = serve(server)
    register(url, **fields)
    with pytest.raises(DataFileError, match=what) as caught:
        find_file("motorcycle.csv")
    for part in (url, str(cache), "STURDYGP_DATA", "motorcycle.csv"):
        assert part in str(caught.value)
    assert left_in(cache) == []


def test_find_file_succeeds_after_a_failure(server, cache, register):
    url = server.serve("/file", CONTENTS[:-1])
    register(url)
    with pytest.raises(DataFileError):
        find_file("motorcycle.csv")
    server.serve("/file", CONTENTS)
    assert find_file("motorcycle.csv").read_bytes() == CONTENTS


def test_find_file_names_an_unreachable_server(cache, register):
    server = Server()
    url = server.serve("/file", CONTENTS)
    server.close()
    register(url)
    with pytest.raises(DataFileError, match="refused") as caught:
        find_file("motorcycle.csv", timeout=5.0)
    assert url in str(caught.value)
    assert left_in(cache) == []


def test_find_file_does_not_wait_for_ever(cache, register, monkeypatch):
    silent = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)  # listens, but nobody accepts
    with silent:
        register(f"http://127.0.0.1:{silent.server_port}/file")
        with pytest.raises(DataFileError, match="timed out"):
            find_file("motorcycle.csv", timeout=0.1)


def test_find_file_names_a_cache_that_cannot_be_written(server, cache, register):
    cache.parent.mkdir()
    cache.write_text("a file where the folder should be")
    register(server.serve("/file", CONTENTS))
    with pytest.raises(DataFileError, match="could not be downloaded"):
        find_file("motorcycle.csv")


def test_find_file_passes_on_errors_of_a_callback_and_leaves_nothing(server, cache, register):
    register(server.serve("/file", CONTENTS))
    with pytest.raises(ZeroDivisionError):
        find_file("motorcycle.csv", progress=lambda *_: 1 // 0)
    assert left_in(cache) == []


def test_find_file_says_where_to_put_a_file_without_an_address(cache):
    with pytest.raises(DataFileError, match=r"Put neal_odata_200\.txt into") as caught:
        load_neal(rows=200)
    assert str(cache) in str(caught.value)


def test_find_file_may_leave_spacing_out_of_the_checksum(server, cache, register):
    register(server.serve("/file", b"1  2\r\n3 4 \r\n\r\n"), contents=b"1 2 3 4", any_spacing=True)
    assert find_file("motorcycle.csv").read_bytes() == b"1  2\r\n3 4 \r\n\r\n"


def test_find_file_trusts_the_users_folder_first(server, cache, register, tmp_path, monkeypatch):
    register(server.serve("/file", CONTENTS))
    find_file("motorcycle.csv")
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("STURDYGP_DATA", str(own))
    assert find_file("motorcycle.csv").parent == cache
    (own / "motorcycle.csv").write_bytes(b"mine")
    assert find_file("motorcycle.csv") == own / "motorcycle.csv"
    assert server.requests == ["/file"]


def test_find_file_refuses_a_users_folder_that_does_not_exist(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("STURDYGP_DATA", str(tmp_path / "mistyped"))
    with pytest.raises(DataFileError, match="mistyped"):
        find_file("motorcycle.csv")


def test_find_file_refuses_an_unknown_name(cache):
    with pytest.raises(ValueError, match=r"no data file is called 'motor'.*motorcycle\.csv"):
        find_file("motor")


def test_cache_folder_is_where_the_platform_has_it(monkeypatch):
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
