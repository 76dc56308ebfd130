"""An order of options, from first to last."""

import re
from collections.abc import Iterator, Sequence

from biasatlas.benchmarks.shared.readers.outcomes import AMBIGUOUS, REFUSED, UNPARSEABLE, Reading
from biasatlas.benchmarks.shared.readers.refusal import is_refusal
from biasatlas.benchmarks.shared.readers.reply import plain

_TIE = re.compile(r"=|\btied?\b|\bequal(?:ly)?\b|并列|並列|同样|一样|同樣|一樣", re.I)
_NEXT = r"[ \t\"'()\[\].:*]*(?:>+|,|;|、|->|→|=>|then|and then|and|followed by|before|over|优于|優於|好于|好於|其次是?|然后是?|最后是?|大于)?[ \t\"'()\[\].:*,]*(?:then|and then|and|by|lastly|finally|is|is the (?:best|worst))?[ \t\"'()\[\],]*"


def read_ranking(text: str, labels: Sequence[str]) -> Reading:
    """The order that a reply gives, one of ``labels`` ("B>A>C", every order of the options), in English or Chinese.

    "B > A > C", "B, A, C", "BAC", "B, then A, then C", "B优于A，A优于C", a list with an option a line, a JSON array. It has to
    name every option once.

    - ambiguous: different orders, ties ("A = B > C")
    - refused: no order, and the reply declines (:mod:`.refusal`); unparseable: part of an order, or none
    """
    body, orders = plain(text), [tuple(label.split(">")) for label in labels]
    options = orders[0]
    found = {order for order in _orders(body, options) if sorted(order) == sorted(options)}
    readings = {orders.index(order) for order in found if order in orders}
    if _TIE.search(body) and any(len(re.findall(rf"\b{option}\b", body)) for option in options):
        return AMBIGUOUS
    if readings:
        return readings.pop() if len(readings) == 1 else AMBIGUOUS
    return REFUSED if is_refusal(body) else UNPARSEABLE


def _orders(text: str, options: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every chain of options: in a line, in the first words of a list's lines; one named twice in a row counts once."""
    letter = "|".join(map(re.escape, options))
    other = r"(?!\s*(?:>|,|→)\s*[A-Z]\b)"
    if re.fullmatch(rf"(?:{letter}){{{len(options)}}}", text):
        yield tuple(text)
    link = rf"(?:{_NEXT}|[^\n.]{{0,16}}?(?:,|;)\s*(?:followed by|then|and then|and|its|{letter}\s*优于)\s*)"
    for match in re.finditer(rf"(?<![A-Za-z])(?:{letter})(?:{link}(?:{letter})(?![A-Za-z]))+{other}", text):
        names = re.findall(rf"(?<![A-Za-z])(?:{letter})(?![A-Za-z])|(?:{letter})(?=\s*[>、,→])", match[0])
        yield tuple(name for i, name in enumerate(names) if i == 0 or names[i - 1] != name)
    heads = re.findall(
        rf"^\s*(?:[-*•]|\(?\d+(?:st|nd|rd|th)?\s*[.):]|第[一二三四五]:?)\s*({letter})(?![A-Za-z])", text, re.M
    )
    yield tuple(heads)
