"""Models on the Hugging Face hub: fetched once, at a known commit; torch is not needed for it."""

import contextlib
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import huggingface_hub

from biasatlas.errors import UserError
from biasatlas.files import write_text
from biasatlas.models.entry import UNPINNED_CODE, HubEntry, is_commit, is_hub_id

#: Files of a checkpoint beside its weights: configuration, tokenizer and, where it is trusted, code.
CONFIGURATION = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken", "*.py")

#: Weights in one file, the index of weights in several, and the weights of a LoRA adapter.
WEIGHTS, INDEX, ADAPTER = "model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors"


def model_folder(source: str, revision: str | None, trust_remote_code: bool = False) -> Path:
    """The folder itself, or the hub's snapshot of safetensors, configuration and tokenizer, downloaded if needed.

    A snapshot's folder is named after its commit. Code is included only if ``trust_remote_code``, and then
    ``revision`` must be a commit. Raises UserError if there is no such folder or the hub does not give it.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        if revision and is_hub_id(source):
            raise UserError(
                f"{source}: a folder of this name is in {Path.cwd()}, so this may mean the folder or the hub's "
                f"revision {revision}: write ./{source} without a revision, or move the folder."
            )
        return folder
    if source.startswith((".", "/", "~")) or source.count("/") != 1:
        raise UserError(f"{source}: no such folder, and not a hub id (owner/name): correct the model's source.")
    if trust_remote_code and not is_commit(revision):
        raise UserError(f"{source}: {UNPINNED_CODE}.")
    patterns = ["*.safetensors", *(name for name in CONFIGURATION if trust_remote_code or name != "*.py")]
    try:
        return Path(huggingface_hub.snapshot_download(source, revision=revision, allow_patterns=patterns))
    except Exception as error:  # the hub client raises errors of half a dozen libraries
        raise UserError(
            f"{source}: not a folder, and the hub does not give it at revision {revision or 'main'} "
            f"({first_line(error)}): check the spelling, your network and your access. Jobs do not download: where the "
            "hub's cache was emptied, `--forcerun fetch_model` fills it again."
        ) from error


def fetch(entry: HubEntry) -> dict[str, str | None]:
    """Download an entry's parts from the hub, so that jobs need no network; return the commits. Raises UserError."""
    trusted = getattr(entry, "trust_remote_code", False)
    fetched = {"source": entry.source, "revision": entry.revision}
    if is_hub_id(entry.source):
        fetched["commit"] = model_folder(entry.source, entry.revision, trusted).name
    adapter = getattr(entry, "adapter", None)
    if adapter and is_hub_id(adapter):
        revision = getattr(entry, "adapter_revision", None)
        fetched |= {"adapter": adapter, "adapter_commit": model_folder(adapter, revision).name}
    return fetched


def weight_files(folder: Path) -> list[Path]:
    """The files that the weights in ``folder`` load from, sorted: one, or all that an index names, missing ones too.

    Others, such as the same weights in another layout, are not loaded. Raises UserError for an unreadable index.
    """
    if (folder / WEIGHTS).is_file() or not (folder / INDEX).is_file():
        return [folder / WEIGHTS] if (folder / WEIGHTS).is_file() else []
    try:
        names = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values()
        return [folder / name for name in sorted(set(names))]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{folder / INDEX}: no index of weights ({first_line(error)}): expected JSON with a `weight_map` from "
            "tensors to files; download it again."
        ) from error


def checkpoint_sha256(folder: Path, hashes: Path | None = None) -> tuple[str, str]:
    """One hash over the weights in ``folder``, and one over its configuration and tokenizer: both change answers."""
    others = sorted(path for pattern in CONFIGURATION for path in folder.glob(pattern))
    return files_sha256(weight_files(folder), hashes), files_sha256(others, hashes)


def adapter_sha256(folder: Path, hashes: Path | None = None) -> str:
    """One hash over the LoRA adapter in ``folder``: its weights and its configuration."""
    return files_sha256([folder / "adapter_config.json", folder / ADAPTER], hashes)


def files_sha256(paths: Iterable[Path], hashes: Path | None = None) -> str:
    """One hash over names and bytes of files.

    The file ``hashes`` keeps the hash of each file, valid until the file's inode, size or times change. So the jobs of
    a run read large weights once.
    """
    known, found, total = {}, {}, hashlib.sha256()
    if hashes and hashes.is_file():
        with contextlib.suppress(ValueError):  # a machine that died may have left half of it
            known = json.loads(hashes.read_text(encoding="utf-8"))
    for path in paths:
        stat = path.stat()
        state = f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"
        if state not in known:
            with path.open("rb") as file:
                found[state] = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.name} {(known | found)[state]}\n".encode())
    if hashes and found:
        write_text(json.dumps(known | found, indent=1) + "\n", hashes)
    return total.hexdigest()


def first_line(error: BaseException) -> str:
    """The first line of an error's message, to quote in ours."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
