"""A number on a scale, in digits, Chinese numerals or English words."""

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import NamedTuple

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer, Parsed, Silence
from biasatlas.benchmarks.shared.parsing.items import first_item
from biasatlas.benchmarks.shared.parsing.normalise import MARK, braced, json_objects, plain
from biasatlas.benchmarks.shared.parsing.options import Options, as_options
from biasatlas.benchmarks.shared.parsing.phrases import either, finds
from biasatlas.benchmarks.shared.parsing.refusal import declines

_WORDS = {
    name: Decimal(i)
    for i, name in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
        ]
    )
}
_HAN = {
    name: Decimal(i)
    for i, name in enumerate(["零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二", "十三"])
} | {"两": Decimal(2)}
_DIGITS = r"\d{1,4}(?:[.,]\d{1,3})?"
_NUMBER = re.compile(
    rf"(?<![A-Za-z\d_#])(?<!\d[.,])(?<![A-Za-z]-)(?P<minus>(?<![\w)%])-)?(?P<digits>{_DIGITS})(?![a-zA-Z\d]|[.,]\d"
    rf"|\s?[+×*]\s?\d)(?P<half>\s?分半|半)?"
    rf"|(?P<han>(?:十[一二三]?|[零一二两三四五六七八九])(?:点[零一二三四五六七八九])?)(?=\s?分(?!之|别|析|明|享|钟))(?P<hanhalf>分半)?"
    r"|(?:^|(?<=[\s:,为是给打]))(?P<bare>[零一二两三四五六七八九十](?:点[零一二三四五六七八九])?)(?=\s?(?:$|[\n。]))"
    rf"|\b(?P<word>{'|'.join(_WORDS)})\b(?P<wordhalf> and a half)?(?!-)",
    re.I | re.M,
)
_OVER = re.compile(
    rf"\s{{0,2}}(?:分|points?|stars?|marks?)?\s{{0,2}}(?:/|out of|of(?= \d)|分之)\s{{0,2}}(?:a )?({_DIGITS}"
    rf"|{'|'.join(_WORDS)})",
    re.I,
)
_TO = re.compile(
    r"\s{0,2}分?\s{0,2}(?:(?:-|~|–|—|到|至|或者?|和|与|、|/|or|to|and|,? ?maybe|,? ?perhaps|,? ?possibly|或是|还是|or maybe"
    r"|or even|or perhaps|甚至)\s{0,2}(?:an? |是|者)?){1,2}",
    re.I,
)
_SUM = re.compile(rf"(?:{_DIGITS}\s?分?\s?[+×*]\s?){{1,20}}{_DIGITS}\s?分?\s?[=]")
_UNIT = re.compile(r"\s{0,2}(?:分(?!析|别|钟|之|明|类|享|歧|工|数|为|成)|points?|marks?|stars?|颗?星|级)", re.I)


_ENUMERATED = re.compile(
    r"^[ \t]{0,6}[(\[#-]{0,2}\s?(?:\d{1,2}|[一二三四五六七八九十])\s?(?:[)、\]]|\.(?!\d))(?!\s?\d{1,2}\s?分?\s?(?:$|\n))",
    re.M,
)


_SUPPOSES = re.compile(
    r"(?:如果|若是?|假如|要是)(?!.{0,6}(?:必须|一定|非|硬|真要))|\b(?:if|had)\b(?!.{0,12}(?:must|had to|have to|forced))"
    r"|(?:might|would|could) have|last one|unlike",
    re.I,
)


class _Stated(NamedTuple):
    """A number, the rank of how it is stated (0 the surest), its place, and whether it is one of several
    alternatives."""

    value: Decimal
    rank: int
    start: int
    several: bool


def place(value: Decimal, values: Sequence[Decimal], nearest: bool) -> Answer:
    """The index of ``value`` among ``values``, or of the ``nearest`` (of two, the larger); unparseable off the
    scale."""
    if value in values:
        return list(values).index(value)
    if not nearest or not min(values) <= value <= max(values):
        return UNPARSEABLE
    return min(range(len(values)), key=lambda i: (abs(values[i] - value), -values[i]))


def stated_number(text: str, low: Decimal, high: Decimal) -> Decimal | Silence:
    """The number from ``low`` to ``high`` that a reply gives, or why there is none."""
    body = plain(text)
    found = _from_json(body, low, high)
    found = _from_text(body, low, high) if found is None else found
    return found if isinstance(found, str) or low <= found <= high else UNPARSEABLE


