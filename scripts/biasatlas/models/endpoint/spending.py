"""What calls may take, and took: an endpoint's limits, a model's budget, a job's own account.

All jobs of a user keep the limits together; all jobs that see a model's store keep its budget. Numbers are in small
files under exclusive locks that the kernel releases when a process dies, whatever killed it. Libraries count in one
process (aiolimiter), need a server (limits, throttled-py) or send a minute's requests at once.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import json
import logging
import math
import os
import struct
import tempfile
import time
import zlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from biasatlas.benchmarks.shared.parsing.normalise import answer_part
from biasatlas.errors import OutOfBudget, UserError
from biasatlas.models.claims import Journal
from biasatlas.models.endpoint import same_model
from biasatlas.models.endpoint.calls import HEADROOM, cost
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.replies import is_declined, stored
from biasatlas.models.endpoint.transport import Outcome, redact_key, shown
from biasatlas.models.store import ResponseStore

log = logging.getLogger(__name__)

#: The file in a store that holds what was spent.
SPENT = "spent"

#: Seconds: between two looks for a free slot; that a turn may be late; that the next one may be ahead; and that an
#: endpoint may ask to wait.
_POLL_S, _LATE_S, _LONGEST_TURN_S, _LONGEST_S = 0.02, 0.01, 60, 3600

#: The gap between calls to an endpoint that has asked for fewer: seconds at first and at most; its factors when it asks
#: again (once a round trip) and with each answer; seconds of a stop when it asks. Simulated without Retry-After, 16 in
#: flight at most: 1.1 calls an answer at a cap of 3 a second, 1.4 at 20 a minute, 1.0 at 50 a second.
_GAP_S, _LONGEST_GAP_S, _SLOWER, _FASTER, _STOP_S = 0.1, 20.0, 1.5, 0.985, 0.5
#: From _OVER_S after it last asked for fewer (a used-up day may be over), the gap shrinks by the factor _OVER instead.
_OVER_S, _OVER = 180, 0.9

#: An endpoint that will not answer _FIRST requests, and answered none before, is taken to answer none. If _SILENT of
#: the first _FIRST replies say nothing, or the first DECLINED questions are all declined, the rest is not asked.
_FIRST, _SILENT, DECLINED = 20, 18, 50

#: The first calls may cost this many times their upper bound: services count tokens a little differently.
_DEARER = 2

#: Characters that are kept of a reply that is no answer.
_KEPT = 4000

_NUMBER = struct.Struct("dI")


class Limits:
    """Requests and tokens per minute, and requests in flight, of one model at one endpoint under one key.

    When the endpoint asks for fewer calls, the gap between those of all jobs grows, and later shrinks again. The files
    are in the user's cache, which all nodes of a cluster see.
    """

    def __init__(self, entry: ApiEntry):
        name = hashlib.sha256(f"{entry.base_url} {entry.key_env} {entry.model}".encode()).hexdigest()[:16]
        folder = _cache() / "biasatlas-limits" / name
        folder.mkdir(parents=True, exist_ok=True)
        self._pace, self._held, self._gap, self._slowed = (folder / name for name in ("pace", "held", "gap", "slowed"))
        self._request_s = 60 / (entry.requests_per_minute * HEADROOM) if entry.requests_per_minute else 0.0
        self._token_s = 60 / (entry.tokens_per_minute * HEADROOM) if entry.tokens_per_minute else 0.0
        self._slots = [_open(folder / f"slot-{index}") for index in range(entry.concurrency)]
        self._free = deque(self._slots)
        self._turn, self._queue = asyncio.Lock(), asyncio.Lock()  # one task of this process looks at a time

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
        """Wait until one more request with this number of ``tokens`` keeps both rates (evenly spaced, no burst)."""
        async with self._queue:
            while (wait_s := self._wait_s(tokens)) > 0:
                if wait_s > 60:
                    log.info("waiting %.0f s, as the limits have it or the endpoint asked", wait_s)
                await asyncio.sleep(wait_s)

    def wait(self, tokens: float) -> None:
        """:meth:`turn`, for callers that send one request at a time."""
        while (wait_s := self._wait_s(tokens)) > 0:
            time.sleep(wait_s)

    def slow(self, asked_s: float, round_trip_s: float) -> None:
        """Send less: the endpoint asked to, ``round_trip_s`` after a call, and to wait ``asked_s`` (0: not said)."""
        now = time.time()
        with _number(self._slowed) as slowed:
            # Calls that were in flight together are told the same.
            again = 0 <= now - slowed[0] < round_trip_s
            slowed[0] = slowed[0] if again else now
        if not again:
            # If it says how long, calls need not be further apart than twice that.
            longest = min(_LONGEST_GAP_S, 2 * asked_s or _LONGEST_GAP_S)
            with _number(self._gap) as gap:
                gap[0] = max(gap[0], min(longest, max(_GAP_S, gap[0] * _SLOWER)))
        self.hold(asked_s or _STOP_S)

    def answered(self) -> None:
        """Send a little more: a call was answered."""
        if self._gap.exists():
            with _number(self._slowed) as slowed, _number(self._gap) as gap:
                gap[0] *= _OVER if time.time() - slowed[0] > _OVER_S else _FASTER

    def _wait_s(self, tokens: float) -> float:
        """Seconds to wait before asking again; 0: the turn is taken."""
        with _number(self._held) as held, _number(self._pace) as due, _number(self._gap) as gap:
            now, spacing_s = time.time(), max(self._request_s, self._token_s * tokens, min(gap[0], _LONGEST_GAP_S))
            # A time further ahead than any turn, or than an endpoint may ask to wait, was written by a clock that is
            # wrong.
            ahead = ((held[0], _LONGEST_S), (due[0], max(_LONGEST_TURN_S, spacing_s)))
            wait_s = max((until - now for until, most_s in ahead if until < now + most_s), default=0.0)
            if wait_s > 0:
                return wait_s
            # A caller that wakes a little late does not lose the time: else the rate would never be reached.
            due[0] = max(min(due[0], now), now - min(spacing_s, _LATE_S)) + spacing_s
            return 0.0

    def hold(self, seconds: float) -> None:
        """Let no job send a request in the next ``seconds``, whatever its turn: the endpoint asked for it."""
        with _number(self._held) as held:
            held[0] = max(held[0], time.time() + seconds)

    def close(self) -> None:
        """Release all slots."""
        for slot in self._slots:
            os.close(slot)


class Budget:
    """What a model has cost so far, and may cost, over all jobs and runs that share its store's ``folder``.

    ``recount`` says what the stored answers cost, in case the file is damaged.
    """

    def __init__(self, folder: str | os.PathLike, limit: float | None, recount: Callable[[], float] = lambda: 0.0):
        self._path = Path(folder) / SPENT
        self._limit, self._recount = limit, recount
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def raise_to(self, stored: bytes) -> None:
        """Raise the sum to the one that such a file holds elsewhere, if that is more."""
        with self._spent() as spent:
            spent[0] = max(spent[0], _unpack(stored) or 0.0)

    @property
    def stored(self) -> bytes:
        """The content of the file."""
        with self._spent():
            return self._path.read_bytes()

    def reserve(self, cost: float) -> bool:
        """Set ``cost`` aside before a call that may cost so much; False, and nothing set aside, if it is too much.

        A process that is killed leaves the costs of its calls in flight set aside: they may have been charged.
        """
        if cost == 0:
            return True
        with self._spent() as spent:
            if self._limit is not None and spent[0] + cost > self._limit:
                return False
            spent[0] += cost
            return True

    def settle(self, reserved: float, cost: float) -> None:
        """Replace what was set aside for a call by what the call did cost."""
        if cost != reserved:
            with self._spent() as spent:
                spent[0] += cost - reserved

    @property
    def spent(self) -> float:
        """The sum so far, with what is set aside."""
        with self._spent() as spent:
            return spent[0]

    def _spent(self) -> contextlib.AbstractContextManager[list[float]]:
        return _number(self._path, self._recount)


@contextlib.contextmanager
def _number(path: Path, damaged: Callable[[], float] = lambda: 0.0) -> Iterator[list[float]]:
    """Yield the number in the file ``path`` (0 if new), in a list; one process at a time can change it in the block.

    It is at least 0 and has a checksum; a damaged one is replaced by what ``damaged`` says.
    """
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        stored = os.pread(descriptor, 64, 0)
        number = _unpack(stored)
        if number is None:
            number = damaged()
            log.warning("%s: damaged; taken to be %.4f", path, number)
        value = [number]
        yield value
        if value[0] != number or len(stored) != _NUMBER.size:
            packed = struct.pack("d", max(0.0, value[0]))
            os.pwrite(descriptor, packed + struct.pack("I", zlib.crc32(packed)), 0)
            os.ftruncate(descriptor, _NUMBER.size)
    finally:
        os.close(descriptor)


def _unpack(stored: bytes) -> float | None:
    """The number in a file; None if it is damaged. Files of earlier versions have no checksum."""
    if not stored:
        return 0.0
    if len(stored) == _NUMBER.size:
        number, checksum = _NUMBER.unpack(stored)
        return number if checksum == zlib.crc32(stored[:8]) and number >= 0 else None
    if len(stored) == 8:
        (number,) = struct.unpack("d", stored)
        return number if 0 <= number < 1e15 else None
    return None


def _cache() -> Path:
    """The user's cache, or the temporary folder if the cache cannot be written to."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir())
    return cache if os.access(cache, os.W_OK) else Path(tempfile.gettempdir())


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


