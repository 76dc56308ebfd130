"""Another workflow takes this one from a repository, as snakedeploy writes it: nothing of it lies beside the caller."""

import os
import subprocess

import pytest
from conftest import copy_workflow, snakemake

OUTER = """
module biasatlas:
    snakefile: {snakefile}

use rule * from biasatlas as bias_*
"""
SNAKEFILES = {
    "github": 'github("owner/name", path="Snakefile", tag="v1")',
    "gitfile": 'gitfile("{checkout}", path="Snakefile", commit="{commit}")',
}
REQUESTS = "results/demo/requests/crows_pairs/recommended/pair.parquet"


def git(folder, *arguments):
    command = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A folder with a checkout of the workflow, and with the bare repository that git takes for owner/name on GitHub."""
    folder = tmp_path_factory.mktemp("hub")
    checkout = copy_workflow(folder / "checkout")
    git(folder, "init", "--quiet", checkout)
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message", "As it is here")
    git(checkout, "tag", "v1")
    git(folder, "clone", "--quiet", "--bare", checkout, folder / "owner/name.git")
    return folder


@pytest.mark.parametrize("way", SNAKEFILES)
def test_a_workflow_elsewhere_uses_this_one_from_a_repository(hub, tmp_path, way):
    commit = git(hub / "checkout", "rev-parse", "HEAD")
    snakefile = SNAKEFILES[way].format(checkout=hub / "checkout", commit=commit)
    (tmp_path / "Snakefile").write_text(OUTER.format(snakefile=snakefile))
    environment = os.environ | {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{hub}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
    }
    environment.pop("PYTHONPATH", None)

    def run(*arguments):
        done = snakemake("--snakefile", str(tmp_path / "Snakefile"), *arguments, folder=tmp_path, env=environment)
        assert done.returncode == 0, done.stdout
        return done.stdout

    assert "bias_write_report" in run("--dry-run", "bias_all")
    run(REQUESTS)
    assert (tmp_path / REQUESTS).exists()
    assert "Nothing to be done" in run("--dry-run", REQUESTS)
    assert [path.name for path in (tmp_path / "cache/bias-atlas").iterdir()] == [commit]  # nothing but what is used
