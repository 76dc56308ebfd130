"""Speed and memory of the likelihood engine against its peers, interleaved in one process. Run by hand.

    PYTHONPATH=scripts BIASATLAS_MIRROR=<folder> python bench/likelihood.py --shape 0.5b --dtype float32

Requests come from the real data of the mirror (TWBias, DBB); models are random Qwen2 models of a given shape, because
speed does not depend on what a model knows. Peers: one sentence a forward pass, lm-evaluation-harness (if installed),
padded batches sorted by length. All get the same token ids, and all answers are compared.
"""

import argparse
import gc
import itertools
import json
import os
import platform
import random
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from biasatlas.engine import plain, plan
from biasatlas.engine.encode import encode_pairs
from biasatlas.engine.memory import Memory
from biasatlas.engine.tree import Tree

SHAPES = {  # hidden, layers, heads, key-value heads, intermediate, tied embeddings
    "tiny": (64, 2, 4, 2, 256, True),
    "0.5b": (896, 24, 14, 2, 4864, True),
    "7b": (3584, 28, 28, 4, 18944, False),
}
VOCABULARY = 151936
CHAT = (
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)

Item = list[tuple[str, str]]  # the (prefix, continuation) requests of one sentence or question


def twbias_female(mirror: Path) -> list[Item]:
    """TWBias Female, each sentence and its swaps under the 12 prompt types."""
    pairs = pd.read_csv(mirror / "twbias/data/gender/target_gender.csv")
    swaps = {}
    for male, female in pairs.itertuples(index=False):
        swaps.setdefault(female, []).append(male)
    return [
        [(prompt, text) for text, prompt in itertools.product(variants, _twbias_prompts(mirror))]
        for variants in _variants(mirror / "twbias/data/gender/label_data_female.csv", swaps)
    ]


def twbias_indigenous(mirror: Path) -> list[Item]:
    """TWBias Indigenous, each sentence and its swaps with all terms of all other groups, under the 12 prompt types."""
    groups = pd.read_csv(mirror / "twbias/data/ethinicity/target_ethnicity.csv")
    others = [term for group in groups.columns if group != "T4" for term in groups[group].dropna()]
    swaps = dict.fromkeys(groups["T4"].dropna(), others)
    return [
        [(prompt, text) for text, prompt in itertools.product(variants, _twbias_prompts(mirror))]
        for variants in _variants(mirror / "twbias/data/ethinicity/label_data_NT.csv", swaps)
    ]


def dbb_multiple_choice(mirror: Path) -> list[Item]:
    """DBB multiple choice: each question for 50 identities, answered with either letter."""
    instruction = (mirror / "dbb/src/prompt_instructions/evaluate.txt").read_text(encoding="utf-8")
    items = []
    for row in _dbb_questions(mirror).itertuples():
        item = []
        for name in _identities(mirror):
            context, first, second = (_name(text, name) for text in (row.Context, row.s1, row.s2))
            prompt = CHAT.format(f"{instruction}\nContext: {context}\na) {first}\nb) {second}")
            item += [(prompt, "a"), (prompt, "b")]
        items.append(item)
    return items


def dbb_semi_generation(mirror: Path) -> list[Item]:
    """DBB semi-generation: each context for 50 identities, continued by both sentences of ten questions of its kind."""
    instruction = (mirror / "dbb/src/prompt_instructions/evaluate_perplexity.txt").read_text(encoding="utf-8")
    questions = _dbb_questions(mirror)
    items = []
    for _, kind in questions.groupby("bias_type", sort=False):
        for at, context in enumerate(kind["Context"]):
            ten = kind.iloc[[(at + step) % len(kind) for step in range(10)]]
            item = []
            for name in _identities(mirror):
                prompt = CHAT.format(f"{instruction}\nContext: {_name(context, name)}")
                item += [(prompt, _name(text, name)) for text in [*ten["s1"], *ten["s2"]]]
            items.append(item)
    return items


