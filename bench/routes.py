"""Which routes the self-check finds for random models in bfloat16, of 2 to 28 layers: the figures of
docs/measurements-engine.md.

    python bench/routes.py                # all
    python bench/routes.py jamba lfm2     # some

The self-check has to find the tree route for models that take a tree mask, and the states route for models whose states
are copied rightly; it has to refuse routes that are known to be wrong. The last column has, for each route tried, the
movement as a multiple of what rounding explains, at the quantiles of the limits, and that of copied states in 32 bits.
"""

import itertools
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/unit")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from engine import architectures  # noqa: E402
from transformers import CONFIG_MAPPING  # noqa: E402
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING  # noqa: E402

from biasatlas.engine import selfcheck  # noqa: E402

DEPTHS = (2, 4, 8, 16, 28)
RIGHT = {
    "tree": [
        *("qwen2", "llama", "gemma2", "gemma3_text", "gpt_oss", "phi3"),
        *("mixtral", "qwen3_moe", "qwen2_moe", "deepseek_v3"),  # experts
    ],
    "states": ["mamba2", "falcon_h1", "lfm2", "lfm2_moe", "granitemoehybrid", "qwen3_next", "rwkv", "minimax"],
}
WRONG = {"tree": ["mpt", "gpt_neo"], "states": ["mamba", "falcon_mamba", "bamba", "jamba"]}


def build(name: str, depth: int) -> transformers.PreTrainedModel:
    """A random model of ``depth`` layers, each of which moves its hidden states about as much as a trained one's."""
    settings = {"num_hidden_layers": depth, "num_layers": depth, "vocab_size": 256}
    more = architectures.MORE.get(name, {})
    tiny = architectures.scaled(CONFIG_MAPPING[name]().to_dict(), more)
    for field, value in tiny.items():  # lists of layers' types
        if isinstance(value, list) and len(value) == architectures.LAYERS:
            settings[field] = (value * depth)[:depth]
    if "attn_layer_indices" in more:
        settings["attn_layer_indices"] = list(range(1, depth, 2))
    if "attention_types" in more:
        settings["attention_types"] = [[["global", "local"], depth // 2]]
    shape = architectures.config(name, **settings)
    torch.manual_seed(depth)
    model = MODEL_FOR_CAUSAL_LM_MAPPING[type(shape)](shape).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if parameter.ndim > 1 and "A_log" not in key:
                parameter.normal_(0, 0.8 / parameter.shape[-1] ** 0.5)
    return model.to(torch.bfloat16)


def main(chosen: list[str]) -> None:
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    real, ratios = selfcheck._fault, []

    def recorded(moved: np.ndarray, noise: np.ndarray, limits: Mapping[float, float]) -> str:
        ratios.append([np.quantile(moved, at) / np.quantile(noise, at) for at in limits])
        return real(moved, noise, limits)

    selfcheck._fault = recorded
    selfcheck._writing = lambda *_: "rows"
    missed = []
    print("| route | architecture | layers | found | movement over rounding |\n| --- | --- | --- | --- | --- |")
    for right, table in ((True, RIGHT), (False, WRONG)):
        for route, names in table.items():
            for name, depth in itertools.product((name for name in names if not chosen or name in chosen), DEPTHS):
                ratios.clear()
                found = selfcheck.choose_route(build(name, depth))
                held = "; ".join(", ".join(f"{ratio:.2g}" for ratio in pair) for pair in ratios)
                print(
                    f"| {route}, {'right' if right else 'wrong'} | {name} | {depth} | {found.name} | {held} |",
                    flush=True,
                )
                if (found.name == route) != right:
                    missed.append(f"{name} of {depth} layers: {found.name} {found.reason}")
    if missed:
        sys.exit("\n".join(missed))


if __name__ == "__main__":
    main(sys.argv[1:])
