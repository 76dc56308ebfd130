"""A number on a scale, in digits, Chinese numerals or English words."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer, Silence, pattern
from biasatlas.benchmarks.shared.parsing.normalise import MARK, declines, finished, first_item, plain
from biasatlas.benchmarks.shared.parsing.options import Options

_ENGLISH = re.findall(r"\w+", "zero one two three four five six seven eight nine ten eleven twelve thirteen")
_VALUES = {word: i for i, word in enumerate(_ENGLISH)}
_VALUES |= {word: i for i, word in enumerate([*"零一二三四五六七八九十", "十一", "十二", "十三"])}
_DIGITS = r"\d{1,4}(?:[.,]\d{1,3})?"
_NUMBER = re.compile(
    rf"(?<![A-Za-z\d_#])(?<!\d[.,])(?<![A-Za-z]-)(?:(?<![\w)%])-)?{_DIGITS}"
    r"(?![a-zA-Z\d]|[.,]\d|\s?[+×*]\s?\d)"
    r"|(?:十[一二三]?|[零一二三四五六七八九])(?=\s?分(?!之|别|析|明|享|钟))"
    rf"|\b(?P<word>{'|'.join(_ENGLISH)})\b(?!-)",
    re.I,
)
#: After a number: the top of its scale, another number, a unit.
_NOUN = r"(?:[ ]?(?:分|points?|stars?))?"
_OVER = re.compile(rf"{_NOUN}\s{{0,2}}(?:/|out of|of(?= \d))\s{{0,2}}(?:a )?({_DIGITS}){_NOUN}", re.I)
_TO = re.compile(
    r"\s{0,2}分?\s{0,2}(?:(?:[-~–—到至和与、/]|或者?|或是|还是|甚至|or|to|and|,? ?(?:maybe|perhaps|possibly|even))"
    r"\s{0,2}(?:an? |是|者)?){1,2}",
    re.I,
)
_UNIT = re.compile(r"\s{0,2}(?:分(?!析|别|钟|之|明|类|享|歧|工|数|为|成)|points?|marks?|stars?|颗?星|级)", re.I)
#: A sum up to its result, and the marks of a list.
_SUM = re.compile(rf"(?:{_DIGITS}\s?分?\s?[+×*]\s?){{1,20}}{_DIGITS}\s?分?\s?(?==)")
_ENUMERATED = re.compile(
    r"^[ \t]{0,6}[(\[#-]{0,2}\s?(?:\d{1,2}|[一二三四五六七八九十])\s?(?:[)、\]]|\.(?!\d))(?!\s?\d{1,2}\s?分?\s?$)",
    re.M,
)
#: Before a total score, and before any score.
_TOTAL = pattern(r"(?:=|{total}[^\n。!?\d]{0,24})\s{0,3}$")
_ANNOUNCED = pattern(r"{announce}[^\n。!?;\d]{0,16}$")


class _Stated(NamedTuple):
    """A number, how it is stated (0 the surest), its place, and whether it is one of several alternatives."""

    value: Decimal
    rank: int
    start: int
    several: bool


def place(value: Decimal, values: Sequence[Decimal], nearest: bool) -> Answer:
    """The index of ``value`` in ``values``, or of the ``nearest`` (of two, the larger); off the scale: unparseable."""
    if not min(values) <= value <= max(values) or not (nearest or value in values):
        return UNPARSEABLE
    return min(range(len(values)), key=lambda i: (abs(values[i] - value), -values[i]))


def parse_number(text: str, options: Options, nearest: bool = False) -> Answer:
    """The number that a reply gives, as an index of ``options`` (numbers), or of the ``nearest`` of them."""
    values = [Decimal(label) for label in options.labels]
    found = stated_number(text, min(values), max(values))
    return found if isinstance(found, str) else place(found, values, nearest)


def stated_number(text: str, low: Decimal, high: Decimal) -> Decimal | Silence:
    """The number from ``low`` to ``high`` that a reply gives, or why there is none."""
    body = first_item(plain(text), lambda line: any(each.rank <= 2 for each in _stated(line, high)))
    body = re.sub(r"\d{7,}", "#", body)  # what is on no scale takes long to search
    found = _weighed(body, _stated(_blanked(body), high))
    return found if isinstance(found, str) or low <= found <= high else UNPARSEABLE


def _blanked(body: str) -> str:
    """``body`` with spaces in place of numbers that cannot be the reply's score, such as sums, list marks, scales."""
    text = _SUM.sub(_blank, body)
    if len(_ENUMERATED.findall(text)) > 1 or (re.match(r"\W{0,4}[1一]\s?[.、)]", text) and _NUMBER.search(text[8:])):
        text = _ENUMERATED.sub(_blank, text)
    return pattern("{noise}").sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _weighed(body: str, found: list[_Stated]) -> Decimal | Silence:
    """The one of the numbers ``found`` in ``body`` that is its score: the surest, or what it is corrected to."""
    if not found:
        return REFUSED if declines(body) else UNPARSEABLE
    best = min(each.rank for each in found)
    chosen = [each for each in found if each.rank == best]
    last, final = chosen[-1], found[-1]
    behind, before = body[last.start : final.start], body[chosen[-2].start : last.start] if len(chosen) > 1 else ""
    if pattern("{correct}").search(behind):
        return final.value
    if len({each.value for each in chosen}) > 1 or any(each.several for each in chosen):
        turns = pattern("{contrast}|{correct}|{conclude}").search(before.replace(MARK, ""))
        return last.value if turns and not last.several else AMBIGUOUS
    sentence = re.split(r"[。!?\n]", body[last.start :], maxsplit=1)[0]
    if best > 1 and final.value != last.value and pattern("{even}").search(sentence):
        return AMBIGUOUS
    return last.value if best <= 2 or finished(body) else UNPARSEABLE  # else it may be the score of a part


def _stated(text: str, high: Decimal) -> list[_Stated]:
    """The numbers in a ``text`` that may be its score; joined ones ("7-8") are marked as ``several``."""
    found: list[_Stated] = []
    end = 0
    for match in _NUMBER.finditer(text):
        if match.start() < end:
            continue
        said, over, rank = match[0].lower().replace(",", "."), _OVER.match(text, match.end()), _rank(text, match)
        value = Decimal(_VALUES.get(said, said))
        between, end = text[end : match.start()], over.end() if over else match.end()
        if (over and Decimal(over[1].replace(",", ".")) != high) or (match["word"] and rank > 3):
            continue
        if found and found[-1].value != value and len(between) < 24 and _TO.fullmatch(between):
            found[-1] = found[-1]._replace(several=True, rank=min(found[-1].rank, rank))
        else:
            found.append(_Stated(value, rank, match.start(), False))
    return found


def _rank(text: str, match: re.Match[str]) -> int:
    """How a number is stated: 0 a mark, 1 a total, 2 the whole reply or first line, 3 announced, 4 any other."""
    before, after = text[max(0, match.start() - 60) : match.start()], text[match.end() : match.end() + 30]
    line, unit = before.rpartition("\n")[2], _OVER.match(after) or _UNIT.match(after)
    if MARK in line:
        return 0
    if _TOTAL.search(line):
        return 1
    closed = re.match(r"\s{0,3}(?:$|[\n,.。;:!()—–-]|because|因|as\b|since)", after[unit.end() :] if unit else after)
    if closed and match.start() < 24 and not re.search(r"\w", pattern("{lead}|{announce}").sub("", before)):
        return 2
    return 3 if (closed or unit) and _ANNOUNCED.search(line) else 4
