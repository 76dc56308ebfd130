"""Resources of a job in which a model answers: threads, GPUs, calls to an endpoint, memory, time."""

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from biasatlas.models.endpoint import Found, read_found
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.entry import Entry
from biasatlas.models.kinds import KINDS

#: Minutes in a day, the most that the job of an endpoint, or of a model that thinks, asks for. An endpoint's job also
#: asks for a day while its requests are not known yet. Answers are kept when a job's time is up.
_DAY = 24 * 60

#: Seconds that an answer is taken to need where the entry has no rate.
_CALL_S = 10

#: Minutes in which a model writes a million tokens, for each billion of its parameters. The GPU's number is assumed;
#: the CPU's takes eight threads for five times as fast as one, which needs 19 ms a token of 0.5 billion parameters.
_MILLION_GPU, _MILLION_CPU = 2, 130

#: Memory of an endpoint's job: MB, plus KB for each answer (measured: 6.6 for 2 KB written to a prompt of 1 KB).
_API_MB, _ANSWER_KB = 1000, 10


def job_resources(entry: Entry, attempt: int = 1, inputs: Mapping[str, Any] | None = None) -> dict[str, int]:
    """Snakemake resources: ``threads``, ``gpu``, ``api`` (1 for a job that calls an endpoint), ``mem_mb``, ``runtime``
    in minutes.

    Memory and time grow with every attempt, and with the model's size or, at an endpoint, with the calls that the job's
    ``inputs`` need. A model that thinks writes most of the tokens that it may, so its time grows with these too.
    """
    calls_api = KINDS[entry.kind].calls_api
    size_billion = getattr(entry, "size_billion", 0.001)
    thinking = None if calls_api else getattr(entry, "thinking", None)
    million_tokens = _tokens_to_write(inputs or {}, thinking.budget) / 1e6 if thinking else 0
    mb, minutes = 4000 + 3000 * size_billion, 20 + 20 * size_billion
    minutes += million_tokens * size_billion * (_MILLION_GPU if getattr(entry, "gpu", 0) else _MILLION_CPU)
    if calls_api:
        mb, minutes = _of_calls(cast(ApiEntry, entry), inputs or {})
    return {
        "threads": KINDS[entry.kind].threads,
        "gpu": getattr(entry, "gpu", 0),
        "api": int(calls_api),
        "mem_mb": int(mb * attempt),
        "runtime": min(int(minutes * attempt), _DAY) if calls_api or million_tokens else int(minutes * attempt),
    }


def _tokens_to_write(inputs: Mapping[str, Any], budget: int) -> int:
    """The most tokens that a job's replies have, each with a ``budget`` of thinking; 0 while no requests are there."""
    given = inputs.get("requests") or []
    paths = [Path(path) for path in ([given] if isinstance(given, str) else given)]
    return sum(_tokens_of(path, budget, path.stat().st_mtime_ns) for path in paths if path.is_file())


@cache
def _tokens_of(path: Path, budget: int, time_ns: int) -> int:
    import pandas as pd  # heavy, and most plans need none

    requests = pd.read_parquet(path)
    if not {"kind", "max_tokens", "repeats"} <= {*requests}:
        return 0
    written = requests[requests["kind"] != "likelihood"]
    return int(((written["max_tokens"].fillna(0) + budget) * written["repeats"].fillna(1)).sum())


def _of_calls(entry: ApiEntry, inputs: Mapping[str, Any]) -> tuple[float, float]:
    """MB and minutes of an endpoint's job: of its requests, or of a call for each answer to judge or item to order.

    The time is 1.5 times what the entry's rates give, plus ten minutes.
    """
    given = inputs.get("responses") or inputs.get("requests") or inputs.get("items_file") or []
    paths = [Path(path) for path in ([given] if isinstance(given, str) else given)]
    if not paths or not all(path.is_file() and path.stat().st_size for path in paths):
        return 4000, _DAY
    ready = inputs.get("ready", [])
    found = read_found([Path(path) for path in ready if Path(path).is_file()])
    counted = [_counted(entry.model_dump_json(), found, path, path.stat().st_mtime_ns) for path in paths]
    answers, minutes = (sum(column) for column in zip(*counted, strict=True))
    return _API_MB + answers * _ANSWER_KB / 1000, 10 + 1.5 * minutes


@cache
def _counted(entry_json: str, found: Found | None, path: Path, time_ns: int) -> tuple[float, float]:
    """How many answers a file's rows need, and how many minutes these take."""
    import pyarrow.parquet  # heavy, and most plans need neither

    from biasatlas.models.endpoint.calls import bound
    from biasatlas.workflow.sizes import sizes

    entry, file = ApiEntry.model_validate_json(entry_json), pyarrow.parquet.ParquetFile(path)
    answers = calls = float(file.metadata.num_rows)
    minutes = calls / entry.requests_per_minute if entry.requests_per_minute else math.nan
    if answers and "messages" in file.schema_arrow.names:
        counted = sizes(file.iter_batches())
        answers = float((counted["requests"] * counted["repeats"].fillna(1)).sum())
        bounded = bound(entry, counted, found)
        calls, minutes = bounded["calls"], bounded["minutes"]
    return answers, calls * _CALL_S / 60 / entry.concurrency if math.isnan(minutes) else minutes
