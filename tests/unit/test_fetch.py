"""Fetching: mirror folder, packed file, archive, interrupted download, wrong bytes; datasets pinned at the first fetch."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest

from biasatlas.errors import UserError
from biasatlas.sources import Source, SourceFile, is_it, listed_files, load_sources
from biasatlas.workflow.fetch import fetch, fetch_dataset

CONTENT = bytes(range(256)) * 2000
#: What `git hash-object` says of it.
BLOB = "85ca3d5aeed19f818566b9244ef5ad7d1d11174a"
FILE = SourceFile("data/a.csv", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


def source(mirror="bench", url="unused/{path}", file=FILE):
    return Source("bench", "a benchmark", "0123456789", url, "none stated", "nobody", mirror, (file,))


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
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


def test_a_file_known_by_git_s_blob_id_alone(tmp_path, server):
    """The id is `git hash-object`'s; the number of bytes is not known before they are here."""
    file = SourceFile(FILE.path, "", 0, "fb9f7db5bf2f43bdaa8f4ab9d3b4a8b8a8d3d3a3")
    with pytest.raises(UserError, match=rf"git blob id is {BLOB}, expected {file.git_blob}"):
        fetch(source(url=address(server), file=file), tmp_path / "data", None)
    assert not (tmp_path / "data" / FILE.path).exists()
    fetch(source(url=address(server), file=SourceFile(FILE.path, "", 0, BLOB)), tmp_path / "data", None)
    assert (tmp_path / "data" / FILE.path).read_bytes() == CONTENT


def test_rows_for_a_folder_an_archive_and_a_repository_s_listing(tmp_path):
    put(tmp_path / "copy" / FILE.path, CONTENT)
    archive(tmp_path / "copy.tar.xz")
    assert listed_files(tmp_path / "copy") == listed_files(tmp_path / "copy.tar.xz") == [FILE]
    tree = [
        {"path": "data", "type": "tree", "sha": "0" * 40},
        {"path": FILE.path, "type": "blob", "sha": BLOB, "size": FILE.bytes},
    ]
    (tmp_path / "tree.json").write_text(json.dumps({"tree": tree}))
    (listed,) = listed_files(tmp_path / "tree.json")
    assert (listed.pin, listed.bytes, is_it(listed, CONTENT)) == (f"git:{BLOB}", FILE.bytes, True)
    (tmp_path / "tree.json").write_text("[]")
    with pytest.raises(UserError, match="no listing of a repository"):
        listed_files(tmp_path / "tree.json")


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


def test_an_interrupted_download_resumes(tmp_path, server):
    fetch(source(url=address(server)), tmp_path / "data", None)
    assert (tmp_path / "data" / FILE.path).read_bytes() == CONTENT
    assert server.ranges[0] == 0
    assert server.ranges == sorted(set(server.ranges))
    assert len(server.ranges) > 2


def test_missing_page(tmp_path, server):
    with pytest.raises(UserError, match=r"the server answers 404 Not Found\. Is the address right\?$"):
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
        for file in entry.files:
            by_bytes = len(file.sha256) == 64 and file.bytes > 0 and not file.git_blob
            assert by_bytes or (len(file.git_blob) == 40 and not file.sha256), (name, file.path)
        assert entry.licence, name
        assert entry.citation, name


def test_goes_on_from_what_is_there(tmp_path, server):
    put(tmp_path / ".data.fetching" / (FILE.path + ".part"), CONTENT[:1000])
    fetch(source(url=address(server)), tmp_path / "data", None)
    assert server.ranges[0] == 1000
    assert (tmp_path / "data" / FILE.path).read_bytes() == CONTENT


#: What `git write-tree` says of these, the second of which can be executed.
REPLIES = {"a__m.json": b'{"score": 3}\n', "a-b.json": b"{}\n"}
TREE = "08297f0dba9a539a32d1bc26b07d28d79a91fbcd"


