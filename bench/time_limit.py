"""An endpoint's answers under a real SLURM's time limit of one minute: `PYTHONPATH=scripts:tests python
bench/time_limit.py`.

Two jobs make 228 calls and share a rate of 20 a minute. Prints what was lost or paid twice. SLURM waits two minutes
before it restarts a requeued job; this script skips the wait.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import api_server
import pandas as pd
from slurm import cluster

from biasatlas import ROOT

TARGETS = [f"results/responses/endpoint/{name}/recommended.parquet" for name in ("bbq", "crows_pairs")]
PER_MINUTE = 20


def main() -> None:
    if reason := cluster.lacking():
        sys.exit(reason)
    with (
        tempfile.TemporaryDirectory() as name,
        api_server.Server(reply=lambda body, prompt: "A", delay_s=0.5) as server,
    ):
        folder = Path(name)
        entry = {
            "kind": "api",
            "base_url": server.url,
            "model": api_server.MODEL,
            "requests_per_minute": PER_MINUTE,
            "n": 1,
        }
        benchmarks = {"bbq": {"data": "sample"}, "crows_pairs": {"data": "sample"}}
        (folder / "config.json").write_text(json.dumps({"models": {"endpoint": entry}, "benchmarks": benchmarks}))
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", name]
        command += ["--profile", "none", "--workflow-profile", str(ROOT / "profiles/slurm"), "--configfile"]
        command += [str(folder / "config.json"), "--slurm-init-seconds-before-status-checks", "1"]
        command += ["--set-resources", "answer_requests:runtime=1", "--", *TARGETS]
        started = time.monotonic()
        with cluster.slurm(folder / "slurm", gpus=1), (folder / "log").open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
            while process.poll() is None:
                for number in cluster.said("squeue", "-h", "-t", "PENDING", "-o", "%A").split():
                    cluster.said("scontrol", "update", f"JobId={number}", "StartTime=now")
                time.sleep(3)
        seconds = time.monotonic() - started
        if process.returncode:
            print(
                *(path.read_text() for path in [folder / "log", *folder.rglob(".snakemake/slurm_logs/rule_*/*/*.log")])
            )
        answered = [len(times) for times in server.answered.values()]
        frames = [pd.read_parquet(folder / path) for path in TARGETS if (folder / path).exists()]
        failed = sum(int((frame["status"] == "failed").sum()) for frame in frames)
        arrivals = server.arrivals
        most = max(sum(start <= other < start + 60 for other in arrivals) for start in arrivals)
        print(
            f"exit {process.returncode} after {seconds:.0f} s: {len(answered)} prompts, {sum(answered)} calls "
            "answered, "
        )
        print(f"{failed} rows failed, {sum(count - 1 for count in answered)} paid twice, at most {most} calls a minute")


if __name__ == "__main__":
    os.environ.setdefault("SNAKEMAKE_SLURM_PARTITIONS", str(ROOT / "profiles/slurm/partitions.yaml"))
    main()
