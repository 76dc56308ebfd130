"""The same calls through an endpoint's Batch API: sent as files, waited for, collected, sent again where they failed.

A batch under way is a small file beside the store, written before the batch exists: after a kill at any moment it is
found again, by its id or by that of its input file, and not paid for twice.
"""

import contextlib
import itertools
import json
import logging
import time
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import openai
from openai.types import Batch

from biasatlas.errors import UserError
from biasatlas.files import write_text
from biasatlas.models.endpoint.calls import PATHS, Call, Wants, charged
from biasatlas.models.endpoint.entry import ApiEntry, service_of
from biasatlas.models.endpoint.spending import DECLINED, Job
from biasatlas.models.endpoint.transport import (
    Outcome,
    backoff_s,
    error_text,
    fatal,
    options,
    outcome,
    outcome_of,
    retry_after_s,
    shown,
)
from biasatlas.progress import Progress

log = logging.getLogger(__name__)

#: Most requests, and most bytes, in one batch: services take 50,000 and 100 MB.
MAX_ROWS, MAX_BYTES = 50_000, 90_000_000

POLL_S = 15

_ENDED = {"completed", "expired", "cancelled", "failed"}

T = TypeVar("T")


def run(missing: list[Call], job: Job) -> None:
    """Answer the ``missing`` calls of a ``job``, each for one answer, by batches, in as many rounds as it takes.

    One job at a time works through the batches of a store; others wait, and find the answers. Where nothing is known to
    pass, the first questions go alone: if all are declined, or silent, the rest is not paid for.
    """
    with contextlib.ExitStack() as stack:
        while not stack.enter_context(job.journal.batches()):
            log.info("waiting: another job works through batches of this store")
            time.sleep(POLL_S)
        job.store.refresh()
        wanted = {call.keys[0]: call for call in missing}
        failures: dict[str, Outcome] = {}
        with openai.OpenAI(**options(job.entry, timeout_s=job.entry.timeout_s)) as client:
            for calls in [_first(wanted, job)] + [wanted] * job.entry.attempts:
                if job.stop:
                    return
                if not (rest := _unanswered(calls, job)):
                    continue
                if not (waiting := _under_way(client, rest, job)):
                    job.stop = job.budget_error(max(call.worst_cost(job.entry) for call in rest.values()))
                    return
                for path in waiting:
                    failures |= _collect(client, path, job, wanted)
        for key in _unanswered(wanted, job):
            found = failures.get(key, Outcome("retry", "no batch answered it"))
            job.give_up([key], found.reason, found)


def _first(wanted: dict[str, Call], job: Job) -> dict[str, Call]:
    """One call for each of the first questions, where none has an answer yet and more are to come; else nothing."""
    first = {call.name: call for call in reversed(wanted.values()) if call.keys[0] not in job.store}
    if job.declined is None or len(first) < DECLINED or len(wanted) == DECLINED:
        return {}
    return {call.keys[0]: call for call in list(first.values())[-DECLINED:]}


def _unanswered(wanted: dict[str, Call], job: Job) -> dict[str, Call]:
    return {key: call for key, call in wanted.items() if key not in job.store and key not in job.failed}


def _under_way(client: openai.OpenAI, rest: dict[str, Call], job: Job) -> list[Path]:
    """The batches that hold the calls of ``rest``, those that are new among them."""
    folder = job.store.folder / "batches"
    waiting = [path for path in sorted(folder.glob("*.json")) if rest.keys() & _read_state(path)["keys"].keys()]
    for path in waiting:
        rest = {key: call for key, call in rest.items() if key not in _read_state(path)["keys"]}
    # As many as the budget has room for, their costs set aside.
    calls = rest.values()
    affordable = list(itertools.takewhile(lambda call: job.budget.reserve(call.worst_cost(job.entry)), calls))
    return waiting + [_upload(client, chunk, folder, job) for chunk in _chunks(affordable, job.entry)]


def _read_state(path: Path) -> dict:
    return json.loads(path.read_text())


def _chunks(calls: list[Call], entry: ApiEntry) -> Iterator[list[Call]]:
    chunk: list[Call] = []
    size = 0
    for call in calls:
        size += len(_row(call, entry))
        if chunk and (len(chunk) == MAX_ROWS or size > MAX_BYTES):
            yield chunk
            chunk, size = [], len(_row(call, entry))
        chunk.append(call)
    if chunk:
        yield chunk


def _row(call: Call, entry: ApiEntry) -> bytes:
    row = {"custom_id": call.keys[0], "method": "POST", "url": _url(call, entry), "body": call.body}
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _url(call: Call, entry: ApiEntry) -> str:
    """A call's path as batches name it, with the version that ends the base URL: /v1/chat/completions."""
    return f"/{entry.base_url.rstrip('/').rsplit('/', 1)[-1]}{PATHS[call.wants]}"


