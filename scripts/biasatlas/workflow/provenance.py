"""Where a result comes from: what is written beside every score file and every table."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from biasatlas.files import read_metadata, write_text

_ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy")


def software() -> dict:
    """Version of the workflow and of the libraries that this process computes with."""
    versions = {name: version(name) for name in _LIBRARIES} | {"python": platform.python_version()}
    return {"workflow": workflow_version(), "versions": versions}


def workflow_version() -> str:
    """The workflow's commit after the last tag, with ``-dirty`` for edits that no commit holds."""
    if not (_ROOT / ".git").exists() or not shutil.which("git"):
        return "unknown: no git checkout"
    command = ["git", "-C", str(_ROOT), "describe", "--tags", "--always", "--dirty"]
    described = subprocess.run(command, capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown: git cannot read the checkout"


def sha256(path: str | os.PathLike) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_scores(*, items: str, requests: str, responses: str, judgements: str | None, **settings: object) -> dict:
    """The provenance of score files: the ``settings`` of the job, and what its four input files say of themselves.

    ``data`` maps each raw file to its SHA-256; ``model`` and ``judge`` hold weights, precision, engine and versions.
    """
    provenance = {
        **settings,
        **software(),
        "data": read_metadata(items).get("files", {}),
        "requests_sha256": sha256(requests),
        "model": settings.get("model", {}) | read_metadata(responses),
    }
    if judgements:
        provenance["judge"] = read_metadata(judgements)
    return provenance


def of_table(scores: Iterable[str], published: Iterable[str], **settings: object) -> dict:
    """The provenance of a table: the ``settings`` of the job, and that of the scores it sums up by model and task."""
    parts = [read(path) for path in scores]
    return {
        **settings,
        **software(),
        # The scores of one table are all from the same items.
        "data": parts[0]["data"] if parts else {},
        "published": {Path(path).name: sha256(path) for path in published},
        "scores": {
            f"{part['name']}/{part['task']}": {name: value for name, value in part.items() if name != "data"}
            for part in parts
        },
    }


def read(path: str | os.PathLike) -> dict:
    """The provenance in a file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write(provenance: Mapping, path: str | os.PathLike) -> None:
    """Write ``provenance`` as JSON that people can read, keys in order."""
    write_text(json.dumps(provenance, indent=1, sort_keys=True, ensure_ascii=False) + "\n", path)
