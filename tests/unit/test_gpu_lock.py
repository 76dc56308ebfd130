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
    rows = " ".join(f"'{index}, {device}'" for index, device in enumerate(DEVICES))
    command.write_text(f"#!/bin/sh\nprintf '%s\\n' {rows}")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=":")
    for name in ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
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


@pytest.mark.parametrize("given", ["0,1,2,3", "GPU-a,GPU-b,GPU-c,GPU-d", "0,GPU-bbbbbbbb,2,3,-1,7"])
def test_four_jobs_take_four_devices_of_those_that_are_visible(machine, given, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    jobs = [job(1, 60) for _ in range(4)]
    taken = [process.stdout.readline().strip() for process in jobs]
    for process in jobs:
        process.kill()
        process.communicate()
    assert sorted(taken) == sorted(given.split(",")[:4])


def test_a_device_has_one_lock_whatever_it_is_called(machine, monkeypatch):
    holder = job(3, 60)
    held = set(holder.stdout.readline().split())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    lock_gpus(1, machine / "locks")
    assert DEVICES[int(os.environ["CUDA_VISIBLE_DEVICES"])] not in held
    holder.kill()
    holder.communicate()


@pytest.mark.parametrize("given, expected", [("2", "2"), ("2,3", "2")])
def test_what_slurm_assigned_to_a_job_alone_stands(machine, given, expected, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    lock_gpus(1, machine / "locks")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == expected
    assert (machine / "locks").exists() == (given != "2")  # more than it asked for, as in salloc: other jobs share them


def test_fewer_visible_devices_than_asked_for_are_an_error(machine, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    with pytest.raises(UserError, match="asks for 2 GPUs and CUDA_VISIBLE_DEVICES names 1"):
        lock_gpus(2, machine / "locks")


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
