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
    """Of a reply in free words: option 0 ("answered"), unless it declines and says nothing behind a contrast."""
    body = plain(reply)
    if not re.search(r"\w", body):
        return UNPARSEABLE
    found = [sentence.strip() for _, sentence in sentences(_QUOTED.sub('"…"', body))]
    for i, sentence in enumerate(found[:4]):
        if no := pattern("{declines}").search(sentence):
            contrast = pattern("{contrast}")
            turns = (contrast.search(sentence, no.end()), *map(contrast.match, found[i + 1 :]))
            return 0 if any(turns) else REFUSED
    return 0
