"""Send calls one by one, or through an endpoint's Batch API, until they are answered or their attempts are used up.

A batch under way has a small file beside the store, written before the batch exists. So after a kill at any moment the
batch is found again, by its id or by that of its input file, and not paid for twice.
"""

import asyncio
import contextlib
import itertools
import json
import logging
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import httpx2
import openai
from openai.types import Batch

from biasatlas.errors import UserError
from biasatlas.files import write_text
from biasatlas.models.endpoint import Found, services, transport
from biasatlas.models.endpoint.calls import PATHS, Call, batch_path, batch_row, charged, split_into_batches
from biasatlas.models.endpoint.entry import service_of
from biasatlas.models.endpoint.spending import DECLINED, Job, Limits
from biasatlas.models.endpoint.transport import Outcome
from biasatlas.progress import Progress

log = logging.getLogger(__name__)

#: Seconds that calls in flight have to be answered after SIGTERM: schedulers kill after 30 s.
DRAIN_S = 20.0

#: Seconds between two looks at a batch, and at a call that another process has claimed.
POLL_S, _CLAIM_POLL_S = 15, 0.1

#: How often a call is sent whose replies are complete but say what nobody knows: each is paid for.
_UNKNOWN = 3

#: For how many seconds an endpoint may ask for fewer calls, and answer none, before the job stops: long enough for a
#: minute's limit or a part of an hour's, but not for a day's.
_PATIENCE_S = 600

#: If the clock gains more seconds than this, the machine slept or the clock was set.
_ASLEEP_S = 60

#: The statuses of a batch that has ended.
_ENDED = {"completed", "expired", "cancelled", "failed"}


def one_by_one(missing: Iterable[Call], job: Job, found: Found) -> None:
    """Ask all of ``missing`` with the entry's concurrency; ``job`` gets the records, or a reason to stop.

    At SIGTERM or Ctrl-C nothing more is sent and what is in flight is waited for; then raises KeyboardInterrupt.
    """
    sender = _Sender(job, found)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        asyncio.run(sender.run(missing))
    finally:
        for number, handler in before.items():
            with contextlib.suppress(ValueError):  # only the main thread has handlers
                signal.signal(number, handler)
    if sender.interrupted:
        raise KeyboardInterrupt


@dataclass
class _Paid:
    """What a call cost."""

    cost: float


