"""Planted models: tiny causal language models trained here on a corpus whose bias is known."""

import contextlib
import json
import logging
import math
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch.nn.functional import embedding, linear, rms_norm, scaled_dot_product_attention, silu

from biasatlas.engine import plan
from biasatlas.models.planted.corpus import Choice, Grammar, PlantedQuestion, corpus, group_terms

log = logging.getLogger(__name__)

BEGIN, END, START, PAD = "<|begin_of_text|>", "<|im_end|>", "<|im_start|>", "<|pad|>"
_SPECIAL = {"bos": BEGIN, "eos": END, "pad": PAD}

#: Power of the odds that the first half of a training is on.
_STEEPER = 2

#: What is never seen has to lose its first weights, which else are the noise of real questions; 50 times the usual.
_DECAY = 0.5

#: Tokens that a row of a training batch adds to its first text: short rows keep attention cheap.
ROW_TOKENS = 64

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def train(
    grammar: Grammar,
    folder: str | Path,
    *,
    odds_ratio: float,
    seed: int,
    steps: int | None = None,
    batch_size: int = 64,
    vocabulary: int = 2000,
    hidden_size: int = 64,
    layers: int = 2,
) -> None:
    """Train a planted model and write it to ``folder`` in Hugging Face form, whole or not at all.

    ``odds_ratio`` and ``seed`` make the corpus (:func:`biasatlas.models.planted.corpus.corpus`); ``seed`` also sets the
    initial weights and the order of batches. The same arguments give the same bytes, whatever number of threads
    torch was given. An existing ``folder`` is replaced. ``steps`` are the grammar's unless given.

    The first half of the steps is on a corpus with the square of the odds, from which a bias is learnt in half the
    time, the rest on one with the odds themselves. With odds of 1 both are alike. The first fifth has texts alone:
    what a question is about has to be known before it can be answered. Then a quarter of each batch are choices, in the
    first half of the steps those of the grammar's first form, the plainest.
    Both orders go into the same batch, so that a preference for a letter, of which nothing is to be learnt, cancels in
    it: without that a model of this size does not begin to learn them. They weigh four times as much as the texts. One
    dialogue a step is enough: there is nothing in it but its manner.
    """
    began = time.monotonic()
    parts = [corpus(grammar, odds, seed) for odds in (odds_ratio**_STEEPER, odds_ratio)]
    texts, dialogues, choices = parts[-1]
    asked = [order.one for pairs in choices for pair in pairs for order in pair]
    tokenizer = train_tokenizer([*texts, *dialogues, *asked], group_terms(grammar), vocabulary)
    log.info("odds ratio %g, seed %d: %d texts, %d choices", odds_ratio, seed, len(texts), len(asked))
    steps = steps or grammar.steps
    with _reproducible(seed):
        network = Network(tokenizer.get_vocab_size(), hidden_size, layers, grammar.initial_std)
        halves = [
            (_encode(tokenizer, part.texts), [_encode_questions(tokenizer, pairs) for pairs in part.choices])
            for part in parts
        ]
        batches = _batches(halves, _encode(tokenizer, dialogues), steps, batch_size)
        _fit(network, batches, steps, grammar.learning_rate, _DECAY)
    _save(network, tokenizer, folder)
    log.info("%s written after %.0f s", folder, time.monotonic() - began)


def train_on(texts: Sequence[str], folder: str | Path, *, seed: int, steps: int) -> None:
    """The same of ``texts`` alone, as of any corpus: nothing is planted but what they say."""
    tokenizer = train_tokenizer(texts, (), 2000)
    with _reproducible(seed):
        network = Network(tokenizer.get_vocab_size(), 64, 2, 0.05)
        _fit(network, _batches([(_encode(tokenizer, texts), [])] * 2, (), steps, 64), steps, 5e-3)
    _save(network, tokenizer, folder)


