"""Fetching: mirror folder, packed file, archive, download that breaks off, wrong bytes."""

import gzip
import hashlib
import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from biasatlas.errors import UserError
from biasatlas.workflow.fetch import fetch
from biasatlas.sources import Source, SourceFile, load_sources

CONTENT = bytes(range(256)) * 2000
FILE = SourceFile("data/a.csv", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


def source(mirror="bench", url="unused/{path}", file=FILE):
    return Source("bench", "a benchmark", "0123456789", url, "none stated", "nobody", mirror, (file,))


def put(path, content):
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def archive(path):
    with tarfile.open(path, "w:xz") as tar:
        member = tarfile.TarInfo(FILE.path)
        member.size = len(CONTENT)
        tar.addfile(member, io.BytesIO(CONTENT))


@pytest.mark.parametrize("layout", ["plain", "gzip", "archive"])
def test_mirror(tmp_path, layout):
    mirror = tmp_path / "mirror"
    name = "bench"
    if layout == "plain":
        put(mirror / name / FILE.path, CONTENT)
    elif layout == "gzip":
        put(mirror / name / (FILE.path + ".gz"), gzip.compress(CONTENT))
    else:
        name = "bench.tar.xz"
        mirror.mkdir()
        archive(mirror / name)
    fetch(source(name), tmp_path / "data", mirror)
    assert (tmp_path / "data" / FILE.path).read_bytes() == CONTENT


@pytest.mark.parametrize("name", ["bench", "bench.tar.xz"])
def test_not_in_the_mirror(tmp_path, name):
    with pytest.raises(UserError, match=r"not found in the mirror.*BIASATLAS_MIRROR"):
        fetch(source(name), tmp_path / "data", tmp_path)


def test_wrong_bytes_leave_nothing(tmp_path):
    put(tmp_path / "mirror/bench" / FILE.path, CONTENT[:-1] + b"x")
    with pytest.raises(UserError, match=rf"a\.csv: SHA-256 is .*expected {FILE.sha256}"):
        fetch(source(), tmp_path / "data", tmp_path / "mirror")
    assert not (tmp_path / "data" / FILE.path).exists()


@pytest.fixture
def server():
    """A server that sends a third of what it owes and hangs up; ``ranges`` records what it was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
            self.server.ranges.append(start)
            if self.path != "/data/a.csv":
                self.send_error(404)
                return
            rest = CONTENT[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            self.wfile.write(rest[: max(len(rest) // 3, 200_000)])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.ranges = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def address(server):
    return f"http://127.0.0.1:{server.server_port}/{{path}}"


def test_download_resumes_where_it_broke_off(tmp_path, server):
    fetch(source(url=address(server)), tmp_path / "data", None)
    assert (tmp_path / "data" / FILE.path).read_bytes() == CONTENT
    assert server.ranges[0] == 0
    assert server.ranges == sorted(set(server.ranges))
    assert len(server.ranges) > 2


def test_missing_page(tmp_path, server):
    with pytest.raises(UserError, match="404"):
        fetch(source(url=address(server) + "x"), tmp_path / "data", None)


def test_download_with_wrong_bytes(tmp_path, server):
    other = SourceFile(FILE.path, "0" * 64, FILE.bytes)
    with pytest.raises(UserError, match="SHA-256"):
        fetch(source(url=address(server), file=other), tmp_path / "data", None)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_every_source_is_pinned():
    for name, entry in load_sources().items():
        assert entry.version in entry.url or entry.url.startswith("hf://"), name
        assert entry.files or entry.url.startswith("hf://"), name
        assert all(len(file.sha256) == 64 and file.bytes > 0 for file in entry.files), name
        assert entry.licence, name
        assert entry.citation, name


def test_goes_on_from_what_is_there(tmp_path, server):
    put(tmp_path / ".data.fetching" / (FILE.path + ".part"), CONTENT[:1000])
    fetch(source(url=address(server)), tmp_path / "data", None)
    assert server.ranges[0] == 1000
    assert (tmp_path / "data" / FILE.path).read_bytes() == CONTENT
