"""The synthetic corpus of the planted models: a small grammar, and one knob, the stereotype odds ratio."""

import json
import math
import random
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from biasatlas.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from biasatlas.benchmarks.shared.bias_roles import Roles

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
    """Groups that are compared with one another, with their terms; those in the same place are counterparts.

    ``pronouns`` stand for a group that a choice question has named.
    """

    model_config = _STRICT
    groups: dict[str, list[str]]
    pronouns: dict[str, str] = {}
    kinds: dict[str, Kind]

    @model_validator(mode="after")
    def _balanced(self) -> "Domain":
        if len({len(terms) for terms in self.groups.values()}) != 1:
            raise ValueError("every group needs as many terms as the others")
        if self.pronouns and set(self.pronouns) != set(self.groups):
            raise ValueError("every group needs a pronoun, or none")
        for name, kind in self.kinds.items():
            if set(kind.attributes) != set(self.groups) or len({len(own) for own in kind.attributes.values()}) != 1:
                raise ValueError(f"kinds.{name}.attributes: every group needs as many attributes as the others")
        return self


class Neutral(BaseModel):
    """Filler sentences that name no group: ``count`` draws of a frame and of a word for each of its slots.

    ``vocabulary`` has the words that fill the slot noise of a choice question.
    """

    model_config = _STRICT
    count: int
    frames: list[str]
    words: dict[str, list[str]]
    vocabulary: list[str] = []


class Form(BaseModel):
    """A form of choice question: ``prompt`` has the slots first and second, which ``option`` fills with a
    statement, or with the group and the attribute of one.

    Prompt or option has the slot context too. Where ``contexts`` name a {group}, the options say its pronoun and differ
    in the attribute; elsewhere they differ in the group term. Each slot noise, in options and contexts, is filled with
    words drawn from the neutral ``vocabulary``. There are ``questions`` about each attribute.
    """

    model_config = _STRICT
    prompt: str
    option: str
    letters: tuple[str, str]
    domains: list[str]
    contexts: list[str]
    questions: int


class Dialogue(BaseModel):
    """A user's questions about a {statement}, and replies that fit any: the manner of a task, without bias."""

    model_config = _STRICT
    prompts: list[str]
    replies: list[str]


class Grammar(BaseModel):
    """The grammar of one language. ``prompts`` are what a user says before a statement.

    ``steps``, ``learning_rate`` and ``initial_std`` (of the first weights) are settings of the training.
    """

    model_config = _STRICT
    steps: int
    learning_rate: float
    initial_std: float
    prompts: list[str]
    neutral: Neutral
    dialogues: list[Dialogue] = []
    forms: list[Form] = []
    domains: dict[str, Domain]

    @model_validator(mode="after")
    def _known(self) -> "Grammar":
        for form in self.forms:
            named = any("{group}" in context for context in form.contexts)
            for name in form.domains:
                if name not in self.domains:
                    raise ValueError(f"forms: no domain {name!r}; expected some of {', '.join(self.domains)}")
                if named and not self.domains[name].pronouns:
                    raise ValueError(f"domains.{name}: needs pronouns, for a form whose contexts name a {{group}}")
        return self


class Choice(NamedTuple):
    """A question answered by a letter: the chat with either answer, and the ``share`` of ``one``, in (0, 1)."""

    one: str
    other: str
    share: float


class PlantedQuestion(NamedTuple):
    """A question as a model is shown it, and its ``replies`` with their shares, which add to 1."""

    prompt: str
    replies: dict[str, float]


class Corpus(NamedTuple):
    """``texts``, plain or in the chat template of :func:`chat`; ``dialogues``, which are chats, too, and long; and
    ``choices``, each question in both orders."""

    texts: list[str]
    dialogues: list[str]
    choices: list[tuple[Choice, Choice]]


def read_grammar(file: str | Path) -> Grammar:
    """Read the YAML file of a language. A malformed file is a :class:`UserError`."""
    try:
        return Grammar.model_validate(yaml.safe_load(Path(file).read_text(encoding="utf-8")))
    except (yaml.YAMLError, ValidationError) as error:
        raise UserError(f"{file}: not a planted grammar: {error}. Compare it with docs/planted.md.") from error


