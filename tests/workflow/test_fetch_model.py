"""A model from the hub is fetched by its own rule, at a commit that is kept; the jobs that use it need no network."""

import json

import pytest
from conftest import snakemake
from hub import COMMIT, hub
from small_run import write_config

from biasatlas.files import read_metadata

RESPONSES = "results/responses/tiny-0/twbias/recommended.parquet"


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A configuration whose one model is on the hub, at ``main``."""
    path = write_config(tmp_path, 1)
    config = json.loads(path.read_text())
    config["models"]["tiny-0"] |= {"source": "owner/tiny", "revision": "main"}
    path.write_text(json.dumps(config))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return path


def test_fetched_once_and_used_without_a_network(config, tmp_path, monkeypatch):
    arguments = ["--configfile", str(config)]
    with hub("owner/tiny", tmp_path / "tiny-0") as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        run = snakemake("results/models/tiny-0.json", *arguments, folder=tmp_path, forks=False)
        assert run.returncode == 0, run.stdout
    fetched = json.loads((tmp_path / "results/models/tiny-0.json").read_text())
    assert fetched == {"source": "owner/tiny", "revision": "main", "commit": COMMIT}
    run = snakemake(RESPONSES, *arguments, folder=tmp_path, forks=False)
    assert run.returncode == 0, run.stdout
    metadata = read_metadata(tmp_path / RESPONSES)["perplexity"]
    assert (metadata["model"], metadata["revision"]) == ("owner/tiny", COMMIT)


def test_a_model_that_the_hub_does_not_have_is_one_message(config, tmp_path, monkeypatch):
    with hub("owner/other", tmp_path / "tiny-0") as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        run = snakemake(
            "results/models/tiny-0.json", "--configfile", str(config), "--retries", "0", folder=tmp_path, forks=False
        )
    assert run.returncode != 0
    assert "error: models.tiny-0: owner/tiny: not a folder, and the hub does not give it at revision main" in run.stdout
    assert not (tmp_path / "results/models").exists()