def parse_number(text: str, options: Options | Sequence[str], nearest: bool = False) -> Parsed:
    """The number that a reply gives, as an index of ``options`` (numbers); ``nearest``: one between two of them is
    the nearer."""
    values = [Decimal(label) for label in as_options(options).labels]
    found = stated_number(text, min(values), max(values))
    return Parsed(found if isinstance(found, str) else place(found, values, nearest), "number")


def _from_json(body: str, low: Decimal, high: Decimal) -> Decimal | Silence | None:
    """The number under a key that names the score of the whole, else a score."""
    if "{" not in body and not re.match(r"\s{0,9}[\"']\w", body):
        return None
    parts = list(braced(body)) or [body]
    if len(parts) > 1:
        parts = _objects_read(body, parts)
    pairs = [(str(key).strip(), value) for each in json_objects(parts[0]) for key, value in each.items()]
    if len(parts) > 1:
        found = {_from_json(part, low, high) for part in parts} - {None}
        return found.pop() if len(found) == 1 else AMBIGUOUS
    for key in ("total_key", "key"):
        named = re.compile(either("numbers", key), re.I)
        given = [_value(value, low, high) for name, value in pairs if named.fullmatch(name)]
        numbers = {value for value in given if value is not None}
        if numbers:
            return numbers.pop() if len(numbers) == 1 else _last(pairs, named, low, high) or AMBIGUOUS
    others = [value for name, value in pairs if not re.search("confidence|编号|序号|index|id$|version", name, re.I)]
    numbers = {value for value in (_value(each, low, high) for each in others) if isinstance(value, Decimal)}
    if len(numbers) == 1:
        return numbers.pop()
    if pairs and len(numbers) > 1:
        return AMBIGUOUS
    return REFUSED if any(isinstance(value, str) and declines(value) for _, value in pairs) else None


def _objects_read(body: str, parts: list[str]) -> list[str]:
    """Of several objects those that answer: the last after a correction, the first before another item or of a run,
    else all."""
    scored = [part for part in parts if re.search(r"\d", part) and not re.search(r":\s?[<\[]\s?\w+", part)] or parts
    between = body[body.index(scored[0]) + len(scored[0]) : body.rindex(scored[-1])]
    if finds("answers", "correct").search(between):
        return scored[-1:]
    another = len(scored) > 2 and not between.replace("\n", "").strip(" `").replace(scored[1], "").strip()
    return (
        scored[:1]
        if another
        or re.search(rf"\n\W{{0,4}}(?:{either('answers', 'item')}|[^\n:{{}}]{{1,20}}:[^\n{{}}]*\n)", between, re.I)
        else scored
    )


def _last(pairs: list, named: re.Pattern[str], low: Decimal, high: Decimal) -> Decimal | Silence | None:
    """Of several scores the one of the whole."""
    total = re.compile(r"total.*|overall.*|final.*|总.*|合计|最终.*|综合.*", re.I)
    given = {_value(value, low, high) for name, value in pairs if total.fullmatch(name)} - {None}
    return given.pop() if len(given) == 1 else None


def _value(value: object, low: Decimal, high: Decimal) -> Decimal | Silence | None:
    if isinstance(value, list):
        given = [_value(each, low, high) for each in value[:20]]
        return AMBIGUOUS if len(given) > 1 and any(isinstance(each, Decimal) for each in given) else None
    if isinstance(value, bool | dict) or value is None:
        return None
    try:
        return Decimal(str(value).strip())
    except InvalidOperation:
        text = plain(str(value))
        return (
            _from_text(text, low, high)
            if re.search(r"\d|[一二三四五六七八九十]", text)
            else REFUSED
            if declines(text)
            else None
        )


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    total, announce = either("numbers", "total"), either("numbers", "announce")
    filler = r"(?:[^\n。!?\d]{0,24})"
    key = either("numbers", "key")
    return {
        "line": re.compile(
            rf"\W{{0,4}}(?:(?:the |my |an? |final |answer |overall ){{0,3}}{key}\s?(?:[:=]|is|为"
            rf"|是)?)?\s{{0,3}}{_DIGITS}\s?(?:分|points?|stars?)?\s?(?:(?:/|out of)\s?\d+)?\s{{0,3}}分?(?:\W{{0,4}}"
            rf"|\s?[(,.。;:-].{{0,200}})",
            re.I,
        ),
        "heading": re.compile(
            rf"^([^\w\n]{{0,4}}(?:{total}|score|rating|grade|[最终后]?[得评]分|分数|打分)[^\n\d]{{0,6}})\n+(?=\W{{0,4}}\d)",
            re.I | re.M,
        ),
        "keyed": re.compile(rf"(?:^|\n)\W{{0,4}}{key}\s?:\s{{0,3}}$", re.I),
        "noise": re.compile(either("numbers", "noise"), re.I),
        "total": re.compile(rf"{total}{filler}$", re.I),
        "announce": re.compile(rf"{announce}[^\n。!?;\d]{{0,16}}$", re.I),
    }


