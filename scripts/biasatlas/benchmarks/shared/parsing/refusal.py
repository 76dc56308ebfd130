"""Whether a reply declines, and whether one in free words answers at all."""

import re
from collections.abc import Sequence

from biasatlas.benchmarks.shared.parsing import REFUSED, UNPARSEABLE, Parsed
from biasatlas.benchmarks.shared.parsing.normalise import plain, sentences
from biasatlas.benchmarks.shared.parsing.phrases import finds

_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|《[^》\n]{0,60}》")


def declines(text: str) -> bool:
    """Whether a plain ``text`` says, in its own words, that it will not answer."""
    return bool(finds("refusals", "declines").search(_QUOTED.sub('""', text)))


def parse_refusal(reply: str, options: Sequence[object] = ()) -> Parsed:
    """"answered" (0) of a reply in free words, "refused" where it declines, "unparseable" where it has nothing on the matter."""
    body = plain(reply)
    if not re.search(r"\w", body):
        return Parsed(UNPARSEABLE, "nothing")
    found = [sentence for _, sentence in sentences(_QUOTED.sub('"…"', body))]
    at = next((i for i, sentence in enumerate(found) if finds("refusals", "declines").search(sentence)), None)
    if at is not None and at <= 2 and not _answers_after_all(found, at):
        return Parsed(REFUSED, "declined")
    return Parsed(0, "said")


def _answers_after_all(found: list[str], at: int) -> bool:
    contrast, offer = finds("answers", "contrast"), finds("refusals", "offer")
    for sentence in found[at + 1 :]:
        match = contrast.match(sentence.lstrip())
        if match and not offer.match(sentence.lstrip()[match.end():].lstrip(" ,")):
            return True
    return False
