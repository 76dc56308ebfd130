"""Raw data: copied from a mirror folder or downloaded, and checked against SHA-256 either way."""

import contextlib
import gzip
import hashlib
import io
import json
import logging
import lzma
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import huggingface_hub
import requests
import urllib3
from tqdm import tqdm

from biasatlas.errors import UserError
from biasatlas.files import atomic_file, write_text
from biasatlas.sources import PACKED, Source, SourceFile, git_blob, git_tree, is_it
from biasatlas.workflow import provenance

_RETRY = urllib3.Retry(total=4, backoff_factor=0.5, backoff_jitter=0.5, status_forcelist=(429, 500, 502, 503, 504))
_RESUMPTIONS = 6
_CONNECTIONS = 8
_CHUNK_BYTES = 1 << 16


def fetch(source: Source, folder: Path, mirror: Path | None) -> None:
    """Put each of the source's files at ``folder / path``, from the ``mirror`` folder if one is given.

    They gather in a hidden folder beside ``folder``, which takes its name once all are there; an interrupted fetch
    resumes from it, unless the source is an archive. Raises UserError for a file that is not in the mirror, cannot be
    downloaded, or has another checksum than ``files.csv`` says.
    """
    gathering = _gathering(folder)
    archived = "{path}" not in source.url
    missing = [file for file in source.files if archived or not _has(file, gathering / file.path)]
    if archived:
        _pack_folders(source, gathering, mirror)
    elif mirror is not None:
        _copy_from_mirror(source, missing, gathering, mirror)
    else:
        _download(source, missing, gathering)
    _replace(folder, gathering)
    logging.info("%s: fetched %d files of version %s into %s", source.source, len(missing), source.version[:7], folder)


def fetch_dataset(source: Source, folder: Path, mirror: Path | None) -> None:
    """Put the files of a dataset on the Hugging Face hub, or all of its folder in the ``mirror``, into ``folder``.

    No table lists these files, so the first fetch pins them: it writes ``{folder}.lock.json`` with the ``revision``
    (the hub's commit, or the source's version if the files come from a mirror) and the SHA-256 of all ``files`` by
    path. Later fetches ask for that revision. Raises UserError if the hub or mirror does not give the files, and if a
    file is missing, new or changed; the fetched files then stay in ``{folder}.rejected`` until the next rejection.
    """
    gathering = _gathering(folder)
    lock = folder.with_name(f"{folder.name}.lock.json")
    pinned = json.loads(lock.read_text(encoding="utf-8")) if lock.exists() else None
    if mirror is not None:
        revision = _copy_dataset(source, gathering, mirror)
    else:
        revision = _download_dataset(source, pinned["revision"] if pinned else source.version, gathering)
    files = checksums(gathering)
    if not files:
        raise UserError(f"{source.url}: no files at revision {revision}. Compare resources/sources/sources.csv.")
    if pinned is None:
        write_text(json.dumps({"revision": revision, "files": files}, ensure_ascii=False, indent=2) + "\n", lock)
    elif files != pinned["files"]:
        rejected = folder.with_name(f"{folder.name}.rejected")
        _replace(rejected, gathering)
        raise UserError(_not_pinned(files, revision, pinned, lock, rejected))
    _replace(folder, gathering)
    logging.info("%s: fetched %d files of revision %s into %s", source.source, len(files), revision[:7], folder)


