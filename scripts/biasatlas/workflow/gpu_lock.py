"""Locks on GPUs for jobs that share a machine: Snakemake counts ``gpu`` but hands out no device."""

import contextlib
import fcntl
import logging
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

from biasatlas.errors import UserError

log = logging.getLogger(__name__)

#: Folder of the lock files, one a device: all jobs on a machine share it, and no other machine sees it.
FOLDER = Path("/tmp/biasatlas-gpus")

_held: list[int] = []


def lock_gpus(count: int, folder: Path = FOLDER) -> None:
    """Wait until ``count`` GPUs of this machine are free, and make them, and no others, visible to this process.

    Call it before torch is imported. A job locks a device by an exclusive lock on its file in ``folder``, which the kernel
    releases when the process ends, however it ends. With ``count`` 0 all devices are hidden; where a scheduler has
    assigned devices (CUDA_VISIBLE_DEVICES is set), its choice stands; on a machine without a GPU the job runs on the
    CPU. Raises UserError where the machine has GPUs, but fewer than ``count``.
    """
    if count == 0:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        return
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        log.info("GPUs assigned by the scheduler: %s", os.environ["CUDA_VISIBLE_DEVICES"])
        return
    devices = _devices()
    if not devices:
        log.warning("this machine has no GPU that nvidia-smi can see: the model runs on the CPU")
        return
    if count > len(devices):
        raise UserError(
            f"the model's entry asks for {count} GPUs and this machine has {len(devices)}: lower its `gpu`, or run on a "
            "larger machine."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(PermissionError):  # a folder that another user made is open to all already
        folder.chmod(0o1777)
    if not (locked := _lock(devices, count, folder)):
        log.info("waiting: fewer than %d of %d GPUs are free", count, len(devices))
    while not locked:
        time.sleep(random.uniform(0.1, 0.5))
        locked = _lock(devices, count, folder)
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(locked)
    log.info("GPUs locked: %s", os.environ["CUDA_VISIBLE_DEVICES"])


def _devices() -> list[str]:
    """Unique ids of the machine's GPUs; an index would depend on the order in which CUDA counts."""
    if not shutil.which("nvidia-smi"):
        return []
    query = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    listed = subprocess.run(query, capture_output=True, text=True, check=False)
    return listed.stdout.split() if listed.returncode == 0 else []


def _lock(devices: list[str], count: int, folder: Path) -> list[str]:
    """Lock ``count`` devices, or none: jobs that each held some and waited for more could wait for ever."""
    locked: dict[str, int] = {}
    for device in devices:
        file = _open(folder / device)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            continue
        locked[device] = file
        if len(locked) == count:
            _held.extend(locked.values())
            return list(locked)
    for file in locked.values():
        os.close(file)
    return []


def _open(path: Path) -> int:
    """Open for reading, which is enough to lock and works on another user's file too."""
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)
