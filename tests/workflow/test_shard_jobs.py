"""A model's requests split over jobs: the same bytes as from one job."""

import json

import pytest
from conftest import snakemake
from small_run import write_config

from biasatlas.files import read_metadata, read_parquet
from biasatlas.workflow import provenance

SHARDS = ["1-of-2", "2-of-2"]


@pytest.fixture
def config(tmp_path):
    """One model by two names, of which one has shards; and enough requests for six batches."""
    path = write_config(tmp_path, 1)
    config = json.loads(path.read_text())
    entry = config["models"].pop("tiny-0")
    config["models"] = {"whole": entry, "parts": entry | {"shards": 2}}
    del config["benchmarks"]["twbias"]["categories"]
    path.write_text(json.dumps(config))
    return path


def test_the_number_of_shards_changes_no_byte(config, tmp_path):
    scores = [f"results/scores/{model}/twbias/recommended/perplexity/female-male.csv" for model in ("whole", "parts")]
    run = snakemake(*scores, "--configfile", str(config), folder=tmp_path)
    assert run.returncode == 0, run.stdout
    whole, parts = (tmp_path / "results/responses" / model / "twbias/recommended" for model in ("whole", "parts"))
    answered = [len(read_parquet(parts / shard / "perplexity.parquet")) for shard in SHARDS]
    assert sum(answered) == len(read_parquet(whole / "perplexity.parquet"))
    assert min(answered) > max(answered) / 2
    assert (parts / "perplexity.parquet").read_bytes() == (whole / "perplexity.parquet").read_bytes()
    assert len(read_metadata(parts / "perplexity.parquet")["weights_sha256"]) == 64
    counts = [json.loads((folder / "perplexity.run.json").read_text()) for folder in (whole, parts)]
    for each in counts:
        del each["peak_memory_mib"]
    assert counts[0] == counts[1]
    files = [sorted((tmp_path / path).parent.glob("*.csv")) for path in scores]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]
    assert all(one.read_bytes() == other.read_bytes() for one, other in zip(*files, strict=True))
    origins = [provenance.read((tmp_path / path).parent / "provenance.json") for path in scores]
    assert [origin.pop("name") for origin in origins] == ["whole", "parts"]
    assert origins[0] == origins[1]
