"""Where a result comes from: what is written beside score files and tables."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from biasatlas import ROOT
from biasatlas.files import read_metadata, write_text

_LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy")


def software() -> dict:
    """Version of the workflow and of the libraries that this process computes with."""
    versions = {name: version(name) for name in _LIBRARIES} | {"python": platform.python_version()}
    return {"workflow": workflow_version(), "versions": versions}


def workflow_version() -> str:
    """The workflow's commit as ``git describe`` gives it (``-dirty``: with uncommitted edits); or a wheel's version."""
    if ROOT.name == "biasatlas_workflow":  # the folder that pyproject.toml gives it
        return version("bias-atlas")
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        return "unknown: no git checkout"
    command = ["git", "-C", str(ROOT), "describe", "--tags", "--always", "--dirty"]
    described = subprocess.run(command, capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown: git cannot read the checkout"


def sha256(path: str | os.PathLike) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_scores(
    *,
    name: str,
    task: str,
    model: Mapping,
    items: str,
    requests: str,
    responses: str,
    judgements: str | None,
    **settings: object,
) -> dict:
    """The provenance of a task's score files: the job's ``settings``, and what its input files say of themselves.

    ``name`` is the model's name, ``model`` the fields of its entry. The result adds how the model answered ``task``
    (weights, precision, engine, versions), under ``judge`` how its judge did, and under ``data`` raw files' SHA-256.
    """
    provenance = {
        **settings,
        **software(),
        "name": name,
        "task": task,
        "data": read_metadata(items).get("files", {}),
        "requests_sha256": sha256(requests),
        "model": {**model, **read_metadata(responses)[task]},
    }
    if judgements:
        provenance["judge"] = read_metadata(judgements)[task]
    return provenance


def of_table(scores: Iterable[str], published: Iterable[str], **settings: object) -> dict:
    """The provenance of a table: the job's ``settings``, and that of the scores in it, by model and task.

    ``scores`` are files of a task's scores, ``published`` the printed tables that it stands beside.
    """
    parts = [read_metadata(path) for path in scores]
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


def of_answers(answers: Mapping[str, tuple[str, str]], items: str, **settings: object) -> dict:
    """A table of outcomes' provenance: the job's ``settings``, and how each of ``answers`` (file, task) was made."""
    return {
        **settings,
        **software(),
        "data": read_metadata(items).get("files", {}),
        "answers": {
            name: {"responses_sha256": sha256(path), **read_metadata(path)[task]}
            for name, (path, task) in answers.items()
        },
    }


def read(path: str | os.PathLike) -> dict:
    """The provenance in a file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write(provenance: Mapping, path: str | os.PathLike) -> None:
    """Write ``provenance`` as JSON that people can read, its keys sorted."""
    write_text(json.dumps(provenance, indent=1, sort_keys=True, ensure_ascii=False) + "\n", path)
