"""Calls sent one by one, as many at a time as the entry allows, each as often as it takes or may take."""

import asyncio
import logging
from collections.abc import Iterator

import httpx2
import openai

from biasatlas.errors import UserError
from biasatlas.models.endpoint.calls import PATHS, Call, cost, worst_cost
from biasatlas.models.endpoint.errors import (
    api_key,
    backoff_s,
    error_text,
    fatal,
    is_retryable,
    redact_key,
    retry_after_s,
)
from biasatlas.models.endpoint.job import Job
from biasatlas.models.endpoint.limits import Limits
from biasatlas.models.endpoint.replies import filtered, read_reply
from biasatlas.progress import Progress

log = logging.getLogger(__name__)

#: An endpoint that asks to wait longer (a day's quota) stops the job instead.
MAX_RETRY_AFTER_S = 3600


def run(missing: list[Call], job: Job) -> None:
    """Ask all of ``missing`` with the entry's concurrency; ``job`` gets the records, or a reason to stop."""
    asyncio.run(_Sender(job).run(missing))


class _Sender:
    """A client under its endpoint's limits, and how many of its calls are in flight."""

    def __init__(self, job: Job):
        self.job, self.entry = job, job.entry
        self.limits = Limits(job.entry)
        self.in_flight = 0

    async def run(self, missing: list[Call]) -> None:
        self.client = openai.AsyncOpenAI(
            api_key=api_key(self.entry), base_url=self.entry.base_url, max_retries=0, timeout=None
        )
        queue = iter(missing)
        ticker = asyncio.create_task(self._tick(len(missing)))
        try:
            await asyncio.gather(*(self._work(queue) for _ in range(min(self.entry.concurrency, len(missing)))))
        finally:
            ticker.cancel()
            self.job.store.sync()
            self.limits.close()
            await self.client.close()

    async def _work(self, queue: Iterator[Call]) -> None:
        for call in queue:
            record = await self._answer(call)
            if record is None:
                return
            self.job.keep(call.key, record)

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
                if refusal := filtered(error.status_code, reason):
                    return refusal
                if not is_retryable(error.status_code):
                    break
            except (openai.OpenAIError, ValueError, TimeoutError) as error:
                charged = 0.0 if isinstance(error.__cause__, httpx2.ConnectError) else worst
                reason = redact_key(self._broken_reason(error), self.entry)
            finally:
                self.in_flight -= 1
                self.job.budget.settle(worst, charged)
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
        while not self.job.stop:
            if self.job.budget.reserve(worst):
                return True
            if not self.in_flight:
                self.job.stop = self.job.budget_error(worst)
            await asyncio.sleep(0.05)
        return False

    def _broken_reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no whole reply within {self.entry.timeout_s:g} s"
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else None
        return f"{type(cause or error).__name__}: {cause or error}"

    def _status_reason(self, error: openai.APIStatusError) -> str:
        """The reason that an error status gives, having heeded what it asks for: to stop, or to wait."""
        if message := fatal(error, self.entry):
            self.job.stop = UserError(message)
        wait_s = retry_after_s(error.response.headers)
        if wait_s > MAX_RETRY_AFTER_S:
            self.job.stop = UserError(
                f"{self.entry.model} at {self.entry.base_url} asks to wait {wait_s:.0f} s. All answers are kept; run "
                f"again then. It says: {error_text(error, self.entry)}"
            )
        elif wait_s > 0:
            self.limits.hold(wait_s)
        return f"{error.status_code} {error_text(error, self.entry)}"

    async def _tick(self, total: int) -> None:
        """Put what was stored on the disk every second, and say every now and then how far the job is."""
        progress = Progress("calls", total)
        while True:
            await asyncio.sleep(1)
            await asyncio.to_thread(self.job.store.sync)
            progress.reach(len(self.job.records), self.job.remark())