def repository(replies, top=""):
    """The bytes of a repository's archive: a link and a resume first, then the folder ``r``; all within ``top``."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        link = tarfile.TarInfo(top + "README")
        link.type, link.linkname = tarfile.SYMTYPE, "docs/index.md"
        tar.addfile(link)
        for name, content in [("data/resume.md", b"An address\n"), *((f"r/{n}", c) for n, c in replies.items())]:
            member = tarfile.TarInfo(top + name)
            member.size, member.mode = len(content), 0o775 if name == "r/a-b.json" else 0o664
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def archived(url):
    return Source(
        "bench", "a benchmark", "0123456", url, "", "", "bench.tar.gz", (SourceFile("r.tar.gz", "", 16, TREE),)
    )


@pytest.fixture
def host():
    """A server of whatever ``content`` is, under any address; it sends it without saying how long it is."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(self.server.status)
            self.end_headers()
            self.wfile.write(self.server.content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.status = 200
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.mark.parametrize("place", ["mirror", "server"])
def test_folders_of_an_archive_are_packed_and_nothing_else_of_it_is_written(tmp_path, host, place):
    mirror = tmp_path / "mirror" if place == "mirror" else None
    host.content = repository(REPLIES, "bench-0123456/")
    if mirror:
        put(mirror / "bench.tar.gz", repository(REPLIES))
    entry = archived(f"http://127.0.0.1:{host.server_port}/tar.gz/0123456")
    fetch(entry, tmp_path / "data", mirror)
    with tarfile.open(tmp_path / "data/r.tar.gz") as pack:
        assert {member.name: pack.extractfile(member).read() for member in pack} == REPLIES
    assert [path.name for path in (tmp_path / "data").rglob("*")] == ["r.tar.gz"]
    first = (tmp_path / "data/r.tar.gz").read_bytes()
    fetch(entry, tmp_path / "data", mirror)
    assert (tmp_path / "data/r.tar.gz").read_bytes() == first


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda whole: repository(REPLIES | {"a-b.json": b"{ \n"}, "x/"),
            r"folder r \(2 files, 16 bytes\) is \w{40}, ",
        ),
        (lambda whole: repository({"a-b.json": b"{}\n"}, "x/"), r"folder r \(1 files, 3 bytes\) is \w{40}, expected"),
        (lambda whole: repository(REPLIES | {"new.json": b""}, "x/"), r"folder r \(3 files, 16 bytes\) is"),
        (lambda whole: whole[:40], "the archive ends early or is damaged"),
        (lambda whole: whole[: len(whole) // 2], r"folder r \(0 files, 0 bytes\) is"),  # between two files
        (lambda whole: b"<html>sign in</html>", "the archive ends early or is damaged"),
    ],
    ids=["changed", "missing", "new", "cut", "cut between files", "a page"],
)
def test_an_archive_that_is_not_the_pinned_one_is_one_sentence(tmp_path, host, spoil, sentence):
    host.content = spoil(repository(REPLIES, "x/"))
    entry = archived(f"http://127.0.0.1:{host.server_port}/tar.gz/0123456")
    with pytest.raises(UserError, match=sentence) as raised:
        fetch(entry, tmp_path / "data", None)
    assert "\n" not in str(raised.value) and "again." in str(raised.value)
    assert not (tmp_path / "data").exists()


def test_an_archive_that_is_not_there(tmp_path, host):
    host.status, host.content = 404, b""
    entry = archived(f"http://127.0.0.1:{host.server_port}/tar.gz/0123456")
    with pytest.raises(UserError, match="the server answers 404"):
        fetch(entry, tmp_path / "data", None)
    with pytest.raises(UserError, match="not found in the mirror"):
        fetch(entry, tmp_path / "data", tmp_path)


def dataset(version="main"):
    return Source("bench", "a benchmark", version, "hf://owner/name/files", "none stated", "nobody", "bench")


def mirrored(folder, **contents):
    """A mirror with the workbooks ``contents`` by name, in place of what it held."""
    for old in (folder / "mirror").rglob("*.xlsx"):
        old.unlink()
    for name, content in contents.items():
        put(folder / f"mirror/bench/files/{name}.xlsx", content)
    return folder / "mirror"


