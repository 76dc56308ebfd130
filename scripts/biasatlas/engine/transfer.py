"""Arrays to the device that computes, and values back from it, without waiting for what it still has to do."""

import numpy as np
import torch


def to_device(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """An array as a tensor of ``device``. A GPU reads it from pinned memory when it gets there."""
    tensor = torch.as_tensor(array)
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


class Arriving:
    """Values of a tensor that a device may not have computed yet, on their way to memory."""

    def __init__(self, values: torch.Tensor):
        self._values = values.to("cpu", non_blocking=True)
        self._copied = torch.cuda.current_stream(values.device).record_event() if values.is_cuda else None

    def numpy(self) -> np.ndarray:
        """The values, as soon as they are there."""
        if self._copied:
            self._copied.synchronize()
        return self._values.numpy()