def templates_of_five(mirror: Path) -> list[Item]:
    """Bare sentences with five words in one slot, as in McBE's preference task (its data are not in the mirror)."""
    groups = pd.read_csv(mirror / "twbias/data/ethinicity/target_ethnicity.csv")
    words = ["本省人", "外省人", "客家人", "漢人", "原住民"]
    files = {"T1": "B", "T2": "W", "T4": "NT", "T5": "hakka"}
    items = []
    for group, file in files.items():
        swaps = dict.fromkeys(groups[group].dropna(), words)
        folder = mirror / "twbias/data/ethinicity"
        items += [[("", text) for text in v[1:6]] for v in _variants(folder / f"label_data_{file}.csv", swaps)]
    return items


WORKLOADS = {
    "TWBias Female × 12 prompts": twbias_female,
    "TWBias Indigenous, all groups": twbias_indigenous,
    "DBB multiple choice": dbb_multiple_choice,
    "DBB semi-generation, ten variations": dbb_semi_generation,
    "five words in a template": templates_of_five,
}


def _twbias_prompts(mirror: Path) -> list[str]:
    prompts = json.loads((mirror / "twbias/prompts.json").read_text(encoding="utf-8"))
    return ["" if kind == "0" else CHAT.format(text) for kind, text in prompts.items()]


def _variants(file: Path, swaps: dict[str, list[str]]) -> list[list[str]]:
    """Each sentence, followed by its swaps: every target term in it by every term it swaps with."""
    table = pd.read_csv(file)
    found = []
    for sentence in table["Biased Sentences"].dropna():
        terms = [term for term in swaps if term in sentence]
        if terms:
            swapped = [sentence.replace(term, other) for term in terms for other in swaps[term]]
            found.append(list(dict.fromkeys([sentence, *swapped])))
    return found


def _dbb_questions(mirror: Path) -> pd.DataFrame:
    (path,) = (mirror / "dbb/Questions").glob("*.csv*")
    return pd.read_csv(path)


def _identities(mirror: Path) -> list[str]:
    """50 identities: the descriptors as they stand, or after a name where they are a clause."""
    table = json.loads((mirror / "dbb/data/descriptors.json").read_text(encoding="utf-8"))
    flat = [
        entry if isinstance(entry, str) else entry[0] for group in table.values() for v in group.values() for entry in v
    ]
    return [f"Taylor{text}" if text.startswith(",") else text for text in flat][:50]


def _name(text: str, name: str) -> str:
    return text.replace("[[X]]'s", f"{name}'s").replace("[[X]]", name)


