"""The tables of raw data: ``resources/sources/sources.csv``, and ``files.csv`` beside it."""

import csv
import hashlib
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from biasatlas import ROOT
from biasatlas.errors import UserError
from biasatlas.userfiles import read_json

_FOLDER = ROOT / "resources" / "sources"

#: Values of a benchmark's key `data` for published data: those of its ``sources``, or of its spec's ``datasets``.
PUBLISHED_DATA = ("full", "released", "released_more")


#: The ending of a folder of an archive, which is packed: ``results.tar.gz`` for ``results``.
PACKED = ".tar.gz"


@dataclass(frozen=True)
class SourceFile:
    """A file of a source: its path upstream, and what its bytes must be.

    They are identified by their SHA-256 or, if only a repository's listing could be had, by git's id (``git_blob``);
    ``bytes`` is 0 if even their number is unknown. If the source is an archive, this is a packed folder of it:
    ``git_blob`` is the id of the git tree, and ``bytes`` is the size of all its files.
    """

    path: str
    sha256: str
    bytes: int = 0
    git_blob: str = ""

    @property
    def pin(self) -> str:
        """The SHA-256 or git id that identifies the bytes."""
        return self.sha256 or f"git:{self.git_blob}"


@dataclass(frozen=True)
class Source:
    """Published data at one version.

    ``url`` is pinned to ``version`` and has a slot ``{path}``; ``mirror`` is the folder, or the tar archive, of a local
    mirror that holds the files. A dataset on the Hugging Face hub has ``hf://{owner}/{name}/{folder}`` for its url and
    no ``files``: these are known, and locked, only once they are fetched. A url without the slot is an archive of the
    whole repository, ``tar.gz``, and the ``files`` are folders in it.
    """

    source: str
    title: str
    version: str
    url: str
    licence: str
    citation: str
    mirror: str
    files: tuple[SourceFile, ...] = ()


def load_sources() -> dict[str, Source]:
    """Every source by name, with its files."""
    files: dict[str, list[SourceFile]] = {}
    with (_FOLDER / "files.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            file = SourceFile(row["path"], row["sha256"], int(row["bytes"] or 0), row["git_blob"] or "")
            files.setdefault(row["source"], []).append(file)
    with (_FOLDER / "sources.csv").open(encoding="utf-8", newline="") as stream:
        return {
            row["source"]: Source(**row, files=tuple(files.get(row["source"], ()))) for row in csv.DictReader(stream)
        }


def git_blob(content: bytes) -> str:
    """The id that git gives a file: SHA-1 of "blob", its length, a null byte and its bytes."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def git_tree(files: Mapping[str, tuple[bool, str]]) -> str:
    """The id that git gives a folder without folders: SHA-1 of its ``files``, name -> (can be executed, blob id)."""
    entries = {name.encode(): value for name, value in files.items()}
    content = b"".join(
        b"%d %b\0%b" % (100755 if runs else 100644, name, bytes.fromhex(blob))
        for name, (runs, blob) in sorted(entries.items())
    )
    return hashlib.sha1(b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def is_it(file: SourceFile, content: bytes) -> bool:
    """Whether ``content`` is what ``file`` must be."""
    found = hashlib.sha256(content).hexdigest() if file.sha256 else f"git:{git_blob(content)}"
    return found == file.pin


def names_in(folder: str | Path) -> list[str]:
    """Paths, below ``folder``, of the files in it, sorted; hidden ones, which belong to programs, are left out."""
    files = (path.relative_to(folder) for path in Path(folder).rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files if not any(part.startswith(".") for part in path.parts))


def raw_files(names: Iterable[str], paths: Iterable[str | Path]) -> dict[str, Path]:
    """Path upstream -> local path of raw data: one of ``paths`` that is a file goes by its name, the files of a folder
    by their paths in it."""
    files: dict[str, Path] = {}
    for name, path in zip(names, map(Path, paths), strict=True):
        if path.is_dir():
            files |= {name: path / name for name in names_in(path)}
        else:
            files[name] = path
    return files


def listed_files(origin: Path) -> list[SourceFile]:
    """The files of a folder or a tar archive, by SHA-256; or of a saved listing of a git repository, by blob id.

    Raises UserError for anything else.
    """
    if origin.is_dir():
        return [_pinned(name, (origin / name).read_bytes()) for name in names_in(origin)]
    if origin.is_file() and tarfile.is_tarfile(origin):
        with tarfile.open(origin) as archive:
            members = sorted((member for member in archive if member.isfile()), key=lambda member: member.name)
            return [_pinned(member.name, archive.extractfile(member).read()) for member in members]  # type: ignore[union-attr]
    tree = read_json(origin)
    entries = tree.get("tree") if isinstance(tree, dict) else None
    if not isinstance(entries, list):
        raise UserError(
            f"{origin}: no listing of a repository. Save what GitHub answers to git/trees/COMMIT?recursive=1."
        )
    if tree.get("truncated"):
        raise UserError(f"{origin}: the listing is cut short. List a folder of the repository.")
    return [SourceFile(entry["path"], "", entry["size"], entry["sha"]) for entry in entries if entry["type"] == "blob"]


def _pinned(name: str, content: bytes) -> SourceFile:
    return SourceFile(name, hashlib.sha256(content).hexdigest(), len(content))


def add_source(source: Mapping[str, str], files: Iterable[Sequence[object]]) -> None:
    """Append a row to ``sources.csv``, and its files' rows to ``files.csv``.

    Raises UserError if its name is taken or names no file.
    """
    if not source["source"].isidentifier():
        raise UserError(f"name: {source['source']!r} names a folder; use letters, digits and _.")
    if source["source"] in load_sources():
        raise UserError(f"{source['source']}: there is a source of this name. Take another, or remove its rows.")
    if "{path}" not in source["url"]:
        raise UserError(f"url: {source['url']!r} has no slot {{path}}. Put it where the path of a file goes.")
    for name, rows in (("sources.csv", [[*source.values()]]), ("files.csv", files)):
        with (_FOLDER / name).open("a", encoding="utf-8", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows(rows)
