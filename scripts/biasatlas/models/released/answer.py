"""Published outputs as responses: a release is read by the importer of its benchmark."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from biasatlas.benchmarks.registry import import_responses
from biasatlas.files import read_parquet
from biasatlas.models.entry import ready_folder
from biasatlas.models.store import ResponseStore

if TYPE_CHECKING:
    from biasatlas.models.door import Opening
    from biasatlas.models.released.entry import ReleasedEntry


@dataclass(frozen=True)
class ReleasedModel:
    """A release: ``files`` by their path below its folder, and the items that it answers."""

    benchmark: str
    release: str
    files: Mapping[str, Path]
    items: pd.DataFrame

    def answer(
        self,
        requests: pd.DataFrame,
        task: str,
        store: ResponseStore | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> tuple[pd.DataFrame, dict]:
        """The published responses to ``requests``, and the SHA-256 of every file; nothing is kept, or shared out."""
        responses = import_responses(self.benchmark)(self.release, self.files, self.items, requests, task)
        return responses, {"release": self.release, "files": {name: _sha256(self.files[name]) for name in self.files}}


def open_released(opening: "Opening", entry: "ReleasedEntry") -> ReleasedModel:
    """The release in the folder that was fetched."""
    if opening.items is None:
        raise ValueError(f"{opening.name}: a release is read together with its benchmark's items")
    folder = ready_folder(opening.ready)
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".snakemake_timestamp")
    files = {path.relative_to(folder).as_posix(): path for path in paths}
    return ReleasedModel(entry.benchmark, entry.release, files, read_parquet(opening.items))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