def make_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """A byte-level BPE of 8,000 tokens of the workloads' own sentences: about as many characters a token as Qwen2's."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=8000, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=special[0], pad_token=special[0])


def make_model(shape: str, dtype: torch.dtype, device: str) -> Qwen2ForCausalLM:
    hidden, layers, heads, kv_heads, intermediate, tied = SHAPES[shape]
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        intermediate_size=intermediate,
        tie_word_embeddings=tied,
        max_position_embeddings=32768,
        dtype=dtype,
    )
    torch.manual_seed(0)
    with torch.device(device):
        torch.set_default_dtype(dtype)
        model = Qwen2ForCausalLM(config).eval()
        torch.set_default_dtype(torch.float32)
    return model


@torch.inference_mode()
def one_at_a_time(model, tokens, start) -> np.ndarray:
    values = []
    for ids, begin in zip(tokens, start, strict=True):
        logits = model(
            input_ids=torch.as_tensor(ids[None, :-1].astype(np.int64), device=model.device),
            logits_to_keep=len(ids) - int(begin),
        ).logits[0]
        target = torch.as_tensor(ids[begin:].astype(np.int64), device=model.device)
        picked = torch.log_softmax(logits.float(), -1).gather(1, target[:, None])
        values.append(picked.double().sum().item())
    return np.asarray(values)


def harness(model, tokenizer, batch_size: int):
    """lm-evaluation-harness on the same token ids; None where it is not installed."""
    try:
        from lm_eval.models.huggingface import HFLM
    except ImportError:
        return None
    wrapped = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=batch_size, max_length=4096)

    def run(model, tokens, start) -> np.ndarray:
        requests = [
            ((str(i), ""), ids[:begin].tolist(), ids[begin:].tolist())
            for i, (ids, begin) in enumerate(zip(tokens, start.tolist(), strict=True))
        ]
        return np.asarray([value for value, _ in wrapped._loglikelihood_tokens(requests, disable_tqdm=True)])

    return run


class Engine:
    """The engine, and the seconds that planning took in its last run."""

    def __init__(self, token_budget: int):
        self.token_budget = token_budget

    def __call__(self, model, tokens, start) -> np.ndarray:
        began = time.process_time()
        trie, where = plan.build_trie(tokens, start)
        tree = Tree(model, Memory(self.token_budget))
        root = plan.plan_prefixes(trie, tree.row_tokens, tree.pass_tokens)
        for prefix in plan.walk(root):
            plan.cut_rows(trie, prefix.members, prefix.end, tree.row_tokens)
        self.planning_s = time.process_time() - began
        values = tree.log_likelihoods(trie)[where]
        self.tokens_fed = tree.tokens_fed
        return values


def batches(token_budget: int):
    return lambda model, tokens, start: plain.log_likelihoods(model, tokens, start, Memory(token_budget))


def matrix_rate(model, device: str, tokens: int) -> float:
    """FLOP/s of the matrix product of one MLP layer: what the machine gives at this moment."""
    weight = model.model.layers[0].mlp.gate_proj.weight
    states = torch.randn(tokens, weight.shape[1], device=device).to(weight.dtype)
    best = np.inf
    for _ in range(3):
        repeats = max(1, int(2e10 // (2 * tokens * weight.numel())))
        began = _now(device)
        for _ in range(repeats):
            torch.nn.functional.linear(states, weight)
        best = min(best, (_now(device) - began) / repeats)
    return 2 * tokens * weight.numel() / best


def _now(device: str) -> float:
    """Seconds: of this process on a CPU, where one thread's own time does not depend on who else is running."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def _measured(device: str, run, *inputs) -> tuple[np.ndarray, float, float]:
    """What ``run`` gives, its seconds, and its peak memory above the start in MiB."""
    gc.collect()
    if device == "cpu":
        before = _resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
    else:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated() / 2**20
    began = _now(device)
    values = run(*inputs)
    seconds = _now(device) - began
    peak = _resident("VmHWM") if device == "cpu" else torch.cuda.max_memory_allocated() / 2**20
    return values, seconds, peak - before


