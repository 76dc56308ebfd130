"""A run of Snakemake, and what it does before its first job.

It asks no model again what it asked before. Snakemake reruns a job whenever another planned job makes its inputs, even
if these turn out unchanged. So where models would be asked for no other reason, a first stage makes the requests, and
the plan of the second stage sees whether they changed.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from biasatlas import ROOT
from biasatlas.errors import UserError
from biasatlas.workflow import failures

#: Rules that ask a model.
ASKING = ("answer_requests", "answer_shard", "judge_responses", "order_contexts", "parse_with_model")
_JOB = re.compile(rf"^\s*(?:local)?rule (?:{'|'.join(ASKING)}):\n((?:\s+\S.*\n)+)", re.MULTILINE)
_REASON = re.compile(r"^\s+reason: (.*)$", re.MULTILINE)
#: Snakemake's reason for a job if nothing is new but files that another job makes.
_MADE_ANEW = re.compile(r"Input files updated by another job: [^;]*")


def run(command: Sequence[str], targets: Sequence[str] = ()) -> int:
    """Run Snakemake's ``command``, in two stages if models would be asked because of inputs; return its exit status.

    ``targets`` are given separately, since Snakemake's own options must come before them.
    """
    wanted = ["--", *targets] if targets else []
    # Snakemake must print the reasons for jobs, whatever a profile leaves out.
    planned = subprocess.run(
        [*command, "--dry-run", "--quiet", "host", *wanted], capture_output=True, text=True, check=False
    )
    if planned.returncode == 0 and asks_because_of_inputs(planned.stdout + planned.stderr):
        status = call([*command, "--until", "build_requests", *wanted])
        if status:
            return status
    return call([*command, *wanted])


def call(command: Sequence[str]) -> int:
    """Run Snakemake's ``command`` with our logger, unless it names another.

    Returns its exit status; after a signal, the one that a shell gives, such as 130 after Ctrl-C.

    Ctrl-C, SIGTERM and a closed terminal are passed on to Snakemake and its jobs, which would otherwise go on asking
    and paying.
    """
    command, environment = list(command), dict(os.environ)
    if "--logger" not in command:
        place = command.index("snakemake") + 1
        command[place:place] = ["--logger", "atlas"]
        folders = filter(None, [str(ROOT / "scripts"), environment.get("PYTHONPATH")])
        environment["PYTHONPATH"] = os.pathsep.join(folders)
    process, sent = subprocess.Popen(command, env=environment, process_group=0), 0

    def hand_on(number: int, _frame: FrameType | None) -> None:
        nonlocal sent
        sent = number
        with contextlib.suppress(ProcessLookupError):
            # Snakemake and its jobs do not handle SIGHUP.
            os.killpg(process.pid, signal.SIGTERM if number == signal.SIGHUP else number)

    # Signals that are ignored from the start, as under nohup, stay ignored.
    heard = [n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, hand_on) for number in heard}
    try:
        status = process.wait()
        return 128 + sent if sent else status
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def asks_because_of_inputs(plan: str) -> bool:
    """Whether a dry run's output has a job that asks a model for the sole reason that its inputs are made anew."""
    reasons = [reason for job in _JOB.findall(plan) for reason in _REASON.findall(job)]
    return any(_MADE_ANEW.fullmatch(reason) for reason in reasons)


def begin(workflow: Any) -> None:
    """Stop Snakemake's endless search for work, and keep a second run off the same object storage."""
    # Under its default limit of 100 jobs a second Snakemake never stops looking for work: each look, and each job that
    # ends, plans another look a second later, so that a run of a thousand jobs keeps a core busy.
    limit = workflow.scheduler.job_rate_limiter
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    # Snakemake locks its folder only, not the storage. A run after a failure is inside one that holds the storage.
    where = workflow.storage_settings.default_storage_prefix
    if where and workflow.is_main_process and not os.environ.get(failures.LEVEL):
        from biasatlas.models.objects import hold

        try:
            hold(where)
        except UserError as error:
            sys.exit(f"error: {error}")
