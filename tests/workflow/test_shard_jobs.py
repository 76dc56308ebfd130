"""A model's requests split over jobs: the same bytes as from one job."""

import json

import pytest
from conftest import copy_workflow, snakemake
from small_run import write_config

from biasatlas.files import read_metadata, read_responses
from biasatlas.workflow import provenance

SHARDS = ["1-of-2", "2-of-2"]
TASK = "perplexity"
#: In place of batches of 1,024, so that few requests are several batches.
BATCH = 256


@pytest.fixture
def root(tmp_path):
    """A copy of the workflow with batches of BATCH requests."""
    root = copy_workflow(tmp_path / "workflow")
    batches = root / "scripts/biasatlas/models/batches.py"
    smaller = batches.read_text().replace("BATCH = 1024", f"BATCH = {BATCH}")
    assert smaller != batches.read_text()
    batches.write_text(smaller)
    return root


@pytest.fixture
def config(tmp_path):
    """One model by two names, of which one has shards."""
    path = write_config(tmp_path, 1)
    config = json.loads(path.read_text())
    entry = config["models"].pop("tiny-0")
    config["models"] = {"whole": entry, "parts": entry | {"shards": 2}}
    path.write_text(json.dumps(config))
    return path


def test_the_number_of_shards_changes_no_byte(config, root, tmp_path):
    scores = [f"results/scores/{model}/twbias/recommended/{TASK}/female-male.csv" for model in ("whole", "parts")]
    run = snakemake(*scores, "--configfile", str(config), folder=tmp_path, root=root)
    assert run.returncode == 0, run.stdout
    whole, parts = (tmp_path / f"results/responses/{model}/twbias/recommended.parquet" for model in ("whole", "parts"))
    answered = [len(read_responses(parts.with_suffix("") / f"{shard}.parquet", TASK)) for shard in SHARDS]
    assert sum(answered) == len(read_responses(whole, TASK))
    assert max(answered) / 2 < min(answered) and max(answered) > BATCH
    assert parts.read_bytes() == whole.read_bytes()
    assert len(read_metadata(parts)[TASK]["weights_sha256"]) == 64
    (hashed,) = {(tmp_path / f"results/store/{name}/sha256.json").read_text() for name in ("whole", "parts")}
    assert {len(digest) for digest in json.loads(hashed).values()} == {64}
    counts = [json.loads(path.with_suffix(".run.json").read_text())[TASK] for path in (whole, parts)]
    for each in counts:
        del each["peak_memory_mib"]
    assert counts[0] == counts[1]
    files = [sorted((tmp_path / path).parent.glob("*.csv")) for path in scores]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]
    texts = [[path.read_text() for path in paths] for paths in files]
    assert [text.replace("whole,", "parts,") for text in texts[0]] == texts[1]
    origins = [provenance.read((tmp_path / path).parent / "provenance.json") for path in scores]
    assert [origin.pop("name") for origin in origins] == ["whole", "parts"]
    assert origins[0] == origins[1]