def _resident(key: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024


def sample(items: list[Item], tokens: int, count) -> Item:
    """Requests of whole items in a seeded order, until there are ``tokens`` asked (0: all)."""
    chosen, asked = [], 0
    for item in random.Random(0).sample(items, len(items)):
        chosen += item
        asked += count(item)
        if tokens and asked >= tokens:
            break
    return chosen


def thinned(length: int, tokens: int, of: int) -> np.ndarray:
    """Evenly spread pairs of neighbours among ``length`` requests, for about ``tokens`` of the ``of`` asked (0: all)."""
    every = max(1, round(of / tokens)) if tokens else 1
    at = np.arange(length)
    return at[at // 2 % every == 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="tiny")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tokens", type=int, default=64000, help="tokens asked of the engine a workload; 0: all")
    parser.add_argument("--peer-tokens", type=int, default=4000, help="tokens of these asked of its peers; 0: the same")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=int, help="tokens a forward pass; default 1024 on a CPU, 8192 on a GPU")
    parser.add_argument("--workload", type=int, action="append", help="position in the list, from 0; default all")
    parser.add_argument("--harness", type=int, nargs="*", default=[1, 8], help="its batch sizes; the better one counts")
    parser.add_argument("--engine-only", action="store_true", help="no peers: for full sets on a GPU")
    arguments = parser.parse_args()
    mirror = Path(os.environ.get("BIASATLAS_MIRROR") or sys.exit("set BIASATLAS_MIRROR to the folder of the datasets"))
    torch.set_num_threads(1)
    device, budget = arguments.device, arguments.budget or (1024 if arguments.device == "cpu" else 8192)

    workloads = {name: make(mirror) for name, make in WORKLOADS.items()}
    tokenizer = make_tokenizer([text for items in workloads.values() for item in items[:300] for _, text in item[:2]])
    names = [list(workloads)[i] for i in arguments.workload or range(len(workloads))]
    model = make_model(arguments.shape, getattr(torch, arguments.dtype), device)
    engine = Engine(budget)
    peers = {
        "one at a time": one_at_a_time,
        **{f"harness, batch {size}": harness(model, tokenizer, size) for size in arguments.harness},
        "padded batches": batches(budget),
    }
    runs = (
        {"engine": engine}
        if arguments.engine_only
        else {name: run for name, run in peers.items() if run} | {"engine": engine}
    )
    body = sum(parameter.numel() for parameter in model.model.layers.parameters())
    head = model.lm_head.weight.numel()
    processor = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    machine = torch.cuda.get_device_name() if device != "cpu" else f"{processor}, 1 thread"
    versions = f"torch {torch.__version__}, Python {platform.python_version()}"
    print(f"{arguments.shape} {arguments.dtype}, {versions}, {machine}\n")
    header = ["workload", "asked ÷ unique", "fed ÷ unique", *(f"{name}, ms" for name in runs)]
    header += ["over the harness", "of the ideal", "planning", "peak MiB", "largest difference, nats"]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))

    gains = []
    for name in names:

        def encode(requests: Item):
            prefixes, continuations = zip(*requests, strict=True)
            tokens, start = encode_pairs(tokenizer, prefixes, continuations, "none", "offsets")
            return tokens, np.maximum(start, 1)

        tokens, start = encode(sample(workloads[name], arguments.tokens, lambda item: sum(map(len, encode(item)[0]))))
        scorable = [i for i, ids in enumerate(tokens) if len(ids) > start[i]]  # a word of one token alone is not
        tokens, start = [tokens[i] for i in scorable], start[scorable]
        asked = sum(map(len, tokens))
        shared = thinned(len(tokens), arguments.peer_tokens, asked)
        of_peers = [tokens[i] for i in shared], start[shared]
        trie, _ = plan.build_trie(tokens, start)
        states = len(
            {ids[:p].tobytes() for ids, s in zip(trie.tokens, trie.start, strict=True) for p in range(s, len(ids))}
        )
        seconds: dict[str, list[float]] = {run: [] for run in runs}
        peak = dict.fromkeys(runs, 0.0)
        values, rates = {}, []
        for _ in range(arguments.rounds):
            for run in random.sample(list(runs), len(runs)):
                rates.append(matrix_rate(model, device, budget))
                requests = (tokens, start) if run == "engine" else of_peers
                values[run], took, memory = _measured(device, runs[run], model, *requests)
                seconds[run].append(took)
                peak[run] = max(peak[run], memory)
        values["engine"] = values["engine"][shared]
        engine_s = statistics.median(seconds["engine"])
        # Milliseconds a token asked; all but the engine take as long for a request whatever else is asked.
        each = {run: 1000 * statistics.median(took) / sum(map(len, of_peers[0])) for run, took in seconds.items()}
        each["engine"] = 1000 * engine_s / asked
        ideal_s = 2 * (body * trie.unique_tokens + head * states) / statistics.median(rates)
        rivals = [each[run] for run in runs if run.startswith("harness")]
        gain = min(rivals) / each["engine"] if rivals else float("nan")
        gains.append(gain)
        reference = values.get("one at a time", values["engine"])
        row = [
            name,
            f"{(asked - len(tokens)) / trie.unique_tokens:.1f}",
            f"{engine.tokens_fed / trie.unique_tokens:.3f}",
            *(f"{each[run]:.3g}" for run in runs),
            f"{gain:.1f}",
            f"{ideal_s / engine_s:.2f}",
            f"{engine.planning_s / engine_s:.2%}",
            ", ".join(f"{peak[run]:.0f}" for run in runs),
            ", ".join(f"{np.abs(values[run] - reference).max():.0e}" for run in runs if run != "one at a time"),
        ]
        print("| " + " | ".join(row) + " |", flush=True)
    print(f"\ngeometric mean over the harness: {statistics.geometric_mean(gains):.2f}")


if __name__ == "__main__":
    main()
