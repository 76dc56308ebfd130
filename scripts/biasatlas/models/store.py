"""The response store: every answer is kept the moment it arrives, so that nothing is computed or paid for twice.

A store is a folder of shards: append-only JSON lines, one file per process that ever wrote, never opened for writing
again. So it needs no lock and no database, works on a cluster's file system, and nothing follows a torn last line.
With :class:`~biasatlas.models.objects.Objects` the folder is one machine's copy of a store on object storage.
"""

import hashlib
import json
import logging
import os
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pandas as pd

from biasatlas.columns import REQUEST_COLUMNS

if TYPE_CHECKING:
    from biasatlas.models.objects import Objects

log = logging.getLogger(__name__)

_to_disk = getattr(os, "fdatasync", os.fsync)  # macOS has only fsync

#: The command that repairs a damaged store.
REPAIR = "bias-atlas check-store --repair FOLDER"

_NOT_CONTENT = {"request_id", "item_id", "repeats"}
_PLAIN = {"string": str, "float": float, "integer": int, "boolean": bool}

# A line is {"crc":"<8 hex>","key":"<64 hex>","value":{...}}: fixed widths, so that a reader finds its keys without
# parsing the JSON of the lines that it does not want. The checksum covers everything from "key" on. The value null
# takes back what older lines say of the key.
_LINE = b'{"crc":"%08x",%b\n'
_CRC, _REST, _KEY = slice(8, 16), 18, slice(25, 89)
_TAKEN_BACK = b'"value":null}\n'

# An entry of the index is one number: the shard's number in the upper bits, the place in the shard in the lower ones. A
# dictionary of a million pairs of numbers takes 100 MiB; one of keys and records would take over a gigabyte.
_PLACE_BITS = 44


def content(row: Mapping) -> dict:
    """The parts of a request (a row) that can change its answer, as plain typed values; missing is None.

    Left out are its names (``request_id``, ``item_id``), how many repeats are wanted, and a benchmark's own columns.
    """
    return {
        name: None if pd.isna(value := row.get(name)) else _PLAIN[type_](value)
        for name, type_ in REQUEST_COLUMNS.items()
        if name not in _NOT_CONTENT and not (name == "options" and pd.isna(row.get(name)))
    }


def key(model: Mapping, request: Mapping, repeat: int) -> str:
    """The name of one answer: SHA-256 over canonical JSON of ``model``, ``request`` and the index of the repeat.

    ``model`` says all that can change its answers: kind, hash of the weights, precision, device and the version of what
    computes them, or base URL and name at an endpoint. ``request`` is the request as that model sees it (the rendered
    prompt, or :func:`content` with the template's text). Raises ValueError for a value that JSON cannot hold.
    """
    return keys(model, request, [repeat])[0]


def keys(model: Mapping, request: Mapping, repeats: Iterable[int]) -> list[str]:
    """:func:`key` of each of the ``repeats`` of one request."""
    text = json.dumps([model, request], sort_keys=True, separators=(",", ":"), allow_nan=False)
    start = hashlib.sha256(text[:-1].encode())
    names = []
    for repeat in repeats:
        whole = start.copy()
        whole.update(b",%d]" % repeat)
        names.append(whole.hexdigest())
    return names


