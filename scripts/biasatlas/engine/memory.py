"""Limits of a machine and of its numbers: memory that runs out, values that are not finite."""

import contextlib
import logging
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
