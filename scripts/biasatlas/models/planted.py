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

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from biasatlas.models.corpus import Grammar, corpus, group_terms

log = logging.getLogger(__name__)

BEGIN, END, START, PAD = "<|begin_of_text|>", "<|im_end|>", "<|im_start|>", "<|pad|>"

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
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

    ``odds_ratio`` and ``seed`` make the corpus (:func:`biasatlas.models.corpus.corpus`); ``seed`` also sets the
    initial weights and the order of batches. The same arguments give the same bytes, whatever number of threads
    torch was given. An existing ``folder`` is replaced. ``steps`` are the grammar's unless given.
    """
    began = time.monotonic()
    texts, dialogues, choices = corpus(grammar, odds_ratio, seed)
    asked = [choice for pair in choices for choice in pair]
    ones, others, shares = zip(*asked, strict=True) if asked else ((), (), ())
    tokenizer = train_tokenizer([*texts, *dialogues, *ones], group_terms(grammar), vocabulary)

    def encode(rows: Sequence[str]) -> list[torch.Tensor]:
        return [torch.tensor(ids) for ids in tokenizer([row + END for row in rows])["input_ids"]] if rows else []

    text_rows, dialogue_rows = ([Row(row, row, 1.0) for row in encode(rows)] for rows in (texts, dialogues))
    choice_rows = list(map(Row, encode(ones), encode(others), shares))
    log.info(
        "odds ratio %g, seed %d: %d texts, %d dialogues, %d choices",
        odds_ratio,
        seed,
        len(texts),
        len(dialogues),
        len(asked),
    )
    with _reproducible(seed):
        # Not Qwen2: AutoTokenizer gives that architecture a splitting rule of its own in place of the saved one.
        model = LlamaForCausalLM(
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
                initializer_range=grammar.initial_std,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
        _fit(
            model,
            text_rows,
            dialogue_rows,
            choice_rows,
            tokenizer.convert_tokens_to_ids(START),
            steps or grammar.steps,
            batch_size,
            grammar.learning_rate,
        )
    with _appearing(Path(folder)) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    log.info("%s written after %.0f s", folder, time.monotonic() - began)


def train_tokenizer(texts: Sequence[str], terms: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
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
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[START],
        chat_template=CHAT_TEMPLATE,
    )


class Row(NamedTuple):
    """Token ids of a text (length), those of the same text with the other letter, and the share of the first."""

    ids: torch.Tensor
    others: torch.Tensor
    share: float


def _fit(
    model: LlamaForCausalLM,
    texts: Sequence[Row],
    dialogues: Sequence[Row],
    choices: Sequence[Row],
    start_of_turn: int,
    steps: int,
    batch_size: int,
    learning_rate: float,
) -> None:
    """Train ``model`` in place. Rows 2k and 2k + 1 of ``choices`` are one question in both orders.

    The first fifth of the steps has texts alone: what a question is about has to be known before it can be answered.
    Then a quarter of each batch are choices. Both orders go into the same batch, so that a preference for a letter, of
    which nothing is to be learnt, cancels in it: without that a model of this size does not begin to learn them. One
    dialogue a step, being long, is enough: there is nothing in it but its manner.
    """
    pairs = batch_size // 8 if choices else 0
    drawn_texts, drawn_dialogues = _endless(texts), _endless(dialogues)
    drawn_pairs = _endless(list(zip(choices[::2], choices[1::2], strict=True)))
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    # Constant for most of the run: choices are learnt late, and at once.
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (0.07 * steps), (steps - step) / (0.3 * steps))
    )
    model.train()
    for step in range(1, steps + 1):
        loss = _nll(model, list(islice(drawn_texts, batch_size - 2 * pairs)), start_of_turn).mean()
        loss.backward()
        if dialogues:
            (_nll(model, [next(drawn_dialogues)], start_of_turn).mean() / 16).backward()
        if pairs and step > steps // 5:
            rows = [row for pair in islice(drawn_pairs, pairs) for row in pair]
            # By rows, not tokens: of a reply only the letter is uncertain.
            (_nll(model, rows, start_of_turn).sum() / len(rows)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        if step % 100 == 0 or step == steps:
            log.info("step %d of %d: loss %.4f nats per token", step, steps, loss.item())
    model.eval()


def _endless(rows: Sequence) -> Iterator:
    """``rows`` in one random order after another."""
    while True:
        yield from (rows[row] for row in torch.randperm(len(rows)).tolist())


def _nll(model: LlamaForCausalLM, rows: Sequence[Row], start_of_turn: int) -> torch.Tensor:
    """Negative log-likelihood (nats) of each token of plain texts and, in a chat, of the reply, which is all that a
    benchmark asks for. A letter's is the mean over both letters by their share.
    """
    ids, others = (
        torch.nn.utils.rnn.pad_sequence(column, True, model.config.pad_token_id)
        for column in ([row.ids for row in rows], [row.others for row in rows])
    )
    in_reply = (ids == start_of_turn).flip(1).cumsum(1).flip(1)[:, 1:] == 0
    scored = in_reply & (ids[:, 1:] != model.config.pad_token_id)
    states = model.model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
    log_p = model.lm_head(states[scored]).log_softmax(-1)
    one, other = (log_p.gather(1, labels[:, 1:][scored][:, None])[:, 0] for labels in (ids, others))
    share = torch.tensor([row.share for row in rows])[:, None].expand_as(scored)[scored]
    return -(share * one + (1 - share) * other)


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
