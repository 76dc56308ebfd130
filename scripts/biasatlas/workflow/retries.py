"""Automatic retries: calls that an endpoint failed to answer, and a job that its scheduler's time limit ended.

The next runs retry failed calls, but only a few times, since some fail for ever.

A job counts its runs that left any unanswered in a small file beside the store, and has that number among its params.
After such a run the number differs from the one the job ran with, so the next run retries the job.
"""

import logging
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from biasatlas.files import write_text

#: Failed calls are no longer retried after this many runs that had any.
MOST_RUNS = 3


def failing_runs(path: str) -> int:
    """How many runs of a job left calls unanswered; 0 where its file is not there."""
    try:
        return int(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0


def count_run(path: str, answers: Iterable[Mapping]) -> None:
    """Count this run of a job if any of its ``answers`` (metadata of responses, one for each task) has failed calls."""
    failing = failing_runs(path)
    if failing < MOST_RUNS and any(metadata.get("failed") for metadata in answers):
        write_text(f"{failing + 1}\n", path)


log = logging.getLogger(__name__)

#: SLURM's state of a job whose time is up, or that is warned that it will be (`--signal`); not of a cancelled job.
_OUT_OF_TIME = re.compile(r"JobState=(\w+ Reason=TimeLimit|RUNNING)\b")

#: Seconds to wait for SLURM to end a job that it will start again.
_END_S = 60


def requeue() -> bool:
    """Have SLURM start this job again under the same number, if the job's time limit stopped it.

    Snakemake goes on waiting and counts no attempt. If that works, SLURM normally ends the job before this returns.
    Returns False if there is no SLURM, if a person stopped the job, or if SLURM refuses.
    """
    number = os.environ.get("SLURM_JOB_ID")
    if not number or not shutil.which("scontrol"):
        return False
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    shown = subprocess.run(["scontrol", "show", "job", number], capture_output=True, text=True, check=False).stdout
    if not _OUT_OF_TIME.search(shown):
        return False
    done = subprocess.run(["scontrol", "requeue", number], capture_output=True, text=True, check=False)
    if done.returncode:
        log.warning("SLURM does not start the job again: %s", done.stderr.strip())
        return False
    log.info("out of time: SLURM starts the job again, and it goes on from what is in the store")
    time.sleep(_END_S)
    return True
