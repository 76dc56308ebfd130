"""An endpoint's answers: turn requests into calls, send those that the store lacks, turn records into responses.

Every answer goes into the store as soon as it is read, so whatever stops a job, none is paid for twice. Calls and
records are made when they are needed and then dropped: a million take no more memory than the index of the store.
"""

import contextlib
import logging
import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from operator import itemgetter
from typing import Any, cast

import pandas as pd

from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.options import Options, asked_options
from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.errors import UserError
from biasatlas.models import UNRESOLVED_BOUND
from biasatlas.models.claims import Journal
from biasatlas.models.endpoint import Found, read_found, same_model, send
from biasatlas.models.endpoint.calls import Call, Unsupported, cost, planned_call, prices, sampling
from biasatlas.models.endpoint.capability_check import check
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.replies import BadReply, continuation_logprobs, is_declined, stored
from biasatlas.models.endpoint.spending import DECLINED, Budget, Job, recount
from biasatlas.models.interface import ModelContext
from biasatlas.models.sampling import Masses, choice_columns, fill_sampling, sampled_choice
from biasatlas.models.store import ResponseStore, key_number

log = logging.getLogger(__name__)

#: How many rows of requests are made into objects at a time.
_ROWS = 2000

#: Share of a task's answers above which thinking that never answered is worth a warning.
_MANY_THOUGHT = 0.05