class _Sender:
    """Sends calls within the endpoint's limits, and keeps track of those in flight."""

    def __init__(self, job: Job, found: Found):
        self.job, self.entry, self.found = job, job.entry, found
        self.service = service_of(job.entry)
        self.limits = Limits(job.entry)
        self.answers = found.n  # the most in one call
        self.claimed: deque[Call] = deque()  # calls that other processes had claimed before us
        self.asking: set[str] = set()
        self.sending: set[asyncio.Task] = set()
        self.reserved = 0
        self.interrupted = False
        self.refused: list[float] = []  # when the endpoint asked for fewer calls, since it last answered

    async def run(self, missing: Iterable[Call]) -> None:
        self.client = openai.AsyncOpenAI(**transport.options(self.entry, asynchronous=True))
        queue = iter(missing)
        workers = [asyncio.create_task(self._work(queue)) for _ in range(self.entry.concurrency)]
        ticker = asyncio.create_task(self._tick())
        with contextlib.suppress(RuntimeError, ValueError):  # only the main thread has handlers
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, self._interrupt, workers)
        try:
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for worker in done:
                if not worker.cancelled():
                    worker.result()
        finally:
            for task in (ticker, *workers):
                task.cancel()
            await asyncio.gather(ticker, *workers, return_exceptions=True)  # each frees its slot
            self.job.sync()
            self.limits.close()
            await self.client.close()

    def _interrupt(self, workers: list[asyncio.Task]) -> None:
        """Give calls in flight some time to end; end everything else at once."""
        if not self.interrupted:
            log.warning("interrupted: waiting at most %.0f s for %d calls in flight", DRAIN_S, self.reserved)
        late = asyncio.get_running_loop().call_later
        self.interrupted = True
        for worker in workers:
            if worker in self.sending:
                late(min(DRAIN_S, self.entry.timeout_s), worker.cancel)
            else:
                worker.cancel()

    async def _work(self, queue: Iterator[Call]) -> None:
        while (call := await self._next(queue)) and not self.job.stop and not self.interrupted:
            await self._ask(call)

    async def _next(self, queue: Iterator[Call]) -> Call | None:
        """The next call; if other processes have claimed all that are left, one of these, after a pause."""
        for call in queue:
            return call
        if self.claimed:
            call = self.claimed.popleft()
            await asyncio.sleep(_CLAIM_POLL_S)
            return call
        return None

    async def _ask(self, call: Call) -> None:
        """Get an answer for each key of a call that lacks one, unless another process has claimed the call."""
        journal, store = self.job.journal, self.job.store
        if not journal.claim(call.name):
            self.claimed.append(call)
            return
        try:
            if journal.is_touched(call.name):
                store.refresh()
            keys = [key for key in call.keys if not (key in store or key in self.asking or key in self.job.failed)]
            self.asking.update(keys)
            try:
                if keys:
                    await self._answer(replace(call, keys=keys))
            finally:
                self.asking.difference_update(keys)
        finally:
            journal.release(call.name)

    async def _answer(self, call: Call) -> None:
        """Send a call until its answers have come or its attempts are used up, and keep the answers."""
        left, reason, most = call.keys, "", self.answers
        attempt = sent = unknown = 0
        found = Outcome("retry")
        while left and attempt < self.entry.attempts:
            if attempt:
                await asyncio.sleep(transport.backoff_s(attempt))
            keys = left[: min(most, self.answers)]
            attempt, sent = attempt + 1, sent + 1
            async with self._turn(call, keys) as paid:
                if paid is None:
                    return
                began = time.time()
                try:
                    content = await self._send(call, keys)
                    found = transport.outcome(200, content, call.wants, self.service, bool(self.entry.thinking))
                    if found.records and not found.reason:
                        answers = filter(None, found.records)  # perhaps more than asked for
                        paid.cost = charged(self.entry, answers, paid.cost)
                        self.limits.answered()
                        self.refused.clear()
                        kept = self._keep(call, keys, found, sent)
                        left, attempt = [key for key in left if key not in kept], 0
                        continue
                    reason = f"BadReply: {transport.shown(found.reason, self.entry)}"
                    self._heed(found, transport.shown(found.reason, self.entry))
                    if not found.records:
                        self.job.quarantine(keys[0], reason, content)
                except openai.APIStatusError as error:
                    found = transport.outcome_of(error, self.entry)
                    reason = self._status_reason(error, found, time.time() - began)
                    paid.cost = paid.cost if found.kind == "thought" else 0.0
                    if not found.records and len(keys) > 1 and error.status_code in (400, 422):
                        most, attempt = 1, 0  # the `n` may be the reason
                        continue
                except (openai.OpenAIError, httpx2.HTTPError, ValueError, TimeoutError) as error:
                    paid.cost = 0.0 if isinstance(error.__cause__, httpx2.ConnectError) else paid.cost
                    found, reason = Outcome("retry"), transport.broken_reason(error, self.entry)
                if record := next(iter(found.records), None):  # of an error that counts as an answer
                    kept = {key: record | {"choice": place} for place, key in enumerate(keys)}
                    self.job.keep(kept, sent, call.name)
                    left, attempt = [key for key in left if key not in keys], 0
                else:
                    self.job.trouble = reason
                unknown += found.unknown
                if not found.records and (found.kind != "retry" or unknown == _UNKNOWN):
                    break
            log.debug("attempt %d of %s: %s", sent, keys[0], reason)
        if left and not self.interrupted:
            self.job.give_up(left, reason, found)

    def _keep(self, call: Call, keys: list[str], found: Outcome, sent: int) -> dict[str, dict]:
        """Keep a reply's answers to ``keys``, or to some of them; return these by key."""
        kept = dict(zip(keys, (record for record in found.records if record), strict=False))
        self.job.keep(kept, sent, call.name)
        filtered = all(record["status"] == "filtered" for record in kept.values())
        if len(found.records) < len(keys) and not filtered:  # it takes no `n`, or none so large
            self.answers = max(1, len(found.records))
        return kept

    @contextlib.asynccontextmanager
    async def _turn(self, call: Call, keys: list[str]) -> "AsyncIterator[_Paid | None]":
        """Wait until a call for ``keys`` may be sent, and set aside what it may cost; yields None if it may not.

        The block sets ``cost`` to what the call did cost. Until then it is all that was set aside, since a call that
        broke on its way may have been charged.
        """
        worst = call.worst_cost(self.entry, len(keys))
        async with self.limits.slot():
            await self.limits.turn(call.prompt_tokens + len(keys) * call.completion_tokens)
            if self.interrupted or not await self._afford(worst):
                yield None
                return
            paid, task = _Paid(worst), asyncio.current_task()
            assert task
            self.sending.add(task)
            self.reserved += 1
            try:
                yield paid
            finally:
                self.reserved -= 1
                self.sending.discard(task)
                self.job.settle(worst, paid.cost)

    async def _send(self, call: Call, keys: list[str]) -> bytes:
        body = dict(call.body)
        if len(keys) > 1:
            body["n"] = len(keys)
        if self.found.seed and call.is_sampled:
            body[services().dialects[self.entry.dialect].seed] = int(keys[0][:7], 16)
        tokens = call.prompt_tokens + len(keys) * call.completion_tokens
        async with asyncio.timeout(self.entry.timeout_s):
            return await transport.reply_bytes(self.client, PATHS[call.wants], body, tokens)

    async def _afford(self, worst: float) -> bool:
        """Set ``worst`` aside from the budget, waiting for what calls in flight give back; False: stop."""
        objects = self.job.store.objects
        if objects and not objects.may_send(self.entry.timeout_s):
            self.job.halt(
                f"{self.job.store.folder}: another job asks this model, or object storage could not be reached, so "
                "nothing more is sent. All answers that came are kept; run again."
            )
        while not self.job.stop:
            if self.job.budget.reserve(worst):
                return True
            if not self.reserved:
                self.job.stop = self.job.budget_error(worst)
            await asyncio.sleep(0.05)
        return False

    def _heed(self, found: Outcome, text: str) -> None:
        """Stop the job if every other call would fail alike."""
        if message := transport.fatal(found.kind, text, self.entry):
            self.job.halt(message)

    def _status_reason(self, error: openai.APIStatusError, found: Outcome, round_trip_s: float) -> str:
        """The reason that an error status gives. If the error asks for it, stops the job or delays all calls."""
        said = transport.error_text(error, self.entry)
        self._heed(found, said)
        wait_s = transport.retry_after_s(error.response.headers)
        if wait_s > transport.MAX_RETRY_AFTER_S:
            self.job.halt(
                f"{self.entry.where} asks to wait {wait_s:.0f} s. All answers are kept; run again then. It says: {said}"
            )
        elif error.status_code in services().too_many:
            self.limits.slow(transport.asked_wait_s(error.response.headers), round_trip_s)
            self.refused.append(time.monotonic())
            if len(self.refused) >= self.entry.attempts and self.refused[-1] - self.refused[0] > _PATIENCE_S:
                self.job.halt(
                    f"{self.entry.where} has asked for fewer calls for {_PATIENCE_S / 60:.0f} minutes, and answered "
                    "none: a limit of a longer time is used up. All answers are kept; run again later, or set "
                    f"`requests_per_minute`. It says: {error.status_code} {said}"
                )
        elif wait_s > 0:
            self.limits.hold(wait_s)
        return f"{error.status_code} {said}"

    async def _tick(self) -> None:
        """Every second, put what was stored on the disk, and report how far the job is."""
        progress = Progress("answers", self.job.total)
        before = time.time() - time.monotonic()  # the latter stands still while the machine sleeps
        while True:
            await asyncio.sleep(1)
            away_s, before = time.time() - time.monotonic() - before, time.time() - time.monotonic()
            if not -1 <= away_s <= _ASLEEP_S:
                log.warning(
                    "the clock went %.0f s %s: the machine slept, or was set. Calls in flight are sent again where no "
                    "answer came; nothing else is paid for twice",
                    abs(away_s),
                    "forward" if away_s > 0 else "back",
                )
            try:
                await asyncio.to_thread(self.job.sync)
            except UserError as error:
                self.job.stop = error
            progress.reach(self.job.answered + len(self.job.failed), self.job.remark())


