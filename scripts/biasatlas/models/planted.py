"""Planted models: tiny causal language models trained here on a corpus whose bias is known."""

import contextlib
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from biasatlas.models.corpus import Grammar, corpus, facts, group_terms, questions

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
    steps: tuple[int, int, int] = (300, 700, 900),
    batch_size: int = 32,
    learning_rate: float = 2e-3,
    vocabulary: int = 2000,
    hidden_size: int = 64,
    init: float = 0.15,
    layers: int = 2,
) -> None:
    """Train a planted model and write it to ``folder`` in Hugging Face form, whole or not at all.

    ``odds_ratio`` and ``seed`` make the corpus (:func:`biasatlas.models.corpus.corpus`); ``seed`` also sets the
    initial weights and the order of batches. The same arguments give the same bytes, whatever number of threads
    torch was given. An existing ``folder`` is replaced.
    """
    began = time.monotonic()
    texts = corpus(grammar, odds_ratio, seed)
    tokenizer = train_tokenizer(texts, group_terms(grammar), vocabulary)
    lessons = [
        [torch.tensor(ids) for ids in tokenizer([text + END for text in lesson])["input_ids"]]
        for lesson in (facts(grammar, seed), questions(grammar, odds_ratio, seed), texts)
    ]
    log.info("odds ratio %g, seed %d: %d texts", odds_ratio, seed, len(texts))
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
                # The usual 0.02 is for models ten times as wide; with 0.05, options are not looked up in this time.
                initializer_range=init,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
        phases = list(zip(lessons, steps, strict=True))
        _fit(model, phases, tokenizer.convert_tokens_to_ids(START), batch_size, learning_rate)
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


def _fit(
    model: LlamaForCausalLM,
    phases: Sequence[tuple[Sequence[torch.Tensor], int]],
    start_of_turn: int,
    batch_size: int,
    learning_rate: float,
) -> None:
    """Train ``model`` in place on each phase's rows for its steps; in a chat on the reply alone, which is all that a
    benchmark asks for. Each row counts the same, so that a letter weighs as much as a sentence."""
    pad = model.config.pad_token_id
    total = sum(steps for _, steps in phases)
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=total, pct_start=0.03)
    model.train()
    for step, batch in enumerate(_batches(phases, batch_size, pad), start=1):
        labels = batch[:, 1:]
        in_reply = (batch == start_of_turn).flip(1).cumsum(1).flip(1)[:, 1:] == 0
        scored = in_reply & (labels != pad)
        states = model.model(input_ids=batch[:, :-1], use_cache=False).last_hidden_state
        losses = functional.cross_entropy(model.lm_head(states[scored]), labels[scored], reduction="none")
        loss = (losses / scored.sum(1, keepdim=True).expand_as(scored)[scored]).sum() / len(batch)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == total:
            log.info("step %d of %d: loss %.4f nats per token", step, total, loss.item())
    model.eval()


def _batches(phases: Sequence[tuple[Sequence[torch.Tensor], int]], batch_size: int, pad: int) -> Iterator[torch.Tensor]:
    """As many batches as each phase has steps. They hold rows of like length, but are cut from windows of the shuffled
    corpus: batches of one sort of text each would leave the group terms unlearnt."""
    window = 16 * batch_size
    for rows, steps in phases:
        order = sorted(range(len(rows)), key=lambda row: (row // window, len(rows[row])))
        starts = range(0, len(order), batch_size)
        queue: list[int] = []
        for _ in range(steps):
            queue = queue or torch.randperm(len(starts)).tolist()
            at = starts[queue.pop()]
            yield torch.nn.utils.rnn.pad_sequence([rows[row] for row in order[at : at + batch_size]], True, pad)


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