class ResponseStore:
    """The answers in one ``folder`` (created when needed), and among ``objects``; values are dicts that JSON can hold.

    Keys are looked up in memory, as of the last :meth:`refresh`; what this object itself puts is found at once.
    """

    def __init__(self, folder: str | os.PathLike, objects: "Objects | None" = None):
        self.folder, self.objects = Path(folder), objects
        self._writing, self._publishing = threading.Lock(), threading.Lock()
        self._unpublished: list[str] = []  # shards that are closed and not yet among the objects
        self._shard: int | None = None
        self._index: dict[int, int] = {}
        self._shards: list[Path] = []
        self._read: dict[str, _Read] = {}
        self._open_shard: tuple[int, BinaryIO] | None = None

    def get(self, keys: Iterable[str]) -> dict[str, dict]:
        """The values of those ``keys`` that are stored, from all shards."""
        self.refresh()
        found = sorted((place, key) for key in set(keys) if (place := self._index.get(key_number(key))) is not None)
        values = ((key, self.read(key)) for _, key in found)
        return {key: value for key, value in values if value is not None}

    def __contains__(self, key: str) -> bool:
        return key_number(key) in self._index

    def read(self, key: str) -> dict | None:
        """The value under ``key``, None if there is none (as of the last :meth:`refresh`)."""
        place = self._index.get(key_number(key))
        line = b"" if place is None else self._line_at(place)
        return json.loads(line)["value"] if line[_KEY] == key.encode() and _whole(line) else None

    def _line_at(self, place: int) -> bytes:
        number = place >> _PLACE_BITS
        if not self._open_shard or self._open_shard[0] != number:
            self._close_read()
            self._open_shard = number, open(self._shards[number], "rb")  # noqa: SIM115 (read on)
        file = self._open_shard[1]
        file.seek(place & ((1 << _PLACE_BITS) - 1))
        return file.readline()

    def values(self) -> Iterator[dict]:
        """All values (as of the last :meth:`refresh`), shard by shard."""
        for place in sorted(self._index.values()):
            if (line := self._line_at(place)) and _whole(line):
                yield json.loads(line)["value"]

    def refresh(self) -> None:
        """Read what other processes have put since the last time.

        Damaged lines are passed over, with a warning that says where. If a key has two answers, the one in the older
        shard always counts, unless it was taken back.
        """
        if self.objects:
            self._close_read()
            self.objects.exchange()
        for path in sorted(self.folder.glob("*.jsonl")):
            known = self._read.get(path.name)
            if known is None:
                known = self._read[path.name] = _Read(len(self._shards))
                self._shards.append(path)
            if known.size < path.stat().st_size:
                for place, line in _lines(path, known):
                    if _whole(line):
                        self._note(line, known.number, place)
                        continue
                    log.warning("%s, line %d: damaged, and passed over; repair it: %s", path, known.lines, REPAIR)

    def _note(self, line: bytes, shard: int, place: int) -> None:
        name = key_number(line[_KEY])
        older = self._index.get(name)
        if line.endswith(_TAKEN_BACK):
            self._index.pop(name, None)
        elif older is None or self._shards[older >> _PLACE_BITS].name > self._shards[shard].name:
            self._index[name] = (shard << _PLACE_BITS) | place

    def put(self, values: Mapping[str, dict | None], sync: bool = True) -> None:
        """Append ``values`` by key. On return they survive a crash of this process, and with ``sync`` of the machine.

        The value None takes back what is stored under its key, so that a new value counts. Raises OSError (a full disk,
        a read-only folder) with the file's name; what was stored before stays intact.
        """
        if not values:
            return
        lines = [_line(key, value) for key, value in values.items()]
        left = b"".join(lines)
        with self._writing:
            try:
                if self._shard is None:
                    self._shard = self._open()
                while left:
                    left = left[os.write(self._shard, left) :]
                if sync:
                    _to_disk(self._shard)
            except OSError as error:
                self.close()  # the next put opens a new shard, so nothing follows a torn line
                error.filename = error.filename or str(self.folder)
                raise
            own = self._read[self._shards[self._own].name]
            for line in lines:
                self._note(line, self._own, own.size)
                own.size, own.lines = own.size + len(line), own.lines + 1
        if sync and self.objects:
            self._publish(self.objects)

    def sync(self) -> None:
        """Wait until all that was put is on the disk, or among the objects."""
        if self.objects:
            self._publish(self.objects)
        elif self._shard is not None:
            _to_disk(self._shard)

    def _publish(self, objects: "Objects") -> None:
        """Close this process' shard and put it among the objects."""
        with self._publishing:
            with self._writing:
                if self._shard is not None:
                    os.close(self._shard)
                    self._shard = None
                    self._unpublished.append(self._shards[self._own].name)
            while self._unpublished:
                objects.put_file(self._unpublished[0])
                del self._unpublished[0]

    def close(self) -> None:
        """Close this process' shard; a later put opens another."""
        self._close_read()
        if self._shard is not None:
            os.close(self._shard)
            self._shard = None

    def _close_read(self) -> None:
        if self._open_shard:
            self._open_shard[1].close()
            self._open_shard = None

    def _open(self) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{time.time_ns():020d}-{os.uname().nodename}-{os.getpid()}.jsonl"
        shard = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        self._own = len(self._shards)
        self._shards.append(path)
        self._read[path.name] = _Read(self._own)
        return shard


@dataclass
class _Read:
    """How far a shard, the ``number``-th that was seen, has been read: whole lines and their bytes."""

    number: int
    size: int = 0
    lines: int = 0


def _lines(path: Path, read: _Read) -> Iterator[tuple[int, bytes]]:
    """Yield the place, in bytes, and content of each line of a shard after what was ``read`` before.

    A last line without an end is left for later: someone may be writing it.
    """
    with open(path, "rb") as lines:
        lines.seek(read.size)
        for line in lines:
            if not line.endswith(b"\n"):
                return
            place = read.size
            read.size, read.lines = place + len(line), read.lines + 1
            yield place, line


def key_number(key: str | bytes) -> int:
    """The first 60 bits of a key."""
    return int(key[:15], 16)


def _line(key: str, value: dict | None) -> bytes:
    rest = b'"key":"%b","value":%b}' % (
        key.encode(),
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"),
    )
    return _LINE % (zlib.crc32(rest), rest)


def _whole(line: bytes) -> bool:
    return line.endswith(b"}\n") and line[_CRC] == b"%08x" % zlib.crc32(line[_REST:-1])


def repair(folder: Path) -> list[tuple[Path, int, bytes]]:
    """Write each damaged shard anew without its damaged lines, which go to the folder ``damaged``; return those lines.

    The store must not be in use: a last line without an end counts as damaged. What is lost is asked for again by the
    next run that needs it.
    """
    damage = inspect(folder)
    for path in dict.fromkeys(path for path, _, _ in damage):
        kept = folder / "damaged" / path.name
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(b"".join(line for shard, _, line in damage if shard == path))
        with open(path, "rb") as lines, open(path.with_suffix(".new"), "wb") as whole:
            whole.writelines(line for line in lines if _whole(line))
            whole.flush()
            os.fsync(whole.fileno())
        os.replace(path.with_suffix(".new"), path)
    return damage


def inspect(folder: Path) -> list[tuple[Path, int, bytes]]:
    """The damaged lines of a store, and last lines without an end, as (shard, number of the line from 1, its bytes)."""
    damage = []
    for path in sorted(folder.glob("*.jsonl")):
        with open(path, "rb") as lines:
            damage += [(path, number, line) for number, line in enumerate(lines, 1) if not _whole(line)]
    return damage
