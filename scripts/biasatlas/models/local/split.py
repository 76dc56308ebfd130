"""One model split over several devices (tensor parallel): a process for each, and all make the same forward passes.

The first process is the job's own, and answers. It tells the others what it is about to compute; they compute the same
from the same tokens. All decide by the logits, which are gathered from all parts and so are the same to the bit.
"""

import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from queue import SimpleQueue
from typing import IO, Any

import torch
from torch import distributed
from transformers import PretrainedConfig
from transformers.distributed.tensor_parallel import get_kv_heads_per_rank

from biasatlas import ROOT
from biasatlas.engine.memory import Memory, layer_shapes
from biasatlas.errors import UserError

_HOST = "127.0.0.1"
#: The longest that one process may lag behind the others, for example when they read weights from a slow disk. One that
#: has ended is noticed at once.
_LAG = timedelta(hours=2)
#: Architectures whose plan in the library fails: at load, or in the first forward pass.
_FAILING = {"doge", "lfm2", "lfm3"}

_log = logging.getLogger(__name__)


def visible(gpus: int) -> int:
    """How many of ``gpus`` GPUs exist: none on a machine without one, where models run on the CPU."""
    return min(gpus, torch.cuda.device_count())


def why_whole(config: PretrainedConfig, devices: int) -> str:
    """Why the layers of one of the library's models cannot be split over ``devices``; '' if they can."""
    if getattr(config, "quantization_config", None):
        return "its weights are quantised"
    text = config.get_text_config()
    plan = getattr(text, "base_model_tp_plan", None)
    if not plan or text.model_type in _FAILING:
        return "the installed transformers has no plan for its layers"
    for heads, shared, *_ in dict.fromkeys(layer_shapes(text)):
        if heads % devices or get_kv_heads_per_rank(plan, shared, devices) is None:
            return f"its {heads} heads and {shared} of keys and values are no multiples of {devices}"
    return ""


class Others:
    """The processes that hold the other parts of a model; ``count`` counts all, with this one.

    Each loads the model with ``load``, a function that can be pickled.
    """

    def __init__(self, count: int, load: Callable[[], Any]):
        self.count = count
        self._ended = False
        self._processes: list[subprocess.Popen] = []
        self._pipes: list[IO[bytes]] = []
        store = distributed.TCPStore(_HOST, 0, count, is_master=True, wait_for_workers=False)
        for rank in range(1, count):
            self._start()
            _say(self._pipes[-1], (rank, count, store.port, load))
        _join(0, count, store)

    def announce(self, answer: Callable, given: tuple, token_budget: int) -> None:
        """Let the others compute what this process is about to: ``answer(*given, model, memory)``."""
        for pipe in self._pipes:
            _say(pipe, (answer, given, token_budget))

    def close(self) -> None:
        """Let the others end; the model can no longer answer."""
        self._ended = True
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            pipe.close()
            process.wait()
        distributed.destroy_process_group()

    def _start(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(ROOT / "scripts")},
            start_new_session=True,  # Ctrl-C goes to this process alone, with which they end
        )
        assert process.stdin and process.stderr
        self._processes.append(process)
        self._pipes.append(process.stdin)
        threading.Thread(target=self._watch, args=(process, process.stderr), daemon=True).start()

    def _watch(self, process: subprocess.Popen, errors: IO[bytes]) -> None:
        """End this process when another fails, since it would wait for that one."""
        said = errors.read().decode(errors="replace").strip()
        if process.wait() and not self._ended:
            _log.error("one of the %d processes of a model ended: %s", self.count, said)
            print(said, file=sys.stderr, flush=True)
            os._exit(1)


def _say(pipe: IO[bytes], message: tuple) -> None:
    pickle.dump(message, pipe)
    pipe.flush()


def _join(rank: int, count: int, store: distributed.Store) -> None:
    """Make this process one of ``count``, on the device with the number ``rank``."""
    os.environ["LOCAL_RANK"] = str(rank)  # the library loads to the device of this number
    gpu = torch.device("cuda", rank) if torch.cuda.is_available() else None
    if gpu:
        torch.cuda.set_device(gpu)
    distributed.init_process_group(
        "nccl" if gpu else "gloo", store=store, rank=rank, world_size=count, timeout=_LAG, device_id=gpu
    )


def _listen(messages: SimpleQueue) -> None:
    """Queue what the first process says, and end this process with it, whatever it waits for."""
    while True:
        try:
            messages.put(pickle.load(sys.stdin.buffer))
        except EOFError:
            os._exit(0)


def main() -> None:
    """Run one of the other processes."""
    messages: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(messages,), daemon=True).start()
    rank, count, port, load = messages.get()
    try:
        _join(rank, count, distributed.TCPStore(_HOST, port, count))
        loaded = load()
        while True:
            answer, given, token_budget = messages.get()
            with contextlib.suppress(UserError):  # the first process reports the same one
                answer(*given, loaded, Memory(token_budget, fixed=True))
    except (UserError, torch.OutOfMemoryError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
