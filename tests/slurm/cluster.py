"""A real SLURM on one machine, for as long as a test lasts: own folder, own keys, loopback only, pretend GPUs."""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
#: Where the programs look for their configuration. Snakemake's job step drops SLURM_CONF, so nothing else will do.
CONF_FOLDER = Path("/etc/slurm")
CONF_FILES = ("slurm.conf", "gres.conf", "cgroup.conf")
LOCK = Path("/tmp/pretend-slurm.lock")
PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins")

#: slurm.conf. The node claims to be larger than it is (config_overrides), so that jobs are as large as on a cluster.
#: There is no accounting; squeue remembers a finished job for MinJobAge seconds.
CONF = """ClusterName=pretend
SlurmctldHost={host}(127.0.0.1)
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
MinJobAge=300
KillWait=5
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=bf_interval=1,batch_sched_delay=0
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=64 RealMemory=512000 Gres=gpu:{gpus} State=UNKNOWN
PartitionName=cpu Nodes={host} Default=YES MaxTime=24:00:00 State=UP
PartitionName=gpu Nodes={host} Default=NO MaxTime=48:00:00 State=UP
"""


def lacking() -> str:
    """'' when this machine can run a SLURM of ours, else why not."""
    for name in CONF_FILES:
        path = CONF_FOLDER / name
        if path.exists() and not (path.is_symlink() and _ours(path.resolve().parent)):
            return f"{path} is there: this machine has a SLURM of its own, which is left alone"
    missing = [program for program in PROGRAMS if not shutil.which(program, path=_path())]
    if missing:
        return f"no {', '.join(missing)}"
    return "" if os.access(CONF_FOLDER, os.W_OK) else f"{CONF_FOLDER} may not be written: that takes root"


def _path() -> str:
    """The search path of programs, with those of administrators."""
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _ours(folder: Path) -> bool:
    return (folder / "slurm.conf").read_text().startswith("ClusterName=pretend")


@contextlib.contextmanager
def slurm(folder: Path, gpus: int) -> Iterator[None]:
    """Run SLURM with one node of ``gpus`` pretend GPUs; inside the block, /etc/slurm links to its configuration.

    A machine runs one at a time: a second one waits, since both need these links.
    """
    os.environ["PATH"] = _path()
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _running(folder, gpus):
            yield


@contextlib.contextmanager
def _running(folder: Path, gpus: int) -> Iterator[None]:
    for name in ("munge", "state", "spool", "dev"):
        (folder / name).mkdir(mode=0o755, parents=True)
    # SLURM counts and assigns whatever device it is given; links to the null device do.
    for index in range(gpus):
        (folder / "dev" / f"gpu{index}").symlink_to("/dev/null")
    host = socket.gethostname().partition(".")[0]
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    conf = CONF.format(host=host, folder=folder, user=user, gpus=gpus, ports=_free_ports(2))
    (folder / "slurm.conf").write_text(conf)
    (folder / "gres.conf").write_text(f"NodeName={host} Name=gpu File={folder}/dev/gpu[0-{gpus - 1}]\n")
    # The plugin for version 2 does not start in a container without systemd.
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    key = folder / "munge" / "key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    daemons = []
    try:
        for name in CONF_FILES:
            (CONF_FOLDER / name).unlink(missing_ok=True)
            (CONF_FOLDER / name).symlink_to(folder / name)
        munge = [f"--{name}-file={folder}/munge/{name}" for name in ("key", "pid", "seed", "log")]
        munge[0] = f"--key-file={key}"
        for command in (
            ["munged", "--foreground", "--force", f"--socket={folder}/munge/socket", *munge],
            ["slurmctld", "-D"],
            ["slurmd", "-D"],
        ):
            with (folder / f"{command[0]}.out").open("w") as output:
                daemons.append(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT))
            if command[0] == "munged":
                wait_until((folder / "munge" / "socket").exists, 20)
        wait_until(lambda: "idle" in said("sinfo", "-h", "-o", "%T"), 60)
        yield
    finally:
        said("scancel", "--state=RUNNING")
        said("scancel", "--state=PENDING")
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: not said("squeue", "-h"), 15)
        for daemon in reversed(daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for name in CONF_FILES:
            (CONF_FOLDER / name).unlink(missing_ok=True)


def said(*command: str) -> str:
    """What a SLURM command prints; '' if it fails."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def gpu_jobs() -> dict[int, tuple[str, set[int]]]:
    """Id of each running job with GPUs -> its comment (rule and wildcards) and the indices of its devices."""
    jobs = {}
    for line in said("scontrol", "show", "job", "--details", "--oneliner").splitlines():
        devices = re.search(r"GRES=gpu\S*\(IDX:([\d,-]+)\)", line)
        if devices and "JobState=RUNNING" in line:
            comment = re.search(r"Comment=(\S*)", line)
            jobs[int(re.search(r"JobId=(\d+)", line)[1])] = (comment[1] if comment else "", _indices(devices[1]))
    return jobs


def _indices(text: str) -> set[int]:
    """{0, 2, 3} from "0,2-3"."""
    ranges = [part.partition("-") for part in text.split(",")]
    return {index for low, _, high in ranges for index in range(int(low), int(high or low) + 1)}


def wait_until(condition, seconds: float) -> None:
    """Return as soon as ``condition()`` is true; TimeoutError after ``seconds``."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s: {condition}")
        time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
