"""The one interface to models of every kind. Light to import: planning reads what each kind can do, and loads none."""

import os
from functools import reduce
from importlib import import_module
from operator import or_
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from biasatlas.models.entry import Entry
from biasatlas.models.interface import Kind, Model, ModelContext, Preview

if TYPE_CHECKING:
    import pandas as pd

#: Folders of this package whose module ``entry`` declares a kind; a new kind is one line here.
_FOLDERS = (
    "local",
    "masked",
    "planted",
    "simulated",
    "endpoint",
    "released",
)

#: By the name that an entry gives under ``kind``.
KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (import_module(f"biasatlas.models.{folder}.entry").KIND for folder in _FOLDERS)
}

if TYPE_CHECKING:
    ModelEntry = Entry
else:
    #: An entry of any kind, for pydantic to read.
    ModelEntry = Annotated[reduce(or_, (kind.entry for kind in KINDS.values())), Field(discriminator="kind")]


def open_model(context: ModelContext) -> Model:
    """The model of an entry, ready to answer. Raises UserError, with what to do, if it cannot be loaded.

    The caller must have locked the GPUs.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"  # rule fetch_model did all downloads
    return resolve_name(KINDS[context.entry.kind].open)(context)


def check_model(context: ModelContext) -> str | None:
    """What the check of a model found, for its file, or None. Raises UserError if the model cannot work."""
    check = KINDS[context.entry.kind].check
    return resolve_name(check)(context) if check else None


def preview_requests(context: ModelContext, requests: "pd.DataFrame") -> list[Preview]:
    """A preview of each of ``requests``, without asking the model; empty for a kind that takes them all."""
    name = KINDS[context.entry.kind].preview
    return resolve_name(name)(context, requests) if name else []


def store_folder(root: Path, name: str, entry: Entry, *part: str) -> Path:
    """The folder below ``root`` where the answers of model ``name`` to a ``part`` of the workflow are kept."""
    folder = Path(root) / name
    return folder if KINDS[entry.kind].shared_store else folder.joinpath(*part)
