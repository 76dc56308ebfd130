"""Calls sent one by one, as many at a time as the entry allows, each as often as it takes or may take."""

import asyncio
import contextlib
import logging
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace

import httpx2
import openai

from biasatlas.errors import UserError
from biasatlas.models.endpoint.calls import PATHS, Call, charged
from biasatlas.models.endpoint.entry import Found, service_of
from biasatlas.models.endpoint.services import services
from biasatlas.models.endpoint.spending import Job, Limits
from biasatlas.models.endpoint.transport import (
    MAX_RETRY_AFTER_S,
    Outcome,
    asked_wait_s,
    backoff_s,
    error_text,
    fatal,
    options,
    outcome,
    outcome_of,
    reply_bytes,
    retry_after_s,
    shown,
)
from biasatlas.progress import Progress

log = logging.getLogger(__name__)

#: After SIGTERM calls in flight have so long to be answered: schedulers kill after 30 s.
DRAIN_S = 20.0

_POLL_S = 0.1

#: How often a call is sent whose replies come whole and say what nobody knows: each is paid for.
_UNKNOWN = 3

#: For how many seconds an endpoint may ask for fewer calls, and answer none, before the job stops: a minute's limit, or
#: an hour's in part, is waited for; a day's is not.
_PATIENCE_S = 600

#: A clock that is ahead by so many seconds more was slept through, or set.
_ASLEEP_S = 60