class Job:
    """The account of a job, which :mod:`.send` keeps: why calls ``failed``, by key, and any reason to ``stop``.

    ``total`` counts all answers that the job is about, ``before`` those that were in the store. A request that the
    endpoint will not answer is a row without an answer, if others were answered; else the entry is at fault.
    """

    def __init__(self, entry: ApiEntry, store: ResponseStore, journal: Journal, total: int, before: int = 0):
        self.entry, self.store, self.journal, self.total = entry, store, journal, total
        self.budget = Budget(store.folder, entry.budget, lambda: recount(store, entry))
        if store.objects:
            self.budget.raise_to(store.objects.get(SPENT))
        self.failed: dict[str, str] = {}
        self.unanswered: set[str] = set()  # those of them that the endpoint will not answer
        self.passed = before
        self.silent: list[str] = []  # why each of the first replies says nothing; '': it says something
        untried = entry.max_failed_share < 1 and all(map(is_declined, store.values()))
        self.declined: dict[str, str] | None = {} if untried else None  # how, by question; None once one is answered
        self.reasons: Counter[str] = Counter()
        self.stop: UserError | None = None
        self.trouble = ""  # why the last call failed, '' once one after it is answered
        self.charges: list[tuple[float, float]] = []  # highest and real cost of each of the first calls
        self.answered = 0
        self.cost = 0.0  # of the answers that came, as the endpoint counts their tokens

    def keep(self, records: dict[str, dict], attempt: int, question: str = "") -> None:
        """Put the records of a reply into the store; ``question`` is the call's name, '' for another job's batch."""
        said = {"time": round(time.time(), 3), "attempt": attempt}
        self.store.put({key: self._redacted(record) | said for key, record in records.items()}, sync=False)
        for key, record in records.items():
            self.failed.pop(key, None)
            self.unanswered.discard(key)
            self.trouble = ""
            self.answered += 1
            self.passed += self.hear(question, record)
            self._check_model(record["served_model"])
            self.cost += cost(self.entry, record["prompt_tokens"] or 0, record["completion_tokens"] or 0)

    def halt(self, reason: str) -> None:
        """Stop the job for a ``reason``; the first one stands."""
        self.stop = self.stop or UserError(reason)

    def _check_model(self, served: str | None) -> None:
        if self.entry.changed_model == "stop" and served and not same_model(served, self.entry.model):
            self.halt(
                f"{self.entry.base_url} answers as {shown(served, self.entry)}, not as {self.entry.model}, and the "
                "entry says `changed_model: stop`. All answers are kept; set `model` to what is to be measured."
            )

    def hear(self, question: str, record: dict) -> bool:
        """Whether an answer says anything. Stop the job if hardly one of the first does, or if all are declined."""
        why = record.get("detail") or "" if record["status"] in ("unparseable", "thought") else ""
        if len(self.silent) < _FIRST:
            text = record.get("text") or ""  # thinking in tags is cut only if the entry says so
            if not why and text.lstrip()[:1] in ("<", "[", "◁") and not answer_part(text).strip():
                why = "the model thinks, in tags, and the thought has no end"
            self._note_silent(why)
        self._note_declined(question, record)
        return not why

    def _note_silent(self, why: str) -> None:
        self.silent.append(why)
        count = sum(map(bool, self.silent))
        if len(self.silent) == _FIRST and _SILENT <= count > self.entry.max_failed_share * _FIRST:
            reason = Counter(filter(None, self.silent)).most_common(1)[0][0]
            self.halt(
                f"{self.entry.where}: {count} of the first {_FIRST} replies say nothing "
                f"({reason}), so the rest is not asked. If it thinks first, turn that off (`extra_body`), or give it "
                "the tokens (`thinking: {budget: 4000}`, or more). Raise `max_failed_share` to ask all the same."
            )

    def _note_declined(self, question: str, record: dict) -> None:
        """Stop the job if all of its first questions, and all in the store, are filtered or refused."""
        if not is_declined(record):
            self.declined = None
        if self.declined is None or not question:
            return
        self.declined[question] = f"{record['status']}, finish reason {shown(record['finish_reason'], self.entry)}"
        if len(self.declined) == DECLINED:
            how = "; ".join(f"{count} x {what}" for what, count in Counter(self.declined.values()).most_common(2))
            self.halt(
                f"{self.entry.where} declines all of the first {DECLINED} questions ({how}), "
                "so the rest is not asked. Use another service; or have the filter switched off for your account, and "
                f"remove {self.store.folder}/*.jsonl, also in a bucket: they stand there as declined. Set "
                "`max_failed_share: 1` to ask all the same: each then counts as declined."
            )

    def settle(self, reserved: float, cost: float) -> None:
        """Replace what was set aside for a call by its ``cost``; stop the job if the first calls cost far too much.

        A service that charges for thinking beyond the tokens asked for would exceed the accepted bound.
        """
        self.budget.settle(reserved, cost)
        if len(self.charges) == _FIRST:
            return
        self.charges.append((reserved, cost))
        most, charged = map(sum, zip(*self.charges, strict=True))
        if len(self.charges) == _FIRST and charged > _DEARER * most:
            self.halt(
                f"{self.entry.where} charges {charged:.4f} {self.entry.currency} for the "
                f"first {_FIRST} calls, which by the tokens asked for cost at most {most:.4f}: it thinks beside them, "
                "so the highest cost that was estimated would not hold. Turn that off (`extra_body`), or give it "
                "tokens of its own (`thinking: {budget: 4000}`, or more). What was answered is kept."
            )

    def sync(self) -> None:
        """Put what was stored, and what was spent, where it survives a crash of this machine."""
        self.store.sync()
        if self.store.objects:
            self.store.objects.put(SPENT, self.budget.stored)

    def _redacted(self, record: dict) -> dict:
        """A record without the key, should the endpoint have repeated it anywhere."""
        text = json.dumps(record, ensure_ascii=False)
        redacted = redact_key(text, self.entry)
        return record if redacted == text else json.loads(redacted)

    def give_up(self, keys: list[str], reason: str, found: Outcome) -> None:
        """Note why there is no answer under ``keys``, by the last outcome ``found``: none will come, or it failed.

        Too many failures stop the job; answers that will not come stop it only if nothing was answered. An unknown
        reply may be about its prompt: no answer will come. If all calls may fail, it is a failure, which stops no job.
        """
        unknown = found.unknown and self.entry.max_failed_share < 1
        will_not = unknown or found.kind in ("unanswerable", "request")
        log.warning("%s: %s", "not answered" if will_not else "failed", reason)
        self.failed |= dict.fromkeys(keys, reason)
        self.reasons[reason] += len(keys)
        if will_not:
            self.unanswered.update(keys)
            if len(self.unanswered) >= _FIRST:
                self.check_passed()
            return
        failed = len(self.failed) - len(self.unanswered)
        if failed > self.entry.max_failed_share * self.total:
            reasons = "; ".join(f"{count} x {reason}" for reason, count in self.reasons.most_common(3))
            self.halt(
                f"{self.entry.where}: {failed} of {self.total} calls failed, more than "
                f"`max_failed_share` ({self.entry.max_failed_share:.1%}) allows: {reasons}. All answers are kept; run "
                "again to ask for the rest."
            )

    def check_passed(self) -> None:
        """Stop the job if the endpoint would not answer anything that it was asked."""
        if self.unanswered and not self.passed:
            reason, count = self.reasons.most_common(1)[0]
            self.halt(
                f"{self.entry.where} answers none of {len(self.unanswered)} requests ({count} "
                f"x {reason}): look at `model`, the key, `dialect`, `system` and `extra_body`."
            )

    def quarantine(self, key: str, reason: str, content: bytes) -> None:
        """Keep the beginning of a reply that is no answer in the store's file ``quarantine``, for people to see."""
        text = redact_key(content.decode("utf-8", "replace"), self.entry)[:_KEPT]
        with open(self.store.folder / "quarantine", "a", encoding="utf-8") as lines:
            line = {"time": round(time.time(), 3), "key": key, "reason": reason, "reply": text}
            lines.write(json.dumps(line) + "\n")

    def remark(self) -> str:
        """A remark on the progress of the calls: how many failed, and what the others cost."""
        said = f"{len(self.failed)} failed, {self.cost:.4f} {self.entry.currency}"
        if self.entry.budget is not None:
            said += f"; {self.budget.spent:.4f} of {self.entry.budget:g} spent or set aside"
        said += f"; the last call: {self.trouble}" if self.trouble else ""
        return said

    def budget_error(self, worst: float) -> OutOfBudget:
        """The error to raise if a call that may cost ``worst`` does not fit into the budget."""
        return OutOfBudget(
            f"{self.entry.where}: the budget of {self.entry.budget} {self.entry.currency} is "
            f"{'used up' if self.budget.spent else 'too small'} ({self.budget.spent:.4f} spent or set aside, the next "
            f"call may cost {worst:.2g}). All answers are kept; raise `budget` and run again for the rest."
        )


def spent(folder: Path) -> float:
    """What the model with its store in ``folder`` cost so far; 0 if nothing was asked, NaN for a damaged file."""
    path = folder / SPENT
    found = _unpack(path.read_bytes()) if path.is_file() else 0.0
    return math.nan if found is None else found


def recount(store: ResponseStore, entry: ApiEntry) -> float:
    """What all answers of a store cost, as the endpoint counted their tokens: less than was paid if calls failed."""
    records = filter(None, (stored(value) for value in store.values()))
    return sum(cost(entry, record["prompt_tokens"] or 0, record["completion_tokens"] or 0) for record in records)
