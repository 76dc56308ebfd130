"""How many SLURM jobs a configuration makes, and what they ask for."""

import re
from collections import Counter

from conftest import ROOT, snakemake

LOCAL = ("all", "check_model", "fetch_model", "fetch_source")


def submissions(output: str) -> list[str]:
    """Rule, or group, of each SLURM job in a dry run's output."""
    found = re.findall(r"^(?:\[.*\] Group job (\w+)|rule (\w+):)", output, flags=re.MULTILINE)
    return [group or rule for group, rule in found if rule not in LOCAL]


def test_the_papers_are_few_slurm_jobs(tmp_path):
    profile = ["--workflow-profile", str(ROOT / "profiles/slurm"), "--quiet", "host"]
    run = snakemake("--dry-run", "--configfile", str(ROOT / "config/papers.yaml"), *profile, folder=tmp_path)
    assert run.returncode == 0, run.stdout[-2000:]
    jobs = submissions(run.stdout)
    planned = int(re.findall(r"^total +(\d+)", run.stdout, flags=re.MULTILINE)[-1])
    print(f"{planned} jobs in {len(jobs)} submissions")
    # The steps of DBB's construction follow one another, and the writer answers each.
    constructing = [job for job in jobs if "construct" in job]
    assert len(constructing) == 11 and 10 < len(jobs) - len(constructing) < 150, jobs
    assert len(jobs) < planned / 3
    assert not {"read_items", "build_requests", "summarise_scores", "draw_figure"} & set(jobs)


def test_shards_are_jobs_and_joining_them_is_none(tmp_path):
    def planned(shards):
        config = tmp_path / "config.yaml"
        config.write_text(
            f"models: {{m: {{kind: hf, source: ./m, size_billion: 7, shards: {shards}}}}}\n"
            "benchmarks: {twbias: {data: sample}, mcbe: {data: sample, judge: m}}\n"
        )
        profile = ["--workflow-profile", str(ROOT / "profiles/slurm"), "--quiet", "host"]
        run = snakemake("--dry-run", "--configfile", str(config), *profile, folder=tmp_path)
        assert run.returncode == 0, run.stdout[-2000:]
        return Counter(submissions(run.stdout))

    whole, parts = planned(1), planned(3)
    assert whole["answer_requests"] == 2
    assert parts - whole == {"answer_shard": 6, "gather_responses": 1}
    assert (whole - parts)["answer_requests"] == 2


def test_memory_and_time_grow_with_size_and_attempt(tmp_path):
    def asked(size_billion, attempt):
        config = tmp_path / "config.yaml"
        config.write_text(
            f"models: {{m: {{kind: hf, source: ./m, size_billion: {size_billion}, gpu: 2}}}}\n"
            "benchmarks: {twbias: {data: sample}}\n"
        )
        target = "results/responses/m/twbias/recommended.parquet"
        arguments = ["--dry-run", "--quiet", "host", "--attempt", str(attempt), "--configfile", str(config)]
        output = snakemake(target, *arguments, folder=tmp_path).stdout
        answer = output.partition("rule answer_requests")[2]
        return tuple(int(re.search(rf"{name}=(\d+)", answer)[1]) for name in ("gpu", "mem_mb", "runtime"))

    small, large, again = asked(1, 1), asked(7, 1), asked(7, 2)
    assert small[0] == large[0] == again[0] == 2
    assert small[1:] < large[1:] < again[1:]
    assert again[1:] == (2 * large[1], 2 * large[2])