def run(missing: Iterable[Call], job: Job, found: Found) -> None:
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
    """A client under its endpoint's limits, and how many of its calls are in flight."""

    def __init__(self, job: Job, found: Found):
        self.job, self.entry, self.found = job, job.entry, found
        self.service = service_of(job.entry)
        self.limits = Limits(job.entry)
        self.answers = found.n  # the most in one call
        self.claimed: deque[Call] = deque()  # by other processes, when we came to them
        self.asking: set[str] = set()
        self.sending: set[asyncio.Task] = set()
        self.reserved = 0
        self.interrupted = False
        self.refused: list[float] = []  # when the endpoint asked for fewer calls, since it last answered

    async def run(self, missing: Iterable[Call]) -> None:
        self.client = openai.AsyncOpenAI(**options(self.entry, asynchronous=True))
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
            await asyncio.gather(ticker, *workers, return_exceptions=True)  # each gives its place back
            self.job.sync()
            self.limits.close()
            await self.client.close()

    def _interrupt(self, workers: list[asyncio.Task]) -> None:
        """Let calls in flight end, for a while, and all else at once."""
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
        """The next call; where only those are left that other processes have, one of those, after a while."""
        for call in queue:
            return call
        if self.claimed:
            call = self.claimed.popleft()
            await asyncio.sleep(_POLL_S)
            return call
        return None

    async def _ask(self, call: Call) -> None:
        """Get an answer for each key of a call that has none, unless another process is about it."""
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
        """Keep the answers to a call, after as many attempts as they take or may take."""
        left, reason, most = call.keys, "", self.answers
        attempt = sent = unknown = 0
        found = Outcome("retry")
        while left and attempt < self.entry.attempts:
            if attempt:
                await asyncio.sleep(backoff_s(attempt))
            keys = left[: min(most, self.answers)]
            attempt, sent = attempt + 1, sent + 1
            async with self._turn(call, keys) as paid:
                if paid is None:
                    return
                began = time.time()
                try:
                    content = await self._send(call, keys)
                    found = outcome(200, content, call.wants, self.service, bool(self.entry.thinking))
                    if found.records and not found.reason:
                        answers = filter(None, found.records)  # perhaps more than asked for
                        paid.cost = charged(self.entry, answers, paid.cost)
                        self.limits.answered()
                        self.refused.clear()
                        kept = self._keep(call, keys, found, sent)
                        left, attempt = [key for key in left if key not in kept], 0
                        continue
                    reason = f"BadReply: {shown(found.reason, self.entry)}"
                    self._heed(found, shown(found.reason, self.entry))
                    if not found.records:
                        self.job.quarantine(keys[0], reason, content)
                except openai.APIStatusError as error:
                    found = outcome_of(error, self.entry)
                    reason = self._status_reason(error, found, time.time() - began)
                    paid.cost = paid.cost if found.kind == "thought" else 0.0
                    if not found.records and len(keys) > 1 and error.status_code in (400, 422):
                        most, attempt = 1, 0  # it may be the `n`
                        continue
                except (openai.OpenAIError, httpx2.HTTPError, ValueError, TimeoutError) as error:
                    paid.cost = 0.0 if isinstance(error.__cause__, httpx2.ConnectError) else paid.cost
                    found, reason = Outcome("retry"), shown(self._broken_reason(error), self.entry)
                if record := next(iter(found.records), None):  # of an error that ends the matter
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
        """Keep a reply's answers to ``keys``, perhaps to fewer: by key."""
        kept = dict(zip(keys, (record for record in found.records if record), strict=False))
        self.job.keep(kept, sent, call.name)
        filtered = all(record["status"] == "filtered" for record in kept.values())
        if len(found.records) < len(keys) and not filtered:  # it takes no `n`, or none so large
            self.answers = max(1, len(found.records))
        return kept

    @contextlib.asynccontextmanager
    async def _turn(self, call: Call, keys: list[str]) -> "AsyncIterator[_Paid | None]":
        """When a call for ``keys`` may be sent, with what it may cost set aside; None: it is not to be.

        In the block ``cost`` is corrected to what it did cost. Until better is known that is all: what broke on its way
        may have been charged.
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
            return await reply_bytes(self.client, PATHS[call.wants], body, tokens)

    async def _afford(self, worst: float) -> bool:
        """Set ``worst`` aside from the budget, waiting for what calls in flight give back; False: stop."""
        objects = self.job.store.objects
        if objects and not objects.may_send(self.entry.timeout_s):
            self.job.stop = UserError(
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

    def _broken_reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no whole reply within {self.entry.timeout_s:g} s (`timeout_s`)"
        cause: BaseException | None = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        while cause and not str(cause) and (inner := cause.__cause__ or cause.__context__):  # wrapped without words
            cause = inner
        return f"{type(cause or error).__name__}: {cause or error}"

    def _heed(self, found: Outcome, text: str) -> None:
        """Stop the job where every other call would fail alike."""
        if message := fatal(found.kind, text, self.entry):
            self.job.stop = UserError(message)

    def _status_reason(self, error: openai.APIStatusError, found: Outcome, round_trip_s: float) -> str:
        """The reason that an error status gives, having heeded what it asks for: to stop, or to wait."""
        self._heed(found, error_text(error, self.entry))
        wait_s = retry_after_s(error.response.headers)
        if wait_s > MAX_RETRY_AFTER_S:
            self.job.stop = UserError(
                f"{self.entry.model} at {self.entry.base_url} asks to wait {wait_s:.0f} s. All answers are kept; run "
                f"again then. It says: {error_text(error, self.entry)}"
            )
        elif error.status_code in services().too_many:
            self.limits.slow(asked_wait_s(error.response.headers), round_trip_s)
            self.refused.append(time.monotonic())
            if len(self.refused) >= self.entry.attempts and self.refused[-1] - self.refused[0] > _PATIENCE_S:
                self.job.stop = UserError(
                    f"{self.entry.model} at {self.entry.base_url} has asked for fewer calls for "
                    f"{_PATIENCE_S / 60:.0f} minutes, and answered none: a limit of a longer time is used up. All "
                    "answers are kept; run again later, or set `requests_per_minute`. It says: "
                    f"{error.status_code} {error_text(error, self.entry)}"
                )
        elif wait_s > 0:
            self.limits.hold(wait_s)
        return f"{error.status_code} {error_text(error, self.entry)}"

    async def _tick(self) -> None:
        """Put what was stored on the disk every second, and say every now and then how far the job is."""
        progress = Progress("answers", self.job.total)
        before = time.time() - time.monotonic()  # which does not go on while the machine sleeps
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
