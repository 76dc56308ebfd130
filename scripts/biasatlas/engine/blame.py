"""Which text is at fault where numbers are not finite: attention carries a NaN to the other texts of its row."""

from collections.abc import Sequence

import numpy as np
import torch
from transformers import PreTrainedModel

from biasatlas.engine import plain
from biasatlas.engine.memory import Memory, NotFiniteError


def blamed(
    error: NotFiniteError, model: PreTrainedModel, texts: Sequence[tuple[int, np.ndarray]], memory: Memory
) -> NotFiniteError:
    """``error``, or that of the one of ``texts`` (index and token ids) after which logits are not finite by itself."""

    def visit(at: int, logits: torch.Tensor) -> None:
        largest = float(logits.max())
        if not np.isfinite(largest):
            raise NotFiniteError(texts[at][0], largest)

    try:
        plain.next_logits(model, [tokens for _, tokens in texts], memory, visit)
    except NotFiniteError as found:
        return found
    return error
