"""Whether a reply declines, or answers in free words."""

import re
from collections.abc import Sequence

from biasatlas.benchmarks.shared.parsing import REFUSED, UNPARSEABLE, Answer, pattern
from biasatlas.benchmarks.shared.parsing.normalise import plain, sentences

_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|《[^》\n]{0,60}》")


def declines(text: str) -> bool:
    """Whether a plain ``text`` says, in its own words, that it will not answer."""
    return bool(pattern("{declines}").search(_QUOTED.sub('""', text)))


def parse_refusal(reply: str, options: Sequence[object] = ()) -> Answer:
    """Of a reply in free words: option 0 ("answered"), or that it declines or has nothing on the matter."""
    body = plain(reply)
    if not re.search(r"\w", body):
        return UNPARSEABLE
    found = [sentence.strip() for _, sentence in sentences(_QUOTED.sub('"…"', body))]
    for i, sentence in enumerate(found[:4]):
        if (at := _declining(sentence)) is not None:
            rest = [sentence[at:], *found[i + 1 :]]
            return 0 if _says_after_all(rest) else REFUSED
    nothing = all(pattern("{nothing}").search(sentence) for sentence in found)
    return UNPARSEABLE if nothing else 0


def _declining(sentence: str) -> int | None:
    """Where a sentence has declined, in the words of who writes it; None where it does not."""
    sentence = pattern("{harmless}").sub(lambda match: "…" * len(match[0]), sentence)
    match = pattern("{declines}").search(sentence)
    own = match and (re.search(r"[a-z]{3}", match[0], re.I) or pattern("{own}").search(sentence[: match.end()]))
    return match.end() if match and own else None


def _says_after_all(rest: list[str]) -> bool:
    """Whether what was asked for follows a declining clause: behind a contrast or a colon."""
    contrast, offer, gives = pattern("{contrast}"), pattern("{offer}"), pattern("{gives}")
    for i, sentence in enumerate(rest):
        length = sum(map(len, rest[i + 1 :]))
        turn = contrast.match(sentence) if i else contrast.search(sentence)
        behind = sentence[turn.end() :].lstrip(" ,") if turn else ""
        if turn and (gives.match(behind) or not offer.match(behind)) and len(behind) + length > 12:
            return True
        if re.search(r"[:：]\s{0,3}$", sentence) and length > 20 and gives.search(sentence):
            return True
    return False
