"""The one door to models of every kind: requests in, responses out."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from biasatlas.benchmarks.shared.readers import Reader
from biasatlas.models.entry import Entry
from biasatlas.models.kinds import KINDS

if TYPE_CHECKING:
    import pandas as pd

    from biasatlas.models.store import ResponseStore


@dataclass(frozen=True)
class Opening:
    """What a model is opened with.

    ``entry`` is that of model ``name`` in the configuration. ``ready`` are the files or folders that its kind declares
    must be ready: weights, the commit that was fetched, a release. ``gpus`` are visible to this process already.
    ``readers`` are those that choice requests may name, ``reader_version`` says when one of them changed. Published
    outputs are those of ``benchmark`` and answer the instances in the file ``items``.
    """

    name: str
    entry: Entry
    ready: tuple[Path, ...] = ()
    gpus: int = 0
    readers: Mapping[str, Reader] = field(default_factory=dict)
    reader_version: str = ""
    benchmark: str = ""
    items: Path | None = None


class Model(Protocol):
    """A model of any kind, ready to answer."""

    def answer(
        self, requests: "pd.DataFrame", task: str, store: "ResponseStore | None" = None, share: tuple[int, int] = (0, 1)
    ) -> "tuple[pd.DataFrame, dict]":
        """The responses (RESPONSE_COLUMNS) to ``requests`` of one kind, in their order and then by repeat.

        Each answer is kept in ``store`` as soon as it is there, and none that is there is asked for again. A ``share``
        (which, of how many) answers its own requests alone, to the digits that they have in the whole; only models
        whose entry has ``shards`` are asked for one. The dictionary says how the answers were made. What differs
        between two runs of the same is under ``run``.

        Raises UserError where the model cannot answer such requests or cannot be used, with what to do.
        """
        ...


def open_model(opening: Opening) -> Model:
    """The model of an entry, ready to answer. Raises UserError where it cannot be loaded, with what to do.

    GPUs are leased by the caller, before.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"  # rule fetch_model did what takes a network
    return KINDS[opening.entry.kind].open(opening)


def store_folder(root: Path, name: str, entry: Entry, *part: str) -> Path:
    """The folder below ``root`` where the answers of model ``name`` to a ``part`` of the workflow are kept."""
    folder = Path(root) / name
    return folder if KINDS[entry.kind].shared_store else folder.joinpath(*part)
