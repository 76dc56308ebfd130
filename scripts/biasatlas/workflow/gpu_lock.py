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

#: Folder of the lock files, one per device: all jobs on a machine share it, and no other machine sees it.
FOLDER = Path("/tmp/biasatlas-gpus")

_held: list[int] = []


def lock_gpus(count: int, folder: Path = FOLDER) -> None:
    """Wait until ``count`` GPUs are free, and make them, and no others, visible to this process.

    They are taken from those that CUDA_VISIBLE_DEVICES names, or from all of this machine if it is not set. If SLURM
    assigned this job no more than ``count``, it keeps these. Call this before torch is imported. A job locks a device
    by an exclusive lock on its file in ``folder``, which the kernel releases when the process ends, however it ends.
    With ``count`` 0 all devices are hidden; if there is no GPU the job runs on the CPU. Raises UserError if there are
    GPUs, but fewer than ``count``.
    """
    if count == 0:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        return
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = _devices(given)
    if not devices:
        log.warning("there is no GPU that nvidia-smi and CUDA_VISIBLE_DEVICES name: the model runs on the CPU")
        return
    if "SLURM_JOB_ID" in os.environ and given is not None and len(devices) <= count:
        log.info("GPUs assigned by the scheduler: %s", given)
        return
    if count > len(devices):
        where = "this machine has" if given is None else "CUDA_VISIBLE_DEVICES names"
        raise UserError(
            f"the model's entry asks for {count} GPUs and {where} {len(devices)}: lower its `gpu`, or run with more."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(PermissionError):  # a folder that another user made is open to all already
        folder.chmod(0o1777)
    if not (locked := _lock(list(devices), count, folder)):
        log.info("waiting: fewer than %d of %d GPUs are free", count, len(devices))
    while not locked:
        time.sleep(random.uniform(0.1, 0.5))
        locked = _lock(list(devices), count, folder)
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(devices[name] for name in locked)
    log.info("GPUs locked: %s", os.environ["CUDA_VISIBLE_DEVICES"])


def _devices(given: str | None) -> dict[str, str]:
    """Unique name of each device that a job may take -> its name in CUDA_VISIBLE_DEVICES (``given``).

    An index cannot name a lock, since it depends on the devices that a process sees.
    """
    found: dict[str, str] = {}
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"]
        listed = subprocess.run(query, capture_output=True, text=True, check=False)
        rows = listed.stdout.splitlines() if listed.returncode == 0 else []
        found = dict(row.replace(" ", "").split(",") for row in rows)
    if given is None:
        return {uuid: uuid for uuid in found.values()}
    devices: dict[str, str] = {}
    for name in filter(None, given.replace(" ", "").split(",")):
        if name.startswith("-"):  # CUDA ignores this and what follows
            break
        uuid = found.get(name) or next((uuid for uuid in found.values() if uuid.startswith(name)), name)
        devices[uuid] = name
    return devices


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