def _blanked(body: str) -> str:
    """``body`` with what is no score of the reply as spaces."""

    def blank(match: re.Match[str]) -> str:
        return " " * len(match[0])

    text = _SUM.sub(lambda match: " " * (len(match[0]) - 1) + "=", body)
    text = re.sub(r"\"[^\"\n]{12,400}\"", blank, text)
    if len(_ENUMERATED.findall(text)) > 1 or (_NUMBER.search(text[8:]) and re.match(r"\W{0,4}[1一]\s?[.、)]", text)):
        text = _ENUMERATED.sub(blank, text)
    return _patterns()["noise"].sub(blank, text)


def _from_text(body: str, low: Decimal, high: Decimal) -> Decimal | Silence:
    """The number that the words of ``body`` give."""
    if not body:
        return UNPARSEABLE
    body = re.sub(r"\d{7,}", "#", body)  # on no scale
    body = first_item(body, lambda line: bool(_patterns()["line"].fullmatch(line)))
    body = _patterns()["heading"].sub(r"\1: ", body)
    text = _blanked(body)
    found = _stated(text, high) or (_stated(body, high) if re.match(r"\(?\d+\s?[=(.]", body) else [])
    if not found:
        return REFUSED if declines(body) else UNPARSEABLE
    best = min(each.rank for each in found)
    chosen = [each for each in found if each.rank == best]
    later = [each for each in found if each.start > chosen[-1].start and each.rank < 6]
    if later and (answer := _changed(text, chosen[-1], later)) is not None:
        return answer
    if (
        len({each.value for each in chosen}) > 1
        or any(each.several for each in chosen)
        or (best == 5 and declines(body))
    ):
        return _of_several(text, body, chosen, best)
    if best > 1 and not re.search(r":\s?$", body[: chosen[-1].start]) and _unfinished(body, chosen[-1].start):
        return UNPARSEABLE
    return chosen[0].value


def _changed(text: str, former: _Stated, later: list[_Stated]) -> Decimal | Silence | None:
    """What a number behind the ``former`` one makes of it: corrects it, or stands beside it."""
    last = later[-1]
    between = text[former.start : last.start]
    if corrections := list(finds("answers", "correct").finditer(between)):
        weak = finds("answers", "retract").fullmatch(corrections[-1][0]) and last.rank > 2
        if (not weak and last.rank < 5) or len(between) - corrections[-1].end() < 40:
            return AMBIGUOUS if weak else last.value
    beside = [
        each
        for each in later
        if each.rank < 5 and each.value != former.value and not re.search(r"[。!?\n]", text[former.start : each.start])
    ]
    if beside and (former.rank or former.several):
        between = text[former.start : beside[-1].start]
        contrast = finds("answers", "contrast").search(between)
        if contrast and beside[-1].rank < 3 and not beside[-1].several:
            return beside[-1].value
        if finds("answers", "even").search(text[former.start : beside[-1].start + 30]):
            return AMBIGUOUS
    keyed = [
        each for each in later if each.value != former.value and _patterns()["keyed"].search(text[: each.start][-30:])
    ]
    return AMBIGUOUS if keyed and former.rank in (1, 2) else None


def _of_several(text: str, body: str, chosen: list[_Stated], best: int) -> Decimal | Silence:
    """What several numbers of one rank come to."""
    last = chosen[-1]
    if len(chosen) > 1 and not last.several:
        between = text[chosen[-2].start : last.start]
        if finds("answers", "contrast").search(between) or (best == 0 and _concludes(text, last.start)):
            return last.value
    return REFUSED if best > 1 and declines(body) else AMBIGUOUS


