"""Published outputs, and a user's own, as responses: each is read by the importer of its benchmark."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import pandas as pd

from biasatlas.benchmarks.registry import formats, import_responses, spec_view
from biasatlas.files import read_parquet
from biasatlas.models.entry import ready_folder
from biasatlas.models.interface import ModelContext
from biasatlas.models.released.entry import ReleasedEntry, format_of
from biasatlas.models.store import ResponseStore
from biasatlas.sources import names_in


@dataclass(frozen=True)
class ReleasedModel:
    """Existing outputs: ``files`` by their path, how to ``read`` them, and the items that they answer."""

    read: Callable[[Mapping[str, Path], pd.DataFrame, pd.DataFrame, str], pd.DataFrame]
    origin: Mapping[str, str]
    files: Mapping[str, Path]
    items: pd.DataFrame

    def answer(
        self,
        requests: pd.DataFrame,
        task: str,
        store: ResponseStore | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> tuple[pd.DataFrame, dict]:
        """The responses to ``requests``, and the SHA-256 of every file; ``store`` and ``share`` are not used."""
        responses = self.read(self.files, self.items, requests, task)
        return responses, {**self.origin, "files": {name: _sha256(path) for name, path in self.files.items()}}


def open_released(context: ModelContext) -> ReleasedModel:
    """Published outputs, in the folder that was fetched, or the user's own files."""
    entry = cast(ReleasedEntry, context.entry)
    if context.items is None:
        raise ValueError(f"{context.name}: outputs are read together with their benchmark's items")
    items = read_parquet(context.items)
    if entry.release:
        folder = ready_folder(context.ready)
        files = {name: folder / name for name in names_in(folder)}
        read = partial(import_responses(context.benchmark), entry.release)
        return ReleasedModel(read, {"release": entry.release}, files, items)
    format = format_of(entry, spec_view(context.benchmark, "read_predictions"))
    files = dict(zip(entry.files, context.ready, strict=True))
    read = partial(formats(context.benchmark)[format], column=entry.column)
    return ReleasedModel(read, {"format": format}, files, items)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
