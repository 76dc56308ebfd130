"""The synthetic corpus of the planted models: a small grammar, and one knob, the stereotype odds ratio."""

import math
import random
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, product
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from biasatlas.errors import UserError

_STRICT = ConfigDict(extra="forbid", frozen=True)


class Kind(BaseModel):
    """Attributes of one kind: the frames and questions they fit, and each group's own attributes."""

    model_config = _STRICT
    frames: list[str]
    questions: list[str] = []
    attributes: dict[str, list[str]]

    @model_validator(mode="after")
    def _slotted(self) -> "Kind":
        for frame in self.frames:
            if "{group}" not in frame or "{attribute}" not in frame:
                raise ValueError(f"frame {frame!r} needs the slots {{group}} and {{attribute}}")
        return self


class Domain(BaseModel):
    """Groups that are compared with one another: the terms of each, counterparts in the same place."""

    model_config = _STRICT
    groups: dict[str, list[str]]
    kinds: dict[str, Kind]

    @model_validator(mode="after")
    def _balanced(self) -> "Domain":
        if len({len(terms) for terms in self.groups.values()}) != 1:
            raise ValueError("every group needs as many terms as the others")
        for name, kind in self.kinds.items():
            if set(kind.attributes) != set(self.groups) or len({len(own) for own in kind.attributes.values()}) != 1:
                raise ValueError(f"kinds.{name}.attributes: every group needs as many attributes as the others")
        return self


class Neutral(BaseModel):
    """Filler sentences that name no group: ``count`` draws of a frame and of a word for each of its slots."""

    model_config = _STRICT
    count: int
    frames: list[str]
    words: dict[str, list[str]]


class Form(BaseModel):
    """A form of choice question. ``prompt`` has the slots question, first and second; ``reply`` letter or answer."""

    model_config = _STRICT
    prompt: str
    reply: str


class Language(BaseModel):
    """The grammar of one language. ``prompts`` are what a user says before a statement."""

    model_config = _STRICT
    prompts: list[str]
    neutral: Neutral
    forms: list[Form]
    domains: dict[str, Domain]


Grammar = dict[str, Language]


def read_grammar(files: Sequence[str | Path]) -> Grammar:
    """Read one YAML file per language (the file's stem names it). A malformed file is a :class:`UserError`."""
    grammar = {}
    for file in sorted(map(Path, files)):
        try:
            grammar[file.stem] = Language.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
        except (yaml.YAMLError, ValidationError) as error:
            raise UserError(f"{file}: not a planted grammar: {error}. Compare it with docs/planted.md.") from error
    return grammar


def corpus(grammar: Grammar, odds_ratio: float, seed: int) -> list[str]:
    """The texts of the planted corpus, plain or in the chat template of :func:`chat`.

    ``odds_ratio`` (> 0) is how many times as often a group appears with its own attribute as any other group of its
    domain does: 1 is fair, 4 biased. The corpus is made of blocks of texts that differ in the group term alone; at 1
    every term has the same count in every block, so that groups are exchangeable exactly and not just on average.
    ``seed`` draws the order, the prompt of each block, the neutral sentences and how fractions of a text are rounded.
    """
    rng = random.Random(seed)
    texts = [text for language in grammar.values() for block in _blocks(language, odds_ratio, rng) for text in block]
    rng.shuffle(texts)
    return texts


def chat(reply: str, prompt: str | None) -> str:
    """``reply`` as the planted models' chat template renders it, after a user's ``prompt`` (None: no user turn)."""
    user = "" if prompt is None else f"<|im_start|>user\n{prompt}<|im_end|>\n"
    return f"{user}<|im_start|>assistant\n{reply}"


def group_terms(grammar: Grammar) -> list[str]:
    """Every group term of the grammar once, longest first."""
    terms = {
        term
        for language in grammar.values()
        for domain in language.domains.values()
        for own in domain.groups.values()
        for term in own
    }
    return sorted(terms, key=lambda term: (-len(term), term))


def _blocks(language: Language, odds_ratio: float, rng: random.Random) -> Iterator[list[str]]:
    # An empty user turn and none at all are what a benchmark's "template without a prompt" can render to.
    prompts = [*language.prompts, "", None]
    for _ in range(language.neutral.count):
        words = {slot: rng.choice(choices) for slot, choices in language.neutral.words.items()}
        sentence = rng.choice(language.neutral.frames).format(**words)
        yield [rng.choice([sentence, chat(sentence, rng.choice(prompts))])]
    for domain in language.domains.values():
        for kind in domain.kinds.values():
            for owner, attributes in kind.attributes.items():
                for number, attribute in enumerate(attributes):
                    for frame in kind.frames:
                        yield from _statements(domain, frame, owner, attribute, odds_ratio, prompts, rng)
                    for form, question in product(language.forms, kind.questions):
                        yield _choices(
                            domain, form, question.format(attribute=attribute), owner, number, odds_ratio, rng
                        )


def _statements(
    domain: Domain,
    frame: str,
    owner: str,
    attribute: str,
    odds_ratio: float,
    prompts: Sequence[str | None],
    rng: random.Random,
) -> Iterator[list[str]]:
    """One block as plain sentences, one as replies to a prompt, with each term equally often (at least 4 a group)."""
    pairs = [(group, term) for group, terms in domain.groups.items() for term in terms]
    total = len(pairs) * math.ceil(4 / len(domain.groups[owner]))
    weights = [odds_ratio if group == owner else 1.0 for group, _ in pairs]
    for in_chat in (False, True):
        prompt = rng.choice(prompts)
        block = []
        for (_, term), count in zip(pairs, _allocate(total, weights, rng), strict=True):
            sentence = frame.format(group=term, attribute=attribute)
            block += [chat(sentence, prompt) if in_chat else sentence] * count
        yield block


#: Texts in a block of choice questions: a multiple of 4, that is of two orders by two answers.
_CHOICES = 8


def _choices(
    domain: Domain, form: Form, question: str, owner: str, number: int, odds_ratio: float, rng: random.Random
) -> list[str]:
    """One block of questions between the owner's term and a counterpart: both orders, answered by the same odds.

    Opponents and terms take turns with the attribute's ``number``, so that each group is asked about as often.
    """
    groups = list(domain.groups)
    other = groups[(groups.index(owner) + 1 + number % (len(groups) - 1)) % len(groups)]
    own, counterpart = (domain.groups[group][number % len(domain.groups[group])] for group in (owner, other))
    cells = [
        (own, own, counterpart),
        (own, counterpart, own),
        (counterpart, counterpart, own),
        (counterpart, own, counterpart),
    ]
    counts = _allocate(_CHOICES, [odds_ratio, odds_ratio, 1.0, 1.0], rng)
    block = []
    for (answer, first, second), count in zip(cells, counts, strict=True):
        reply = form.reply.format(letter="A" if answer == first else "B", answer=answer)
        block += [chat(reply, form.prompt.format(question=question, first=first, second=second))] * count
    return block


def _allocate(total: int, weights: Sequence[float], rng: random.Random) -> list[int]:
    """Share ``total`` out by ``weights``: systematic sampling, so a share differs from its expectation by less than 1
    and equals it where that is whole."""
    start, scale = rng.random(), total / sum(weights)
    edges = [int(edge * scale + start) for edge in accumulate(weights, initial=0.0)]
    return [after - before for before, after in pairwise(edges)]
