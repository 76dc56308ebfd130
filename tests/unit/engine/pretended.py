"""Pretended GPUs on a CPU: operations that mix devices fail as on GPUs.

Each tensor has the device that it was made on or moved to, and every operation asks for operands on one device, as CUDA
does: a CPU tensor without dimensions goes with any, and an index may be on the CPU. Layers are dealt out with the hooks
of accelerate itself. Devices are checked, not numbers or speed; streams, kernels and free memory are not pretended.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only
from transformers import PreTrainedModel

CPU = torch.device("cpu")
_READ, _WRITTEN = {"__getitem__"}, {"__setitem__", "index_put_", "index_put"}
#: Functions that move values between devices, or ignore devices.
_ANYWHERE = {"copy_", "set_", "__set__", "__get__", "__delete__", "__deepcopy__", "record_event", "requires_grad_"}
_MOVES = {"to", "cuda", "cpu"}


class MixedDevicesError(RuntimeError):
    """Operands that a GPU would refuse."""


def place(tensor: torch.Tensor) -> torch.device:
    return getattr(tensor, "_pretended", CPU)


def put(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    tensor._pretended = device  # type: ignore[attr-defined]
    return tensor


def _named(value: Any) -> torch.device:
    device = torch.device("cuda", value) if type(value) is int else torch.device(value)
    return torch.device("cuda", 0) if device.type == "cuda" and device.index is None else device


def _is_device(value: Any) -> bool:
    return (
        isinstance(value, torch.device)
        or type(value) is int
        or (isinstance(value, str) and value[:4] in ("cpu", "cuda"))
    )


class PretendedDevices(TorchFunctionMode):
    """Applies the rules while it is entered."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name, kwargs = getattr(func, "__name__", ""), dict(kwargs or {})
        first = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if first is not None:
            if func == torch.Tensor.device.__get__:
                return place(first)
            if func == torch.Tensor.is_cuda.__get__:
                return False  # nothing waits for a stream
            if name == "pin_memory":
                return first
            if name in ("numpy", "__array__") and place(first) != CPU:
                raise MixedDevicesError(f"{name} of a tensor on {place(first)}")
        target = None
        if kwargs.get("device") is not None:
            target, kwargs["device"] = _named(kwargs["device"]), CPU
        elif name in _MOVES and first is not None:
            target, args = self._moved(name, first, args)
        elif name.startswith("new_") and first is not None:
            target = place(first)
        where = target or self._where(name, first, args, kwargs)
        if name == "histc":  # counts experts; on a CPU it takes only floats
            args = (args[0].float(), *args[1:])
        found = func(*args, **kwargs)
        if found is first and first is not None:
            if target in (None, place(first)):
                return found  # in place
            found = first.view_as(first)
        return tree_map_only(torch.Tensor, lambda tensor: put(tensor, where), found)

    @staticmethod
    def _moved(name: str, first: torch.Tensor, args: tuple) -> tuple[torch.device, tuple]:
        """The device that a tensor moves to, and the arguments for the same call on the CPU."""
        if name != "to":
            return (CPU if name == "cpu" else _named(args[1] if len(args) > 1 else 0)), args[:1]
        target, given = place(first), []
        for value in args[1:]:
            if isinstance(value, torch.Tensor):
                target = place(value)
            elif _is_device(value):
                target, value = _named(value), CPU
            given.append(value)
        return target, (first, *given)

    @staticmethod
    def _where(name: str, first: torch.Tensor | None, args: tuple, kwargs: dict) -> torch.device:
        """The device that operands have in common. Raises MixedDevicesError where there is none."""
        if name in _ANYWHERE:
            return place(first) if first is not None else CPU
        if first is not None and name in _READ | _WRITTEN:
            own = place(first)
            others = {place(one) for one in _tensors(args[1])} - {CPU}
            others |= {place(one) for one in _tensors(args[2:]) if one.ndim}
            if others - {own}:
                raise MixedDevicesError(f"{name}: {sorted(map(str, others))} into a tensor on {own}")
            return own
        found = {place(one) for one in _tensors((args, kwargs)) if one.ndim or place(one) != CPU}
        if len(found) > 1:
            raise MixedDevicesError(f"{name}: operands on {sorted(map(str, found))}")
        return found.pop() if found else CPU


def _tensors(values: Any) -> Iterable[torch.Tensor]:
    return (leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor))


def deal(model: PreTrainedModel, count: int) -> PreTrainedModel:
    """The ``model`` with its layers over ``count`` devices, as accelerate deals them out; enter the rules first.

    Modules registered before the layers are on the first device, those after them, such as rotary embeddings, on the
    last; a head that shares the embeddings' weights is with these.
    """
    from accelerate.hooks import attach_align_device_hook_on_blocks

    inside = {path: part for path, part in model.named_modules() if isinstance(part, torch.nn.ModuleList)}
    path = max(inside, key=lambda path: sum(one.numel() for one in inside[path].parameters()))
    layers = len(inside[path])
    where = {f"{path}.{i}": i * count // layers for i in range(layers)}
    shares, after = getattr(model.config.get_text_config(), "tie_word_embeddings", False), 0
    for name, part in model.named_modules():
        after = count - 1 if name == path else after
        above = any(other == name or other.startswith(f"{name}.") for other in (path,)) or not name
        below = name.startswith(f"{path}.") or any(name.startswith(f"{other}.") for other in where)
        if not above and not below:
            where[name] = 0 if shares and part is model.get_output_embeddings() else after
    devices = {name: torch.device("cuda", number) for name, number in where.items()}
    for tensor in (*model.parameters(), *model.buffers()):  # those that no part below has stay there
        put(tensor, torch.device("cuda", 0))
    for name, device in devices.items():
        part = model.get_submodule(name)
        for tensor in (*part.parameters(), *part.buffers()):
            put(tensor, device)
    for part in model.modules():
        if hasattr(part, "config"):
            part.config._experts_implementation = "eager"  # the others ask a GPU for its kind
    attach_align_device_hook_on_blocks(
        model,
        execution_device={"": torch.device("cuda", 0)} | devices,
        offload=dict.fromkeys(devices, False),
        skip_keys=getattr(model, "_skip_keys_device_placement", None),
    )
    model.hf_device_map = where
    return model
