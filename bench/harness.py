"""Log-likelihoods of texts, ours beside lm-evaluation-harness's: the table of docs/measurements-engine.md.

    pip install lm-eval==0.4.13
    PYTHONPATH=scripts BIASATLAS_MIRROR=<folder> python bench/harness.py

Tiny random models of three kinds (plain attention, windows and soft caps with a begin token, recurrent) answer the same
requests of real sentences both ways. Each row isolates one known difference between the two; apart from these, they
differ by less than 2e-4 nats, or the exit status is 1.
"""

import logging
import os
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/unit")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from engine import architectures  # noqa: E402
from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING  # noqa: E402
from workloads import dbb_multiple_choice, make_tokenizer, templates_of_five, twbias_female  # noqa: E402

from biasatlas.engine.encode import encode_pairs  # noqa: E402
from biasatlas.engine.memory import Memory  # noqa: E402
from biasatlas.engine.routes import log_likelihoods  # noqa: E402
from biasatlas.engine.selfcheck import choose_route  # noqa: E402

MODELS = {"qwen2": "", "gemma2": "<bos>", "mamba2": ""}
#: The largest difference in nats that rounding explains.
LIMIT = 2e-4


def model_of(name: str, vocabulary: int, dtype: torch.dtype) -> torch.nn.Module:
    torch.manual_seed(0)
    shape = architectures.config(name, vocab_size=vocabulary)
    model = MODEL_FOR_CAUSAL_LM_MAPPING[type(shape)](shape).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.2)
    return model.to(dtype)


def differences(
    model: torch.nn.Module,
    tokenizer: PreTrainedTokenizerFast,
    ours: list[tuple[str, str]],
    its: list[tuple[str, str]],
    **settings: object,
) -> np.ndarray:
    """|ours − the harness's| of each (prefix, continuation), in nats; NaN where ours has nothing to score."""
    special = "once" if tokenizer.bos_token else "none"
    tokens, start = encode_pairs(tokenizer, *zip(*ours, strict=True), special, "offsets")
    start = np.maximum(start, 1)
    scored = [i for i, ids in enumerate(tokens) if len(ids) > start[i]]
    values = np.full(len(ours), np.nan)
    values[scored] = log_likelihoods(
        model, [tokens[i] for i in scored], start[scored], Memory(512), choose_route(model)
    )[0]
    harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=8, **settings)
    asked = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(its)]
    return np.abs(values - [value for value, _ in harness.loglikelihood(asked, disable_tqdm=True)])


def spanned(tokenizer: PreTrainedTokenizerFast, prefix: str, continuation: str) -> bool:
    """Whether a token of the joined text has characters of both."""
    alone, joint = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prefix, prefix + continuation))
    return joint[: len(alone)] != alone


def main() -> None:
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    mirror = Path(os.environ["BIASATLAS_MIRROR"])
    prompted = [pair for item in twbias_female(mirror)[:3] for pair in item if pair[0]][:60]
    prompted += [pair for item in dbb_multiple_choice(mirror)[:2] for pair in item[:20]]
    clean = [(prefix.rstrip(), text) for prefix, text in prompted]
    moved = [(prefix.rstrip(), prefix[len(prefix.rstrip()) :] + text) for prefix, text in prompted]
    bare = [pair for item in templates_of_five(mirror)[:12] for pair in item]
    cut = [(text[:5], text[5:]) for _, text in bare]
    twice = [(text[:at], text[at:]) for _, text in bare for at in (3, 4)]
    training = [text for item in twbias_female(mirror)[:100] for text in item[0]]
    print("| requests | " + " | ".join(MODELS) + " |\n|" + " --- |" * (1 + len(MODELS)))
    rows: dict[str, list[str]] = {}
    wrong = []
    for name, begin in MODELS.items():
        tokenizer = make_tokenizer(training, 2000, begin)
        wide, narrow = (model_of(name, len(tokenizer), dtype) for dtype in (torch.float32, torch.bfloat16))
        ended = [(begin or tokenizer.eos_token, text) for _, text in bare]
        whole = [pair for pair in cut if not spanned(tokenizer, *pair)]
        twice = [pair for pair in twice if not spanned(tokenizer, *pair)]
        # Model, our requests, the harness's, its settings; whether nothing may differ.
        cases = {
            "prompt and continuation": (wide, clean, clean, {}, True),
            "prompt that ends in a line break": (wide, prompted, prompted, {}, False),
            "the same, the break in our continuation": (wide, moved, prompted, {}, True),
            "no prompt": (wide, bare, bare, {}, bool(begin)),
            "the same, ours after the end token": (wide, ended, bare, {}, True),
            "cut anywhere": (wide, cut, cut, {}, False),
            "the same, where no token spans the cut": (wide, whole, whole, {}, True),
            "one text cut at two places": (wide, twice, twice, {}, False),
            "the same, `logits_cache=False`": (wide, twice, twice, {"logits_cache": False}, True),
            "prompt and continuation, bfloat16": (narrow, clean, clean, {}, False),
            "the same, `softmax_dtype=float32`": (narrow, clean, clean, {"softmax_dtype": "float32"}, False),
        }
        for case, (model, ours, its, settings, same) in cases.items():
            off = differences(model, tokenizer, ours, its, max_length=4096, **settings)
            differing = int(np.sum(~(off <= LIMIT)))
            rows.setdefault(case, []).append(f"{np.nanmax(off):.0e}, {differing} of {len(its)}")
            if same and differing:
                wrong.append(f"{name}, {case}: {np.nanmax(off):.2g} nats")
    for case, cells in rows.items():
        print(f"| {case} | " + " | ".join(cells) + " |")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