def _unfinished(body: str, at: int) -> bool:
    """Whether ``body`` was cut off behind the score of a part of what is scored."""
    parts = _ENUMERATED.search(body[at:]) or re.search(r"满分|\(\d+\s?(?:-\s?\d+)?\s?(?:分|points?)?\)", body[at:])
    return bool(parts) and not re.search(r"[.。!?)\"'\]*\d分]\s{0,3}$", body)


def _concludes(body: str, at: int) -> bool:
    line = body[max(0, at - 60) : at].rpartition("\n")[2]
    return bool(finds("answers", "conclude").search(line)) or MARK in line


def _stated(text: str, high: Decimal) -> list[_Stated]:
    """The numbers of a ``text`` that may be its score, joined ones marked."""
    patterns, end = _patterns(), 0
    found: list[_Stated] = []
    for match in _NUMBER.finditer(text):
        if match.start() < end:
            continue
        value = _number(match)
        over = _OVER.match(text, match.end())
        before, after = text[max(0, match.start() - 60) : match.start()], text[match.end() : match.end() + 30]
        between = text[end : match.start()] if found else ""
        joined = bool(found) and len(between) < 24 and bool(_TO.fullmatch(between))
        end = over.end() if over else match.end()
        if (
            over
            and (_WORDS.get(over[1].lower()) or Decimal(re.sub("[a-z]+", "-1", over[1].replace(",", ".").lower())))
            != high
        ):
            continue
        if joined and found[-1].value != value:
            rank = min(found[-1].rank, _rank(patterns, before, after, text, match, over))
            found[-1] = found[-1]._replace(several=True, rank=rank)
            continue
        rank = _rank(patterns, before, after, text, match, over)
        sentence = re.split(r"[。!?\n]|\.\s", before)[-1]
        if (
            found
            and not _SUPPOSES.search(text[: found[0].start])
            and re.search(r"[.。!?\n]", between)
            and _SUPPOSES.search(sentence)
        ):
            continue
        if match["word"] and rank == 5:
            continue
        if finds("answers", "not").search(before[-24:]) and re.search(
            r"(?:not|不是|而非|n't|没有)\s?(?:an? )?$", before, re.I
        ):
            continue
        found.append(_Stated(value, rank, match.start(), False))
    return found


def _rank(patterns: dict, before: str, after: str, text: str, match: re.Match[str], over: object) -> int:
    """0 a total or mark, 1 the whole reply or first line, 2 announced, 3 with its unit, 5 bare."""
    line = before.rpartition("\n")[2]
    sentence = re.split(r"[。!?]|\.\s", line)[-1]
    clause = re.split(r"[,;，；]", sentence)[-1]
    unit = _UNIT.match(after)
    rest = after[unit.end() :] if unit else after
    if (
        MARK in line
        or re.search(r"=\s{0,3}$", line)
        or (patterns["total"].search(sentence) and not re.search(r"满分$", clause))
    ):
        return 0
    closed = over or re.match(r"\s{0,3}(?:$|[\n,.。;:!()—–-]|because|因|as\b|since)", rest)
    if (
        match.start() < 24
        and not re.search(
            r"\w", re.sub(either("answers", "lead") + "|" + either("numbers", "announce"), "", before, flags=re.I)
        )
        and closed
    ):
        return 1
    if patterns["announce"].search(sentence) and (closed or unit):
        return 2 if re.search(r"[a-z]{2}|[\u3400-\u9fff]", sentence, re.I) else 3
    if re.match(
        r"\s{0,2}分?\s{0,2}(?:is|would be|seems|更|比较|较为?)\s{0,2}(?:more |most |the )?(?:better|appropriate|fair\w*"
        r"|accurate|right|合适|恰当|妥当|合理|准确)",
        rest,
        re.I,
    ):
        return 2
    if unit or over:
        return 3
    if not line.strip() and re.match(r"\s{0,3}(?:[.。]?\s{0,3}$|\n)", rest):
        return 2
    return 5


def _number(match: re.Match[str]) -> Decimal:
    half = Decimal("0.5") if match["half"] or match["hanhalf"] or match["wordhalf"] else Decimal(0)
    if match["digits"]:
        value = Decimal(match["digits"].replace(",", "."))
        return (-value if match["minus"] else value) + half
    if match["word"]:
        return _WORDS[match["word"].lower()] + half
    whole, _, part = (match["han"] or match["bare"]).partition("点")
    return _HAN[whole] + (_HAN[part] / 10 if part else 0) + half
