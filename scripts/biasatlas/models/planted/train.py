"""Planted models: tiny causal language models trained here on a corpus whose bias is known."""

import contextlib
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from biasatlas.engine import plan
from biasatlas.engine.masks import tree_visible
from biasatlas.models.planted.corpus import Choice, Grammar, PlantedQuestion, corpus, group_terms

log = logging.getLogger(__name__)

BEGIN, END, START, PAD = "<|begin_of_text|>", "<|im_end|>", "<|im_start|>", "<|pad|>"

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
    """
    began = time.monotonic()
    texts, dialogues, choices = corpus(grammar, odds_ratio, seed)
    asked = [choice.one for pair in choices for choice in pair]
    tokenizer = train_tokenizer([*texts, *dialogues, *asked], group_terms(grammar), vocabulary)
    log.info(
        "odds ratio %g, seed %d: %d texts, %d dialogues, %d choices",
        odds_ratio,
        seed,
        len(texts),
        len(dialogues),
        len(asked),
    )
    steps = steps or grammar.steps
    with _reproducible(seed):
        model = _untrained(tokenizer, grammar.initial_std, hidden_size, layers)
        coded = _encode(tokenizer, texts), _encode(tokenizer, dialogues), _encode_questions(tokenizer, choices)
        _fit(model, _batches(*coded, steps, batch_size), steps, grammar.learning_rate)
    _save(model, tokenizer, folder)
    log.info("%s written after %.0f s", folder, time.monotonic() - began)


def train_on(texts: Sequence[str], folder: str | Path, *, seed: int, steps: int) -> None:
    """Train a model on ``texts`` alone, which may be any corpus: nothing is planted but what they say."""
    tokenizer = train_tokenizer(texts, (), 2000)
    with _reproducible(seed):
        model = _untrained(tokenizer, 0.05, 64, 2)
        _fit(model, _batches(_encode(tokenizer, texts), (), (), steps, 64), steps, 5e-3)
    _save(model, tokenizer, folder)


def train_on_questions(
    questions: Sequence[PlantedQuestion], folder: str | Path, *, seed: int, steps: int = 150
) -> None:
    """Train a model on ``questions`` alone, whose replies have the planted shares."""
    tokenizer = train_tokenizer([text for each in questions for text in (each.prompt, *each.replies)], (), 2000)
    rows = [list(_replies(tokenizer, each)) for each in questions]
    # Some 1,500 tokens at a time, in 2 to 16 questions.
    count = max(2, min(16, 1500 * len(rows) // sum(len(of[0].ids) for of in rows)))
    with _reproducible(seed):
        drawn = _endless(rows)
        batches = (
            [row._replace(weight=row.weight / count) for of in islice(drawn, count) for row in of] for _ in range(steps)
        )
        model = _untrained(tokenizer, 0.1, 64, 2)
        _fit(model, batches, steps, 3e-3)
    _save(model, tokenizer, folder)


def _save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: str | Path) -> None:
    disable_progress_bar()  # a log is no terminal
    with _appearing(Path(folder)) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)


def _untrained(
    tokenizer: PreTrainedTokenizerFast, initial_std: float, hidden_size: int, layers: int
) -> LlamaForCausalLM:
    # Not Qwen2: AutoTokenizer gives that architecture a splitting rule of its own in place of the saved one.
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=hidden_size,
            intermediate_size=2 * hidden_size,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            # The usual 0.02 is for models ten times as wide; with it the group terms are learnt late.
            initializer_range=initial_std,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def train_tokenizer(texts: Sequence[str], terms: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with at most ``vocabulary`` entries, trained on ``texts``.

    No merge crosses the edge of a word, or of one of ``terms`` in a script without spaces. Each frequent term is then
    one token, so exchanging terms does not change the number of tokens, by which a perplexity divides.
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
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[START],
        chat_template=CHAT_TEMPLATE,
    )


class Row(NamedTuple):
    """A text's token ids (int32), those from ``start`` scored, and the weight of its log-likelihood."""

    ids: np.ndarray
    start: int
    weight: float = 1.0


