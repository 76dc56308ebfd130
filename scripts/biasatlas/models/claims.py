"""Claims: only the process that has claimed a call may send it, and only the one that has claimed a batch computes it.

One process has a claim at a time; if it dies, the claim ends. So an orphan and its successor, or jobs with equal
requests, share the work of one store, and nothing is paid for twice. A claim is a lock on one byte of the file
``journal``, at a place that its name gives. The file also has a line for each claim taken or given up. The lines say
what may have been answered since the store was last read, and what was under way when a process died. Open file
description locks (``F_OFD_SETLK``) belong to the opened file; the older POSIX locks end when *any* descriptor of that
file is closed in the process. None of the libraries tried locks a part of a file.
"""

import contextlib
import fcntl
import os
import secrets
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from biasatlas.errors import UserError
from biasatlas.models.store import key_number

#: Bytes of a journal that stay locked for longer than a call: by each process at work, and by the one that works
#: through batches.
_AT_WORK, _BATCHES = 1 << 62, (1 << 62) + 1

_LINE_BYTES = 27  # "+" or "-", 16 hex digits of the call's name, a blank, 8 hex digits for the process, a line end


class Journal:
    """The claims of this process on calls or batches of the store in ``folder``. Close it in the end."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "journal"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        self._own = secrets.token_hex(4).encode()
        self._claims: Counter[str] = Counter()
        self._read = 0
        #: Names that others have claimed, or given up, since the store was read.
        self._touched: set[bytes] = set()
        if not _lock(self._file, _AT_WORK, fcntl.F_RDLCK, self._path):
            os.close(self._file)
            raise UserError(f"{folder}: the store is being repaired; run again when that has ended.")

    def read_claims(self) -> int:
        """Return how many claims were taken and not given up. Read the store after this, not before."""
        open_claims: set[bytes] = set()
        for line in self._lines():
            name = line[1:17]
            (open_claims.add if line.startswith(b"+") else open_claims.discard)(name)
        self._touched = open_claims
        return len(open_claims)

    def claim(self, name: str) -> bool:
        """Claim a ``name`` (64 hex digits), perhaps once more; False if another process has it."""
        if not self._claims[name]:
            if not _lock(self._file, key_number(name), fcntl.F_WRLCK, self._path):
                return False
            self._write(b"+", name)
        self._claims[name] += 1
        return True

    def release(self, name: str) -> None:
        """Give up a claim; its answer, if there is one, must be in the store by now."""
        self._claims[name] -= 1
        if not self._claims[name]:
            del self._claims[name]
            self._write(b"-", name)
            _lock(self._file, key_number(name), fcntl.F_UNLCK, self._path)

    def is_touched(self, name: str) -> bool:
        """Whether another process may have answered ``name`` since :meth:`read_claims`; if so, read the store."""
        self._touched.update(line[1:17] for line in self._lines() if line[18:26] != self._own)
        return name[:16].encode() in self._touched

    @contextlib.contextmanager
    def batches(self) -> Iterator[bool]:
        """Inside the block no other process works through batches; yields False if one already does."""
        taken = _lock(self._file, _BATCHES, fcntl.F_WRLCK, self._path)
        try:
            yield taken
        finally:
            if taken:
                _lock(self._file, _BATCHES, fcntl.F_UNLCK, self._path)

    def close(self) -> None:
        """Give up all claims."""
        os.close(self._file)

    def _write(self, sign: bytes, name: str) -> None:
        os.write(self._file, b"%b%b %b\n" % (sign, name[:16].encode(), self._own))

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines written since the last time, except cut or damaged ones."""
        size = os.fstat(self._file).st_size
        while self._read < size:
            lines = os.pread(self._file, min(size - self._read, _LINE_BYTES << 16), self._read)
            end = lines.rfind(b"\n") + 1
            if not end:
                return
            self._read += end
            yield from (line for line in lines[:end].splitlines() if len(line) == _LINE_BYTES - 1)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Inside the block no job works with the store in ``folder``. Raises UserError if one already does."""
    path = folder / "journal"
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _lock(file, _AT_WORK, fcntl.F_WRLCK, path):
            raise UserError(f"{folder}: a job is working with this store. Wait until it has ended.")
        yield
    finally:
        os.close(file)


def _lock(file: int, place: int, kind: int, path: Path) -> bool:
    """Lock (or unlock) one byte of ``file``; False if another process holds it."""
    try:
        if hasattr(fcntl, "F_OFD_SETLK"):
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, place, 1, 0))
        else:  # not on Linux; this module opens the file once in a process
            modes = {fcntl.F_RDLCK: fcntl.LOCK_SH, fcntl.F_WRLCK: fcntl.LOCK_EX, fcntl.F_UNLCK: fcntl.LOCK_UN}
            fcntl.lockf(file, modes[kind] | (fcntl.LOCK_NB if kind != fcntl.F_UNLCK else 0), 1, place)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise UserError(
            f"{path}: this file system has no locks ({error.strerror}), without which two jobs could pay for the same "
            "call. Put `results` on another."
        ) from None
    return True
