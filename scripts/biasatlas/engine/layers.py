"""Make layers fast: compile them for a GPU, compute linear ones through oneDNN on a CPU.

A compiled layer does its elementwise steps in one kernel instead of five or two. Norms and multilayer perceptrons are
compiled. Attention is not: it would be compiled again for each layer's place in a cache. Sizes are symbolic, so passes
of any number of rows and any width use what was compiled first, without padding.

Torch itself computes linear layers in bf16 through oneDNN, but in fp32 through MKL, which takes up to twice as long on
an AMD processor.
"""

import logging

import torch
from torch import nn
from transformers import PreTrainedModel

from biasatlas.engine.forward import decoder
from biasatlas.engine.selfcheck import fault_of_change

_log = logging.getLogger(__name__)


def compile_layers(model: PreTrainedModel, name: str, backend: str = "inductor") -> str:
    """Compile, for good, the parts of each layer that take hidden states alone; return why this was undone, or ''.

    It is undone if it fails, or if it moves log-probabilities further than rounding can explain.
    """
    parts = _parts(model)
    try:
        fault = fault_of_change(model, lambda: [part.compile(dynamic=True, backend=backend) for part in parts])
    except Exception as error:  # each compiler has its own errors
        fault = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
    if not parts:
        fault = "nothing in them takes hidden states alone"
    if not fault:
        return ""
    for part in parts:
        part._compiled_call_impl = None
    reason = f"its layers are not compiled ({fault})"
    _log.warning("%s: %s", name, reason)
    return reason


def _parts(model: PreTrainedModel) -> list[nn.Module]:
    """The norms and multilayer perceptrons that the architecture defines; torch's own take one kernel as they are."""
    layers = [layer for found in decoder(model).children() if isinstance(found, nn.ModuleList) for layer in found]
    parts = [part for layer in layers for part in layer.children()]
    return [part for part in parts if not type(part).__module__.startswith("torch.") and _takes_one(part)]


def _takes_one(part: nn.Module) -> bool:
    code = type(part).forward.__code__
    return code.co_argcount == 2 and not code.co_kwonlyargcount and not code.co_flags & 0x0C  # no *args, no **kwargs


class _Linear(nn.Linear):
    """A linear layer that oneDNN computes, from the weights in their usual layout. It has no gradient."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The output of the ``nn.Linear`` that it replaces."""
        return torch.ops.mkldnn._linear_pointwise(input, self.weight, self.bias, "none", [], "")


def through_onednn(model: PreTrainedModel) -> None:
    """From now on, let oneDNN compute the linear layers of a model that have fp32 weights in a CPU's memory."""
    if not torch.backends.mkldnn.is_available():
        return
    for module in model.modules():
        # Layers that are packed, split over processes or offloaded to disk have another class or type of weight.
        if type(module) is nn.Linear and type(module.weight) is nn.Parameter:
            weight = module.weight
            if weight.device.type == "cpu" and weight.dtype == torch.float32:
                module.__class__ = _Linear