def test_the_first_fetch_pins_a_dataset(tmp_path):
    folder, lock = tmp_path / "data/bench", tmp_path / "data/bench.lock.json"
    folder.parent.mkdir()
    mirror = mirrored(tmp_path, age=b"a", race=b"r")
    put(mirror / "bench/.cache/state", b"not of the dataset")
    fetch_dataset(dataset("abc"), folder, mirror)
    files = {f"files/{name}.xlsx": hashlib.sha256(name[:1].encode()).hexdigest() for name in ("age", "race")}
    assert json.loads(lock.read_text()) == {"revision": "abc", "files": files}
    first = lock.read_bytes()
    put(mirror / "bench/.cache/state", b"changed")
    fetch_dataset(dataset("def"), folder, mirror)
    assert lock.read_bytes() == first
    assert (folder / "files/age.xlsx").read_bytes() == b"a"
    assert not (tmp_path / "data/bench.rejected").exists()


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (
            {"age": b"a", "race": b"x"},
            r"^files/race\.xlsx: not the file that .*bench\.lock\.json pins.*1 of 2 files differ",
        ),
        ({"age": b"a"}, r"^files/race\.xlsx: missing, and .*bench\.lock\.json pins it"),
        ({"age": b"a", "race": b"r", "sex": b"s"}, r"^files/sex\.xlsx: new: .*bench\.lock\.json does not pin it"),
    ],
)
def test_a_dataset_that_is_not_the_pinned_one_is_kept_and_refused(tmp_path, contents, message):
    folder = tmp_path / "bench"
    fetch_dataset(dataset("abc"), folder, mirrored(tmp_path, age=b"a", race=b"r"))
    lock = (tmp_path / "bench.lock.json").read_bytes()
    with pytest.raises(UserError, match=message) as error:
        fetch_dataset(dataset("def"), folder, mirrored(tmp_path, **contents))
    assert "locked revision abc, fetched def" in str(error.value)
    assert "delete the lock file" in str(error.value)
    assert (tmp_path / "bench.lock.json").read_bytes() == lock
    rejected = {path.stem: path.read_bytes() for path in (tmp_path / "bench.rejected").rglob("*.xlsx")}
    assert rejected == contents
    # Once the mirror is right again, so is the fetch.
    fetch_dataset(dataset("abc"), folder, mirrored(tmp_path, age=b"a", race=b"r"))
    assert sorted(path.stem for path in folder.rglob("*.xlsx")) == ["age", "race"]


def test_a_dataset_that_is_not_in_the_mirror(tmp_path):
    with pytest.raises(UserError, match=r"not found in the mirror.*BIASATLAS_MIRROR"):
        fetch_dataset(dataset(), tmp_path / "bench", tmp_path)
    assert not (tmp_path / "bench.lock.json").exists()


@pytest.fixture
def datasets_hub(monkeypatch):
    """A hub on which ``main`` is commit-1, then whatever a test says; it records the revisions that were downloaded."""
    hub = SimpleNamespace(main="commit-1", downloaded=[])

    def dataset_info(self, dataset, revision):
        assert dataset == "owner/name"
        return SimpleNamespace(sha=hub.main if revision == "main" else revision)

    def snapshot_download(dataset, *, repo_type, revision, allow_patterns, local_dir):
        assert (dataset, repo_type, allow_patterns) == ("owner/name", "dataset", "files/*")
        hub.downloaded.append(revision)
        put(Path(local_dir) / "files/age.xlsx", revision.encode())
        put(Path(local_dir) / ".cache/huggingface/age.metadata", b"the client's own")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", dataset_info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return hub


def test_a_pinned_dataset_is_downloaded_at_the_locked_commit(tmp_path, datasets_hub):
    fetch_dataset(dataset(), tmp_path / "bench", None)
    datasets_hub.main = "commit-2"
    fetch_dataset(dataset(), tmp_path / "bench", None)
    assert datasets_hub.downloaded == ["commit-1", "commit-1"]
    lock = json.loads((tmp_path / "bench.lock.json").read_text())
    assert lock == {"revision": "commit-1", "files": {"files/age.xlsx": hashlib.sha256(b"commit-1").hexdigest()}}


def test_without_its_lock_file_a_dataset_is_new(tmp_path, datasets_hub):
    fetch_dataset(dataset(), tmp_path / "bench", None)
    datasets_hub.main = "commit-2"
    (tmp_path / "bench.lock.json").unlink()
    fetch_dataset(dataset(), tmp_path / "bench", None)
    assert (tmp_path / "bench/files/age.xlsx").read_bytes() == b"commit-2"


def test_an_unreachable_dataset_pins_nothing(tmp_path, monkeypatch):
    def unreachable(*_, **__):
        raise OSError("no route to host\nand a long trace")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", unreachable)
    with pytest.raises(
        UserError, match=r"hf://owner/name/files at revision main: cannot be downloaded: no route to host\."
    ):
        fetch_dataset(dataset(), tmp_path / "bench", None)
    assert not (tmp_path / "bench.lock.json").exists()


def test_an_empty_dataset_pins_nothing(tmp_path):
    (tmp_path / "mirror/bench").mkdir(parents=True)
    with pytest.raises(UserError, match="no files at revision main"):
        fetch_dataset(dataset(), tmp_path / "bench", tmp_path / "mirror")
    assert not (tmp_path / "bench.lock.json").exists()