@dataclass(frozen=True)
class Endpoint:
    """A model at an endpoint.

    ``parsers`` are those that choices may name. ``found`` is what the check of the endpoint found; without it the
    endpoint is checked when it is first asked for something that the store lacks. ``in_all`` is the most answers of a
    job that asks a part at a time; `max_failed_share` is a share of them.
    """

    entry: ApiEntry
    name: str = ""
    parsers: Mapping[str, Parser] = field(default_factory=dict)
    found: Found | None = None
    in_all: int = 0

    def answer(
        self,
        requests: pd.DataFrame,
        task: str = "",
        store: ResponseStore | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> tuple[pd.DataFrame, dict]:
        """Answer requests of one kind, as :class:`biasatlas.models.interface.Model` says; a ``store`` is needed.

        A sampled ``choice`` is one response, the shares of its repeats; an unanswered repeat counts as unresolved. What
        the endpoint cannot answer is ``not_applicable`` with the reason. The dictionary says what these answers took,
        whenever they were given: calls, answers, failed, tokens, cost, currency, served models, and how many requests
        were sampled several times (``sampled``) and got one text each time (``one_text``). Tokens and cost leave out
        answers whose tokens the endpoint did not count (``uncounted``). For models that think, it also counts answers
        that only ``thought``, and ``thinking_tokens``, which are among those of completion.

        Raises UserError if a key is missing or wrong, the endpoint cannot be reached, does not know the model or does
        not sample though it should, the budget is used up, or more than ``max_failed_share`` of the calls failed;
        KeyboardInterrupt if the job is told to stop. What was answered stays in ``store``.
        """
        if store is None:
            raise ValueError(f"{self.name}: what an endpoint answers is paid for, so it needs a store")
        requests = fill_sampling(requests, sampling(self.entry), self.name)
        journal = Journal(store.folder)
        try:
            failed = self._ask(requests, store, journal)
        finally:
            journal.close()
        return self._responses(requests, store, failed)

    def for_rounds(self, requests: pd.DataFrame) -> "Endpoint":
        """This endpoint, for a job that asks some of ``requests`` at a time."""
        return replace(self, in_all=int(requests["repeats"].sum()))

    def account(self, requests: pd.DataFrame, store: ResponseStore) -> dict:
        """The dictionary of :meth:`answer` for the answers to ``requests`` in ``store``; missing ones have failed."""
        store.refresh()
        return self._responses(fill_sampling(requests, sampling(self.entry), self.name), store, {})[1]

    def _ask(self, requests: pd.DataFrame, store: ResponseStore, journal: Journal) -> dict[str, str]:
        """Get every answer into the store; return the reasons for those that are missing, by key."""
        started = time.monotonic()
        under_way = journal.read_claims()
        store.refresh()
        plan = _Plan.of(_planned(requests, self.entry), store, self._most(self.found or Found()))
        plan.log(self.entry, store, under_way)
        if not plan.missing:
            return {}
        found = self.found or check(self.entry)
        if plan.repeated and not found.samples:
            raise UserError(
                f"{self.entry.where} gives equal calls at temperature 1 one text, so repeats "
                "would measure nothing: it is greedy, or a cache answers. Have it sample (`extra_body`; of "
                "`transformers serve`: `{generation_config: '{\"do_sample\": true}'}`) or switch the cache off, and "
                "remove the model's .checked file."
            )
        with store.objects.leased(self.entry.timeout_s) if store.objects else contextlib.nullcontext():
            if store.objects:
                store.refresh()  # others may have asked while this job waited
            total = max(plan.wanted, self.in_all)
            job = Job(self.entry, store, journal, total, plan.wanted - plan.missing)
            for question, record in plan.heard.items():  # so that a rerun of a stopped job stops before it asks
                job.hear(question, record)
            if job.stop:
                raise job.stop
            if self.entry.batch:
                send.in_batches(list(_missing(_planned(requests, self.entry), store, 1)), job)
            else:
                most = self._most(found)
                send.one_by_one(_missing(_planned(requests, self.entry), store, most), job, replace(found, n=most))
            job.check_passed()
        seconds = time.monotonic() - started
        log.info("%d answers, %d failed, in %.1f s", job.answered, len(job.failed), seconds)
        if job.stop:
            raise job.stop
        return job.failed

    def _most(self, found: Found) -> int:
        """The most answers that are asked for in one call."""
        return 1 if self.entry.batch else min(found.n, self.entry.n or found.n)

    def _responses(
        self, requests: pd.DataFrame, store: ResponseStore, failed: Mapping[str, str]
    ) -> tuple[pd.DataFrame, dict]:
        kind = requests["kind"].iloc[0]
        columns = list(RESPONSE_COLUMNS[kind])
        taken, parts, part = _Taken(self.entry), [], []
        for row, planned in _planned(requests, self.entry):
            if isinstance(planned, Unsupported):
                part += responses(row, planned, self.parsers)
            else:
                records = _records(planned, store, failed)
                taken.count(planned, records)
                part += responses(row, records, self.parsers)
            if len(part) >= _ROWS:
                parts.append(pd.DataFrame(part, columns=columns))
                part = []
        parts.append(pd.DataFrame(part, columns=columns))
        frame = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
        return frame, taken.metadata(self.found)


def open_endpoint(opening: ModelContext) -> Endpoint:
    """The model of an entry at its endpoint. Raises UserError if the file of its check is not valid."""
    return Endpoint(cast(ApiEntry, opening.entry), opening.name, opening.parsers, read_found(opening.ready))


def _planned(requests: pd.DataFrame, entry: ApiEntry) -> Iterator[tuple[dict, Call | Unsupported]]:
    """Yield each request with its call, or with the reason why there is none."""
    for start in range(0, len(requests), _ROWS):
        for row in requests.iloc[start : start + _ROWS].to_dict("records"):
            yield row, planned_call(row, entry)


def _records(call: Call, store: ResponseStore, failed: Mapping[str, str]) -> list[dict]:
    """The records of a call's answers; for a missing one, the status "failed" with the reason."""
    values = ((key, store.read(key)) for key in call.keys)
    return [
        (value and stored(value)) or {"status": "failed", "detail": failed.get(key, "the store was damaged meanwhile")}
        for key, value in values
    ]


def _missing(planned: Iterator[tuple[dict, Call | Unsupported]], store: ResponseStore, most: int) -> Iterator[Call]:
    """Yield calls for the answers that are not in the store, each for at most ``most`` of them."""
    for _, call in planned:
        if isinstance(call, Unsupported):
            continue
        keys = [key for key in call.keys if key not in store]
        for start in range(0, len(keys), most):
            yield replace(call, keys=keys[start : start + most])


@dataclass
class _Plan:
    """How many answers are wanted, how many are missing, the calls for these, and upper bounds of their tokens."""

    wanted: int = 0
    missing: int = 0
    calls: int = 0
    repeated: bool = False  # whether any that is missing is one of several samples
    heard: dict[str, dict] = field(default_factory=dict)  # by question, a record of each of the first in the store
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @classmethod
    def of(cls, planned: Iterator[tuple[dict, Call | Unsupported]], store: ResponseStore, most: int) -> "_Plan":
        """The plan for all that is ``planned``, with at most ``most`` answers in a call."""
        plan = cls()
        seen: Counter[int] = Counter()  # how many repeats of a body are counted
        for _, call in planned:
            if isinstance(call, Unsupported):
                continue
            new = call.keys[seen[name := key_number(call.name)] :]
            seen[name] += len(new)
            plan.wanted += len(new)
            records = [record for key in new if (record := _stored(key, store))]
            if records and len(plan.heard) < DECLINED:
                plan.heard[call.name] = next((each for each in records if not is_declined(each)), records[0])
            missing = len(new) - len(records)
            plan.missing += missing
            plan.repeated |= missing > 0 and call.is_sampled and len(call.keys) > 1
            calls = -(-missing // most)
            plan.calls += calls
            plan.prompt_tokens += calls * call.prompt_tokens
            plan.completion_tokens += missing * call.completion_tokens
        return plan

    def log(self, entry: ApiEntry, store: ResponseStore, under_way: int) -> None:
        if under_way:
            log.info(
                "%d calls are under way elsewhere, or were when a job ended: those may have been paid for", under_way
            )
        log.info(
            "%s: %d answers, %d of them in the store. The rest: %d calls, about %d prompt tokens, at most %d "
            "completion tokens, %.4f %s; budget %s, spent so far %.4f",
            entry.where,
            self.wanted,
            self.wanted - self.missing,
            self.calls,
            self.prompt_tokens,
            self.completion_tokens,
            cost(entry, self.prompt_tokens, self.completion_tokens),
            entry.currency,
            "none" if entry.budget is None else f"{entry.budget:.4f}",
            Budget(store.folder, entry.budget, lambda: recount(store, entry)).spent,
        )


def _stored(key: str, store: ResponseStore) -> dict | None:
    """The store's record, None if there is none. An unusable one is taken back, so that it is asked for again."""
    if key not in store:
        return None
    value = store.read(key)
    if value is not None and (record := stored(value)):
        return record
    log.warning("%s: what is stored under %s is no answer; it is asked for again", store.folder, key)
    store.put({key: None})
    return None


@dataclass
class _Taken:
    """What answers took, and what the metadata say about them, whenever they were given."""

    entry: ApiEntry
    counts: Counter[str] = field(default_factory=Counter)
    served_models: set[str] = field(default_factory=set)
    fingerprints: set[str] = field(default_factory=set)
    replies: Counter[int] = field(default_factory=Counter)  # by the hash of their id
    _seen: Counter[int] = field(default_factory=Counter)

    def count(self, call: Call, records: list[dict]) -> None:
        """Add the ``records`` of a call, except those that an equal call before had."""
        new = records[self._seen[name := key_number(call.name)] :]
        self._seen[name] += len(new)
        for record in new:
            failed = record["status"] == "failed"
            self.counts["failed"] += failed
            self.counts["answers"] += not failed
            self.counts["thought"] += record["status"] == "thought"
            self.counts["thinking_tokens"] += record.get("thinking_tokens") or 0
            self.counts["calls"] += failed or not record["choice"]
            self.counts["uncounted"] += not failed and record["prompt_tokens"] is None
            self.counts["prompt_tokens"] += record.get("prompt_tokens") or 0
            self.counts["completion_tokens"] += record.get("completion_tokens") or 0
            if record.get("response_id") and not record["choice"]:
                self.replies[hash(record["response_id"])] += 1
            self.served_models |= {record["served_model"]} if record.get("served_model") else set()
            self.fingerprints |= {record["fingerprint"]} if record.get("fingerprint") else set()
        if new and call.is_sampled and len(call.keys) > 1:
            self.counts["sampled"] += 1
            self.counts["one_text"] += len({record.get("text") for record in records}) == 1

    def metadata(self, found: Found | None) -> dict[str, Any]:
        names = ["calls", "answers", "failed", "uncounted", "sampled", "one_text"]
        names += [name for name in ("thought", "thinking_tokens") if self.counts[name]]
        names += ["prompt_tokens", "completion_tokens"]
        warnings = []
        if others := {name for name in self.served_models if not same_model(name, self.entry.model)}:
            warnings.append(f"the endpoint answers as {', '.join(sorted(others))}, not as {self.entry.model}")
        if len(self.served_models) > 1 or len(self.fingerprints) > 1:
            warnings.append("the endpoint changed its model, or its back end, in the course of this")
        if (thought := self.counts["thought"]) > _MANY_THOUGHT * self.counts["answers"]:
            warnings.append(f"of {self.counts['answers']} answers {thought} are thinking alone: it took all tokens")
        if again := self.replies.total() - len(self.replies):
            warnings.append(
                f"{again} replies have the id of another: the endpoint gives no ids of its own, or something sent "
                "replies twice"
            )
        if self.counts["one_text"]:
            warnings.append(
                f"of {self.counts['sampled']} requests sampled, {self.counts['one_text']} got one text each time"
            )
        return {name: self.counts[name] for name in names} | {
            "cost": cost(self.entry, self.counts["prompt_tokens"], self.counts["completion_tokens"]),
            "currency": self.entry.currency,
            "prices_per_million": prices(self.entry),
            "thinking": self.entry.thinking and self.entry.thinking.model_dump(),
            "served_models": sorted(self.served_models),
            "fingerprints": sorted(self.fingerprints),
            "found": asdict(found) if found else None,
            "warnings": warnings,
        }


def responses(row: Mapping, records: list[dict] | Unsupported, parsers: Mapping[str, Parser]) -> list[dict]:
    """The responses to one request from the records of its calls, or from the reason why there are none."""
    if isinstance(records, Unsupported):
        return [_response(row, 0, "not_applicable", str(records))]
    if row["kind"] == "generation":
        return [_generation(row, repeat, record) for repeat, record in enumerate(records)]
    if row["kind"] == "likelihood":
        return [_likelihood(row, records[0])]
    return [_choice(row, records, parsers[row["parser"]])]


def _response(row: Mapping, repeat: int, status: str, detail: str | None, **values: Any) -> dict:
    empty = dict.fromkeys(RESPONSE_COLUMNS[row["kind"]])
    return empty | {"request_id": row["request_id"], "repeat": repeat, "status": status, "detail": detail} | values


def _generation(row: Mapping, repeat: int, record: dict) -> dict:
    values = {name: record.get(name) for name in ("text", "finish_reason", "prompt_tokens", "completion_tokens")}
    return _response(row, repeat, record["status"], record.get("detail"), **values)


def _choice(row: Mapping, records: list[dict], parser: Parser) -> dict:
    options = asked_options(row["labels"], row.get("options"))
    if not (top := records[0].get("top")):
        return _response(row, 0, **sampled_choice(records, options, parser))
    masses = exact_masses(top, row["temperature"], options, parser)
    status, detail = "ok", None
    if masses["unresolved"] > UNRESOLVED_BOUND:
        status = "failed"
        detail = (
            f"{masses['unresolved']:.3f} of the probability is in first tokens that decide nothing or were not "
            f"returned (bound {UNRESOLVED_BOUND}): sample instead, with `top_logprobs: 0`"
        )
    return _response(row, 0, status, detail, **choice_columns(masses, options))


def _likelihood(row: Mapping, record: dict) -> dict:
    if record["status"] != "ok":
        return _response(row, 0, record["status"], record.get("detail"))
    prefix = row["prefix"] if isinstance(row["prefix"], str) else ""
    try:
        scored = continuation_logprobs(record, prefix, row["continuation"])
    except BadReply as error:
        return _response(row, 0, "failed", str(error))
    logprobs = [logprob for logprob in scored if logprob is not None]
    if len(logprobs) < len(scored):
        return _response(row, 0, "not_applicable", "the endpoint gives no probability for the first token of a text")
    total = math.fsum(logprobs)
    nll_per_token = -total / len(logprobs)
    return _response(row, 0, "ok", None, log_likelihood=total, tokens=len(logprobs), nll_per_token=nll_per_token)


def exact_masses(top: list[list], temperature: float, options: Options, parser: Parser) -> Masses:
    """Masses by outcome from the first token's top log-probabilities, at ``temperature`` (0 to 1).

    A token that is a label counts for it unless another label begins with it; any other that decides nothing is
    unresolved, and so is the mass that was not returned. Temperature T changes that mass: hidden tokens, each below the
    least returned probability p and with a sum of m, weigh at most m p^(1/T - 1), which is what is counted.
    """
    if temperature == 0:
        weights, hidden = [(max(top, key=itemgetter(1))[0], 1.0)], 0.0
    else:
        weights = [(token, math.exp(logprob / temperature)) for token, logprob in top]
        least = math.exp(min(logprob for _, logprob in top))
        left = max(0.0, 1 - sum(math.exp(logprob) for _, logprob in top))
        hidden = left * least ** (1 / temperature - 1)
    total = sum(weight for _, weight in weights) + hidden
    masses: Masses = defaultdict(float, {"unresolved": hidden / total})
    for token, weight in weights:
        masses[_first_token(token, options, parser)] += weight / total
    return masses


def _first_token(token: str, options: Options, parser: Parser) -> int | str:
    labels = options.labels
    outcome = parser(token, options, False)
    if outcome is None:
        outcome = parser(token, options, True)
        if not isinstance(outcome, int) or sum(label.startswith(labels[outcome]) for label in labels) > 1:
            return "unresolved"
    return outcome
