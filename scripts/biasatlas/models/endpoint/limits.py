"""An endpoint's limits, kept by all jobs of a machine together; a model's budget, by all jobs that see its store.

Numbers live in small files under exclusive locks that the kernel releases when a process dies, whatever killed it.
Why not a library: aiolimiter counts within one process; limits and throttled-py share counts through a server
(Redis); pyrate-limiter shares them through SQLite with one row for each token, and its rolling window lets a whole
minute's requests go at once.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import logging
import os
import struct
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from biasatlas.models.endpoint.entry import ApiEntry

log = logging.getLogger(__name__)

#: Requests are sent at this share of the limit: arrivals that the network bunches up still keep below it.
HEADROOM = 0.95

_POLL_S = 0.02


class Limits:
    """Requests and tokens per minute, and requests in flight, of one model at one endpoint."""

    def __init__(self, entry: ApiEntry):
        name = hashlib.sha256(f"{entry.base_url} {entry.model}".encode()).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"biasatlas-limits-{os.getuid()}" / name
        folder.mkdir(parents=True, exist_ok=True)
        self._pace = folder / "pace"
        self._request_s = 60 / (entry.requests_per_minute * HEADROOM) if entry.requests_per_minute else 0.0
        self._token_s = 60 / (entry.tokens_per_minute * HEADROOM) if entry.tokens_per_minute else 0.0
        self._slots = [_open(folder / f"slot-{index}") for index in range(entry.concurrency)]
        self._free = deque(self._slots)
        self._turn = asyncio.Lock()  # one task of this process looks for a slot at a time

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one of the endpoint's ``concurrency`` slots inside the block; wait for one first."""
        async with self._turn:
            while (slot := self._take()) is None:
                await asyncio.sleep(_POLL_S)
        try:
            yield
        finally:
            fcntl.flock(slot, fcntl.LOCK_UN)
            self._free.append(slot)

    def _take(self) -> int | None:
        for _ in range(len(self._free)):
            slot = self._free.popleft()
            try:
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return slot
            except BlockingIOError:
                self._free.append(slot)
        return None

    async def turn(self, tokens: float) -> None:
        """Wait until one more request of so many ``tokens`` keeps both rates (evenly spaced, no burst)."""
        now = time.time()
        with _number(self._pace) as due:
            start = max(now, due[0])
            due[0] = start + max(self._request_s, self._token_s * tokens)
        if start - now > 60:
            log.info("waiting %.0f s, as the limits have it or the endpoint asked", start - now)
        await asyncio.sleep(start - now)

    def hold(self, seconds: float) -> None:
        """Let no job send a request in the next ``seconds``: the endpoint asked for it."""
        with _number(self._pace) as due:
            due[0] = max(due[0], time.time() + seconds)

    def close(self) -> None:
        """Release everything."""
        for slot in self._slots:
            os.close(slot)


class Budget:
    """What a model has cost so far, and may cost, over all jobs and runs that share its store's ``folder``."""

    def __init__(self, folder: str | os.PathLike, limit: float | None):
        self._path = Path(folder) / "spent"
        self._limit = limit
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def reserve(self, cost: float) -> bool:
        """Set ``cost`` aside before a call that may come to so much; False, and nothing set aside, if it is not there.

        A process that is killed leaves the costs of its calls in flight set aside: they may have been charged.
        """
        if cost == 0:
            return True
        with _number(self._path) as spent:
            if self._limit is not None and spent[0] + cost > self._limit:
                return False
            spent[0] += cost
            return True

    def settle(self, reserved: float, cost: float) -> None:
        """Replace what was set aside for a call by what it did cost."""
        if cost != reserved:
            with _number(self._path) as spent:
                spent[0] += cost - reserved

    @property
    def spent(self) -> float:
        """The sum so far, with what is set aside."""
        with _number(self._path) as spent:
            return spent[0]


@contextlib.contextmanager
def _number(path: Path) -> Iterator[list[float]]:
    """The one number in the file ``path`` (0 when new), in a list, for one process at a time to change in the block."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        stored = os.pread(descriptor, 8, 0)
        number = list(struct.unpack("d", stored)) if stored else [0.0]
        yield number
        os.pwrite(descriptor, struct.pack("d", *number), 0)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