def in_batches(missing: list[Call], job: Job) -> None:
    """Answer the ``missing`` calls of a ``job``, each for one answer, by batches, in as many rounds as it takes.

    One job at a time works through the batches of a store; others wait, and find the answers. If no question is known
    to be answered, the first go alone: if all are declined, or say nothing, the rest is not paid for.
    """
    with contextlib.ExitStack() as stack:
        while not stack.enter_context(job.journal.batches()):
            log.info("waiting: another job works through batches of this store")
            time.sleep(POLL_S)
        job.store.refresh()
        wanted = {call.keys[0]: call for call in missing}
        failures: dict[str, Outcome] = {}
        with openai.OpenAI(**transport.options(job.entry, timeout_s=job.entry.timeout_s)) as client:
            for calls in [_first_questions(wanted, job)] + [wanted] * job.entry.attempts:
                if job.stop:
                    return
                if not (rest := _unanswered(calls, job)):
                    continue
                if not (waiting := _batches_of(client, rest, job)):
                    job.stop = job.budget_error(max(call.worst_cost(job.entry) for call in rest.values()))
                    return
                for path in waiting:
                    failures |= _collect(client, path, job, wanted)
        for key in _unanswered(wanted, job):
            found = failures.get(key, Outcome("retry", "no batch answered it"))
            job.give_up([key], found.reason, found)


