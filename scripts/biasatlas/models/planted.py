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

from biasatlas.models.corpus import Grammar, corpus, group_terms

log = logging.getLogger(__name__)

BEGIN, END, START, PAD = "<|begin_of_text|>", "<|im_end|>", "<|im_start|>", "<|pad|>"

FACTS = 150
#: Token ids of a text, those with the other answer, and the share of the first.
Row = tuple[torch.Tensor, torch.Tensor, float]

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
    steps: int = 700,
    batch_size: int = 64,
    learning_rate: float = 3e-3,
    vocabulary: int = 1000,
    hidden_size: int = 64,
    layers: int = 2,
) -> None:
    """Train a planted model and write it to ``folder`` in Hugging Face form, whole or not at all.

    ``odds_ratio`` and ``seed`` make the corpus (:func:`biasatlas.models.corpus.corpus`); ``seed`` also sets the
    initial weights and the order of batches. The same arguments give the same bytes, whatever number of threads
    torch was given. An existing ``folder`` is replaced.
    """
    began = time.monotonic()
    texts, choices = corpus(grammar, odds_ratio, seed)
    tokenizer = train_tokenizer([*texts, *(choice.text for pair in choices for choice in pair)], group_terms(grammar), vocabulary)

    def tokens(texts: Sequence[str]) -> list[torch.Tensor]:
        return [torch.tensor(ids) for ids in tokenizer([text + END for text in texts])["input_ids"]] if texts else []

    flat = [choice for pair in choices for choice in pair]
    one, two = tokens([choice.text for choice in flat]), tokens([choice.other for choice in flat])
    rows = list(zip(one, two, [choice.share for choice in flat], strict=True))
    sorts = [
        (batch_size - batch_size // 4 * bool(choices), [[(row, row, 1.0)] for row in tokens(texts)]),
        (batch_size // 8, [rows[at : at + 2] for at in range(0, len(rows), 2)]),
    ]
    log.info("odds ratio %g, seed %d: %d texts, %d choices", odds_ratio, seed, len(texts), len(choices))
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
                initializer_range=0.15,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
        _fit(model, sorts, tokenizer.convert_tokens_to_ids(START), steps, learning_rate)
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
    sorts: Sequence[tuple[int, Sequence[Row]]],
    start_of_turn: int,
    steps: int,
    learning_rate: float,
) -> None:
    """Train ``model`` in place; in a chat on the reply alone, which is all that a benchmark asks for.

    Each step takes so many rows of each sort. 
    """
    pad = model.config.pad_token_id
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 50, (steps - step) / (0.3 * steps)))
    model.train()
    queues = [_shuffled(rows) for _, rows in sorts]
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        losses = []
        for (count, rows), queue in zip(sorts, queues, strict=True):
            if not rows or (step <= FACTS and queue is not queues[0]):
                continue
            batch = [row for _ in range(count) for row in next(queue)]
            ids, others = (torch.nn.utils.rnn.pad_sequence(column, True, pad) for column in list(zip(*batch))[:2])
            shares = torch.tensor([share for _, _, share in batch])
            in_reply = (ids == start_of_turn).flip(1).cumsum(1).flip(1)[:, 1:] == 0
            scored = in_reply & (ids[:, 1:] != pad)
            states = model.model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
            log_p = model.lm_head(states[scored]).log_softmax(-1)
            one, two = (log_p.gather(1, labels[:, 1:][scored][:, None])[:, 0] for labels in (ids, others))
            weight = shares[:, None].expand(scored.shape)[scored]
            loss = -(weight * one + (1 - weight) * two).sum() / (len(batch) if rows is not sorts[0][1] else len(one))
            loss.backward()
            losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps:
            log.info("step %d of %d: loss %s", step, steps, losses)
    model.eval()


def _shuffled(rows: Sequence[Row]) -> Iterator[Row]:
    """``rows`` in a new random order again and again."""
    while True:
        for index in torch.randperm(len(rows)).tolist():
            yield rows[index]


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
