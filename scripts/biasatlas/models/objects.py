"""A response store on object storage, for jobs without a shared file system: shards are objects, a lease says who asks.

A shard never changes once it is closed, so it is put and fetched whole. In place of locks a lease says who may ask an
endpoint: an object that a job makes, renews or takes over only if no other was quicker. No two clocks are compared: a
lease may be taken over once it has not changed for longer than its holder, by its own clock, would go on.
"""

import atexit
import contextlib
import logging
import os
import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import from_url

from biasatlas.errors import UserError

log = logging.getLogger(__name__)

#: A lease is renewed every RENEW_S and lasts SPARE_S longer than the longest call. Its holder sends a call only if it
#: ends at least MARGIN_S before the lease does.
RENEW_S, SPARE_S, MARGIN_S = 10.0, 60.0, 15.0

_POLL_S = 2.0
_LEASE = "lease"
_AT_ONCE = 16

#: The message while a job waits for a lease.
_WAITING = "waiting: another job asks this model, and what it asks is not asked twice"

_Mode = Any  # of a put: "create", "overwrite", or the version to replace


class Objects:
    """A response store's objects in ``bucket`` (a store of the package obstore), with its files in ``folder``."""

    def __init__(self, bucket: Any, folder: Path):
        self._bucket, self._folder = bucket, folder
        self._put: dict[str, bytes] = {}
        self._until = 0.0  # when the lease ends, by this process' clock
        self._lease = b""

    @classmethod
    def at(cls, url: str, stores: Path, folder: Path) -> "Objects":
        """The objects at ``url`` of the store in ``folder``, which is below the folder of all ``stores``.

        Keys are read from the environment, for S3 from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
        """
        with _reached():
            where = f"{url.rstrip('/')}/{folder.relative_to(stores).as_posix()}"
            return cls(from_url(where, client_options={"allow_http": True}), folder)

    def exchange(self) -> None:
        """Fetch the shards that the folder lacks, and put those that only it has, such as a killed job's."""
        with _reached():
            there = {item["path"]: item["size"] for page in obstore.list(self._bucket) for item in page}
            here = {path.name: path.stat().st_size for path in self._folder.glob("*.jsonl")}
            self._folder.mkdir(parents=True, exist_ok=True)
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                names = [name for name in there if name.endswith(".jsonl") and there[name] > here.get(name, -1)]
                list(pool.map(self._fetch, names))
                list(pool.map(self.put_file, [name for name in here if here[name] > there.get(name, -1)]))

    def _fetch(self, name: str) -> None:
        path = self._folder / name
        path.with_suffix(".new").write_bytes(obstore.get(self._bucket, name).bytes())
        os.replace(path.with_suffix(".new"), path)

    def put_file(self, name: str) -> None:
        """Put a file of the folder into the bucket."""
        with _reached():
            obstore.put(self._bucket, name, (self._folder / name).read_bytes())

    def get(self, name: str) -> bytes:
        """The content of the object ``name``; empty if there is none."""
        with _reached():
            try:
                return bytes(obstore.get(self._bucket, name).bytes())
            except FileNotFoundError:
                return b""

    def put(self, name: str, content: bytes) -> None:
        """Replace the content of the object ``name``, unless it is what was put there last."""
        if self._put.get(name) != content:
            with _reached():
                obstore.put(self._bucket, name, content)
            self._put[name] = content

    @contextlib.contextmanager
    def leased(self, longest_s: float, waiting: str = _WAITING, refusal: str = "") -> Iterator[None]:
        """Wait for the lease; inside the block no other job asks. A call takes ``longest_s`` at most.

        The lease of a holder that died has to run out; a holder that ends gives it up. With a ``refusal`` a holder that
        is alive is not waited for: raises UserError with that message.
        """
        length_s = longest_s + SPARE_S
        with _reached():
            version = self._acquire(length_s, waiting, refusal)
        ended = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(version, length_s, ended), daemon=True)
        renewing.start()
        try:
            yield
        finally:
            ended.set()
            renewing.join()

    def may_send(self, longest_s: float) -> bool:
        """Whether a call that takes ``longest_s`` at most surely ends while the lease is ours."""
        return time.monotonic() < self._until - longest_s - MARGIN_S

    def _acquire(self, length_s: float, waiting: str = _WAITING, refusal: str = "") -> _Mode:
        """Wait until the lease is ours; return its version."""
        seen, since, said = b"", 0.0, False
        while True:
            began = time.monotonic()
            content, version = self._read_with_mode()
            lasts_s = float(content.split()[0]) if content else 0.0
            if content != seen:
                if refusal and seen and lasts_s:
                    raise UserError(refusal)
                seen, since = content, began
            if began - since < lasts_s:
                if not said:
                    log.log(logging.WARNING if refusal else logging.INFO, waiting)
                    said = True
                time.sleep(_POLL_S)
                continue
            if version := self._write(length_s, version):
                self._until = began + length_s
                return version

    def _renew(self, version: _Mode, length_s: float, ended: threading.Event) -> None:
        """Renew the lease until the block has ``ended``, then give it up."""
        while version and not ended.wait(RENEW_S):
            began = time.monotonic()
            try:
                version = self._write(length_s, version)
                self._until = began + length_s if version else 0.0
            except (BaseError, OSError) as error:
                log.warning("the lease could not be renewed: %s", _first_line(error))
        self._until = 0.0
        with contextlib.suppress(BaseError, OSError):
            if version:
                self._write(0, version)

    def _read_with_mode(self) -> tuple[bytes, _Mode]:
        """The lease's content and version; empty and "create" if there is none."""
        try:
            lease = obstore.get(self._bucket, _LEASE)
        except FileNotFoundError:
            return b"", "create"
        return bytes(lease.bytes()), _version(lease.meta)

    def _write(self, length_s: float, before: _Mode) -> _Mode:
        """Write the lease if its version is still ``before``; return the new version, else None.

        The content is never the same twice, because a version may be a digest of it.
        """
        content = b"%g %s" % (length_s, secrets.token_hex(8).encode())
        try:
            return _version(obstore.put(self._bucket, _LEASE, content, mode=before))
        except (AlreadyExistsError, PreconditionError):
            there, version = self._read_with_mode()  # ours, if a first attempt succeeded and its reply was lost
            return version if there == content else None


def hold(url: str) -> None:
    """Hold the lease of ``url`` until this process ends; raises UserError if another process holds it.

    If that fails for another reason, such as no keys in the environment, this warns and goes on.
    """
    refusal = f"{url}: another run works there. Wait until it has ended, or give this one a prefix of its own."
    waiting = f"{url}: looking for {SPARE_S:g} s whether a run that began there is still alive"
    try:
        held = Objects.at(url, Path(), Path("run")).leased(0, waiting, refusal)
        held.__enter__()
    except (UserError, ValueError) as error:
        if str(error) == refusal:
            raise
        log.warning("%s: nothing keeps a second run away (%s)", url, _first_line(error).partition(". All answers")[0])
    else:
        atexit.register(held.__exit__, None, None, None)


def _version(meta: Any) -> dict[str, str]:
    return {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    """Raise errors of object storage as UserError."""
    try:
        yield
    except (BaseError, PermissionError) as error:
        raise UserError(
            f"store: object storage cannot be used: {_first_line(error)}. All answers that came are kept; look at the "
            "address, the keys in the environment and the network, and run again."
        ) from None
