"""A small run of the workflow: tiny random models on two categories of TWBias' sample."""

import json
from pathlib import Path

import torch
from unit.engine import tiny

#: The rules, in the order of the data flow, whose jobs a small run has.
TARGET = "twbias_table_gender"


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
        "benchmarks": {"twbias": {"data": "sample", "categories": ["female-male", "male-female"]}},
    }
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path
