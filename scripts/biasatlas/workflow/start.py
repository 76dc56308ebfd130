"""A first configuration: one model, three benchmarks, and nothing that is not needed."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import yaml

from biasatlas.errors import UserError
from biasatlas.userfiles import read_json
from biasatlas.workflow.config import load_config

#: Benchmarks in English that can be asked of models of every kind.
_BENCHMARKS = ("bbq", "crows_pairs", "stereoset")
#: "7B" in a name on the hub.
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[bB](?![a-zA-Z])")
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def configuration(
    model: str, endpoint: str, served: str, budget: float | None, prices: Sequence[float] | None, sample: bool
) -> str:
    """The text of a configuration of a ``model`` (a folder, or a name on the hub) or of ``served`` at an ``endpoint``.

    ``budget`` and ``prices`` (per million tokens read, written) are those of the endpoint, in its currency. Raises
    UserError if something is missing, and if `check` would refuse the text.
    """
    if model and (served or budget is not None or prices is not None):
        raise UserError("--served, --budget, --prices: about an endpoint. Name it by --endpoint, or leave them out.")
    if endpoint and not served:
        raise UserError("--endpoint: which model is meant there? Add --served NAME.")
    if budget is not None and prices is None:
        raise UserError("--budget: a budget needs prices to be kept. Add --prices IN OUT, per million tokens.")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", (served or Path(model).name)).strip("-.") or "model"
    entry = _api(endpoint, served, budget, prices) if endpoint else _hf(model)
    data = "{data: sample}" if sample else "{}"
    asked = ", ".join(f"{benchmark}: {data}" for benchmark in _BENCHMARKS)
    text = "\n".join(
        [
            f"results: results/{name}    # every key: docs/configuration.md",
            "models:",
            f"  {_text(name)}:",
            *(f"    {key}: {value}" for key, value in entry.items()),
            f"benchmarks: {{{asked}}}",
            "",
        ]
    )
    load_config(yaml.safe_load(text))
    return text


def _text(value: str) -> str:
    """``value`` as YAML reads it back: a name may look like a number, a path like a comment."""
    return value if re.fullmatch(r"[\w./:@~-]+", value) and yaml.safe_load(value) == value else json.dumps(value)


def _api(endpoint: str, served: str, budget: float | None, prices: Sequence[float] | None) -> dict[str, str]:
    entry = {"kind": "api", "base_url": _text(endpoint), "model": _text(served)}
    if prices is not None:
        entry |= {"price_input_per_million": f"{prices[0]:.15g}", "price_output_per_million": f"{prices[1]:.15g}"}
    return entry if budget is None else entry | {"budget": f"{budget:.15g}"}


def _hf(model: str) -> dict[str, str]:
    """A local model's entry; its size is that of its weights, or what its name says."""
    gpu = 1 if shutil.which("nvidia-smi") else 0
    path = Path(model)
    if not path.is_dir():
        if model.startswith((".", "/", "~")) or model.count("/") != 1:
            raise UserError(f"--model: {model}: no folder there, and no name on the hub, which is as owner/name.")
        size = _SIZE.search(model)
        if size is None:
            raise UserError(f"--model: {model}: the name does not say how large it is. Fetch it, and name its folder.")
        return {"kind": "hf", "source": _text(model), "revision": "main", "size_billion": size[1], "gpu": str(gpu)}
    weights = sum(file.stat().st_size for file in path.glob("*.safetensors"))
    settings = read_json(path / "config.json") if (path / "config.json").exists() else None
    if not weights or not isinstance(settings, dict):
        raise UserError(f"--model: {model}: expected config.json and *.safetensors, a model in Hugging Face format.")
    dtype = str(settings.get("dtype") or settings.get("torch_dtype") or "float32")
    size_billion = max(weights / _BYTES.get(dtype, 2) / 1e9, 0.001)
    source = model if model.startswith((".", "/")) else f"./{model}"
    entry = {"kind": "hf", "source": _text(source), "size_billion": f"{size_billion:.3g}", "gpu": str(gpu)}
    return entry if gpu else entry | {"dtype": "float32"}
