"""Small runs of the workflow: tiny random models on one category of TWBias' sample, a simulated one on CrowS-Pairs'."""

import json
from pathlib import Path

import torch
from unit.engine import tiny

#: One table, whose jobs are those of every step up to it.
TARGET = "results/tables/twbias/recommended/gender.csv"

#: A configuration whose run goes from a simulated model to the report.
KNOWN = {
    "results": "results",
    "models": {"simulated": {"kind": "simulated"}},
    "benchmarks": {"crows_pairs": {"data": "sample", "tasks": ["pair"]}},
}


def write_config(folder: Path, models: int, gpu: int = 0) -> Path:
    """Write ``models`` models, each different, and a configuration that measures them; return its path."""
    entries = {}
    for number in range(models):
        name = f"tiny-{number}"
        model = tiny.CONFIGS["llama"]()
        torch.manual_seed(number)
        tiny.MODEL_FOR_CAUSAL_LM_MAPPING[type(model)](model).save_pretrained(folder / name)
        tiny.tokenizer(True).save_pretrained(folder / name)
        entries[name] = {
            "kind": "hf",
            "source": str(folder / name),
            "dtype": "float32",
            "size_billion": 0.001,
            "gpu": gpu,
        }
    config = {
        "results": "results",
        "models": entries,
        "benchmarks": {"twbias": {"data": "sample", "categories": ["female-male"]}},
    }
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path
