"""The workflow under a real SLURM: GPUs apart, a cancelled job submitted again, a killed Snakemake resumed."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import ROOT, snakemake
from needs import need
from slurm import cluster
from small_run import TARGET, write_config

from biasatlas.files import read_csv

GPUS, MODELS = 2, 3
PROFILE = ["--workflow-profile", str(ROOT / "profiles/slurm"), "--slurm-init-seconds-before-status-checks", "1"]


@pytest.fixture
def slurm():
    need("slurm")
    # The path of a socket has at most 108 characters, which a temporary folder of the user's may use up.
    with TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder, cluster.slurm(Path(folder), GPUS):
        yield


def start(folder, config) -> subprocess.Popen:
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    command += ["--profile", "none", *PROFILE, "--configfile", str(config), "--", TARGET]
    with (folder / "snakemake.log").open("a") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)


class Watch:
    """What GPU jobs ran: every sample's number of jobs, and the comment (rule and wildcards) of each job."""

    def __init__(self):
        self.abreast: list[int] = []
        self.comments: dict[int, str] = {}

    def seen(self) -> list[int]:
        """Take a sample, check that no device is shared, and return the ids of the running GPU jobs."""
        jobs = cluster.gpu_jobs()
        devices = [index for _, indices in jobs.values() for index in indices]
        assert len(devices) == len(set(devices)), jobs
        self.abreast.append(len(jobs))
        self.comments |= {number: comment for number, (comment, _) in jobs.items()}
        return sorted(jobs)

    def until(self, condition, process, seconds=300):
        end = time.monotonic() + seconds
        while not (running := self.seen()) or not condition(running):
            assert process.poll() is None, "Snakemake ended early"
            assert time.monotonic() < end, "nothing happened"
            time.sleep(0.3)
        return running


def test_gpus_cancellation_and_resumption(slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("SNAKEMAKE_SLURM_PARTITIONS", str(ROOT / "profiles/slurm/partitions.yaml"))
    config = write_config(tmp_path, MODELS, gpu=1)
    watch = Watch()
    log = tmp_path / "snakemake.log"
    try:
        process = start(tmp_path, config)
        cancelled = watch.until(lambda running: True, process)[0]
        cluster.said("scancel", str(cancelled))
        again = [watch.comments[cancelled]]
        watch.until(lambda _: [c for n, c in watch.comments.items() if n != cancelled and c in again], process)
        watch.until(lambda _: list(tmp_path.glob("results/responses/*/*/*.parquet")), process)

        process.send_signal(signal.SIGKILL)
        process.wait()
        assert snakemake("--unlock", folder=tmp_path).returncode == 0
        process = start(tmp_path, config)
        while process.poll() is None:
            watch.seen()
            time.sleep(0.3)
        assert process.returncode == 0
    except BaseException:
        print(log.read_text()[-5000:])
        raise
    assert 2 <= max(watch.abreast) <= GPUS
    table = read_csv(tmp_path / "results/tables/twbias/recommended/gender.csv")
    assert set(table["model"]) == {f"tiny-{number}" for number in range(MODELS)}
    logs = (tmp_path / "results/logs/answer_requests").glob("*.log")
    assert all("GPUs assigned by the scheduler: " in log.read_text() for log in logs)
