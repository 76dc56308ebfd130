"""A run of Snakemake, and what it does before its first job.

It asks no model again what it asked before: requests come first, then the rest, where that may spare answers. Snakemake
plans a job again whose inputs another planned job makes, whatever they turn out to hold. So where models
would be asked for no other reason, requests are made first, and the second plan sees that they are as they were.
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
#: Snakemake's words where nothing but a file that another job makes is new.
_MADE_ANEW = re.compile(r"Input files updated by another job: [^;]*")


def run(command: Sequence[str], targets: Sequence[str] = ()) -> int:
    """Run Snakemake's ``command``, in two stages where models would be asked because of inputs; its exit status.

    ``targets`` are apart, since Snakemake's own options may stand in front of them alone.
    """
    wanted = ["--", *targets] if targets else []
    # Whatever a profile leaves out, a job's reason must be said.
    planned = subprocess.run(
        [*command, "--dry-run", "--quiet", "host", *wanted], capture_output=True, text=True, check=False
    )
    if planned.returncode == 0 and asks_because_of_inputs(planned.stdout + planned.stderr):
        status = call([*command, "--until", "build_requests", *wanted])
        if status:
            return status
    return call([*command, *wanted])


def call(command: Sequence[str]) -> int:
    """Run Snakemake's ``command`` with our lines on the terminal, unless it asks for others; its exit status, or as a
    shell has it of a signal, such as 130 of Ctrl-C.

    Ctrl-C, SIGTERM and a closed terminal are handed on to Snakemake and to its jobs, which would otherwise go on asking
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
            # Snakemake and jobs know no SIGHUP.
            os.killpg(process.pid, signal.SIGTERM if number == signal.SIGHUP else number)

    # What is ignored from the start, as by nohup, stays so.
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
    """Spare Snakemake a search for work without an end, and keep a second run from the same object storage."""
    # Under its default limit of 100 jobs a second Snakemake looks for work without an end: each look plans another a
    # second later, and so does each job that ends: a run of a thousand jobs keeps a core busy with looking.
    limit = workflow.scheduler.job_rate_limiter
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    # Snakemake locks the folder that it runs in, and no other knows of that. A run of what is left is within another.
    where = workflow.storage_settings.default_storage_prefix
    if where and workflow.is_main_process and not os.environ.get(failures.LEVEL):
        from biasatlas.models.objects import hold

        try:
            hold(where)
        except UserError as error:
            sys.exit(f"error: {error}")
