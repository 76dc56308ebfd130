"""Limits of a machine and of its numbers: memory that runs out, values that are not finite."""

import contextlib
import ctypes
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from transformers import PretrainedConfig, PreTrainedModel

_log = logging.getLogger(__name__)

#: The most tokens of a forward pass that make it faster, on a CPU and on a GPU; below the fewest it is slow.
_MOST_CPU, _MOST_GPU, _FEWEST = 1024, 8192, 64
#: The share of a GPU's free memory that is counted on, and what a job on a CPU has beside the weights.
_SHARE, _BYTES_CPU = 0.8, 3 * 2**29
#: Tokens of keys and values that are kept for each of the budget: the most is that of generation.
_KEPT = 16
#: What glibc calls two limits: of what is free before it is given back, and of a block before it is no part of the
#: heap.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


class NotFiniteError(ArithmeticError):
    """A NaN or an infinity where a log-probability was expected, for the sequence of index ``sequence``."""

    def __init__(self, sequence: int, value: float):
        super().__init__(f"sequence {sequence}: {value}")
        self.sequence = sequence
        self.value = value


def check_finite(logits: torch.Tensor, sequences: Sequence[int]) -> None:
    """Raise NotFiniteError for the first of ``sequences`` whose logits (sequences × vocabulary) are NaN or infinite."""
    largest = logits.amax(-1)
    if not torch.isfinite(largest).all():
        row = int((~torch.isfinite(largest)).nonzero()[0, 0])
        raise NotFiniteError(sequences[row], float(largest[row]))


def keep_freed() -> None:
    """Let this process keep up to 512 MiB that it has freed, for what it asks for next. Does nothing without glibc.

    That library gives back what is free at the end of its heap as soon as it is more than two of the largest blocks so
    far, so that each layer gets its memory anew, in pages that the system clears first: a twelfth of a pass on a CPU.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(_M_TRIM_THRESHOLD, 2**29)
        # Setting the one keeps the other from growing as it did. A larger one would leave holes: of blocks as large as
        # the logits of a vocabulary, one that was freed is seldom taken again, for want of the few bytes that aligning
        # it may take.
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
            if not out_of_memory(error) or not splittable or self.fixed:
                raise
            attempt.failed = True
        if attempt.failed:  # outside the handler, where the failed pass's tensors are free again
            self.token_budget = max(1, self.token_budget // 2)
            _log.warning("out of memory: going on with passes of at most %d tokens", self.token_budget)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def out_of_memory(error: RuntimeError) -> bool:
    """Whether memory ran out, a GPU's or a machine's."""
    return isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)


def default_budget(model: PreTrainedModel) -> int:
    """The tokens of a forward pass that memory has room for, a power of two: a GPU's free memory, 1.5 GiB of a CPU's.

    Counted are keys and values that are kept (16 tokens for each of the budget), one layer's hidden states, and the
    fp32 logits of a quarter of the tokens with one copy; on a GPU also those keys and values of one layer that the
    library copies for each head of a group (:func:`biasatlas.engine.masks.share_heads`).
    """
    config, device = model.config.get_text_config(), model.get_input_embeddings().weight.device
    layers = layer_shapes(config)
    kept = 2 * sum(layer.kept_heads * layer.head_size for layer in layers)
    hidden = 6 * config.hidden_size + 3 * max(layer.inner for layer in layers)
    if device.type == "cuda":
        kept += 2 * max((one.heads * one.head_size for one in layers if one.heads > one.kept_heads), default=0)
    bytes_a_token = (_KEPT * kept + hidden) * model.dtype.itemsize + 2 * config.vocab_size
    if device.type == "cuda":
        most, free = _MOST_GPU, _SHARE * torch.cuda.mem_get_info(device)[0]
    else:
        most, free = _MOST_CPU, _BYTES_CPU
    fitting = int(free / bytes_a_token)
    return max(_FEWEST, min(most, 1 << max(0, fitting.bit_length() - 1)))


class LayerShape(NamedTuple):
    """Sizes of one layer: heads of its attention, those whose keys and values are kept, the size of each head, and that
    inside its multilayer perceptron."""

    heads: int
    kept_heads: int
    head_size: int
    inner: int


def layer_shapes(config: PretrainedConfig) -> list[LayerShape]:
    """The sizes of each layer of a text decoder, which may differ, by a list or by a configuration each."""
    count = config.num_hidden_layers
    layers = config.per_layer_config if getattr(config, "is_heterogeneous", False) else [config] * count

    def size(at: int, name: str, otherwise: int) -> int:
        value = getattr(layers[at], name, None)
        return (value[at % len(value)] if isinstance(value, Sequence) else value) or otherwise

    shapes = []
    for at in range(count):
        heads = size(at, "num_attention_heads", 1)
        head_size = size(at, "head_dim", config.hidden_size // heads)
        inner = size(at, "intermediate_size", 4 * config.hidden_size)
        shapes.append(LayerShape(heads, size(at, "num_key_value_heads", heads), head_size, inner))
    return shapes
