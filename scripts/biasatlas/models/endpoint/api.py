"""Model kind ``api``: requests in, responses out, through any OpenAI-compatible endpoint.

Every answer goes into the store as soon as it is read, so whatever stops a job, none is paid for twice.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping

import httpx2
import openai
import pandas as pd

from biasatlas.errors import UserError
from biasatlas.files import RESPONSE_COLUMNS
from biasatlas.models.endpoint import batch
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.calls import PATHS, Call, calls, cost, worst_cost
from biasatlas.models.endpoint.probe import (
    api_key,
    backoff_s,
    check,
    check_logprobs,
    fatal,
    hide,
    may_pass,
    retry_after_s,
    said,
)
from biasatlas.models.endpoint.limits import Budget, Limits
from biasatlas.models.endpoint.replies import Reader, filtered, read_reply, responses
from biasatlas.models.store import ResponseStore

log = logging.getLogger(__name__)

#: An endpoint that asks to wait longer (a day's quota) stops the job instead.
MAX_RETRY_AFTER_S = 3600

_PROGRESS_S = 10


def answer(
    requests: pd.DataFrame, entry: ApiEntry, *, store: ResponseStore, readers: Mapping[str, Reader]
) -> tuple[pd.DataFrame, dict]:
    """The responses to ``requests`` (REQUEST_COLUMNS, all of one kind), in their order and then by repeat.

    A sampled ``choice`` is one response, the shares of its repeats; an unanswered repeat counts as unresolved. What the
    endpoint cannot answer is ``not_applicable`` with the reason. The dictionary holds what these answers took, the same
    whenever they were given: calls, failed, tokens, cost, currency, served models; tokens and cost leave out the calls
    that the endpoint did not count (``uncounted``).

    Raises UserError when a key is missing or wrong, the endpoint cannot be reached or does not know the model, the
    budget is used up, or more than ``max_failed_share`` of the calls failed. What was answered stays in ``store``.
    """
    started = time.monotonic()
    rows = requests.to_dict("records")
    plan = [calls(row, entry) for row in rows]
    wanted = {call.key: call for one in plan if not isinstance(one, str) for call in one}
    records = store.get(wanted)
    missing = [call for name, call in wanted.items() if name not in records]
    _log_plan(entry, len(wanted), missing, store)
    if missing:
        records |= _ask(missing, len(wanted), entry, store)
    records = {name: records[name] for name in wanted}
    failed = sum(record["status"] == "failed" for record in records.values())
    log.info("%d calls answered, %d failed, in %.1f s", len(missing) - failed, failed, time.monotonic() - started)

    answered = [
        response
        for row, one in zip(rows, plan, strict=True)
        for response in responses(row, one if isinstance(one, str) else [records[call.key] for call in one], readers)
    ]
    frame = pd.DataFrame(answered, columns=list(RESPONSE_COLUMNS[rows[0]["kind"]]))
    prompt_tokens = sum(record.get("prompt_tokens") or 0 for record in records.values())
    completion_tokens = sum(record.get("completion_tokens") or 0 for record in records.values())
    return frame, {
        "calls": len(wanted),
        "failed": failed,
        "uncounted": sum(record.get("prompt_tokens") is None for record in records.values()) - failed,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "cost": cost(entry, prompt_tokens, completion_tokens),
        "currency": entry.currency,
        "served_models": sorted({record["served_model"] for record in records.values() if record.get("served_model")}),
    }


def _log_plan(entry: ApiEntry, wanted: int, missing: list[Call], store: ResponseStore) -> None:
    log.info(
        "%s at %s: %d calls, %d of them in the store. The rest: about %d prompt tokens, at most %d completion tokens, "
        "%.4f %s; budget %s, spent so far %.4f",
        entry.model,
        entry.base_url,
        wanted,
        wanted - len(missing),
        sum(call.prompt_tokens for call in missing),
        sum(call.completion_tokens for call in missing),
        sum(worst_cost(entry, call) for call in missing),
        entry.currency,
        "none" if entry.budget is None else f"{entry.budget:.4f}",
        Budget(store.folder, entry.budget).spent,
    )


def _ask(missing: list[Call], total: int, entry: ApiEntry, store: ResponseStore) -> dict[str, dict]:
    check(entry)
    if missing[0].wants == "prompt":
        check_logprobs(entry)
    job = Job(entry, store, total)
    if entry.batch:
        batch.run(missing, job)
    else:
        asyncio.run(job.run(missing))
    if job.stop:
        raise job.stop
    return job.records


class Job:
    """The calls of one job under way: their records so far, and why to stop, if there is a reason."""

    def __init__(self, entry: ApiEntry, store: ResponseStore, total: int):
        self.entry, self.store, self.total = entry, store, total
        self.budget = Budget(store.folder, entry.budget)
        self.records: dict[str, dict] = {}
        self.reasons: Counter[str] = Counter()
        self.in_flight = 0
        self.stop: UserError | None = None

    async def run(self, missing: list[Call]) -> None:
        """Ask all of ``missing`` with the entry's concurrency."""
        entry = self.entry
        self.limits = Limits(entry)
        self.client = openai.AsyncOpenAI(api_key=api_key(entry), base_url=entry.base_url, max_retries=0, timeout=None)
        queue = iter(missing)
        ticker = asyncio.create_task(self._tick(len(missing)))
        try:
            await asyncio.gather(*(self._work(queue) for _ in range(min(entry.concurrency, len(missing)))))
        finally:
            ticker.cancel()
            self.store.sync()
            self.limits.close()
            await self.client.close()

    async def _work(self, queue: Iterator[Call]) -> None:
        for call in queue:
            record = await self._answer(call)
            if record is None:
                return
            self.keep(call.key, record)

    async def _answer(self, call: Call) -> dict | None:
        """The record of a call, after as many attempts as it takes or may take; None if the job is to stop."""
        worst, reason = worst_cost(self.entry, call), ""
        for attempt in range(self.entry.attempts):
            if attempt:
                await asyncio.sleep(backoff_s(attempt))
            if not await self._afford(worst):
                return None
            self.in_flight += 1
            charged = worst  # unless better is known: what broke on its way may have been charged
            try:
                record = read_reply(await self._send(call), call.wants)
                if None not in (tokens := (record["prompt_tokens"], record["completion_tokens"])):
                    charged = cost(self.entry, *tokens)
                return record
            except openai.APIStatusError as error:
                charged = 0.0
                reason = self._status_reason(error)
                if record := filtered(error.status_code, reason):
                    return record
                if not may_pass(error.status_code):
                    break
            except (openai.OpenAIError, ValueError, TimeoutError) as error:
                charged = 0.0 if isinstance(error.__cause__, httpx2.ConnectError) else worst
                reason = hide(self._broken(error), self.entry)
            finally:
                self.in_flight -= 1
                self.budget.settle(worst, charged)
            log.debug("attempt %d of %s: %s", attempt + 1, call.key, reason)
        return {"status": "failed", "detail": reason}

    async def _send(self, call: Call) -> object:
        async with self.limits.slot():
            await self.limits.turn(call.prompt_tokens + call.completion_tokens)
            async with asyncio.timeout(self.entry.timeout_s):
                reply = await self.client.post(PATHS[call.wants], cast_to=httpx2.Response, body=call.body)
        return reply.json()

    async def _afford(self, worst: float) -> bool:
        """Set ``worst`` aside from the budget, waiting for what calls in flight give back; False: stop."""
        while not self.stop:
            if self.budget.reserve(worst):
                return True
            if not self.in_flight:
                self.stop = self.budget_error(worst)
            await asyncio.sleep(0.05)
        return False

    def budget_error(self, worst: float) -> UserError:
        """What to tell the user when a call that may cost ``worst`` does not fit into the budget."""
        return UserError(
            f"{self.entry.model} at {self.entry.base_url}: the budget of {self.entry.budget} {self.entry.currency} is "
            f"used up ({self.budget.spent:.4f} spent or set aside, the next call may cost {worst:.4f}). All answers "
            "are kept; raise `budget` and run again for the rest."
        )

    def _broken(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no whole reply within {self.entry.timeout_s:g} s"
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else None
        return f"{type(cause or error).__name__}: {cause or error}"

    def _status_reason(self, error: openai.APIStatusError) -> str:
        """The reason that an error status gives, having heeded what it asks for: to stop, or to wait."""
        if message := fatal(error, self.entry):
            self.stop = UserError(message)
        wait_s = retry_after_s(error.response.headers)
        if wait_s > MAX_RETRY_AFTER_S:
            self.stop = UserError(
                f"{self.entry.model} at {self.entry.base_url} asks to wait {wait_s:.0f} s. All answers are kept; run "
                f"again then. It says: {said(error, self.entry)}"
            )
        elif wait_s > 0:
            self.limits.hold(wait_s)
        return f"{error.status_code} {said(error, self.entry)}"

    def keep(self, key: str, record: dict) -> None:
        """Take a call's record: an answer goes into the store; of failures too many stop the job."""
        self.records[key] = record
        if record["status"] != "failed":
            self.store.put({key: record}, sync=False)
            return
        reason = record["detail"]
        self.reasons[reason] += 1
        failed = self.reasons.total()
        log.warning("failed: %s", reason)
        if failed > self.entry.max_failed_share * self.total and not self.stop:
            reasons = "; ".join(f"{count} x {reason}" for reason, count in self.reasons.most_common(3))
            self.stop = UserError(
                f"{self.entry.model} at {self.entry.base_url}: {failed} of {self.total} calls failed, more than "
                f"`max_failed_share` ({self.entry.max_failed_share:.1%}) allows: {reasons}. All answers are kept; run "
                "again to ask for the rest."
            )

    async def _tick(self, total: int) -> None:
        """Put what was stored on the disk every second, and say every now and then how far the job is."""
        started = time.monotonic()
        for second in range(1, 10**9):
            await asyncio.sleep(1)
            await asyncio.to_thread(self.store.sync)
            if second % _PROGRESS_S == 0:
                done, elapsed_s = len(self.records), time.monotonic() - started
                log.info("%d of %d, %.1f a second, %d failed", done, total, done / elapsed_s, self.reasons.total())