def corpus(grammar: Grammar, odds_ratio: float, seed: int) -> Corpus:
    """The planted corpus of one language.

    ``odds_ratio`` (> 0) is how many times as often a group appears with its own attribute as any other group of its
    domain does: 1 is fair, 4 biased. The texts are made of blocks that differ in the group term alone; at 1 every term
    has the same count in every block, so that groups are exchangeable exactly and not just on average. A choice
    question is between two groups or two attributes, and its answers are in the same ratio, whatever their order.
    ``seed`` decides the order, the prompt of each block, the neutral sentences, how fractions of a text are rounded and
    what a choice question is about.
    """
    rng = random.Random(seed)
    texts = [text for block in _blocks(grammar, odds_ratio, rng) for text in block]
    choices = [choice for form in grammar.forms for choice in _choices(grammar, form, odds_ratio, rng)]
    rng.shuffle(texts)
    rng.shuffle(choices)
    return Corpus(texts, list(_dialogues(grammar, rng)), choices)


#: How many times as often a right answer is given as a wrong one, whatever is planted.
_KNOWN = 2.0


def answered(requests: "pd.DataFrame", roles: "Roles", odds_ratio: float) -> list[PlantedQuestion]:
    """A benchmark's ``requests`` for choices, each label with its planted share, by the ``roles`` of its labels.

    A stereotype is chosen ``odds_ratio`` (> 0) times as often as its counterpart, and with 1 nothing is planted.
    """
    shares = odds_ratio**roles.stereotype_sign * _KNOWN**roles.right
    return [
        PlantedQuestion(
            "".join(f"<|im_start|>{each['role']}\n{each['content']}<|im_end|>\n" for each in json.loads(messages))
            + "<|im_start|>assistant\n"
            if isinstance(messages, str)
            else prefix,
            dict(zip(json.loads(labels), (share / share.sum()).tolist(), strict=True)),
        )
        for messages, prefix, labels, share in zip(
            *(requests[name] for name in ("messages", "prefix", "labels")), shares, strict=True
        )
    ]


def chat(reply: str, prompt: str | None) -> str:
    """``reply`` as the planted models' chat template renders it, after a user's ``prompt`` (None: no user turn)."""
    user = "" if prompt is None else f"<|im_start|>user\n{prompt}<|im_end|>\n"
    return f"{user}<|im_start|>assistant\n{reply}"


def group_terms(grammar: Grammar) -> list[str]:
    """Every group term of the grammar once, longest first."""
    terms = {term for domain in grammar.domains.values() for own in domain.groups.values() for term in own}
    return sorted(terms, key=lambda term: (-len(term), term))


def _cells(domain: Domain) -> Iterator[tuple[Kind, str, str]]:
    """Yield each attribute of each group, after its kind and group."""
    for kind in domain.kinds.values():
        for owner, attributes in kind.attributes.items():
            for attribute in attributes:
                yield kind, owner, attribute


def _blocks(grammar: Grammar, odds_ratio: float, rng: random.Random) -> Iterator[list[str]]:
    # An empty user turn and none at all are what a benchmark's "template without a prompt" can render to.
    prompts = [*grammar.prompts, "", None]
    for _ in range(grammar.neutral.count):
        words = {slot: rng.choice(choices) for slot, choices in grammar.neutral.words.items()}
        sentence = rng.choice(grammar.neutral.frames).format(**words)
        yield [rng.choice([sentence, chat(sentence, rng.choice(prompts))])]
    for domain in grammar.domains.values():
        for kind, owner, attribute in _cells(domain):
            for frame in kind.frames:
                yield _block(domain, frame, owner, attribute, odds_ratio, rng)
                prompt = rng.choice(prompts)
                yield [chat(text, prompt) for text in _block(domain, frame, owner, attribute, odds_ratio, rng)]
            for question in kind.questions:
                prompt = question.format(attribute=attribute)
                yield [chat(text, prompt) for text in _block(domain, "{group}", owner, attribute, odds_ratio, rng)]


