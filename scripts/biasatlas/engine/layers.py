"""Layers as a device computes them fastest: compiled for a GPU, linear ones through oneDNN on a CPU.

A compiled layer does element by element in one kernel what took five or two. Compiled are norms and multilayer
perceptrons, not attention: that would be compiled anew for each layer's place in a cache. Sizes are symbols, so that
passes of any rows and widths take what was compiled first, without padding.

Of linear layers torch computes bf16 through oneDNN itself, fp32 through MKL, which takes up to twice as long on an
AMD processor.
"""

import logging

import torch
from torch import nn
from transformers import PreTrainedModel

from biasatlas.engine.forward import decoder
from biasatlas.engine.selfcheck import fault_of_change

_log = logging.getLogger(__name__)


def compile_layers(model: PreTrainedModel, name: str, backend: str = "inductor") -> str:
    """Compile what takes hidden states alone in each layer, for good; why that was undone, '' where it was not.

    It is undone where it fails, and where it moves log-probabilities further than rounding can explain.
    """
    parts = _parts(model)
    try:
        fault = fault_of_change(model, lambda: [part.compile(dynamic=True, backend=backend) for part in parts])
    except Exception as error:  # of any compiler
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
    """The norms and multilayer perceptrons that the architecture defines; torch's own are one kernel."""
    layers = [layer for found in decoder(model).children() if isinstance(found, nn.ModuleList) for layer in found]
    parts = [part for layer in layers for part in layer.children()]
    return [part for part in parts if not type(part).__module__.startswith("torch.") and _takes_one(part)]


def _takes_one(part: nn.Module) -> bool:
    code = type(part).forward.__code__
    return code.co_argcount == 2 and not code.co_kwonlyargcount and not code.co_flags & 0x0C  # no *args, no **kwargs


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
