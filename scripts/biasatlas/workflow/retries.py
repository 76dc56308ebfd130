"""The next runs retry calls that an endpoint failed to answer: a few times, since some fail for ever.

A job counts its runs that left any unanswered in a small file beside the store, and has that number among its params. After
such a run the number differs from the one the job ran with, so the next run retries the job.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from biasatlas.files import write_text

#: After so many runs failed calls stay failed.
MOST_RUNS = 3


def failing_runs(path: str) -> int:
    """How many runs of a job left calls unanswered; 0 where its file is not there."""
    try:
        return int(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0


def count_run(path: str, answers: Iterable[Mapping]) -> None:
    """Count this run of a job, if any of its ``answers`` (metadata of responses, one for each task) lacks some."""
    failing = failing_runs(path)
    if failing < MOST_RUNS and any(metadata.get("failed") for metadata in answers):
        write_text(f"{failing + 1}\n", path)
