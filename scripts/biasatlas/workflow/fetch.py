"""Raw data: taken from a local mirror folder or downloaded, checked against SHA-256 either way."""

import gzip
import hashlib
import logging
import shutil
import tarfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import huggingface_hub
import requests
from tqdm import tqdm
from urllib3.util import Retry

from biasatlas.errors import UserError
from biasatlas.files import atomic_file
from biasatlas.sources import Source, SourceFile

_RETRY = Retry(total=4, backoff_factor=0.5, backoff_jitter=0.5, status_forcelist=(429, 500, 502, 503, 504))
_RESUMPTIONS = 6
_CONNECTIONS = 8
_CHUNK_BYTES = 1 << 16


def fetch(source: Source, folder: Path, mirror: Path | None) -> None:
    """Put each of the source's files at ``folder / path``, from the ``mirror`` folder if one is given.

    They gather in a hidden folder beside ``folder``, which takes its name once all are there. A fetch that broke off
    goes on from what that folder holds. Raises UserError for a file that is not in the mirror, cannot be downloaded,
    or has other bytes than ``files.csv`` says.
    """
    gathering = folder.with_name(f".{folder.name}.fetching")
    wanted = [file for file in source.files if _sha256(gathering / file.path) != file.sha256]
    if mirror is not None:
        _copy_from_mirror(source, wanted, gathering, mirror)
    else:
        _download(source, wanted, gathering)
    if folder.exists():
        shutil.rmtree(folder)
    gathering.rename(folder)
    logging.info("%s: fetched %d files of version %s into %s", source.source, len(wanted), source.version[:7], folder)


def fetch_dataset(source: Source, folder: Path, mirror: Path | None) -> None:
    """Put the files of a dataset on the Hugging Face hub, or all of its folder in the ``mirror``, into ``folder``.

    Nothing says beforehand what these files are. Raises UserError if the hub or the mirror does not give them.
    """
    gathering = folder.with_name(f".{folder.name}.fetching")
    if mirror is not None:
        if not (mirror / source.mirror).is_dir():
            raise UserError(_not_mirrored(source, mirror / source.mirror))
        shutil.copytree(mirror / source.mirror, gathering, dirs_exist_ok=True)
    else:
        owner, name, inside = source.url.removeprefix("hf://").split("/", 2)
        try:
            huggingface_hub.snapshot_download(
                f"{owner}/{name}",
                repo_type="dataset",
                revision=source.version,
                allow_patterns=f"{inside}/*",
                local_dir=gathering,
            )
        except Exception as error:  # the hub's client raises errors of half a dozen libraries
            raise UserError(_unreachable(source.url, str(error).splitlines()[0])) from error
    if folder.exists():
        shutil.rmtree(folder)
    gathering.rename(folder)


def _copy_from_mirror(source: Source, files: list[SourceFile], folder: Path, mirror: Path) -> None:
    origin = mirror / source.mirror
    if origin.suffixes[-2:-1] == [".tar"]:
        if not origin.is_file():
            raise UserError(_not_mirrored(source, origin))
        with tarfile.open(origin) as archive:
            members = set(archive.getnames())
            for file in files:
                if file.path not in members:
                    raise UserError(_not_mirrored(source, origin / file.path))
                content = archive.extractfile(file.path).read()
                _store(content, file, folder, f"{origin}, member {file.path}")
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


def _not_mirrored(source: Source, path: Path) -> str:
    return (
        f"{path}: not found in the mirror, which must hold {source.title} (version {source.version[:7]}). "
        "Correct `mirror` in the configuration (or BIASATLAS_MIRROR), or leave it empty to download."
    )


def _store(content: bytes, file: SourceFile, folder: Path, origin: object) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise UserError(_wrong_bytes(origin, file, found))
    with atomic_file(folder / file.path) as temporary:
        temporary.write_bytes(content)


def _wrong_bytes(origin: object, file: SourceFile, found: str) -> str:
    return (
        f"{origin}: SHA-256 is {found}, expected {file.sha256} (resources/sources/files.csv). "
        "The file is damaged or of another version: fetch it again."
    )


def _download(source: Source, files: list[SourceFile], folder: Path) -> None:
    with (
        requests.Session() as session,
        tqdm(total=sum(file.bytes for file in files), unit="B", unit_scale=True, desc=source.source) as bar,
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
            logging.info("%s: broke off at byte %d, resuming", url, part.stat().st_size)
        except requests.HTTPError as error:
            raise UserError(f"{url}: the server answers {error}. Is the address right?") from error
        except requests.RequestException as error:
            raise UserError(_unreachable(url, error)) from error
    else:
        raise UserError(_unreachable(url, f"it broke off {_RESUMPTIONS} times"))
    found = _sha256(part)
    if found != file.sha256:
        part.unlink()
        raise UserError(_wrong_bytes(url, file, found))
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


def _unreachable(url: str, reason: object) -> str:
    return (
        f"{url}: cannot be downloaded: {reason}. Check the connection and run again (what has arrived is kept), "
        "or set `mirror` in the configuration to a folder that holds the data."
    )


def _sha256(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
