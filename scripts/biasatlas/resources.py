"""Files that ship with the workflow: a job sees those that it was given and no others."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from biasatlas import ROOT

if TYPE_CHECKING:
    import pandas as pd


def names(patterns: Iterable[str], needed: bool = True) -> list[str]:
    """Paths below ``resources/`` that match ``patterns``, sorted.

    Raises FileNotFoundError for a pattern that matches none, where it is ``needed``.
    """
    folder = ROOT / "resources"
    found: set[str] = set()
    for pattern in patterns:
        matched = {path.relative_to(folder).as_posix() for path in folder.glob(pattern) if path.is_file()}
        if needed and not matched:
            raise FileNotFoundError(f"resources/{pattern}: no such file")
        found |= matched
    return sorted(found)


class Resources:
    """Shipped files by their path below ``resources/``; a name that the job was not given is a KeyError.

    So a job can read nothing that is not its input, and editing such a file reruns all jobs that read it.
    """

    def __init__(self, paths: Mapping[str, str | Path]):
        self._paths = {name: Path(path) for name, path in paths.items()}

    @classmethod
    def shipped(cls, *patterns: str) -> "Resources":
        """The checkout's files that match ``patterns``."""
        return cls({name: ROOT / "resources" / name for name in names(patterns)})

    def path(self, name: str) -> Path:
        """The path of a file."""
        if name not in self._paths:
            raise KeyError(f"resources/{name} is no input of this job; it has {', '.join(self._paths) or 'none'}")
        return self._paths[name]

    def below(self, folder: str) -> list[str]:
        """Names of the files in ``folder``, sorted."""
        return sorted(name for name in self._paths if name.rpartition("/")[0] == folder)

    def text(self, name: str) -> str:
        """A UTF-8 text, without the white space around it."""
        return self.path(name).read_text(encoding="utf-8").strip()

    def yaml(self, name: str) -> Any:
        """What a YAML (or JSON) file holds."""
        return yaml.safe_load(self.path(name).read_text(encoding="utf-8"))

    def csv(self, name: str) -> "pd.DataFrame":
        """A table as strings, so that printed digits are known; an empty cell is missing."""
        import pandas as pd  # planning needs no tables

        return pd.read_csv(self.path(name), dtype=str, keep_default_na=False, na_values=[""])

    def published(self, name: str) -> "pd.DataFrame":
        """The printed numbers ``published/{name}.csv``, as strings."""
        return self.csv(f"published/{name}.csv")
