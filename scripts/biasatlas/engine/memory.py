"""Limits of a machine and of its numbers: memory that runs out, values that are not finite."""

import contextlib
import ctypes
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from transformers import PretrainedConfig, PreTrainedModel

_log = logging.getLogger(__name__)

#: The most tokens of a forward pass that make it faster, on a CPU and on a GPU; below the fewest it is slow.
_MOST_CPU, _MOST_GPU, _FEWEST = 1024, 8192, 64
#: The share of a GPU's free memory that is counted on, and what a job on a CPU has beside the weights.
_SHARE, _BYTES_CPU = 0.8, 3 * 2**29
#: Tokens of keys and values that are kept for each of the budget: the most is that of generation.
_KEPT = 16
#: What glibc calls two limits: of what is free before it is given back, and of a block before it is no part of the heap.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


class NotFiniteError(ArithmeticError):
    """A NaN or an infinity where a log-probability was expected, for the sequence of index ``sequence``."""

    def __init__(self, sequence: int, value: float):
        super().__init__(f"sequence {sequence}: {value}")
        self.sequence = sequence
        self.value = value


def keep_freed() -> None:
    """Let this process keep up to 512 MiB that it has freed, for what it asks for next. Does nothing without glibc.

    That library gives back what is free at the end of its heap as soon as it is more than two of the largest blocks so
    far, so that each layer gets its memory anew, in pages that the system clears first: a twelfth of a pass on a CPU.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(_M_TRIM_THRESHOLD, 2**29)
        # Setting the one keeps the other from growing as it did. A larger one would leave holes: of blocks as large as the logits of a
        # vocabulary, one that was freed is seldom taken again, for want of the few bytes that aligning it may take.
        library.mallopt(_M_MMAP_THRESHOLD, 2**25)


@dataclass
class Attempt:
    """Whether the block ran out of memory."""

    failed: bool = False


@dataclass
class Memory:
    """The most tokens of one forward pass, padding included. Halved when memory runs out, and stays halved.

    A ``fixed`` one is not: of several processes that compute the same, one alone may run out.
    """

    token_budget: int
    fixed: bool = False

    @contextlib.contextmanager
    def halved_if_exhausted(self, splittable: bool) -> Iterator[Attempt]:
        """Swallow an out-of-memory error of the block and halve the budget; raise it where no smaller pass exists."""
        attempt = Attempt()
        try:
            yield attempt
        except RuntimeError as error:
            if not _out_of_memory(error) or not splittable or self.fixed:
                raise
            attempt.failed = True
        if attempt.failed:  # outside the handler, where the failed pass's tensors are free again
            self.token_budget = max(1, self.token_budget // 2)
            _log.warning("out of memory: going on with passes of at most %d tokens", self.token_budget)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def _out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)


def default_budget(model: PreTrainedModel) -> int:
    """The tokens of a forward pass that memory has room for, a power of two: a GPU's free memory, 1.5 GiB of a CPU's.

    Counted are keys and values that are kept (16 tokens for each of the budget), one layer's hidden states, and the fp32
    logits of a quarter of the tokens with one copy.
    """
    config, device = model.config.get_text_config(), model.get_input_embeddings().weight.device
    heads, size = attention_shape(config)
    kept = 2 * config.num_hidden_layers * (_largest(getattr(config, "num_key_value_heads", None)) or heads) * size
    hidden = 6 * config.hidden_size + 3 * inner_size(config)
    bytes_a_token = (_KEPT * kept + hidden) * model.dtype.itemsize + 2 * config.vocab_size
    if device.type == "cuda":
        most, free = _MOST_GPU, _SHARE * torch.cuda.mem_get_info(device)[0]
    else:
        most, free = _MOST_CPU, _BYTES_CPU
    fitting = int(free / bytes_a_token)
    return max(_FEWEST, min(most, 1 << max(0, fitting.bit_length() - 1)))


def attention_shape(config: PretrainedConfig) -> tuple[int, int]:
    """Heads of a layer's attention, the most where layers differ, and the size of each."""
    heads = _largest(getattr(config, "num_attention_heads", None)) or 1
    return heads, getattr(config, "head_dim", None) or config.hidden_size // heads


def inner_size(config: PretrainedConfig) -> int:
    """Size of the layer inside a multilayer perceptron, the largest where layers differ."""
    return _largest(getattr(config, "intermediate_size", None)) or 4 * config.hidden_size


def _largest(sizes: int | Sequence[int] | None) -> int | None:
    return max(sizes) if isinstance(sizes, Sequence) else sizes
