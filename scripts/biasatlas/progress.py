"""How far a job is: a line with rate and time left every ten seconds, in its log and on the terminal."""

import contextlib
import datetime
import logging
import time
from collections.abc import Iterator

_log = logging.getLogger(__name__)

#: Environment variable; if it is set, Snakemake's logger prints why a job failed, and the job need not.
TOLD = "BIASATLAS_ERRORS_ARE_TOLD"
#: The last line of the log of a job that came to its end.
ENDED = "done"

#: Seconds from line to line; work that is done sooner prints none.
SECONDS = 10.0

#: The parts of larger work that are under way, innermost last: (the larger work, the part of it done before, units).
_parts: "list[tuple[Progress, float, float]]" = []


class Progress:
    """Work of ``total`` units, such as "requests". In a :meth:`part` of other work it silently advances that."""

    def __init__(self, unit: str, total: float):
        self.unit, self.total, self.done = unit, total, 0.0
        self._larger = _parts[-1] if _parts else None
        self._began = self._said = time.monotonic()

    def advance(self, units: float) -> None:
        """Note that ``units`` more are done."""
        self.reach(self.done + units)

    def reach(self, done: float, remark: str = "") -> None:
        """Note that ``done`` units are done in all; the ``remark`` ends the line, if one is due."""
        self.done = min(max(self.done, done), self.total)
        if self._larger:
            larger, before, units = self._larger
            larger.reach(before + units * self.done / max(self.total, 1e-9))
            return
        now = time.monotonic()
        if (self.done or remark) and now - self._said >= SECONDS:
            self._said = now
            rate = self.done / (now - self._began)
            left = datetime.timedelta(seconds=round((self.total - self.done) / rate)) if rate else "unknown time"
            line = f"{self.done:.0f} of {self.total:.0f} {self.unit}, {rate:.1f} a second, {left} left"
            _log.info("%s", ", ".join(filter(None, (line, remark))))

    @contextlib.contextmanager
    def part(self, units: float) -> Iterator[None]:
        """The block does the next ``units`` of the work; progress made there counts as this work's."""
        before = self.done
        _parts.append((self, before, units))
        try:
            yield
        finally:
            _parts.pop()
        self.reach(before + units)


class AtMostEvery(logging.Filter):
    """Lets at most one record pass in ``seconds``, so that a log that nobody watches does not fill up."""

    def __init__(self, seconds: float):
        super().__init__()
        self.seconds, self._passed = seconds, float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        if record.created - self._passed < self.seconds:
            return False
        self._passed = record.created
        return True
