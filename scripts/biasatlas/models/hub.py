"""Models on the Hugging Face hub: fetched once, at a known commit; torch is not needed for it."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import huggingface_hub

from biasatlas.errors import UserError

#: Files of a checkpoint beside its weights: configuration, tokenizer and, where it is trusted, code.
CONFIGURATION = ("*.json", "*.jinja", "*.txt", "*.model", "*.py")


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
    patterns = ["*.safetensors", *(name for name in CONFIGURATION if trust_remote_code or name != "*.py")]
    try:
        return Path(huggingface_hub.snapshot_download(source, revision=revision, allow_patterns=patterns))
    except Exception as error:  # the hub client raises errors of half a dozen libraries
        raise UserError(
            f"{source}: not a folder, and the hub does not give it at revision {revision or 'main'} "
            f"({first_line(error)}): check the spelling, your network and your access. Jobs do not download: where the "
            "hub's cache was emptied, `--forcerun fetch_model` fills it again."
        ) from error


def checkpoint_sha256(folder: Path) -> tuple[str, str]:
    """One hash over the weights in ``folder``, and one over its configuration and tokenizer: both change answers."""
    weights = sorted(folder.glob("*.safetensors"))
    others = sorted(path for pattern in CONFIGURATION for path in folder.glob(pattern))
    return _files_sha256(weights), _files_sha256(others)


def _files_sha256(paths: Iterable[Path]) -> str:
    """One hash over names and bytes of files."""
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            total.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def first_line(error: BaseException) -> str:
    """The first line of an error's message, for a message of ours."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
