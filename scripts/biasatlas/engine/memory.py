"""Limits of a machine and of its numbers: memory that runs out, values that are not finite."""

import contextlib
import datetime
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch

_log = logging.getLogger(__name__)


class NotFiniteError(ArithmeticError):
    """A NaN or an infinity where a log-probability was expected, for the sequence of index ``sequence``."""

    def __init__(self, sequence: int, value: float):
        super().__init__(f"sequence {sequence}: {value}")
        self.sequence = sequence
        self.value = value


@dataclass
class Attempt:
    """Whether the block ran out of memory."""

    failed: bool = False


@dataclass
class Memory:
    """The most tokens of one forward pass, padding included. Halved whenever memory runs out, and stays halved."""

    token_budget: int

    @contextlib.contextmanager
    def halved_if_exhausted(self, splittable: bool) -> Iterator[Attempt]:
        """Swallow an out-of-memory error of the block and halve the budget; raise it where no smaller pass exists."""
        attempt = Attempt()
        try:
            yield attempt
        except RuntimeError as error:
            if not _out_of_memory(error) or not splittable:
                raise
            attempt.failed = True
        if attempt.failed:  # outside the handler, where the failed pass's tensors are free again
            self.token_budget = max(1, self.token_budget // 2)
            _log.warning("out of memory: going on with passes of at most %d tokens", self.token_budget)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def _out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)


class Progress:
    """Log lines with rate and time left, at most one every ``seconds``."""

    def __init__(self, unit: str, total: int, seconds: float = 15):
        self.unit, self.total, self.seconds = unit, total, seconds
        self.finished = 0
        self.began = self.logged = time.monotonic()

    def advance(self, finished: int) -> None:
        """``finished`` more units are done."""
        self.finished += finished
        now = time.monotonic()
        if finished and now - self.logged >= self.seconds:
            self.logged = now
            rate = self.finished / (now - self.began)
            left = datetime.timedelta(seconds=round((self.total - self.finished) / rate))
            _log.info("%d of %d %s, %.1f a second, %s left", self.finished, self.total, self.unit, rate, left)