def _upload(client: openai.OpenAI, chunk: list[Call], folder: Path, job: Job) -> Path:
    """Upload a batch's input and note it, with what was set aside for each call; the batch itself comes later."""
    lines = b"".join(_row(call, job.entry) for call in chunk)
    file = _retry(job, lambda: client.files.create(file=("requests.jsonl", lines), purpose="batch").id)
    path = folder / f"{file}.json"
    keys = {call.keys[0]: call.worst_cost(job.entry) for call in chunk}
    state = {"file": file, "url": _url(chunk[0], job.entry), "wants": chunk[0].wants, "batch": None, "keys": keys}
    write_text(json.dumps(state | {"asked": False}), path)  # that the batch cannot exist yet
    return path


def _collect(client: openai.OpenAI, path: Path, job: Job, wanted: dict[str, Call]) -> dict[str, Outcome]:
    """Wait for a batch and keep what it answered; the outcomes of calls that may be sent again, by key."""
    state = _read_state(path)
    if state["batch"] is None:
        state["batch"] = _retry(job, lambda: _start(client, state, path))
        write_text(json.dumps(state), path)
    batch = _wait(client, state["batch"], path, job)
    failures: dict[str, Outcome] = {}
    answered: set[str] = set()
    spent = 0.0
    for file in filter(None, (batch.output_file_id, batch.error_file_id)):
        for line in _retry(job, partial(client.files.content, file)).content.splitlines():
            try:
                key, row = _row_of(line, state["keys"])
            except ValueError as error:
                log.warning("batch %s: a row that answers no call (%s)", batch.id, error)
                continue
            if key in answered:
                log.warning("batch %s: a further row of a call that is answered", batch.id)
                continue
            found = _read_row(row, state["wants"], job.entry)
            found = replace(found, reason=shown(found.reason or "no answer", job.entry))
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
            f"{job.entry.model} at {job.entry.base_url}: batch {batch.id} failed: {shown(errors, job.entry)}. "
            "Mend what it names and run again, or set `batch: false`."
        )
    return failures


def _start(client: openai.OpenAI, state: dict, path: Path) -> str:
    """The id of the batch for an uploaded file: the one that an earlier attempt made, or else a new one."""
    if state.get("asked", True):
        seen = set()
        for batch in client.batches.list(limit=100):  # of all pages
            if batch.input_file_id == state["file"]:
                return batch.id
            if batch.id in seen:  # a service that has one page gives it again and again
                break
            seen.add(batch.id)
    state["asked"] = True
    write_text(json.dumps(state), path)
    return client.batches.create(input_file_id=state["file"], endpoint=state["url"], completion_window="24h").id


def _wait(client: openai.OpenAI, name: str, path: Path, job: Job) -> Batch:
    """The batch once it has ended."""
    logged, progress = "", Progress("calls of a batch", len(_read_state(path)["keys"]))
    while True:
        batch = _retry(
            job,
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


def _row_of(line: bytes, keys: Container[str]) -> tuple[str, dict]:
    """One of ``keys`` and the content of a row of a batch's results. Raises ValueError for what is no such row."""
    try:
        row = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    key = row.get("custom_id") if isinstance(row, dict) else None
    if not isinstance(key, str) or key not in keys:
        raise ValueError("its custom_id is that of no call")
    return key, row


def _read_row(row: dict, wants: Wants, entry: ApiEntry) -> Outcome:
    """What a row of a batch's results comes to."""
    response = row.get("response")
    if not isinstance(response, dict) or "body" not in response:
        return Outcome("retry", str(row.get("error")))
    status = response.get("status_code")
    if not isinstance(status, int):
        return Outcome("retry", f"no status: {response}")
    return outcome(status, json.dumps(response["body"]).encode(), wants, service_of(entry), bool(entry.thinking))


def _retry(job: Job, function: Callable[[], T], advice: str = "") -> T:
    """Call ``function`` until it works, as often as the entry allows; else raise UserError, which gives ``advice``."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return function()
        except (openai.OpenAIError, ValueError, AttributeError) as error:  # a page in place of JSON has no fields
            status = error if isinstance(error, openai.APIStatusError) else None
            kind = outcome_of(status, job.entry).kind if status else "retry"
            if attempt == job.entry.attempts or kind != "retry":
                where = f"{job.entry.model} at {job.entry.base_url}"
                message = status and fatal(kind, error_text(status, job.entry), job.entry)
                message = message or f"{where}: the Batch API fails: {shown(str(error), job.entry)}"
                raise UserError(f"{message} {advice}".strip()) from None
            time.sleep(max(backoff_s(attempt), retry_after_s(status.response.headers) if status else 0))
