"""What a job takes in which a model answers: threads, GPUs, calls to an endpoint, memory, time."""

from biasatlas.models.entry import Entry
from biasatlas.models.kinds import KINDS

#: Calls wait for an endpoint's rate, and what was answered is kept: a day is the least that large runs need.
_API_MINUTES = 24 * 60


def needs(entry: Entry, attempt: int = 1) -> dict[str, int]:
    """Snakemake resources: ``threads``, ``gpu``, ``api`` (1 for a job that calls an endpoint), ``mem_mb``, ``runtime`` in minutes.

    Memory and time grow with the model's size and with every attempt.
    """
    size_billion = getattr(entry, "size_billion", 0.001)
    calls_api = KINDS[entry.kind].calls_api
    return {
        "threads": KINDS[entry.kind].threads,
        "gpu": getattr(entry, "gpu", 0),
        "api": int(calls_api),
        "mem_mb": int((4000 + 3000 * size_billion) * attempt),
        "runtime": _API_MINUTES if calls_api else int((20 + 20 * size_billion) * attempt),
    }
