"""The files that a configuration is written in, and paths in it."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from biasatlas.errors import UserError
from biasatlas.userfiles import shown
from biasatlas.validation import masked, read_yaml


def check_files(paths: Iterable[str | os.PathLike]) -> None:
    """Raise UserError for what Snakemake would lose: a key that stands twice, or is not read as text.

    And, in words for people, for a file that is no YAML (or JSON) in UTF-8, or no mapping of keys.
    """
    for path in paths:
        content = read_yaml(path)
        if not isinstance(content, dict):
            held = "no key" if content is None else shown(content)
            raise UserError(
                f"{path}: the file holds {held}. Expected a mapping with the keys models and benchmarks "
                "(docs/configuration.md)."
            )


def _as_written(path: str) -> str:
    """``path``, if Snakemake takes it as it stands."""
    if not path or path.isspace():
        raise ValueError("must not be empty")
    if set("{}\n") & set(path):
        raise ValueError(f"{shown(path)} has a brace, which stands for a wildcard, or a line break; name one path")
    if path.startswith("~") or "$" in path:
        meant = "the variable" if "$" in path else "the home folder"
        raise ValueError(f"{shown(path)} is not understood; write {meant} out")
    if "://" in path:
        raise ValueError(f"{masked(shown(path))} is a URL; name a folder (for object storage see docs/cluster.md)")
    parts = Path(path).parts
    odd = not path.isprintable() or path.startswith("-") or path != path.strip()
    if odd or any(len(os.fsencode(part)) > 255 for part in parts):
        raise ValueError(f"{shown(path)} is no path that all programs take; name another")
    if {".git", ".snakemake"} & set(parts):
        raise ValueError(f"{shown(path)} lies in a folder of Git or Snakemake; name another")
    return path


#: A path of a file or folder, relative to the working directory, as it is written; and without a leading `./`, of which
#: Snakemake warns wherever it meets one.
WrittenPath = Annotated[str, AfterValidator(_as_written)]
FilePath = Annotated[WrittenPath, AfterValidator(lambda path: os.path.normpath(path) if path[:2] == "./" else path)]
