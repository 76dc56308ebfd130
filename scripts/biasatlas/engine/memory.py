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

#: Forward passes with more tokens than this are no faster per token (CPU, GPU); those with fewer than _FEWEST are slow.
_MOST_CPU, _MOST_GPU, _FEWEST = 1024, 8192, 64
#: The share of a GPU's free memory that a pass may use, and the bytes that a job on a CPU has beside the weights.
_SHARE, _BYTES_CPU = 0.8, 3 * 2**29
#: For each token of the budget, keys and values of at most this many are kept; generation keeps the most.
_KEPT = 16
#: glibc's numbers for two limits: it gives back free memory beyond the first, and puts blocks beyond the second outside
#: the heap.
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
    """Let this process keep up to 512 MiB of freed memory for reuse. Does nothing without glibc.

    By default glibc gives back what is free at the end of its heap once it is more than two of the largest blocks so
    far. Each layer then gets new pages, which the system clears first: a twelfth of a pass on a CPU.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(_M_TRIM_THRESHOLD, 2**29)
        # Once the first limit is set, glibc no longer raises the second. A higher second one would leave holes: a freed
        # block as large as the logits of a vocabulary is seldom reused, for lack of the few bytes that aligning the
        # next one may take.
        library.mallopt(_M_MMAP_THRESHOLD, 2**25)


@dataclass
class Attempt:
    """Whether the block ran out of memory."""

    failed: bool = False


@dataclass
class Memory:
    """The most tokens of one forward pass, padding included. Halved when memory runs out, and stays halved.

    A ``fixed`` one is not: if several processes compute the same, only one of them may run out.
    """

    token_budget: int
    fixed: bool = False

    @contextlib.contextmanager
    def halved_if_exhausted(self, splittable: bool) -> Iterator[Attempt]:
        """Swallow an out-of-memory error and halve the budget; raise it if that is fixed or no smaller pass exists."""
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
    """Whether the error says that memory ran out, on a GPU or on a CPU."""
    return isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)


def default_budget(model: PreTrainedModel) -> int:
    """The tokens of a forward pass that fit, as a power of two, into 80% of a GPU's free memory or 1.5 GiB of a CPU's.

    They need room for keys and values that are kept (16 tokens for each of the budget), one layer's hidden states, and
    the fp32 logits of a quarter of the tokens with one copy; on a GPU also for those keys and values of one layer that
    the library copies for each head of a group (:func:`biasatlas.engine.masks.share_heads`).
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
    """Sizes of one layer: its attention heads, those whose keys and values are kept, the size of a head, and the inner
    size of its multilayer perceptron."""

    heads: int
    kept_heads: int
    head_size: int
    inner: int


def layer_shapes(config: PretrainedConfig) -> list[LayerShape]:
    """The sizes of each layer of a text decoder; the configuration may list them, or have a configuration a layer."""
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