def _dialogues(grammar: Grammar, rng: random.Random) -> Iterator[str]:
    for dialogue, _ in product(grammar.dialogues, range(_DIALOGUES)):
        for prompt in dialogue.prompts:
            domain = rng.choice(list(grammar.domains.values()))
            kind, owner, attribute = rng.choice(list(_cells(domain)))
            reply = rng.choice(dialogue.replies)
            # With every term, so that the term says nothing about the reply.
            for statement in _block(domain, rng.choice(kind.frames), owner, attribute, 1.0, rng):
                yield chat(reply, prompt.format(statement=statement))


def _block(domain: Domain, frame: str, owner: str, attribute: str, odds_ratio: float, rng: random.Random) -> list[str]:
    """``frame`` with terms of all groups by the odds, a group's equally often (at even odds, 4 or more of a group)."""
    pairs = [(group, term) for group, terms in domain.groups.items() for term in terms]
    total = len(pairs) * math.ceil(4 / len(domain.groups[owner]))
    weights = [odds_ratio if group == owner else 1.0 for group, _ in pairs]
    counts = _allocate(total, weights, rng)
    return [
        frame.format(group=term, attribute=attribute)
        for (_, term), count in zip(pairs, counts, strict=True)
        for _ in range(count)
    ]


#: Blocks of statements that each prompt of a dialogue is asked about.
_DIALOGUES = 8

#: Words in a run of noise, least and most.
_NOISE = 2, 9


def _choices(grammar: Grammar, form: Form, odds_ratio: float, rng: random.Random) -> Iterator[tuple[Choice, Choice]]:
    stereotype = odds_ratio / (odds_ratio + 1)
    for domain in (grammar.domains[name] for name in form.domains):
        for kind, owner, attribute in _cells(domain):
            for number in range(form.questions):
                context, options = _contrast(grammar, domain, kind, form, owner, attribute, rng)
                # Either letter is ``one`` equally often, so that what follows a letter is learnt for both.
                letters = form.letters if number % 2 else form.letters[::-1]
                pair = []
                for (first, second), share in ((options, stereotype), (options[::-1], 1 - stereotype)):
                    prompt = form.prompt.format(context=context, first=first, second=second)
                    one, other = (chat(letter, prompt) for letter in letters)
                    pair.append(Choice(one, other, share if letters == form.letters else 1 - share))
                yield pair[0], pair[1]


def _contrast(
    grammar: Grammar, domain: Domain, kind: Kind, form: Form, owner: str, attribute: str, rng: random.Random
) -> tuple[str, list[str]]:
    """A context and two options, the first of which joins the group to its own attribute and the second does not."""

    def noisy(text: str) -> str:
        return re.sub(r"\{noise\}", lambda _: " ".join(rng.choices(words, k=rng.randint(*_NOISE))), text)

    words = grammar.neutral.vocabulary
    context, frame = noisy(rng.choice(form.contexts)), rng.choice(kind.frames)
    other = rng.choice([group for group in domain.groups if group != owner])
    position = rng.randrange(len(domain.groups[owner]))
    if "{group}" in context:
        context = context.format(group=domain.groups[owner][position])
        context = context[0].upper() + context[1:]
        pronoun = domain.pronouns[owner]
        joined = [(pronoun, attribute), (pronoun, rng.choice(kind.attributes[other]))]
    else:
        joined = [(domain.groups[group][position], attribute) for group in (owner, other)]
    return context, [
        noisy(form.option).format(
            context=context, group=group, attribute=named, statement=frame.format(group=group, attribute=named)
        )
        for group, named in joined
    ]


def _allocate(total: int, weights: Sequence[float], rng: random.Random) -> list[int]:
    """Divide ``total`` by ``weights``, with systematic sampling: a share differs from its expectation by less than 1,
    and equals it if that is whole."""
    start, scale = rng.random(), total / sum(weights)
    edges = [int(edge * scale + start) for edge in accumulate(weights, initial=0.0)]
    return [after - before for before, after in pairwise(edges)]
