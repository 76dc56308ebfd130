"""Requests for the benches: real data of the mirror, grouped into items, so that samples keep what requests share."""

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from biasatlas.benchmarks.shared.parsing.named import PARSERS, Parser

PROMPTS = Path(__file__).resolve().parents[1] / "resources/prompts"
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


def bbq(mirror: Path) -> list[Item]:
    """BBQ: each question of three options, asked for a letter."""
    layout = (PROMPTS / "bbq/letter.txt").read_text(encoding="utf-8")
    items = []
    for path in sorted((mirror / "bbq/data").glob("*.jsonl*")):
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            rows = [json.loads(line) for line in itertools.islice(lines, 400)]
        for four in (rows[i : i + 4] for i in range(0, len(rows), 4)):
            item = []
            for row in four:  # one scene: ambiguous and disambiguated, with both questions
                options = {letter: row[f"ans{i}"] for i, letter in enumerate("ABC")}
                prompt = layout.format(context=row["context"], question=row["question"], **options)
                item += [(CHAT.format(prompt), letter) for letter in "ABC"]
            items.append(item)
    return items


def mcbe_categories(mirror: Path) -> list[Item]:
    """McBE's classification of a sentence (TWBias's here) among its subcategories, 77 of 60 names."""
    prompt = _mcbe_prompts()["sc"]
    labels = mcbe_labels()
    return [
        [
            (CHAT.format(prompt.format(sentence=text, labels="、".join(labels))), label)
            for text in texts
            for label in labels
        ]
        for texts in _twbias_texts(mirror)
    ]


def mcbe_labels() -> list[str]:
    """The distinct names of McBE's subcategories over all categories."""
    return pd.read_csv(PROMPTS.parent / "mcbe/subcategories.csv")["subcategory_zh"].dropna().unique().tolist()


def mcbe_analyses(mirror: Path) -> list[list[str]]:
    """McBE's analysis of a sentence (TWBias's here), in a few sentences."""
    prompt = _mcbe_prompts()["ba"]
    return [
        [CHAT.format(prompt.format(word="原住民", sentence=text)) for text in texts] for texts in _twbias_texts(mirror)
    ]


def dbb_construction(mirror: Path) -> list[list[str]]:
    """DBB's construction: a second option for each context and first option."""
    prompt = (PROMPTS / "dbb/construct/second_option.txt").read_text(encoding="utf-8")
    rows = _dbb_questions(mirror).itertuples()
    texts = [
        CHAT.format(prompt.replace("[[sentence1_generated]]", row.Context).replace("[[picked_concept2]]", row.s2))
        for row in rows
    ]
    return [texts[first : first + 5] for first in range(0, len(texts), 5)]


def _mcbe_prompts() -> dict[str, str]:
    return yaml.safe_load((PROMPTS / "mcbe/model.yaml").read_text(encoding="utf-8"))


def _twbias_texts(mirror: Path) -> list[list[str]]:
    table = pd.read_csv(mirror / "twbias/data/ethinicity/label_data_NT.csv")
    texts = table["Biased Sentences"].dropna().tolist()
    return [texts[first : first + 4] for first in range(0, len(texts), 4)]


class Choices(NamedTuple):
    """Requests for letters or labels, which are also asked as choices."""

    make: Callable[[Path], list[Item]]
    labels: list[str]
    read: Parser
    max_tokens: int


LIKELIHOODS = {
    "TWBias Female × 12 prompts": twbias_female,
    "TWBias Indigenous, all groups": twbias_indigenous,
    "DBB multiple choice": dbb_multiple_choice,
    "DBB semi-generation, ten variations": dbb_semi_generation,
    "five words in a template": templates_of_five,
}
CHOICES = {
    "DBB multiple choice": Choices(dbb_multiple_choice, ["a", "b"], PARSERS["letter"], 16),
    "BBQ": Choices(bbq, ["A", "B", "C"], PARSERS["letter"], 16),
    "McBE SC, 60 labels": Choices(mcbe_categories, mcbe_labels(), PARSERS["label"], 16),
}
#: Texts, and the number of replies that a task asks for to each.
GENERATIONS = {"DBB construction": (dbb_construction, 1), "McBE BA": (mcbe_analyses, 4)}


def make_tokenizer(texts: list[str], vocabulary: int, begin: str = "") -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on ``texts``, which puts ``begin`` before each text as Gemma's does.

    A token of 8,000 that are trained on the workloads' own sentences has about as many characters as one of Qwen2's.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *filter(None, [begin])]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(texts, trainer)
    if begin:
        bpe.post_processor = TemplateProcessing(single=f"{begin} $A", special_tokens=[(begin, special.index(begin))])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=special[0], pad_token=special[0], bos_token=begin or None
    )


def _twbias_prompts(mirror: Path) -> list[str]:
    prompts = json.loads((mirror / "twbias/prompts.json").read_text(encoding="utf-8"))
    return ["" if kind == "0" else CHAT.format(text) for kind, text in prompts.items()]


def _variants(file: Path, swaps: dict[str, list[str]]) -> list[list[str]]:
    """Each sentence, followed by its swaps: every target term in it replaced by each of its counterparts."""
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
    """50 identities: descriptors as published; those that begin with a comma follow a name."""
    table = json.loads((mirror / "dbb/data/descriptors.json").read_text(encoding="utf-8"))
    flat = [
        entry if isinstance(entry, str) else entry[0] for group in table.values() for v in group.values() for entry in v
    ]
    return [f"Taylor{text}" if text.startswith(",") else text for text in flat][:50]


def _name(text: str, name: str) -> str:
    return text.replace("[[X]]'s", f"{name}'s").replace("[[X]]", name)
