"""A run killed again and again ends with the bytes of an unbroken one; its results say what they were made from."""

import contextlib
import hashlib
import os
import random
import shutil
import signal

import pytest
from conftest import ROOT, snakemake, start_snakemake
from small_run import TARGET, write_config

from biasatlas.workflow import provenance

KILLS = 8
TARGETS = [TARGET, "results/figures/twbias/recommended/gender_attributes.svg"]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return write_config(tmp_path_factory.mktemp("models"), 1)


@pytest.fixture(scope="module")
def unbroken(config, tmp_path_factory):
    """A folder with a finished run, by the same processes as a killed one: in forks last digits may differ."""
    folder = tmp_path_factory.mktemp("unbroken")
    run = snakemake(*TARGETS, "--configfile", str(config), folder=folder, forks=False)
    assert run.returncode == 0, run.stdout
    return folder


def digests(folder):
    """SHA-256 of every result, but for what says how a run went: logs, timings, the store.

    A job that is killed while it writes leaves a hidden file, which nothing reads.
    """
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file()
        and not {"logs", "benchmarks", "store"} & set(path.relative_to(folder).parts)
        and not path.name.startswith(".")
        and not path.name.endswith(".run.json")
    }


def test_killed_at_random_moments_it_ends_with_the_same_bytes(config, unbroken, tmp_path):
    """Half of the kills are as a node's death; half are as a scheduler's, which warns with SIGTERM first."""
    command = ["--nolock", "--configfile", str(config), "--", *TARGETS]
    rng = random.Random(20240607)
    expected = digests(unbroken)
    kills = 0
    while kills < KILLS:
        with (tmp_path / "snakemake.log").open("w") as output:
            process = start_snakemake(*command, folder=tmp_path, output=output)
        process.join(rng.uniform(0.3, 5))
        if process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                if rng.random() < 0.5:
                    os.killpg(process.pid, signal.SIGTERM)
                    process.join(2)
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()  # which may not have had a group yet
            process.join()
            kills += 1
        else:  # it was done before the next kill: from the start again
            assert process.exitcode == 0, (tmp_path / "snakemake.log").read_text()
            assert digests(tmp_path) == expected
            shutil.rmtree(tmp_path / "results")
    run = snakemake(*command, folder=tmp_path, forks=False)
    assert run.returncode == 0, run.stdout
    assert digests(tmp_path) == expected


def test_every_table_and_score_says_what_it_was_made_from(unbroken):
    results = unbroken / "results"
    for table in (results / "tables").rglob("*.csv"):
        assert table.with_suffix(".json").exists(), table
    for score in (results / "scores").rglob("*.csv"):
        assert (score.parent / "provenance.json").exists(), score
    origin = provenance.read(results / "tables/twbias/recommended/gender.json")
    assert origin["options"]["effect_size"] == "paired_dz"
    sample = ROOT / "resources/samples/twbias"
    assert origin["data"]["prompts.json"] == provenance.sha256(sample / "prompts.json")
    assert set(origin["scores"]) == {"tiny-0/perplexity"}
    model = origin["scores"]["tiny-0/perplexity"]["model"]
    assert (model["dtype"], model["engine"], model["device"]) == ("float32", "tree", "cpu")
    assert set(model["versions"]) == {"torch", "transformers", "tokenizers", "python"}
    assert len(model["weights_sha256"]) == len(model["template_sha256"]) == 64