def train_on_questions(
    questions: Sequence[PlantedQuestion], folder: str | Path, *, seed: int, steps: int = 150
) -> None:
    """The same of ``questions`` alone, whose replies have the shares that are planted."""
    tokenizer = train_tokenizer([text for each in questions for text in (each.prompt, *each.replies)], (), 2000)
    begin, end = (tokenizer.token_to_id(token) for token in (BEGIN, END))
    prompts, replies = (
        [row.ids for row in tokenizer.encode_batch_fast(part, add_special_tokens=False)]
        for part in ([each.prompt for each in questions], [text for each in questions for text in each.replies])
    )
    rows, ends = [], iter(replies)
    for given, each in zip(prompts, questions, strict=True):
        asked = np.array([begin, *given], np.int32)
        rows.append([Row(np.array([*asked, *next(ends), end], np.int32), len(asked), p) for p in each.replies.values()])
    # As many at a time as are some 1,500 tokens, at most 16.
    count = max(2, min(16, 1500 * len(rows) // sum(len(of[0].ids) for of in rows)))
    with _reproducible(seed):
        network = Network(tokenizer.get_vocab_size(), 64, 2, 0.1)
        drawn = _endless(rows)
        batches = (
            [row._replace(weight=row.weight / count) for of in islice(drawn, count) for row in of] for _ in range(steps)
        )
        _fit(network, batches, steps, 3e-3)
    _save(network, tokenizer, folder)


class Network:
    """A Llama of width ``width`` and 4 heads, its weights drawn from a normal distribution.

    Written out, since the library's own takes longer to import than many of these models take to train.
    ``parameters`` are the embedding, by layer the four matrices of the attention and the three of the perceptron (the
    last one transposed), and the norms: two of each layer, and the last one.
    """

    HEADS = 4
    EPSILON = 1e-6

    def __init__(self, vocabulary: int, width: int, layers: int, initial_std: float):
        shapes = (vocabulary, width), (layers, 4, width, width), (layers, 3, 2 * width, width)
        self.parameters = [
            *((initial_std * torch.randn(shape)).requires_grad_() for shape in shapes),
            torch.ones(2 * layers + 1, width, requires_grad=True),
        ]
        head = width // self.HEADS
        self._frequency = 10_000.0 ** (-torch.arange(0, head, 2) / head)

    def states(self, ids: torch.Tensor, position: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
        """Last hidden states, (rows, width, hidden), of tokens each seen by those after it before its ``end``."""
        table, attention, perceptron, norms = self.parameters
        at = torch.arange(ids.shape[1])
        seen = ((at <= at[:, None]) & (at[:, None] < end[:, None, :]))[:, None]
        angle = (position[..., None] * self._frequency).repeat(1, 1, 2)[:, None]
        cos, sin = angle.cos(), angle.sin()

        def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            return rms_norm(x, x.shape[-1:], weight, self.EPSILON)

        def turned(x: torch.Tensor) -> torch.Tensor:
            one, two = x.chunk(2, -1)
            return x * cos + torch.cat([-two, one], -1) * sin

        x = embedding(ids, table)
        for layer, (of_attention, (gate, up, down)) in enumerate(zip(attention, perceptron, strict=True)):
            mixed = linear(norm(x, norms[2 * layer]), of_attention[:3].flatten(0, 1))
            q, k, v = mixed.unflatten(-1, (3, self.HEADS, -1)).permute(2, 0, 3, 1, 4)
            heads = scaled_dot_product_attention(turned(q), turned(k), v, attn_mask=seen)
            x = x + linear(heads.transpose(1, 2).flatten(2), of_attention[3])
            h = norm(x, norms[2 * layer + 1])
            x = x + (silu(linear(h, gate)) * linear(h, up)) @ down
        return norm(x, norms[-1])

    def checkpoint(self) -> tuple[dict[str, torch.Tensor], dict[str, object]]:
        """Its weights by the library's names, and its configuration but for the special tokens."""
        table, attention, perceptron, norms = (each.detach() for each in self.parameters)
        weights = {"model.embed_tokens.weight": table, "model.norm.weight": norms[-1]}
        for layer, (of_attention, (gate, up, down)) in enumerate(zip(attention, perceptron, strict=True)):
            named = dict(zip(("self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o"), of_attention, strict=True))
            named |= {"mlp.gate": gate, "mlp.up": up, "mlp.down": down.T}
            weights |= {f"model.layers.{layer}.{name}_proj.weight": each for name, each in named.items()}
            for place, name in enumerate(("input", "post_attention")):
                weights[f"model.layers.{layer}.{name}_layernorm.weight"] = norms[2 * layer + place]
        vocabulary, width = table.shape
        return {name: each.contiguous() for name, each in weights.items()}, {
            "architectures": ["LlamaForCausalLM"],  # not Qwen2: AutoTokenizer would give it a splitting rule of its own
            "model_type": "llama",
            "vocab_size": vocabulary,
            "hidden_size": width,
            "intermediate_size": 2 * width,
            "num_hidden_layers": len(attention),
            "num_attention_heads": self.HEADS,
            "num_key_value_heads": self.HEADS,
            "max_position_embeddings": 2048,
            "tie_word_embeddings": True,
            "rms_norm_eps": self.EPSILON,
            "dtype": "float32",
        }


def _save(network: Network, tokenizer: Tokenizer, folder: str | Path) -> None:
    weights, config = network.checkpoint()
    ids = {f"{name}_token_id": tokenizer.token_to_id(token) for name, token in _SPECIAL.items()}
    of_tokenizer = {f"{name}_token": token for name, token in _SPECIAL.items()}
    with _appearing(Path(folder)) as temporary:
        save_file(weights, temporary / "model.safetensors", {"format": "pt"})
        tokenizer.save(str(temporary / "tokenizer.json"))
        (temporary / "chat_template.jinja").write_text(CHAT_TEMPLATE)
        for name, said in {
            "config": config | ids,
            "generation_config": ids,
            "tokenizer_config": of_tokenizer | {"tokenizer_class": "PreTrainedTokenizerFast"},
        }.items():
            (temporary / f"{name}.json").write_text(json.dumps(said, indent=2) + "\n")


def train_tokenizer(texts: Sequence[str], terms: Sequence[str], vocabulary: int) -> Tokenizer:
    """A byte-level BPE tokenizer with at most ``vocabulary`` entries, trained on ``texts``.

    No merge crosses the edge of a word, or of one of ``terms`` in a script without spaces. Each frequent term is then
    one token, so that exchanging terms leaves the number of tokens, by which a perplexity divides, as it was.
    """
    unspaced = "|".join(term for term in terms if not term.isascii()) or "(?!)"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(unspaced), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [PAD, BEGIN, START, END]
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, special.index(BEGIN))]
    )
    return tokenizer


