"""The tables of raw data: ``resources/sources/sources.csv``, and ``files.csv`` beside it."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from biasatlas import ROOT

_FOLDER = ROOT / "resources" / "sources"


@dataclass(frozen=True)
class SourceFile:
    """A file of a source: its path upstream, and what its bytes must be."""

    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Source:
    """Published data at one version.

    ``url`` is pinned to ``version`` and has a slot ``{path}``; ``mirror`` is the folder, or the tar archive, of a local
    mirror that holds the files. A dataset on the Hugging Face hub has ``hf://{owner}/{name}/{folder}`` for its url and
    no ``files``: what they are is only known, and locked, once they are here.
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
            files.setdefault(row["source"], []).append(SourceFile(row["path"], row["sha256"], int(row["bytes"])))
    with (_FOLDER / "sources.csv").open(encoding="utf-8", newline="") as stream:
        return {
            row["source"]: Source(**row, files=tuple(files.get(row["source"], ()))) for row in csv.DictReader(stream)
        }


def names_in(folder: str | Path) -> list[str]:
    """Paths, below ``folder``, of the files in it, sorted; hidden ones are a program's."""
    files = (path.relative_to(folder) for path in Path(folder).rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files if not any(part.startswith(".") for part in path.parts))


def raw_files(names: Iterable[str], paths: Iterable[str | Path]) -> dict[str, Path]:
    """Path upstream -> path here of raw data: of ``paths``, a file goes by its name and a folder's files by theirs in it."""
    files: dict[str, Path] = {}
    for name, path in zip(names, map(Path, paths), strict=True):
        if path.is_dir():
            files |= {name: path / name for name in names_in(path)}
        else:
            files[name] = path
    return files
