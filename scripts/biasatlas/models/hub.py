"""Models on the Hugging Face hub: fetched once, at a known commit; torch is not needed for it."""

import hashlib
import json
from pathlib import Path

import huggingface_hub

from biasatlas.errors import UserError


def model_folder(source: str, revision: str | None, trust_remote_code: bool = False) -> Path:
    """The folder itself, or the hub's snapshot of safetensors, configuration and tokenizer, downloaded where needed.

    A snapshot's folder is named after its commit. Code comes along only if ``trust_remote_code``, at a pinned
    ``revision``. Raises UserError where there is no such folder or the hub does not give it.
    """
    if Path(source).is_dir():
        return Path(source)
    if source.startswith((".", "/", "~")) or source.count("/") != 1:
        raise UserError(f"{source}: no such folder, and not a hub id (owner/name): correct the model's source.")
    if trust_remote_code and not revision:
        raise UserError(
            f"{source}: trust_remote_code needs a pinned revision: give the commit whose code you have read."
        )
    patterns = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", *(["*.py"] if trust_remote_code else [])]
    try:
        return Path(huggingface_hub.snapshot_download(source, revision=revision, allow_patterns=patterns))
    except Exception as error:  # the hub client raises errors of half a dozen libraries
        raise UserError(
            f"{source}: not a folder, and the hub does not give it at revision {revision or 'main'} "
            f"({first_line(error)}): check the spelling, your network and your access. Jobs do not download: where the "
            "hub's cache was emptied, `--forcerun fetch_model` fills it again."
        ) from error


def at_commit(settings: dict, fetched: str) -> dict:
    """``settings`` of a model with the commit that ``fetched``, a file of rule fetch_model, recorded; else unchanged."""
    if not fetched.endswith(".json"):
        return dict(settings)
    return settings | {"revision": json.loads(Path(fetched).read_text(encoding="utf-8"))["commit"]}


def weights_sha256(paths: list[Path]) -> str:
    """One hash over names and bytes of all weight files."""
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            total.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def first_line(error: BaseException) -> str:
    """The first line of an error's message, for a message of ours."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