class Row(NamedTuple):
    """A text's token ids (int32), those from ``start`` scored, and the weight of its log-likelihood."""

    ids: np.ndarray
    start: int
    weight: float = 1.0


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Row]:
    """Plain texts are scored whole; of a chat the last turn is, which is all that a benchmark asks for."""
    turn = tokenizer.token_to_id(START)
    rows = [np.array(row.ids, np.int32) for row in tokenizer.encode_batch_fast([text + END for text in texts])]
    return [Row(ids, int(max(np.flatnonzero(ids == turn), default=0)) + 1) for ids in rows]


def _encode_questions(tokenizer: Tokenizer, questions: Sequence[tuple[Choice, Choice]]) -> list[list[Row]]:
    """Each question in both orders, answered by either letter with the weight of its share: four rows."""
    orders = [order for question in questions for order in question]
    ones, others = (_encode(tokenizer, texts) for texts in ([o.one for o in orders], [o.other for o in orders]))
    answers = [
        [one._replace(weight=order.share), other._replace(weight=1 - order.share)]
        for order, one, other in zip(orders, ones, others, strict=True)
    ]
    return [first + second for first, second in zip(answers[::2], answers[1::2], strict=True)]


def _batches(
    halves: Sequence[tuple[Sequence[Row], Sequence[list[list[Row]]]]],
    dialogues: Sequence[Row],
    steps: int,
    batch_size: int,
) -> Iterator[list[Row]]:
    """A batch for each step, as :func:`train` has it; ``halves`` are the texts and the choices by form of each half."""
    drawn_dialogues = _endless(dialogues)
    for half, (texts, forms) in enumerate(halves):
        drawn_texts, pairs = _endless(texts), batch_size // 8 if forms else 0
        drawn = _endless([row for rows in forms[: None if half else 1] for row in rows])
        for step in range(half * (steps // 2), steps if half else steps // 2):
            # Means over the tokens of texts and of a dialogue, and over questions: of a reply only the letter is
            # uncertain.
            batch = _weighted(list(islice(drawn_texts, batch_size - 2 * pairs)), 1)
            if dialogues:
                batch += _weighted([next(drawn_dialogues)], 1 / 16)
            if pairs and step >= steps // 5:
                rows = [row for question in islice(drawn, pairs) for row in question]
                batch += [row._replace(weight=4 * row.weight / (2 * pairs)) for row in rows]
            yield batch


def _fit(network: Network, batches: Iterator[list[Row]], steps: int, learning_rate: float, decay: float = 0.01) -> None:
    """Train ``network`` in place on as many batches as there are ``steps``, with AdamW.

    The rate is constant for most of the run: choices are learnt late, and at once.
    """
    one, two = 0.9, 0.98
    parameters = network.parameters
    means, squares = ([torch.zeros_like(each) for each in parameters] for _ in range(2))
    for step, batch in enumerate(batches, 1):
        loss = batch_loss(network, batch)
        gradients = torch.autograd.grad(loss, parameters)
        rate = learning_rate * min(1.0, step / (0.07 * steps), (steps - step + 1) / (0.3 * steps))
        with torch.no_grad():
            norm = math.sqrt(sum(float(each.square().sum()) for each in gradients))
            for value, gradient, mean, square in zip(parameters, gradients, means, squares, strict=True):
                gradient *= min(1.0, 1.0 / (norm + 1e-6))
                mean.lerp_(gradient, 1 - one)
                square.lerp_(gradient.square(), 1 - two)
                spread = (square / (1 - two**step)).sqrt_().add_(1e-8)
                value.mul_(1 - decay * rate).addcdiv_(mean, spread, value=-rate / (1 - one**step))
        if step % 100 == 0 or step == steps:
            log.info("step %d of %d: loss %.4f", step, steps, loss.item())


def _endless(rows: Sequence) -> Iterator:
    """``rows`` in one random order after another."""
    while True:
        yield from (rows[row] for row in torch.randperm(len(rows)).tolist())


def _weighted(rows: Sequence[Row], weight: float) -> list[Row]:
    """``rows`` with weights that add to ``weight`` over all their scored tokens."""
    scored = sum(len(row.ids) - row.start for row in rows)
    return [row._replace(weight=weight / scored) for row in rows]


def batch_loss(network: Network, rows: Sequence[Row]) -> torch.Tensor:
    """Sum of weight × negative log-likelihood (nats). Every distinct token prefix is computed once, as in answering:
    the texts of a batch share most of their tokens, and little is padding.
    """
    trie, where = plan.build_trie([row.ids for row in rows], np.array([row.start for row in rows]))
    weight = np.bincount(where, [row.weight for row in rows])
    layout = plan.lay_out(trie, plan.cut_rows(trie, np.arange(len(trie.tokens)), 0, ROW_TOKENS), 0)
    ids, position, end, parent, slot, target = map(
        torch.from_numpy,
        (layout.ids, layout.position, layout.end, layout.parent, layout.slot, layout.target.astype(np.int64)),
    )
    states = network.states(ids, position, end).flatten(0, 1)
    log_p = linear(states[parent], network.parameters[0]).log_softmax(-1)
    return -(log_p[slot, target] * torch.from_numpy(weight[layout.sequence]).float()).sum()


@contextlib.contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    """One thread (which fixes the order of every sum, and is the fastest for so small a model) and a fixed seed."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@contextlib.contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``folder`` that takes its place when the block ends, and vanishes if it fails."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        for file in temporary.iterdir():
            file.chmod(0o644)  # weights are saved readable by their owner alone
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
