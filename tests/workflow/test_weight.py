"""What a large report weighs: 17 models on 11 benchmarks.

The run takes 20 minutes and its site one, so ``BIASATLAS_WIDE=folder`` has to ask for it. The folder keeps the run: with
``results`` in it, only the site is written.
"""

import json
import os
from pathlib import Path

from conftest import snakemake
from needs import needs
from report_site import write_site

from biasatlas.workflow.config import load_config

#: Models by what their answers have beside noise.
MODELS = {
    "fair-a": {},
    "fair-b": {"seed": 2},
    "fair-c": {"seed": 3},
    "fair-long-names": {"label_length": 0.1},
    "fair-first": {"letter": 2},
    "fair-frequent": {"frequency": 0.3, "token_noise": 1},
    "slight": {"bias": 0.1},
    "mild": {"bias": 0.25},
    "medium-instruct-7b": {"bias": 0.5},
    "strong-instruct-70b": {"bias": 1},
    "extreme": {"bias": 3},
    "reversed": {"bias": -0.5},
    "careful": {"unknown": 2},
    "refuses-some": {"refused": 0.3},
    "refuses-all": {"refused": 1},
    "garbled": {"unreadable": 0.3},
    "able": {"right": 2},
}
BENCHMARKS = ("twbias", "mcbe", "dbb", "bbq", "crows_pairs", "stereoset", "gest", "esbbq", "cbbq")
BENCHMARKS += ("interviews", "hiring_bias")
CONFIG = {
    "results": "results",
    "models": {
        name: {"kind": "simulated", "noise": 0.3, "prompt_correlation": 0.9, **setting}
        for name, setting in MODELS.items()
    },
    "benchmarks": {name: {"data": "sample"} for name in BENCHMARKS} | {"mcbe": {"data": "sample", "judge": "able"}},
}


@needs("wide")
def test_pages_of_seventeen_models_on_eleven_benchmarks_stay_light(tmp_path):
    folder = Path(os.environ["BIASATLAS_WIDE"])
    if not (folder / "results").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        done = snakemake("--configfile", "config.json", folder=folder)
        assert done.returncode == 0, done.stdout
    index = write_site(load_config(CONFIG, ["config.json"]), folder / "results", tmp_path)
    weights = {path.relative_to(tmp_path): path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()}
    pages = {path: size for path, size in weights.items() if path.suffix == ".html"}
    assert len(pages) == 1 + len(BENCHMARKS) + len(MODELS) + 7 and index.stat().st_size > 50_000
    assert {path: size for path, size in pages.items() if size >= 150_000} == {}
    assert sum(size for path, size in weights.items() if "figures" not in path.parts) < 20_000_000