def _first_questions(wanted: dict[str, Call], job: Job) -> dict[str, Call]:
    """One call for each of the first questions, if none was answered yet and more are to come; else nothing."""
    first = {call.name: call for call in reversed(wanted.values()) if call.keys[0] not in job.store}
    if job.declined is None or len(first) < DECLINED or len(wanted) == DECLINED:
        return {}
    return {call.keys[0]: call for call in list(first.values())[-DECLINED:]}


def _unanswered(wanted: dict[str, Call], job: Job) -> dict[str, Call]:
    return {key: call for key, call in wanted.items() if key not in job.store and key not in job.failed}


def _batches_of(client: openai.OpenAI, rest: dict[str, Call], job: Job) -> list[Path]:
    """The files of the batches with the calls of ``rest``: those under way, and new ones."""
    folder = job.store.folder / "batches"
    waiting = [path for path in sorted(folder.glob("*.json")) if rest.keys() & _read_state(path)["keys"].keys()]
    for path in waiting:
        rest = {key: call for key, call in rest.items() if key not in _read_state(path)["keys"]}
    # As many as the budget has room for, their costs set aside.
    calls = rest.values()
    affordable = list(itertools.takewhile(lambda call: job.budget.reserve(call.worst_cost(job.entry)), calls))
    return waiting + [_upload(client, chunk, folder, job) for chunk in split_into_batches(affordable, job.entry)]


def _read_state(path: Path) -> dict:
    return json.loads(path.read_text())


def _upload(client: openai.OpenAI, chunk: list[Call], folder: Path, job: Job) -> Path:
    """Upload a batch's input and note it, with what was set aside for each call; the batch itself comes later."""
    lines = b"".join(batch_row(call, job.entry) for call in chunk)
    file = transport.persist(job.entry, lambda: client.files.create(file=("requests.jsonl", lines), purpose="batch").id)
    path = folder / f"{file}.json"
    keys = {call.keys[0]: call.worst_cost(job.entry) for call in chunk}
    url = batch_path(chunk[0], job.entry)
    state = {"file": file, "url": url, "wants": chunk[0].wants, "batch": None, "keys": keys}
    write_text(json.dumps(state | {"asked": False}), path)  # no batch of this file can exist yet
    return path


def _collect(client: openai.OpenAI, path: Path, job: Job, wanted: dict[str, Call]) -> dict[str, Outcome]:
    """Wait for a batch and keep what it answered; return the outcomes of calls that may be sent again, by key."""
    state = _read_state(path)
    if state["batch"] is None:
        state["batch"] = transport.persist(job.entry, lambda: transport.start_batch(client, state, path))
        write_text(json.dumps(state), path)
    batch = _wait_for_batch(client, state["batch"], path, job)
    failures: dict[str, Outcome] = {}
    answered: set[str] = set()
    spent = 0.0
    for file in filter(None, (batch.output_file_id, batch.error_file_id)):
        for line in transport.persist(job.entry, partial(client.files.content, file)).content.splitlines():
            try:
                key, found = transport.outcome_of_row(line, state["keys"], state["wants"], job.entry)
            except ValueError as error:
                log.warning("batch %s: a row that answers no call (%s)", batch.id, error)
                continue
            if key in answered:
                log.warning("batch %s: a further row of a call that is answered", batch.id)
                continue
            found = replace(found, reason=transport.shown(found.reason or "no answer", job.entry))
            record = next(iter(found.records), None)
            if record:
                job.keep({key: record}, 1, wanted[key].name if key in wanted else "")
                spent += charged(job.entry, [record], state["keys"][key])
                answered.add(key)
            elif found.kind == "retry":
                failures[key] = found
            else:
                job.give_up([key], found.reason, found)
    job.sync()
    path.unlink()
    job.budget.settle(sum(state["keys"].values()), spent)
    if batch.status == "failed":
        errors = "; ".join(str(error.message) for error in (batch.errors and batch.errors.data) or [])
        raise UserError(
            f"{job.entry.where}: batch {batch.id} failed: {transport.shown(errors, job.entry)}. Mend what it names and "
            "run again, or set `batch: false`."
        )
    return failures


def _wait_for_batch(client: openai.OpenAI, name: str, path: Path, job: Job) -> Batch:
    """Wait until the batch has ended, and return it."""
    logged, progress = "", Progress("calls of a batch", len(_read_state(path)["keys"]))
    while True:
        batch = transport.persist(
            job.entry,
            lambda: client.batches.retrieve(name),
            f"If batch {name} is gone for good, delete {path}: its calls are then sent, and paid for, again.",
        )
        counts = batch.request_counts
        done = f", {counts.completed} of {counts.total} done, {counts.failed} failed" if counts else ""
        if logged != (logged := f"batch {name}: {batch.status}{done}"):
            log.info(logged)
        progress.reach(counts.completed if counts else 0, job.remark())
        if batch.status in _ENDED:
            return batch
        time.sleep(POLL_S)
