"""The response store: every answer is kept the moment it arrives, so that nothing is computed or paid for twice.

A store is a folder of shards: append-only JSON lines, one file per process that ever wrote, never opened again. So it
needs no lock and no database, works on a cluster's file system, and a torn last line is followed by nothing.
"""

import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from biasatlas.columns import REQUEST_COLUMNS

_to_disk = getattr(os, "fdatasync", os.fsync)  # macOS has only fsync

_NOT_CONTENT = {"request_id", "item_id", "repeats"}
_PLAIN = {"string": str, "float": float, "integer": int, "boolean": bool}

# A line is {"crc":"<8 hex>","key":"<64 hex>","value":{...}}: fixed widths, so that a reader finds its keys without
# parsing the JSON of the lines that it does not want. The checksum covers everything from "key" on.
_LINE = b'{"crc":"%08x",%b\n'
_CRC, _REST, _KEY = slice(8, 16), 18, slice(25, 89)


def content(row: Mapping) -> dict:
    """What of a request (a row of a requests table) can change its answer, as plain typed values; missing is None.

    Left out are its names (``request_id``, ``item_id``), how many repeats are wanted, and a benchmark's own columns.
    """
    return {
        name: None if pd.isna(value := row.get(name)) else _PLAIN[type_](value)
        for name, type_ in REQUEST_COLUMNS.items()
        if name not in _NOT_CONTENT
    }


def key(model: Mapping, request: Mapping, repeat: int) -> str:
    """The name of one answer: SHA-256 over canonical JSON of ``model``, ``request`` and the index of the repeat.

    ``model`` says all that can change its answers: kind, hash of the weights, precision, device and the version of what
    computes them, or base URL and name at an endpoint. ``request`` is the request as that model sees it (the rendered prompt, or
    :func:`content` with the template's text). Raises ValueError for a value that JSON cannot hold.
    """
    text = json.dumps([model, request, repeat], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class ResponseStore:
    """The answers in one ``folder`` (created when needed); values are dicts that JSON can hold."""

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        self._shard: int | None = None

    def get(self, keys: Iterable[str]) -> dict[str, dict]:
        """The values of those ``keys`` that are stored, from all shards; torn or damaged lines are passed over.

        Of two answers to one key the one in the older shard counts, always.
        """
        wanted = {key.encode() for key in keys}
        kept: dict[bytes, bytes] = {}
        for shard in sorted(self.folder.glob("*.jsonl")):
            with open(shard, "rb") as lines:
                for line in lines:
                    name = line[_KEY]
                    if name in wanted and name not in kept and _whole(line):
                        kept[name] = line
        return {name.decode(): json.loads(line)["value"] for name, line in kept.items()}

    def put(self, values: Mapping[str, dict], sync: bool = True) -> None:
        """Append ``values`` by key. They outlive this process on return, and with ``sync`` the machine too.

        Raises OSError (a full disk, a read-only folder) with the file's name; what was stored before stays whole.
        """
        if not values:
            return
        lines = b"".join(_line(key, value) for key, value in values.items())
        try:
            if self._shard is None:
                self._shard = self._open()
            while lines:
                lines = lines[os.write(self._shard, lines) :]
            if sync:
                _to_disk(self._shard)
        except OSError as error:
            self.close()  # the next put opens a new shard, so nothing follows a torn line
            error.filename = error.filename or str(self.folder)
            raise

    def sync(self) -> None:
        """Wait until all that was put is on the disk."""
        if self._shard is not None:
            _to_disk(self._shard)

    def close(self) -> None:
        """Close this process' shard; a later put opens another."""
        if self._shard is not None:
            os.close(self._shard)
            self._shard = None

    def _open(self) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{time.time_ns():020d}-{os.uname().nodename}-{os.getpid()}.jsonl"
        return os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)


def _line(key: str, value: dict) -> bytes:
    rest = b'"key":"%b","value":%b}' % (
        key.encode(),
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"),
    )
    return _LINE % (zlib.crc32(rest), rest)


def _whole(line: bytes) -> bool:
    return line.endswith(b"}\n") and line[_CRC] == b"%08x" % zlib.crc32(line[_REST:-1])