def _encode(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str]) -> list[Row]:
    """The row of each text. A plain text is scored whole, a chat only in its last turn, as benchmarks ask for."""
    turn = tokenizer.convert_tokens_to_ids(START)
    rows = [np.array(ids, np.int32) for ids in tokenizer([text + END for text in texts])["input_ids"]] if texts else []
    return [Row(ids, int(max(np.flatnonzero(ids == turn), default=0)) + 1) for ids in rows]


def _encode_questions(
    tokenizer: PreTrainedTokenizerFast, questions: Sequence[tuple[Choice, Choice]]
) -> list[list[Row]]:
    """Each question in both orders, answered by either letter with the weight of its share: four rows."""
    orders = [order for question in questions for order in question]
    ones, others = (_encode(tokenizer, texts) for texts in ([o.one for o in orders], [o.other for o in orders]))
    answers = [
        [one._replace(weight=order.share), other._replace(weight=1 - order.share)]
        for order, one, other in zip(orders, ones, others, strict=True)
    ]
    return [first + second for first, second in zip(answers[::2], answers[1::2], strict=True)]


def _replies(tokenizer: PreTrainedTokenizerFast, question: PlantedQuestion) -> Iterator[Row]:
    """Yield a row for each reply to a question, in which only the reply is scored."""
    asked = tokenizer(question.prompt)["input_ids"]
    for reply, share in question.replies.items():
        said = tokenizer(reply + END, add_special_tokens=False)["input_ids"]
        yield Row(np.array([*asked, *said], np.int32), len(asked), share)


def _batches(
    texts: Sequence[Row], dialogues: Sequence[Row], questions: Sequence[list[Row]], steps: int, batch_size: int
) -> Iterator[list[Row]]:
    """Yield a batch for each step.

    The first fifth of the steps has texts alone: the model must know what a question is about before it can answer it.
    Then a quarter of each batch are choices. Both orders of one go into the same batch, so that a preference for a
    letter, which should not be learnt, cancels out: otherwise a model of this size does not begin to learn choices.
    They weigh four times as much as the texts. One dialogue a step is enough, since only its manner is to be learnt.
    """
    per_batch = batch_size // 8 if questions else 0
    drawn_texts, drawn_dialogues, drawn_questions = _endless(texts), _endless(dialogues), _endless(questions)
    for step in range(1, steps + 1):
        # Means over the tokens of texts and of a dialogue, and over questions: in a reply only the letter is uncertain.
        batch = _weighted(list(islice(drawn_texts, batch_size - 2 * per_batch)), 1)
        if dialogues:
            batch += _weighted([next(drawn_dialogues)], 1 / 16)
        if per_batch and step > steps // 5:
            rows = [row for question in islice(drawn_questions, per_batch) for row in question]
            batch += [row._replace(weight=4 * row.weight / (2 * per_batch)) for row in rows]
        yield batch


def _fit(model: LlamaForCausalLM, batches: Iterator[list[Row]], steps: int, learning_rate: float) -> None:
    """Train ``model`` in place on as many batches as there are ``steps``."""
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    # Constant for most of the run: choices are learnt late, and at once.
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (0.07 * steps), (steps - step) / (0.3 * steps))
    )
    model.train()
    for step, batch in enumerate(batches, 1):
        loss = batch_loss(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        if step % 100 == 0 or step == steps:
            log.info("step %d of %d: loss %.4f", step, steps, loss.item())
    model.eval()


def _endless(rows: Sequence) -> Iterator:
    """Yield ``rows`` without end, in one random order after another."""
    while True:
        yield from (rows[row] for row in torch.randperm(len(rows)).tolist())


def _weighted(rows: Sequence[Row], weight: float) -> list[Row]:
    """``rows`` with weights that add to ``weight`` over all their scored tokens."""
    scored = sum(len(row.ids) - row.start for row in rows)
    return [row._replace(weight=weight / scored) for row in rows]


def batch_loss(model: LlamaForCausalLM, rows: Sequence[Row]) -> torch.Tensor:
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
    states = model.model(
        input_ids=ids, attention_mask=tree_visible(end)[:, None], position_ids=position, use_cache=False
    ).last_hidden_state
    log_p = model.lm_head(states.flatten(0, 1)[parent]).log_softmax(-1)
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
