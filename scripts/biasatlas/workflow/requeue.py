"""A job that its scheduler's time limit ends goes on by itself, as often as it takes."""

import logging
import os
import re
import shutil
import signal
import subprocess
import time

log = logging.getLogger(__name__)

#: What SLURM says of a job whose limit is up, or that is warned of it (`--signal`); not of one that a person cancelled.
_OUT_OF_TIME = re.compile(r"JobState=(\w+ Reason=TimeLimit|RUNNING)\b")

#: How long SLURM may take to end a job that is to start again.
_END_S = 60


def requeue() -> bool:
    """Have SLURM start this job again under the same number, where the job's time limit stopped it.

    Snakemake goes on waiting and counts no attempt. Does not return where that works, since SLURM ends the job for it;
    False where there is no SLURM, or a person stopped the job.
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
