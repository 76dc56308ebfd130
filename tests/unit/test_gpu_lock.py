"""Leases on GPUs: many processes on few simulated devices never share one, and a killed process releases its own."""

import os
import signal
import subprocess

import pytest
from conftest import python

from biasatlas.errors import UserError
from biasatlas.workflow.gpu_lock import lock_gpus

DEVICES = [f"GPU-{letter * 8}" for letter in "abcd"]

#: Leases, then proves that it is alone: an exclusive file for each of its devices exists only while it works.
JOB = """
import os, pathlib, sys, time
from biasatlas.workflow.gpu_lock import lock_gpus
lock_gpus(int(sys.argv[1]), pathlib.Path("locks"))
devices = [pathlib.Path(device) for device in os.environ["CUDA_VISIBLE_DEVICES"].split(",")]
for path in devices:
    path.touch(exist_ok=False)
print(*devices, flush=True)
time.sleep(float(sys.argv[2]))
for path in devices:
    path.unlink()
"""

#: Prints what the log says.
SAY = "import logging, sys; logging.basicConfig(stream=sys.stdout, format='%(message)s', level=logging.INFO)"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose nvidia-smi lists four devices."""
    command = tmp_path / "bin" / "nvidia-smi"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\nprintf '%s\\n' " + " ".join(DEVICES))
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job(count: int, seconds: float) -> subprocess.Popen:
    return python(JOB, count, seconds)


def test_jobs_never_share_a_device_where_they_ask_for_more_than_there_are(machine):
    counts = [1, 2, 1, 3, 1, 1, 2, 4, 1, 1]
    jobs = [job(count, 0.05) for count in counts]
    for count, process in zip(counts, jobs, strict=True):
        devices = process.communicate()[0].split()
        assert process.returncode == 0
        assert len(set(devices)) == count
        assert set(devices) <= set(DEVICES)


def test_a_killed_job_releases_its_devices(machine):
    holder = job(4, 60)
    for name in holder.stdout.readline().split():
        (machine / name).unlink()
    waiting = python(SAY + JOB, 1, 0)
    assert waiting.stdout.readline() == "waiting: fewer than 1 of 4 GPUs are free\n"
    assert waiting.poll() is None
    os.kill(holder.pid, signal.SIGKILL)
    assert waiting.communicate()[0].splitlines()[-1] in DEVICES
    holder.communicate()


def test_what_a_scheduler_assigned_stands(machine, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    lock_gpus(1, machine / "locks")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2"
    assert not (machine / "locks").exists()


def test_a_job_for_the_cpu_sees_no_device(machine, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    lock_gpus(0)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def test_more_than_the_machine_has_is_an_error(machine):
    with pytest.raises(UserError, match="5 GPUs and this machine has 4"):
        lock_gpus(5, machine / "locks")


def test_without_a_gpu_the_job_runs_on_the_cpu(machine, monkeypatch):
    monkeypatch.setenv("PATH", "")
    lock_gpus(1, machine / "locks")
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
