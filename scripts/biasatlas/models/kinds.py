"""The kinds of model. Light to import: planning reads what each can do, and the door opens one."""

from functools import reduce
from importlib import import_module
from operator import or_
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from biasatlas.models.entry import Entry, Kind

#: Folders of this package whose module ``entry`` declares a kind; a new kind is one line here.
_FOLDERS = (
    "local",
    "masked",
    "planted",
    "known",
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
