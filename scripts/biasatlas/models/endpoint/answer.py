"""An endpoint's answers: requests as calls, those that the store has not sent, and their records as responses.

Every answer goes into the store as soon as it is read, so whatever stops a job, none is paid for twice.
"""

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from biasatlas.benchmarks.shared.readers import Reader
from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.models.endpoint import batch, send
from biasatlas.models.endpoint.calls import Call, calls, cost, worst_cost
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.job import Job
from biasatlas.models.endpoint.limits import Budget
from biasatlas.models.endpoint.probe import check, check_logprobs
from biasatlas.models.endpoint.replies import responses
from biasatlas.models.sampling import fill_sampling
from biasatlas.models.store import ResponseStore

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoint:
    """A model at an endpoint, checked when it is first asked for something that the store has not.

    ``readers`` are those that choices may name.
    """

    entry: ApiEntry
    name: str = ""
    readers: Mapping[str, Reader] = field(default_factory=dict)

    def answer(
        self,
        requests: pd.DataFrame,
        task: str = "",
        store: ResponseStore | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> tuple[pd.DataFrame, dict]:
        """Answer requests of one kind, as :class:`biasatlas.models.door.Model` has it; a ``store`` is needed.

        A sampled ``choice`` is one response, the shares of its repeats; an unanswered repeat counts as unresolved. What
        the endpoint cannot answer is ``not_applicable`` with the reason. The dictionary holds what these answers took,
        the same whenever they were given: calls, failed, tokens, cost, currency, served models; tokens and cost leave
        out the calls that the endpoint did not count (``uncounted``).

        Raises UserError when a key is missing or wrong, the endpoint cannot be reached or does not know the model, the
        budget is used up, or more than ``max_failed_share`` of the calls failed. What was answered stays in ``store``.
        """
        if store is None:
            raise ValueError(f"{self.name}: what an endpoint answers is paid for, so it needs a store")
        sampling = {name: settings.model_dump() for name, settings in self.entry.sampling.items()}
        rows = fill_sampling(requests, sampling, self.name).to_dict("records")
        plan = [calls(row, self.entry) for row in rows]
        wanted = {call.key: call for planned in plan if not isinstance(planned, str) for call in planned}
        records = self._records(wanted, store)
        answered = [
            response
            for row, planned in zip(rows, plan, strict=True)
            for response in responses(
                row, planned if isinstance(planned, str) else [records[call.key] for call in planned], self.readers
            )
        ]
        frame = pd.DataFrame(answered, columns=list(RESPONSE_COLUMNS[rows[0]["kind"]]))
        return frame, _metadata(records.values(), self.entry)

    def _records(self, wanted: Mapping[str, Call], store: ResponseStore) -> dict[str, dict]:
        """The records of all calls: those in the store, and what the endpoint says to the others."""
        started = time.monotonic()
        records = store.get(wanted)
        missing = [call for key, call in wanted.items() if key not in records]
        _log_plan(self.entry, len(wanted), missing, store)
        if missing:
            records |= _ask(missing, len(wanted), self.entry, store)
        records = {key: records[key] for key in wanted}
        failed = sum(record["status"] == "failed" for record in records.values())
        log.info("%d calls answered, %d failed, in %.1f s", len(missing) - failed, failed, time.monotonic() - started)
        return records


def _metadata(records: Iterable[Mapping], entry: ApiEntry) -> dict:
    records = list(records)
    failed = sum(record["status"] == "failed" for record in records)
    prompt_tokens = sum(record.get("prompt_tokens") or 0 for record in records)
    completion_tokens = sum(record.get("completion_tokens") or 0 for record in records)
    return {
        "calls": len(records),
        "failed": failed,
        "uncounted": sum(record.get("prompt_tokens") is None for record in records) - failed,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "cost": cost(entry, prompt_tokens, completion_tokens),
        "currency": entry.currency,
        "served_models": sorted({record["served_model"] for record in records if record.get("served_model")}),
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
    (batch if entry.batch else send).run(missing, job)
    if job.stop:
        raise job.stop
    return job.records