def _gathering(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.fetching")


def _replace(folder: Path, gathered: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    gathered.rename(folder)


def _copy_dataset(source: Source, folder: Path, mirror: Path) -> str:
    origin = mirror / source.mirror
    if not origin.is_dir():
        raise UserError(_not_mirrored(source, origin))
    shutil.copytree(origin, folder, dirs_exist_ok=True)
    return source.version


def _download_dataset(source: Source, revision: str, folder: Path) -> str:
    """Download the files of ``revision`` into ``folder``; return the commit that it names."""
    owner, name, subfolder = source.url.removeprefix("hf://").split("/", 2)
    dataset = f"{owner}/{name}"
    try:
        commit = huggingface_hub.HfApi().dataset_info(dataset, revision=revision).sha or revision
        huggingface_hub.snapshot_download(
            dataset, repo_type="dataset", revision=commit, allow_patterns=f"{subfolder}/*", local_dir=folder
        )
    except Exception as error:  # the hub's client raises errors of half a dozen libraries
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(_unreachable(f"{source.url} at revision {revision}", reason)) from error
    return commit


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of the files in ``folder`` by path, without hidden ones (the hub client's and Snakemake's)."""
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    visible = {name: path for name, path in paths.items() if not any(part.startswith(".") for part in name.parts)}
    return {name.as_posix(): provenance.sha256(path) for name, path in visible.items()}


def _not_pinned(files: Mapping[str, str], revision: str, pinned: Mapping, lock: Path, rejected: Path) -> str:
    expected = pinned["files"]
    differing = sorted(name for name in files.keys() | expected.keys() if files.get(name) != expected.get(name))
    name = differing[0]
    if name not in files:
        fault = f"missing, and {lock} pins it"
    elif name not in expected:
        fault = f"new: {lock} does not pin it"
    else:
        fault = f"not the file that {lock} pins: SHA-256 is {files[name]}, expected {expected[name]}"
    return (
        f"{name}: {fault} ({len(differing)} of {len(files.keys() | expected.keys())} files differ; locked revision "
        f"{pinned['revision']}, fetched {revision}, kept in {rejected}). Fetch the locked revision again, or "
        "bring the mirror to it; to measure on the new data knowingly, delete the lock file."
    )


def _copy_from_mirror(source: Source, files: list[SourceFile], folder: Path, mirror: Path) -> None:
    origin = mirror / source.mirror
    if origin.suffixes[-2:-1] == [".tar"]:
        if not origin.is_file():
            raise UserError(_not_mirrored(source, origin))
        with tarfile.open(origin) as archive:
            members = set(archive.getnames())
            for file in files:
                member = archive.extractfile(file.path) if file.path in members else None
                if member is None:
                    raise UserError(_not_mirrored(source, origin / file.path))
                _store(member.read(), file, folder, f"{origin}, member {file.path}")
        return
    for file in files:
        plain = origin / file.path
        packed = plain.with_name(plain.name + ".gz")
        if plain.is_file():
            _store(plain.read_bytes(), file, folder, plain)
        elif packed.is_file():
            _store(gzip.decompress(packed.read_bytes()), file, folder, packed)
        else:
            raise UserError(_not_mirrored(source, plain))


def _pack_folders(source: Source, folder: Path, mirror: Path | None) -> None:
    """Pack each of the source's folders into a tar of its own. The source's archive is read as a stream: nothing else
    in it ever reaches the disk.

    The server builds the archive anew for each request, so its checksum says nothing; each folder's git id is checked.
    """
    origin = source.url if mirror is None else mirror / source.mirror
    folder.mkdir(parents=True, exist_ok=True)
    trees: dict[str, dict[str, tuple[bool, str]]] = {file.path.removesuffix(PACKED): {} for file in source.files}
    sizes = dict.fromkeys(trees, 0)
    with contextlib.ExitStack() as stack:
        packs = {}
        for name in trees:
            packed = stack.enter_context(gzip.GzipFile(folder / f"{name}{PACKED}", "wb", 6, mtime=0))
            packs[name] = stack.enter_context(tarfile.open(fileobj=packed, mode="w"))
        try:
            for path, member, content in _members(source, mirror):
                name, _, short = path.rpartition("/")
                if name in packs:
                    if short in trees[name]:
                        raise tarfile.ReadError(f"{path} is there twice")
                    trees[name][short] = bool(member.mode & 0o100), git_blob(content)
                    sizes[name] += len(content)
                    plain = tarfile.TarInfo(short)
                    plain.size = len(content)
                    packs[name].addfile(plain, io.BytesIO(content))
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, urllib3.exceptions.HTTPError) as error:
            raise UserError(f"{origin}: the archive ends early or is damaged ({error}). Fetch it again.") from error
    for file in source.files:
        name = file.path.removesuffix(PACKED)
        if (found := git_tree(trees[name])) != file.git_blob:
            raise UserError(
                f"{origin}: git's id of the folder {name} ({len(trees[name])} files, {sizes[name]} bytes) is {found}, "
                f"expected {file.git_blob} ({file.bytes} bytes; resources/sources/files.csv). A file in it is changed, "
                f"missing or new: fetch the archive of version {source.version[:7]} again."
            )


def _members(source: Source, mirror: Path | None) -> Iterator[tuple[str, tarfile.TarInfo, bytes]]:
    """(path in the repository, member, content) of each file of a source's archive, in its order. A downloaded archive
    has one folder around everything, a mirror's archive has not."""
    with contextlib.ExitStack() as stack:
        if mirror is None:
            reply = _requested(stack, source.url)
            stream: Any = stack.enter_context(tqdm.wrapattr(reply.raw, "read", desc=source.source, disable=None))
            archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r|gz"))
        elif (mirror / source.mirror).is_file():
            archive = stack.enter_context(tarfile.open(mirror / source.mirror, "r|*"))
        else:
            raise UserError(_not_mirrored(source, mirror / source.mirror))
        for member in archive:
            # A link has no content, and asking a stream for it raises an error.
            if member.isfile() and (content := archive.extractfile(member)):
                yield member.name if mirror else member.name.partition("/")[2], member, content.read()


def _requested(stack: contextlib.ExitStack, url: str) -> requests.Response:
    """The reply to a request for ``url``, streamed and not compressed. Raises UserError if the request fails."""
    try:
        session = stack.enter_context(requests.Session())
        session.mount("https://", requests.adapters.HTTPAdapter(max_retries=_RETRY))
        headers = {"Accept-Encoding": "identity"}
        reply = stack.enter_context(session.get(url, headers=headers, stream=True, timeout=60))
        reply.raise_for_status()
    except requests.RequestException as error:
        raise UserError(_refused(url, error)) from error
    return reply


def _not_mirrored(source: Source, path: Path) -> str:
    return (
        f"{path}: not found in the mirror, which must hold {source.title} (version {source.version[:7]}). "
        "Correct `mirror` in the configuration (or BIASATLAS_MIRROR), or leave it empty to download."
    )


def _store(content: bytes, file: SourceFile, folder: Path, origin: object) -> None:
    if not is_it(file, content):
        raise UserError(_wrong_bytes(origin, file, content))
    with atomic_file(folder / file.path) as temporary:
        temporary.write_bytes(content)


def _wrong_bytes(origin: object, file: SourceFile, content: bytes) -> str:
    what, found = "SHA-256", hashlib.sha256(content).hexdigest()
    if not file.sha256:
        what, found = "git blob id", git_blob(content)
    return (
        f"{origin}: {what} is {found}, expected {file.sha256 or file.git_blob} (resources/sources/files.csv). "
        "The file is damaged or of another version: fetch it again."
    )


def _download(source: Source, files: list[SourceFile], folder: Path) -> None:
    with (
        requests.Session() as session,
        tqdm(
            total=sum(file.bytes for file in files), unit="B", unit_scale=True, desc=source.source, disable=None
        ) as bar,
        ThreadPoolExecutor(_CONNECTIONS) as pool,
    ):
        adapter = requests.adapters.HTTPAdapter(max_retries=_RETRY, pool_maxsize=_CONNECTIONS)
        session.mount("https://", adapter)
        session.mount("http://", adapter)
        tasks = [
            pool.submit(_download_file, session, source.url.format(path=file.path), file, folder, bar.update)
            for file in files
        ]
        try:
            for task in tasks:
                task.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _download_file(
    session: requests.Session, url: str, file: SourceFile, folder: Path, progress: Callable[[int], object]
) -> None:
    target = folder / file.path
    part = target.with_name(target.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(_RESUMPTIONS):
        try:
            _append(session, url, part, file.bytes, progress)
            break
        except requests.exceptions.ChunkedEncodingError:
            logging.info("%s: interrupted at byte %d, resuming", url, part.stat().st_size)
        except requests.RequestException as error:
            raise UserError(_refused(url, error)) from error
    else:
        raise UserError(_unreachable(url, f"it was interrupted {_RESUMPTIONS} times"))
    content = part.read_bytes()
    if not is_it(file, content):
        part.unlink()  # it has its full length, so resuming would add nothing
        raise UserError(_wrong_bytes(url, file, content))
    part.replace(target)


def _append(session: requests.Session, url: str, part: Path, size: int, progress: Callable[[int], object]) -> None:
    have = part.stat().st_size if part.exists() else 0
    if have >= size > 0:
        return
    # Ranges count the bytes as sent, so the server must not compress them.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with session.get(url, headers=headers, stream=True, timeout=60) as reply:
        reply.raise_for_status()
        # A server that ignores the range sends the whole file again, with status 200.
        with part.open("ab" if reply.status_code == 206 else "wb") as stream:
            for chunk in reply.iter_content(_CHUNK_BYTES):
                stream.write(chunk)
                progress(len(chunk))


def _refused(url: str, error: requests.RequestException) -> str:
    if isinstance(error, requests.HTTPError):
        answer = f"{error.response.status_code} {error.response.reason}"
        return f"{url}: the server answers {answer}. Is the address right?"
    # The reason is wrapped in two errors, each with the address.
    return _unreachable(url, str(error).rpartition("): ")[2].removesuffix('"))'))


def _unreachable(url: str, reason: object) -> str:
    return (
        f"{url}: cannot be downloaded: {reason}. Check the connection and run again (what has arrived is kept), "
        "or set `mirror` in the configuration to a folder that holds the data."
    )


def _has(file: SourceFile, path: Path) -> bool:
    return path.is_file() and is_it(file, path.read_bytes())
