"""What a run says on the terminal (`snakemake --logger atlas`): a line for each model and benchmark that is answered,
one for each kind of step that has several jobs, each failure once, and on a terminal a last line with what runs now.
"""

import logging
import os
import sys
import time
from collections import Counter

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

#: Rules whose every job has a line: they take long, cost money, or both.
_ASKING = {
    "answer_requests": "answered",
    "answer_shard": "answered a part",
    "answer_in_rounds": "answered in rounds",
    "judge_responses": "judged",
    "train_planted": "trained",
    "train_on_questions": "trained",
    "order_contexts": "ordered",
    "parse_with_model": "parsed again",
}

#: The beginnings of Snakemake's own messages that are shown.
_SHOWN = ("Nothing to be done", "The report: ")


class LogHandler(LogHandlerBase):
    """Snakemake's events in the words of a person who waits for the result."""

    writes_to_stream = True
    writes_to_file = False
    # Snakemake's own filter would drop what a profile tells its own handler not to print.
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        # Jobs inherit it. It is `biasatlas.progress.TOLD`: which library is to be loaded is not known yet.
        os.environ["BIASATLAS_ERRORS_ARE_TOLD"] = "yes"
        self._live = sys.stderr.isatty()
        self._dry = bool(self.common_settings and self.common_settings.dryrun)
        self._wanted: Counter[str] = Counter()
        self._finished: Counter[str] = Counter()
        #: Jobs that run: what each is about, and when it began.
        self._running: dict[int, tuple[str, str, float]] = {}
        self._failed: set[int] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print what ``record`` means, if anything. A fault in here must not end a run."""
        try:
            self._say(record)
        except Exception:
            self.handleError(record)

    def _say(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        # A dry run says it twice.
        if event == LogEvent.RUN_INFO and record.stats.get("total") and not (self._dry and self._wanted):
            for rule in record.stats.keys() - {"total"}:
                self._wanted[_step(rule)] += record.stats[rule]
            self._print(f"{self._wanted.total()} steps{' to do' if self._dry else ''}")
            for step, n in sorted(self._wanted.items()) if self._dry else ():
                self._print(f"{n:6} {step}")
        elif event == LogEvent.JOB_INFO and not self._dry:
            about = " ".join(str(value) for value in (record.wildcards or {}).values())
            self._running[record.jobid] = (record.rule_name, about, time.monotonic())
        elif event == LogEvent.JOB_FINISHED:
            self._finish(record.job_id)
        elif event == LogEvent.JOB_ERROR:
            self._fail(record)
        elif self._failed and record.getMessage().startswith("Exiting because a job"):  # each has said so
            return
        elif event == LogEvent.ERROR:  # a target that no rule makes, a file that is missing; a job says its own
            if record.exception != "RuleException" and not self._failed:
                self._print(record.getMessage())
        elif event is None and (record.levelno >= logging.WARNING or record.getMessage().startswith(_SHOWN)):
            self._print(record.getMessage())
        self._status()

    def _finish(self, job: int) -> None:
        rule, about, began = self._running.pop(job, ("", "", 0.0))
        step = _step(rule)
        self._finished[step] += 1
        if rule in _ASKING:
            self._print(f"{about}: {_ASKING[rule]} in {_minutes(time.monotonic() - began)}")
        elif 1 < self._finished[step] == self._wanted[step]:
            self._print(f"{step}: all {self._finished[step]} done")

    def _fail(self, record: logging.LogRecord) -> None:
        """Say why, and where the log is. Snakemake reports some jobs twice."""
        from biasatlas.workflow.failures import FULL, KILLED, reason

        if record.jobid in self._failed:
            return
        self._failed.add(record.jobid)
        rule, about, _ = self._running.pop(record.jobid, (record.rule_name, "", 0.0))
        logs = [log.removesuffix(" (send to storage)") for log in record.log]
        why = next(filter(None, map(reason, logs)), "")
        if not why or why.endswith((KILLED, FULL)):  # a job's own message names its entry
            why = ": ".join(filter(None, (f"{rule} {about}".strip(), why or "failed")))
        self._print(f"error: {why} (log: {', '.join(logs)})")

    def _print(self, line: str) -> None:
        print(f"{self._clear()}{line}", file=sys.stderr, flush=True)

    def _clear(self) -> str:
        """The code that clears the last line, if there is one."""
        return "\r\x1b[2K" if self._live else ""

    def _status(self) -> None:
        """Print the last line of a terminal: how far the run is, and what runs."""
        if not self._live or not self._wanted:
            return
        done, wanted = self._finished.total(), self._wanted.total()
        running = ", ".join(f"{rule} {about}".strip() for rule, about, _ in self._running.values())
        line = f"{done} of {wanted} steps" + (f"; now: {running}" if running else "")
        print(self._clear() + line[:110], end="\r" if done == wanted else "", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal a clean line."""
        if self._live:
            print(self._clear(), end="", file=sys.stderr, flush=True)
        super().close()


def _step(rule: str) -> str:
    """The kind of step that a rule is: scoring is one kind, though each benchmark has rules of its own for it."""
    return "score" if rule.startswith("score_") else rule


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
