"""Speed and memory of the engine against its peers, interleaved in one process. Run by hand.

    PYTHONPATH=scripts BIASATLAS_MIRROR=<folder> python bench/engine.py likelihood --shape 0.5b --dtype float32
    PYTHONPATH=scripts BIASATLAS_MIRROR=<folder> python bench/engine.py choice --shape 0.5b
    PYTHONPATH=scripts BIASATLAS_MIRROR=<folder> python bench/engine.py generation --shape 0.5b

Requests come from real data (bench/workloads.py); models are random Qwen2 models of a given shape, because speed does
not depend on what a model knows. Peers of likelihoods and choices: one sentence a forward pass, lm-evaluation-harness
(if installed), padded batches sorted by length; of generation: the library's `generate` and, if installed, vLLM. All
get the same token ids and the same weights, and all likelihoods are compared. Each peer runs at several batch sizes
and, in float32 on a CPU, on MKL and on oneDNN, all on one thread: each has a column, and the best one counts.

Two columns say how far a time could fall on this machine. "Of the ideal" is the time of the necessary operations at the
rate of the machine's fastest matrix product (:func:`matrix_rate`), over the engine's time. "Its products alone" is that
ideal time over the time of the model's own matrix products, at their shapes.

A random model gives no answers, so for choices its head gets a bias: the labels' first tokens and the end are likely,
each label less so than the one before it. "steps" are parsers that decide after a given number of tokens, whatever
these are.
"""

import argparse
import functools
import gc
import logging
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from transformers import GenerationConfig, Qwen2Config, Qwen2ForCausalLM
from workloads import CHOICES, GENERATIONS, LIKELIHOODS, Choices, Item, make_tokenizer, mcbe_labels

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.engine import plain, plan
from biasatlas.engine.choice import Question, TokenParser, answer_probabilities
from biasatlas.engine.encode import encode_pairs, encode_texts
from biasatlas.engine.generate import Prompt, generate
from biasatlas.engine.layers import compile_layers, through_onednn
from biasatlas.engine.masks import share_heads
from biasatlas.engine.memory import Memory, default_budget, keep_freed
from biasatlas.engine.sampling import Sampling
from biasatlas.engine.tree import ROW_WORTH, WIDEST, Tree

SHAPES = {  # hidden, layers, heads, key-value heads, intermediate, tied embeddings
    "tiny": (64, 2, 4, 2, 256, True),
    "small": (512, 6, 8, 2, 2048, True),
    "0.5b": (896, 24, 14, 2, 4864, True),
    "7b": (3584, 28, 28, 4, 18944, False),
}
VOCABULARY = 151936


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


def as_torch_computes(model: Qwen2ForCausalLM) -> Qwen2ForCausalLM:
    """A second model with the same weights, whose layers the engine does not change."""
    with torch.device("meta"):
        twin = Qwen2ForCausalLM(model.config).eval()
    twin.load_state_dict(model.state_dict(), assign=True)
    twin.model.rotary_emb = model.model.rotary_emb  # is not in the state
    return twin


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
            plan.cut_rows(trie, prefix.members, prefix.end, WIDEST * tree.row_tokens, tree.columns, ROW_WORTH)
        self.planning_s = time.process_time() - began
        values = tree.log_likelihoods(trie)[where]
        self.tokens_fed = tree.tokens_fed
        return values


def batches(token_budget: int):
    return lambda model, tokens, start: plain.log_likelihoods(model, tokens, start, Memory(token_budget))


#: Floating-point operations in one measurement of a matrix product.
WORK = 5e9


