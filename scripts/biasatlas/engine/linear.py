"""Linear layers on a CPU in fp32 through oneDNN.

For bf16 torch takes oneDNN itself, for fp32 MKL, which on an AMD processor is 5 to 20 % slower over the layers of a model, most
for few tokens, and 30 to 80 % over the head of a large vocabulary.
"""

import torch
from torch import nn
from transformers import PreTrainedModel


class _Linear(nn.Linear):
    """A linear layer that oneDNN computes, from the weights as they lie. It has no gradient."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """As of the layer whose class it takes."""
        return torch.ops.mkldnn._linear_pointwise(input, self.weight, self.bias, "none", [], "")


def through_onednn(model: PreTrainedModel) -> None:
    """Let oneDNN compute those linear layers of a model whose weights are fp32 in a CPU's memory, for good."""
    if not torch.backends.mkldnn.is_available():
        return
    for module in model.modules():
        # What is packed, split over processes or put off to a disk has weights or a class of another type.
        if type(module) is nn.Linear and type(module.weight) is nn.Parameter:
            weight = module.weight
            if weight.device.type == "cpu" and weight.dtype == torch.float32:
                module.__class__ = _Linear
