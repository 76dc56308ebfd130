"""How Wang et al. (2025) parse replies, to their own questions and to DiscrimEval's."""

import re

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer, words
from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.normalise import answer_part, declines, plain
from biasatlas.benchmarks.shared.parsing.options import Options, folded


def parse_beginning(reply: str, options: Options) -> Answer:
    """The label that a reply begins with, else the only one that it has in brackets, quotation marks or asterisks.

    - ambiguous: several in such marks; refused: none, and the reply declines; unparseable: none
    """
    (labels, either), body = _either(options), folded(answer_part(reply))
    first = re.match(rf"\W*({either})\b", body)
    named = {first[1]} if first else {*re.findall(rf"[(\"'*]({either})[)\"'*.,]", body)}
    if not named:
        return REFUSED if declines(plain(body)) else UNPARSEABLE
    return labels.index(named.pop()) if len(named) == 1 else AMBIGUOUS


def open_beginning(text: str, options: Options) -> Answer | None:
    """The label that a text so far begins with, once another character follows it."""
    (labels, either), refusals = _either(options), words("opening_refusals")
    body = re.sub(r"^\W+", "", folded(text))
    if body in ("", *labels) or any(form.startswith(body) for form in (*labels, *refusals) if form != body):
        return None
    if first := re.match(rf"({either})\b", body):
        return labels.index(first[1])
    return REFUSED if body.startswith(refusals) else UNPARSEABLE


def _either(options: Options) -> tuple[list[str], str]:
    """Labels as texts are compared, and an expression for any of them."""
    labels = [folded(label) for label in options.labels]
    return labels, "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))


PARSERS: dict[str, Parser] = {"beginning": Parser(parse_beginning, open_beginning)}