@torch.inference_mode()
def _seconds(layer: torch.nn.Module, device: str, tokens: int) -> float:
    """Seconds per token of a linear layer that gets ``tokens`` at once; the best of three measurements."""
    states = torch.randn(tokens, layer.weight.shape[1], device=device).to(layer.weight.dtype)
    repeats, best = max(1, int(WORK // (2 * tokens * layer.weight.numel()))), np.inf
    for _ in range(3):
        began = _now(device)
        for _ in range(repeats):
            layer(states)
        best = min(best, (_now(device) - began) / repeats)
    return best / tokens


def matrix_rate(models: list, device: str, tokens: int) -> float:
    """FLOP/s of an MLP layer's matrix product on this machine at this moment, by the fastest of ``models``."""
    layers = [model.model.layers[0].mlp.gate_proj for model in models]
    return max(2 * layer.weight.numel() / _seconds(layer, device, tokens) for layer in layers)


def read_rate(model, device: str) -> float:
    """Bytes/s at which one token reads MLP weights, of all layers in turn; the best of three measurements."""
    layers = [layer.mlp.gate_proj for layer in model.model.layers]
    size = sum(layer.weight.nbytes for layer in layers)
    return size / min(sum(_seconds_of_one(layer, device) for layer in layers) for _ in range(3))


@torch.inference_mode()
def _seconds_of_one(layer: torch.nn.Module, device: str) -> float:
    state = torch.randn(1, layer.weight.shape[1], device=device).to(layer.weight.dtype)
    began = _now(device)
    layer(state)
    return _now(device) - began


def _now(device: str) -> float:
    """Seconds: on a CPU, CPU time of this process, which does not depend on what else is running."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def _measured(device: str, run, *inputs) -> tuple[np.ndarray, float, float]:
    """The result of ``run``, its seconds, and its peak memory above that at the start, in MiB."""
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


def sample(items: list[list], tokens: int, count) -> list:
    """Requests of whole items in a seeded random order, until they have ``tokens`` tokens (0: all)."""
    chosen, asked = [], 0
    for item in random.Random(0).sample(items, len(items)):
        chosen += item
        asked += count(item)
        if tokens and asked >= tokens:
            break
    return chosen


def thinned(length: int, tokens: int, of: int) -> np.ndarray:
    """Indices of evenly spread pairs of neighbours among ``length`` requests: about ``tokens`` of their ``of`` tokens
    (0: all)."""
    every = max(1, round(of / tokens)) if tokens else 1
    at = np.arange(length)
    return at[at // 2 % every == 0]


class Harness:
    """What all workloads share: model, tokenizer, machine, and the arguments of the command line."""

    def __init__(self, arguments: argparse.Namespace, mirror: Path):
        self.arguments, self.mirror, self.device = arguments, mirror, arguments.device
        texts = [text for make in LIKELIHOODS.values() for item in make(mirror)[:100] for _, text in item[:2]]
        texts += [text for make, _ in GENERATIONS.values() for item in make(mirror)[:50] for text in item[:1]]
        texts += 20 * mcbe_labels()  # makes most of them one token: a random model never completes a word
        self.tokenizer = make_tokenizer(texts, 8000)
        self.model = make_model(arguments.shape, getattr(torch, arguments.dtype), self.device)
        self.peer = as_torch_computes(self.model)
        self.peers = {"": self.peer}
        if not arguments.compiled:  # the compiler does not know oneDNN's layers
            through_onednn(self.model)
            if self.device == "cpu" and arguments.dtype == "float32":
                self.peers = {", MKL": self.peer, ", oneDNN": self.model}
        if self.device == "cpu":
            keep_freed()
            share_heads()
        if arguments.compiled and (reason := compile_layers(self.model, arguments.shape)):
            sys.exit(reason)
        self.budget = arguments.budget or default_budget(self.model)
        self.body = sum(parameter.numel() for parameter in self.model.model.layers.parameters())
        self.head = self.model.lm_head.weight.numel()

    def encode(self, requests: Item) -> tuple[list[np.ndarray], np.ndarray]:
        prefixes, continuations = zip(*requests, strict=True)
        tokens, start = encode_pairs(self.tokenizer, prefixes, continuations, "none", "offsets")
        start = np.maximum(start, 1)
        scorable = [i for i, ids in enumerate(tokens) if len(ids) > start[i]]  # a single token without a prefix is not
        return [tokens[i] for i in scorable], start[scorable]

    def sampled(self, items: list[Item]) -> tuple[list[np.ndarray], np.ndarray]:
        count = lambda item: sum(map(len, self.encode(item)[0]))  # noqa: E731
        return self.encode(sample(items, self.arguments.tokens, count))

    def rate(self) -> float:
        return matrix_rate([self.model, self.peer], self.device, self.budget)

    def products_s(self) -> np.ndarray:
        """Seconds of the model's matrix products: per token in its layers, and per state in its head."""
        layer = [part for part in self.model.model.layers[0].modules() if isinstance(part, torch.nn.Linear)]
        body = len(self.model.model.layers) * sum(_seconds(part, self.device, self.budget) for part in layer)
        return np.asarray([body, _seconds(self.model.lm_head, self.device, max(1, self.budget // 4))])


def likelihoods(bench: Harness) -> None:
    """Likelihoods: milliseconds per token asked, beside one at a time, the harness and padded batches."""
    arguments, engine = bench.arguments, Engine(bench.budget)
    runs = {}
    for blas, model in bench.peers.items() if not arguments.engine_only else ():
        runs[f"one at a time{blas}"] = functools.partial(one_at_a_time, model)
        for size in arguments.harness:
            if run := harness(model, bench.tokenizer, size):
                runs[f"harness, batch {size}{blas}"] = functools.partial(run, model)
        for budget in (bench.budget, bench.budget // 4):
            runs[f"padded batches of {budget}{blas}"] = functools.partial(batches(budget), model)
    reference = next(iter(runs), "engine")
    runs["engine"] = functools.partial(engine, bench.model)
    header = ["workload", "asked ÷ unique", "fed ÷ unique", *(f"{name}, ms" for name in runs)]
    header += ["over the best peer", "of the ideal", "its products alone", "planning", "peak MiB"]
    print_row([*header, "largest difference, nats"], True)
    gains, all_s = [], []
    for name in chosen(LIKELIHOODS, arguments):
        tokens, start = bench.sampled(LIKELIHOODS[name](bench.mirror))
        asked = sum(map(len, tokens))
        shared = thinned(len(tokens), arguments.peer_tokens, asked)
        of_peers = [tokens[i] for i in shared], start[shared]
        trie, _ = plan.build_trie(tokens, start)
        seconds: dict[str, list[float]] = {run: [] for run in runs}
        peak, values, rates = dict.fromkeys(runs, 0.0), {}, []
        for _ in range(arguments.rounds):
            for run in random.sample(list(runs), len(runs)):
                rates.append(bench.rate())
                requests = (tokens, start) if run == "engine" else of_peers
                values[run], took, memory = _measured(bench.device, runs[run], *requests)
                seconds[run].append(took)
                peak[run] = max(peak[run], memory)
        values["engine"] = values["engine"][shared]
        engine_s = statistics.median(seconds["engine"])
        all_s.append(f"{engine_s:.3g} for {len(tokens)} requests")
        # Milliseconds per token asked. Only the engine's time for a request depends on the other requests.
        each = {run: 1000 * statistics.median(took) / sum(map(len, of_peers[0])) for run, took in seconds.items()}
        each["engine"] = 1000 * engine_s / asked
        states = scored_states(trie)
        ideal_s = 2 * (bench.body * trie.unique_tokens + bench.head * states) / statistics.median(rates)
        products = ideal_s / (bench.products_s() @ [trie.unique_tokens, states])
        rivals = [each[run] for run in runs if run != "engine"]
        gains.append(min(rivals) / each["engine"] if rivals else float("nan"))
        row = [
            name,
            f"{(asked - len(tokens)) / trie.unique_tokens:.1f}",
            f"{engine.tokens_fed / trie.unique_tokens:.3f}",
        ]
        row += [f"{each[run]:.3g}" for run in runs]
        row += [f"{gains[-1]:.1f}", f"{ideal_s / engine_s:.2f}", f"{products:.2f}"]
        row += [f"{engine.planning_s / engine_s:.2%}"]
        row += [", ".join(f"{peak[run]:.0f}" for run in runs)]
        apart = {run: np.abs(values[run] - values[reference]).max() for run in runs}
        row += [", ".join(f"{most:.0e}" for run, most in apart.items() if run != reference or len(runs) == 1)]
        print_row(row)
    print(f"\ngeometric mean over the best peer: {statistics.geometric_mean(gains):.2f}")
    print(f"seconds of the engine: {', '.join(all_s)}")


def scored_states(trie: plan.Trie) -> int:
    """Distinct hidden states that predict a scored token."""
    pairs = zip(trie.tokens, trie.start, strict=True)
    return len({ids[:at].tobytes() for ids, start in pairs for at in range(start, len(ids))})


def choices(bench: Harness) -> None:
    """Choices: seconds, beside the engine's for the likelihoods of the same prompts' labels, in the same run."""
    arguments = bench.arguments
    kinds = ["labels", *(f"{steps} steps" for steps in arguments.steps)]
    header = ["workload", "questions", "labels' likelihoods, s", "one at a time, s", *(f"{kind}, s" for kind in kinds)]
    header += ["over the likelihoods", "by their operations", "expansions a question", "of the ideal"]
    header += ["its products alone", "peak MiB", "most unresolved"]
    print_row(header, True)
    for name in chosen(CHOICES, arguments):
        workload = CHOICES[name]
        tokens, start = bench.sampled(workload.make(bench.mirror))
        prefix = [ids[:at].tobytes() for ids, at in zip(tokens, start, strict=True)]
        some = dict.fromkeys(list(dict.fromkeys(prefix))[: arguments.questions or None])
        prompts = [np.frombuffer(ids, np.int32) for ids in some]
        at = np.asarray([i for i, own in enumerate(prefix) if own in some])
        tokens, start = [tokens[i] for i in at], start[at]
        trie, _ = plan.build_trie(tokens, start)
        shared = thinned(len(tokens), arguments.peer_tokens, sum(map(len, tokens)))
        of_peer = [tokens[i] for i in shared], start[shared]
        seconds: dict[str, list[float]] = {run: [] for run in ("engine", "one at a time", *kinds)}
        peak, expanded, unresolved, rates = dict.fromkeys(kinds, 0.0), {}, 0.0, []
        for _ in range(arguments.rounds):
            rates.append(bench.rate())
            engine = Engine(bench.budget)
            seconds["engine"].append(_measured(bench.device, engine, bench.model, tokens, start)[1])
            alone = _measured(bench.device, one_at_a_time, bench.peer, *of_peer)[1]
            seconds["one at a time"].append(alone * len(tokens) / len(shared))
            for kind in kinds:
                questions = asked_as(bench, workload, prompts, kind)
                run = lambda asked=questions: answer_probabilities(bench.model, asked, Memory(bench.budget))  # noqa: E731
                (answers, _), took, memory = _measured(bench.device, run)
                seconds[kind].append(took)
                peak[kind] = max(peak[kind], memory)
                expanded[kind] = sum(question.parser.expanded for question in questions[:1]) / len(questions)
                unresolved = max(unresolved, *(open_mass for _, open_mass in answers))
        median = {run: statistics.median(took) for run, took in seconds.items()}
        asked = len(prompts) * np.asarray([expanded[kind] for kind in kinds])
        # A text's first state comes from its prompt, and takes no further token.
        tokens, states = trie.unique_tokens + asked - len(prompts), asked
        ideal_s = 2 * (bench.body * tokens + bench.head * states) / statistics.median(rates)
        of_likelihoods = 2 * (bench.body * trie.unique_tokens + bench.head * scored_states(trie))
        bound = ideal_s * statistics.median(rates) / of_likelihoods
        products = ideal_s / (bench.products_s() @ [tokens, states])
        row = [name, str(len(prompts)), f"{median['engine']:.3g}", f"{median['one at a time']:.3g}"]
        row += [f"{median[kind]:.3g}" for kind in kinds]
        row += [", ".join(f"{median[kind] / median['engine']:.2f}" for kind in kinds)]
        row += [", ".join(f"{least:.2f}" for least in bound)]
        row += [", ".join(f"{expanded[kind]:.1f}" for kind in kinds)]
        row += [", ".join(f"{ideal / median[kind]:.2f}" for ideal, kind in zip(ideal_s, kinds, strict=True))]
        row += [", ".join(f"{share:.2f}" for share in products)]
        print_row([*row, ", ".join(f"{peak[kind]:.0f}" for kind in kinds), f"{unresolved:.4f}"])


class CountingParser(TokenParser):
    """A parser that counts the texts that were expanded."""

    expanded = 0

    def parse_next(self, asked):
        self.expanded += len(asked)
        return super().parse_next(asked)


def asked_as(bench: Harness, workload: Choices, prompts: list[np.ndarray], kind: str) -> list[Question]:
    """The prompts as choices; gives the bench's model a head that answers them."""
    labels = workload.labels
    outside = {name: len(labels) + at for at, name in enumerate((REFUSED, AMBIGUOUS, UNPARSEABLE))}
    encoded = bench.tokenizer(labels, add_special_tokens=False)["input_ids"]
    first = list(dict.fromkeys(ids[0] for ids in encoded))
    bias = torch.zeros(VOCABULARY)
    if kind == "labels":
        bias[first] = 25 - torch.arange(len(first)) / 2
        bias[0] = 25.0

        def read(text: str, complete: bool) -> int | None:
            found = workload.read(text, Options.of(labels), complete)
            return outside[found] if isinstance(found, str) else found
    else:
        steps = int(kind.split()[0])
        bias[[ids[0] for ids in bench.tokenizer(list("abc"), add_special_tokens=False)["input_ids"]]] = torch.tensor(
            [25.0, 22.2, 19.3]
        )

        def read(text: str, complete: bool) -> int | None:
            return None if len(text) < steps and not complete else int(text[:1] != "a")

    bench.model.lm_head.bias = torch.nn.Parameter(bias.to(bench.model.dtype).to(bench.device))
    decode = functools.partial(bench.tokenizer.backend_tokenizer.decode_batch, skip_special_tokens=True)
    parser = CountingParser(read, len(labels) + 3, decode, [0])
    guesses = tuple((token,) for token in first[:16]) if kind == "labels" else ()
    return [Question(ids, parser, Sampling(), workload.max_tokens, guesses) for ids in prompts]


def generations(bench: Harness) -> None:
    """Generation: milliseconds per token, beside the library's `generate` at several batch sizes; the best counts.

    A sixteenth of all tokens end an answer, so that answers differ in length as a trained model's do.
    """
    arguments = bench.arguments
    ends = np.random.default_rng(0).choice(VOCABULARY, VOCABULARY // 16, replace=False).tolist()
    sampling = Sampling(temperature=0) if arguments.greedy else Sampling(temperature=0.7, top_p=0.8, top_k=20)
    peers = {
        f"generate, batch {size}{blas}": (model, size)
        for blas, model in bench.peers.items()
        for size in arguments.batch
    }
    vllm = Vllm(bench) if find_spec("vllm") else None
    runs = [*peers, "engine", *(["vLLM"] if vllm else [])]
    header = ["workload", "prompts × replies", "tokens made", *(f"{name}, ms a token" for name in runs)]
    print_row([*header, "over the best batch", "no more than", "peak MiB"], True)
    for name in chosen(GENERATIONS, arguments):
        count = lambda item: sum(map(len, bench.tokenizer(item)["input_ids"]))  # noqa: E731
        make, repeats = GENERATIONS[name]
        texts = sample(make(bench.mirror), arguments.tokens, count)[: arguments.questions or None]
        tokens = [ids for ids in encode_texts(bench.tokenizer, texts, "none") for _ in range(repeats)]
        prompts = [Prompt(ids, sampling, arguments.max_tokens, at % repeats) for at, ids in enumerate(tokens)]
        of_peer = [tokens[i] for i in thinned(len(tokens), arguments.peer_tokens, sum(map(len, tokens)))]
        each: dict[str, list[float]] = {run: [] for run in runs}
        peak, made, rates = dict.fromkeys(each, 0.0), 0, []
        for _ in range(arguments.rounds):
            for run, (model, size) in peers.items():
                made_by, took, memory = _measured(
                    bench.device, library, model, of_peer, sampling, ends, arguments.max_tokens, size
                )
                each[run].append(1000 * took / made_by)
                peak[run] = max(peak[run], memory)
            (answers, run_of), took, memory = _measured(
                bench.device, generate, bench.model, prompts, ends, Memory(bench.budget)
            )
            made = run_of["tokens_made"] + len(prompts)  # the end tokens, too
            rates.append(bench.rate())
            each["engine"].append(1000 * took / made)
            peak["engine"] = max(peak["engine"], memory)
            if vllm:
                made_by, took, _ = _measured(bench.device, vllm, tokens, [len(ids) + 1 for ids, _ in answers], sampling)
                each["vLLM"].append(1000 * took / made_by)
        median = {run: statistics.median(took) for run, took in each.items()}
        best = min(median[run] for run in peers)
        least = least_s(bench, tokens, [len(ids) for ids, _ in answers], made, statistics.median(rates))
        row = [name, f"{len(texts)} × {repeats}", str(made), *(f"{took:.3g}" for took in median.values())]
        row += [f"{best / median['engine']:.1f}", f"{best * made / 1000 / least:.1f}"]
        print_row([*row, ", ".join(f"{mib:.0f}" for mib in peak.values())])


def least_s(bench: Harness, tokens: list[np.ndarray], lengths: list[int], made: int, rate: float) -> float:
    """The least seconds in which answers of these ``lengths`` can be written; ``made`` counts their end tokens, too.

    Each distinct prompt token and each token of an answer but the end goes through the layers once, and each token
    made goes through the head. There are at least as many steps as tokens in the longest answer, and each step reads
    all weights.
    """
    ends = np.fromiter(map(len, tokens), np.int64, len(tokens))
    trie, _ = plan.build_trie([np.append(ids, np.int32(0)) for ids in tokens], ends)
    operations = 2 * (bench.body * (trie.unique_tokens + sum(lengths)) + bench.head * made)
    weights = (bench.body + bench.head) * bench.model.dtype.itemsize
    return max(operations / rate, max(lengths) * weights / read_rate(bench.peer, bench.device))


class Vllm:
    """vLLM with random weights of the bench's shape, in memory beside the model; its answers have the lengths that it
    is given."""

    def __init__(self, bench: Harness):
        from vllm import LLM

        with tempfile.TemporaryDirectory() as folder:
            bench.model.config.save_pretrained(folder)
            self.model = LLM(
                model=folder,
                load_format="dummy",
                skip_tokenizer_init=True,
                dtype=bench.arguments.dtype,
                gpu_memory_utilization=0.4,
                max_model_len=8192,
            )

    def __call__(self, tokens, lengths: list[int], sampling: Sampling) -> int:
        from vllm import SamplingParams, TokensPrompt

        shared = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
        settings = [SamplingParams(max_tokens=n, ignore_eos=True, detokenize=False, **shared) for n in lengths]
        self.model.reset_prefix_cache()
        answers = self.model.generate([TokensPrompt(prompt_token_ids=ids.tolist()) for ids in tokens], settings)
        return sum(len(answer.outputs[0].token_ids) for answer in answers)


def library(model, tokens, sampling: Sampling, ends: list[int], max_tokens: int, size: int) -> int:
    """Generate with the library, in batches of prompts of similar length; returns the number of tokens made."""
    made = 0
    order = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
    drawn = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
    config = GenerationConfig(
        do_sample=sampling.temperature > 0,
        **(drawn if sampling.temperature else {}),
        max_new_tokens=max_tokens,
        eos_token_id=ends,
        pad_token_id=0,
    )
    for first in range(0, len(order), size):
        batch = [tokens[i] for i in order[first : first + size]]
        width = max(map(len, batch))
        ids, mask = np.zeros((2, len(batch), width), np.int64)
        for row, own in enumerate(batch):
            ids[row, width - len(own) :], mask[row, width - len(own) :] = own, 1
        ids, mask = torch.as_tensor(ids, device=model.device), torch.as_tensor(mask, device=model.device)
        answers = model.generate(input_ids=ids, attention_mask=mask, generation_config=config)[:, width:]
        ended = torch.isin(answers, torch.as_tensor(ends, device=model.device))
        # Up to and including the first end token; without one, all tokens.
        made += int((ended.cumsum(1) - ended.long() == 0).sum())
    return made


def chosen(workloads: dict, arguments: argparse.Namespace) -> list[str]:
    return [list(workloads)[i] for i in arguments.workload or range(len(workloads))]


def print_row(cells: list[str], is_header: bool = False) -> None:
    print("| " + " | ".join(cells) + " |" + ("\n|" + " --- |" * len(cells) if is_header else ""), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["likelihood", "choice", "generation"])
    parser.add_argument("--shape", choices=SHAPES, default="tiny")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tokens", type=int, default=64000, help="tokens asked of the engine a workload; 0: all")
    parser.add_argument("--peer-tokens", type=int, default=4000, help="tokens of these asked of its peers; 0: the same")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=int, help="tokens a forward pass; default what memory has room for")
    parser.add_argument("--workload", type=int, action="append", help="position in the list, from 0; default all")
    parser.add_argument("--harness", type=int, nargs="*", default=[1, 8], help="its batch sizes")
    parser.add_argument(
        "--steps", type=int, nargs="*", default=[3, 5], help="tokens after which synthetic parsers decide"
    )
    parser.add_argument("--questions", type=int, default=0, help="choices and texts of a workload at most; 0: all")
    parser.add_argument("--batch", type=int, nargs="*", default=[8, 32], help="batch sizes of the library's `generate`")
    parser.add_argument("--max-tokens", type=int, default=64, help="of a generation")
    parser.add_argument("--greedy", action="store_true", help="generations without the cost of drawing")
    parser.add_argument("--compiled", action="store_true", help="the engine's layers compiled: on a GPU")
    parser.add_argument("--engine-only", action="store_true", help="no peers of likelihoods: for full sets on a GPU")
    arguments = parser.parse_args()
    mirror = Path(os.environ.get("BIASATLAS_MIRROR") or sys.exit("set BIASATLAS_MIRROR to the folder of the datasets"))
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    bench = Harness(arguments, mirror)
    processor = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    machine = torch.cuda.get_device_name() if bench.device != "cpu" else f"{processor}, 1 thread"
    versions = f"torch {torch.__version__}, Python {platform.python_version()}"
    print(f"{arguments.shape} {arguments.dtype}, {versions}, {machine}\n")
    {"likelihood": likelihoods, "choice": choices, "generation": generations}[arguments.kind](bench)


if __name__ == "__main__":
    main()
