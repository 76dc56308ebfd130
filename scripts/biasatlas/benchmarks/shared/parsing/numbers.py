"""A number on a scale, in digits, Chinese numerals or English words."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer, Silence, pattern
from biasatlas.benchmarks.shared.parsing.normalise import MARK, finished, first_item, plain
from biasatlas.benchmarks.shared.parsing.options import Options, as_options
from biasatlas.benchmarks.shared.parsing.refusal import declines

_ENGLISH = re.findall(r"\w+", "zero one two three four five six seven eight nine ten eleven twelve thirteen")
_HAN = [*"零一二三四五六七八九十", "十一", "十二", "十三"]
_WORDS = {name: Decimal(i) for names in (_ENGLISH, _HAN) for i, name in enumerate(names)} | {"两": Decimal(2)}
_DIGITS = r"\d{1,4}(?:[.,]\d{1,3})?"
_NUMBER = re.compile(
    rf"(?<![A-Za-z\d_#])(?<!\d[.,])(?<![A-Za-z]-)(?P<minus>(?<![\w)%])-)?(?P<digits>{_DIGITS})(?![a-zA-Z\d]|[.,]\d"
    rf"|\s?[+×*]\s?\d)(?P<half>\s?分半|半)?"
    rf"|(?P<han>(?:十[一二三]?|[零一二两三四五六七八九])(?:点[零一二三四五六七八九])?)(?=\s?分(?!之|别|析|明|享|钟))(?P<hanhalf>分半)?"
    r"|(?:^|(?<=[\s:,为是给打]))(?P<bare>[零一二两三四五六七八九十](?:点[零一二三四五六七八九])?)(?=\s?(?:$|[\n。]))"
    rf"|\b(?P<word>{'|'.join(_ENGLISH)})\b(?P<wordhalf> and a half)?(?!-)",
    re.I | re.M,
)
_OVER = re.compile(
    rf"\s{{0,2}}(?:分|points?|stars?|marks?)?\s{{0,2}}(?:/|out of|of(?= \d)|分之)\s{{0,2}}(?:a )?({_DIGITS}"
    rf"|{'|'.join(_ENGLISH)})",
    re.I,
)
_TO = re.compile(
    r"\s{0,2}分?\s{0,2}(?:(?:[-~–—到至和与、/]|或者?|或是|还是|甚至|or|to|and|,? ?(?:maybe|perhaps|possibly|even))"
    r"\s{0,2}(?:an? |是|者)?){1,2}",
    re.I,
)
_SUM = re.compile(rf"(?:{_DIGITS}\s?分?\s?[+×*]\s?){{1,20}}{_DIGITS}\s?分?\s?[=]")
_UNIT = re.compile(r"\s{0,2}(?:分(?!析|别|钟|之|明|类|享|歧|工|数|为|成)|points?|marks?|stars?|颗?星|级)", re.I)


_ENUMERATED = re.compile(
    r"^[ \t]{0,6}[(\[#-]{0,2}\s?(?:\d{1,2}|[一二三四五六七八九十])\s?(?:[)、\]]|\.(?!\d))(?!\s?\d{1,2}\s?分?\s?$)",
    re.M,
)


class _Stated(NamedTuple):
    """A number, how it is stated (0 the surest), its place, and whether it is one of several alternatives."""

    value: Decimal
    rank: int
    start: int
    several: bool


def place(value: Decimal, values: Sequence[Decimal], nearest: bool) -> Answer:
    """The index of ``value`` among ``values``, or of the ``nearest`` (of two, the larger); none off the scale."""
    if value in values:
        return list(values).index(value)
    if not nearest or not min(values) <= value <= max(values):
        return UNPARSEABLE
    return min(range(len(values)), key=lambda i: (abs(values[i] - value), -values[i]))


def stated_number(text: str, low: Decimal, high: Decimal) -> Decimal | Silence:
    """The number from ``low`` to ``high`` that a reply gives, or why there is none."""
    found = _from_text(plain(text), low, high)
    return found if isinstance(found, str) or low <= found <= high else UNPARSEABLE


def parse_number(text: str, options: Options | Sequence[str], nearest: bool = False) -> Answer:
    """The number that a reply gives, as an index of ``options`` (numbers), or of the ``nearest`` of them."""
    values = [Decimal(label) for label in as_options(options).labels]
    found = stated_number(text, min(values), max(values))
    return found if isinstance(found, str) else place(found, values, nearest)


#: Before a score of the whole, and before one at all.
_TOTAL = pattern(r"{total}[^\n。!?\d]{0,24}$")
_ANNOUNCED = pattern(r"{announce}[^\n。!?;\d]{0,16}$")


def _blanked(body: str) -> str:
    """``body`` with what is no score of the reply as spaces."""

    def blank(match: re.Match[str]) -> str:
        return " " * len(match[0])

    text = _SUM.sub(lambda match: " " * (len(match[0]) - 1) + "=", body)
    if len(_ENUMERATED.findall(text)) > 1 or (_NUMBER.search(text[8:]) and re.match(r"\W{0,4}[1一]\s?[.、)]", text)):
        text = _ENUMERATED.sub(blank, text)
    return pattern("{noise}").sub(blank, text)


def _from_text(body: str, low: Decimal, high: Decimal) -> Decimal | Silence:
    """The number that the words of ``body`` give."""
    body = first_item(body, lambda line: any(each.rank <= 2 for each in _stated(line, high)))
    body = re.sub(r"\d{7,}", "#", body)  # what is on no scale takes long to search
    text = _blanked(body)
    if not (found := _stated(text, high)):
        return REFUSED if declines(body) else UNPARSEABLE
    best = min(each.rank for each in found)
    chosen = [each for each in found if each.rank == best]
    if best == 0 and len(chosen) > 2:  # objects that a base model goes on with
        chosen = chosen[:1]
    last, final = chosen[-1], found[-1]
    behind, before = text[last.start : final.start], text[chosen[-2].start : last.start] if len(chosen) > 1 else ""
    if pattern("{correct}").search(behind) and not pattern("{supposed}").search(behind):
        return final.value
    if best > 3 and declines(body):
        return REFUSED
    if len({each.value for each in chosen}) > 1 or any(each.several for each in chosen):
        turns = pattern("{contrast}|{correct}|{conclude}").search(before.replace(MARK, ""))
        return last.value if turns and not last.several else AMBIGUOUS
    sentence = re.split(r"[。!?\n]", text[last.start :], maxsplit=1)[0]
    if best > 1 and final.value != last.value and pattern("{even}").search(sentence):
        return AMBIGUOUS
    return last.value if best <= 2 or finished(body) else UNPARSEABLE  # else the score of a part, for all that is known


def _stated(text: str, high: Decimal) -> list[_Stated]:
    """The numbers of a ``text`` that may be its score, joined ones marked."""
    found: list[_Stated] = []
    end = 0
    for match in _NUMBER.finditer(text):
        if match.start() < end:
            continue
        value, over = _number(match), _OVER.match(text, match.end())
        between = text[end : match.start()] if found else ""
        end = over.end() if over else match.end()
        top = over[1].lower().replace(",", ".") if over else ""
        if over and (_WORDS[top] if top in _WORDS else Decimal(top)) != high:
            continue
        rank = _rank(text, match, over)
        if found and found[-1].value != value and len(between) < 24 and _TO.fullmatch(between):
            found[-1] = found[-1]._replace(several=True, rank=min(found[-1].rank, rank))
            continue
        if not (match["word"] and rank == 5):
            found.append(_Stated(value, rank, match.start(), False))
    return found


def _rank(text: str, match: re.Match[str], over: object) -> int:
    """0 a mark, 1 a total, 2 the whole reply or first line, 3 announced, 4 with its unit, 5 bare."""
    before, after = text[max(0, match.start() - 60) : match.start()], text[match.end() : match.end() + 30]
    line = before.rpartition("\n")[2]
    sentence = re.split(r"[。!?]|\.\s", line)[-1]
    rest = after[unit.end() :] if (unit := _UNIT.match(after)) else after
    if MARK in line:
        return 0
    if re.search(r"=\s{0,3}$", line) or (_TOTAL.search(sentence) and not sentence.endswith("满分")):
        return 1
    closed = over or re.match(r"\s{0,3}(?:$|[\n,.。;:!()—–-]|because|因|as\b|since)", rest)
    if closed and match.start() < 24 and not re.search(r"\w", pattern("{lead}|{announce}").sub("", before)):
        return 2
    if _ANNOUNCED.search(sentence) and (closed or unit):
        return 3
    return 4 if unit or over else 5


def _number(match: re.Match[str]) -> Decimal:
    half = Decimal("0.5" if match["half"] or match["hanhalf"] or match["wordhalf"] else 0)
    if match["digits"]:
        return Decimal((match["minus"] or "") + match["digits"].replace(",", ".")) + half
    whole, _, part = (match["word"] or match["han"] or match["bare"]).lower().partition("点")
    return _WORDS[whole] + (_WORDS[part] / 10 if part else 0) + half
