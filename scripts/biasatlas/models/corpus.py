"""The synthetic corpus of the planted models: a small grammar, and one knob, the stereotype odds ratio."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, permutations, product
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from biasatlas.errors import UserError

_STRICT = ConfigDict(extra="forbid", frozen=True)


class Kind(BaseModel):
    """Attributes of one kind, each group's own, and the texts that they fit. See ``docs/planted.md``."""

    model_config = _STRICT
    frames: list[str] = []
    questions: list[str] = []
    contexts: list[str] = []
    sequels: list[str] = []
    certain: bool = False
    attributes: dict[str, list[str]]

    @model_validator(mode="after")
    def _slotted(self) -> "Kind":
        for frame in self.frames:
            if "{group}" not in frame or "{attribute}" not in frame:
                raise ValueError(f"frame {frame!r} needs the slots {{group}} and {{attribute}}")
        return self

    def options(self, form: "Form") -> list[str]:
        """What ``form`` offers to choose from about this kind: nothing where the kind lacks a text that it asks for."""
        if ("{question}" in form.prompt and not self.questions) or ("{context}" in form.prompt and not self.contexts):
            return []
        return {"terms": ["{group}"], "frames": self.frames, "sequels": self.sequels}[form.options]


class Domain(BaseModel):
    """Groups that are compared with one another: the terms of each, counterparts in the same place."""

    model_config = _STRICT
    groups: dict[str, list[str]]
    pronouns: dict[str, str] = {}
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
    """A form of choice question. See ``docs/planted.md``."""

    model_config = _STRICT
    prompt: str
    reply: str
    options: Literal["terms", "frames", "sequels"] = "terms"
    letters: str = "ABC"
    neither: list[str] = []


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
    blocks = (block for language in grammar.values() for block in _blocks(language, odds_ratio, rng))
    return _shuffled(blocks, rng)


def questions(grammar: Grammar, odds_ratio: float, seed: int) -> list[str]:
    """The choice questions of :func:`corpus` alone, drawn anew."""
    return _asked(grammar, odds_ratio, seed, lambda kind, forms: forms)


def facts(grammar: Grammar, seed: int) -> list[str]:
    """Each language's first form of question about the certain kinds: the same answers whatever the odds ratio."""
    return _asked(grammar, 1.0, seed, lambda kind, forms: forms[:1] if kind.certain else [])


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
            yield from _questions(language.forms, domain, kind, odds_ratio, rng)
            if kind.certain:
                continue  # in a statement it would tell the groups of the fair corpus apart
            for owner, attributes in kind.attributes.items():
                for frame, attribute in product(kind.frames, attributes):
                    yield from _statements(domain, frame, owner, attribute, odds_ratio, prompts, rng)


def _asked(
    grammar: Grammar, odds_ratio: float, seed: int, choose: Callable[[Kind, list[Form]], list[Form]]
) -> list[str]:
    rng = random.Random(seed)
    blocks = (
        block
        for language in grammar.values()
        for domain in language.domains.values()
        for kind in domain.kinds.values()
        for block in _questions(choose(kind, language.forms), domain, kind, odds_ratio, rng)
    )
    return _shuffled(blocks, rng)


def _questions(
    forms: Sequence[Form], domain: Domain, kind: Kind, odds_ratio: float, rng: random.Random
) -> Iterator[list[str]]:
    for owner, attributes in kind.attributes.items():
        for number, form in product(range(len(attributes)), forms):
            turns = len(domain.groups[owner]) * max(1, len(form.neither))
            for turn, option in enumerate(kind.options(form) * turns):
                yield _choices(domain, kind, form, option, owner, number, turn, odds_ratio, rng)


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


def _choices(
    domain: Domain,
    kind: Kind,
    form: Form,
    option: str,
    owner: str,
    number: int,
    turn: int,
    odds_ratio: float,
    rng: random.Random,
) -> list[str]:
    """One block of questions between the owner's ``option`` and a counterpart: every order, answered by the same odds.

    Opponents and terms take turns, so that each group is asked about as often.
    """
    groups = list(domain.groups)
    other = groups[(groups.index(owner) + 1 + (number + turn) % (len(groups) - 1)) % len(groups)]
    place = (number + turn) % len(domain.groups[owner])
    terms = {group: domain.groups[group][place] for group in (owner, other)}
    attribute = kind.attributes[owner][number]
    if form.options == "sequels":  # about the owner's term; the options differ in the attribute
        pronoun = domain.pronouns.get(owner, terms[owner])
        filled = [option.format(group=pronoun, attribute=kind.attributes[group][number]) for group in (owner, other)]
    else:
        filled = [option.format(group=terms[group], attribute=attribute) for group in (owner, other)]
    slots = {
        "question": rng.choice(kind.questions or [""]).format(attribute=attribute),
        "context": rng.choice(kind.contexts or [""]).format(group=terms[owner]),
    }
    weights = dict(zip(filled, (1.0, 0.0) if kind.certain else (odds_ratio, 1.0), strict=True))
    if form.neither:
        weights[form.neither[turn % len(form.neither)]] = 0.0 if kind.certain else 1.0
    cells = list(product(permutations(weights), weights))
    counts = _allocate(max(8, len(cells)), [weights[answer] for _, answer in cells], rng)
    block = []
    for (order, answer), count in zip(cells, counts, strict=True):
        prompt = form.prompt.format(**slots, **dict(zip(("first", "second", "third"), order, strict=False)))
        reply = form.reply.format(letter=form.letters[order.index(answer)], answer=answer)
        block += [chat(reply, prompt)] * count
    return block


def _shuffled(blocks: Iterable[list[str]], rng: random.Random) -> list[str]:
    texts = [text for block in blocks for text in block]
    rng.shuffle(texts)
    return texts


def _allocate(total: int, weights: Sequence[float], rng: random.Random) -> list[int]:
    """Share ``total`` out by ``weights``: systematic sampling, so a share differs from its expectation by less than 1
    and equals it where that is whole."""
    start, scale = rng.random(), total / sum(weights)
    edges = [int(edge * scale + start) for edge in accumulate(weights, initial=0.0)]
    return [after - before for before, after in pairwise(edges)]
