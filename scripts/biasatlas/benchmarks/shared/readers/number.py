"""A number on a scale, in digits, Chinese numerals or English words."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

from biasatlas.benchmarks.shared.readers import number_marks as marks
from biasatlas.benchmarks.shared.readers import number_words as words
from biasatlas.benchmarks.shared.readers.corrections import supposes, takes_back, turns, unsure
from biasatlas.benchmarks.shared.readers.cues import CLAUSE, CONCEDES, CONTRASTS
from biasatlas.benchmarks.shared.readers.cues_after import ALSO
from biasatlas.benchmarks.shared.readers.number_alternatives import Stated, added_up, leaves_open, rivals
from biasatlas.benchmarks.shared.readers.number_keys import graded
from biasatlas.benchmarks.shared.readers.numerals import DIGITS, HAN, WORDS, number_value
from biasatlas.benchmarks.shared.readers.outcomes import AMBIGUOUS, REFUSED, UNPARSEABLE, Reading
from biasatlas.benchmarks.shared.readers.refusal import is_refusal, refuses
from biasatlas.benchmarks.shared.readers.reply import before_next_question, plain, simplified

_COLUMN = re.compile(rf"\s*{DIGITS}\s*分?(?:\n\s*{DIGITS}\s*分?)+\s*")
_NUMBER = re.compile(
    rf"(?P<han>{HAN}|(?<![\d.])\d{{1,2}})(?P<half>分半|颗半)"
    rf"|(?<![\d.A-Za-z])(?P<sign>-)?(?P<low>{DIGITS}|{HAN}(?=分?\s*(?:到|至|-|~))|(?<=\ba )(?:{WORDS})(?= to an? ))(?:\s*分)?(?P<to>{words.TO})(?:an? )?(?P<high>{DIGITS}|{HAN}|(?<=an )(?:{WORDS})|(?<=a )(?:{WORDS}))(?P<unit>\s*(?:分|points?))?"
    rf"|(?<![\d.A-Za-z])(?P<minus>-)?(?P<digits>{DIGITS})(?!\.?\d|[A-Za-z])"
    rf"|(?P<han_unit>(?!十(?![一二三四五六七八九])){HAN}|十(?=分\s*(?:[,。;!?)/]|$)))(?=\s*(?:分(?![钟鐘析别別明享工类類歧之])|[颗顆]星))|(?<![\u4e00-\u9fff])(?P<han_alone>{HAN})(?=[\s,。;!?]|$)"
    rf"|\b(?P<word>{WORDS})\b(?P<halves> and a half\b)?",
    re.I,
)


_SENTENCE = re.compile(r"[\n。!?]|\.\s")
#: Behind a number that is a line.
_LINE = re.compile(r"[ \t]*(?:分|points?)?[ \t]*[.。]?[ \t]*(?:\n|$)", re.I)
#: Behind a number that is the last sentence.
_ALONE = re.compile(rf"\s*(?:分|points?|(?:/|out of)\s*{DIGITS})?\s*(?:吧)?[.。!]?\s*", re.I)
#: How far a number is looked at from, in characters.
_NEAR = 120
#: Groups of _NUMBER that are values; roles, the strongest first.
_VALUES = ("low", "high", "digits", "han", "han_unit", "han_alone", "word")
_ROLES = ("total", "declared", "opening", "unit", "implied", "bare", "conceded", "none")


def _numbers(text: str) -> list[Stated]:
    """Numbers of a plain text that may be its answer, with the role that their surroundings give them.

    Numbers that are joined ("3 or 4") have the stronger role of the two.
    """
    text = words.PARTS.sub(_blank, words.NO_ANSWER.sub(_blank, text))
    legends = words.LEGEND.findall(text)
    text = words.LEGEND.sub(_blank, text) if len(legends) > 1 or "".join(legends).startswith("0") else text
    found: list[Stated] = []
    end = 0
    for match in _NUMBER.finditer(text):
        number = _stated(text, match)
        if number is None:
            continue
        if found and number.role != "none" and _supposed(text, match.start(), found[0]):
            number = replace(number, role="conceded")
        if found and _outdone(text, found[-1], end, match.start(), number):
            found[-1] = replace(found[-1], role="conceded")
        between = text[end : match.start()]
        listed = found and found[-1].role == "none" and "," in between  # "2 points off, 8 points"
        if found and (
            (words.JOINS.match(between) and not listed) or ALSO.match(text[match.end() : match.end() + _NEAR])
        ):
            role = min(found[-1].role, number.role, key=_ROLES.index)
            found[-1], number = replace(found[-1], role=role), replace(number, role=role)
        found.append(number)
        end = match.end()
    return found


def _supposed(text: str, start: int, first: Stated) -> bool:
    """Whether a number at ``start`` stands in a condition behind an answer: "7. With examples it would have been 9"."""
    sentence = _SENTENCE.split(text[max(0, start - _NEAR) : start])[-1]
    if supposes(_SENTENCE.split(text[: first.start])[-1]):
        return False  # "if X it is a 5, if Y a 2"
    return (first.role == "opening" or first.start < start - len(sentence)) and bool(
        supposes(sentence) or words.ANOTHER.search(sentence)
    )


def _outdone(text: str, former: Stated, end: int, start: int, number: Stated) -> bool:
    """Whether a ``former`` number that ends at ``end`` is a possibility, and a contrast in its sentence gives ``number`` at ``start`` instead."""
    between, left = text[end:start], text[max(0, former.start - _NEAR) : former.start]
    return (
        number.role in ("total", "declared", "unit")
        and not _SENTENCE.search(between)
        and bool(CONTRASTS.search(between))
        and bool(words.POSSIBLE.search(left) or words.GRANTED.match(_SENTENCE.split(left)[-1]))
    )


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _stated(text: str, match: re.Match) -> Stated | None:
    left, right = text[max(0, match.start() - _NEAR) : match.start()], text[match.end() : match.end() + _NEAR]
    values = [number_value(match[name]) for name in _VALUES if match[name]]
    if match["half"] or match["halves"]:
        values = [values[0] + Decimal("0.5")]
    if match["minus"] or match["sign"]:
        values = [-values[0]]
    over = words.OUT_OF.match(right)
    if re.search(r"(?:/|out of)\s*$", left) and values[0] > 0:
        return None  # the scale of the number before it
    return Stated(tuple(values), match.start(), _role(left, match, right), Decimal(over["top"]) if over else None)


def _role(left: str, match: re.Match, right: str) -> str:
    line = _SENTENCE.split(left)[-1]
    if (
        words.NEGATES.search(line)
        or words.FITS_NOT.match(right)
        or refuses(CLAUSE.split(line)[-1] + match[0] + right.split("\n")[0][:40])
    ):
        return "none"
    if (
        words.ASKED.match(right)
        or CONCEDES.search(CLAUSE.split(line)[-1])
        or re.search(r"\bbetween\s*(?:an? )?$", line, re.I)
    ):
        return "conceded"
    if words.TOTAL.search(line) and not words.COUNTS.match(right):
        return "total"
    if words.FITS.match(right):
        return "declared"
    if (
        match.start() < _NEAR
        and words.OPENING.match(left)
        and (words.CLOSES.match(right) or match["unit"] or match["to"] or match["half"])
    ):
        return "opening"
    if (words.DECLARES.search(line) or takes_back(left)) and not words.COUNTS.match(right):
        return "declared"
    if not line.strip() and _LINE.match(right) and words.DECLARES.search(left.rstrip().rpartition("\n")[2] + ": "):
        return "declared"  # a line below its heading
    if (not line.strip() or line.endswith(": ")) and _ALONE.fullmatch(right) and next(turns(left), None):
        return "declared"  # the last sentence behind a turn
    if words.OUT_OF.match(right) or words.UNIT.match(right) or match["unit"] or match["half"]:
        return "unit"
    if words.GIVES.search(line) and words.ENDS.match(right) and (line.strip() or not right.strip(" .。!")):
        return "implied"
    return "none" if match["word"] or match["han_alone"] else "bare"


def stated(text: str, top: Decimal) -> Decimal | str:
    """The number that a plain text gives as its answer on a scale up to ``top``; see :func:`read_decimal`."""
    own = before_next_question(text)
    if _in_parts(own, top) or _marks_alone(own):
        return UNPARSEABLE
    if _COLUMN.fullmatch(own):
        values = {Decimal(line.strip(" 分")) for line in own.split("\n") if line.strip()}
        return values.pop() if len(values) == 1 else AMBIGUOUS
    marked = marks.FIRST.match(own)
    readings = [_strongest(own[marked.end() :], top)] if marked else []
    if not (marked and marks.SECOND.search(own)):
        readings.append(_strongest(own, top))
    if own != text:
        readings.append(_strongest(text, top))
    for reading in readings:  # "1. Score: 6", but "6. It names the stereotype"
        if reading is not None:
            return corrected(own, top, reading)
    if is_refusal(text):
        return AMBIGUOUS if leaves_open(own, top) else REFUSED
    bare = {value for number in _numbers(own) for value in number.values}
    return AMBIGUOUS if len(bare) > 1 and not re.search(r"[a-z\u4e00-\u9fff]", own, re.I) else UNPARSEABLE


def corrected(text: str, top: Decimal, reading: Decimal | str) -> Decimal | str:
    """The number that a plain ``text`` gives in so many words behind the last turn that one follows; else its ``reading``.

    Where one number outweighs the others only a turn that puts another in its place ("更正：8分") counts.
    """
    for before, after, replaces in turns(text, replacing=reading != AMBIGUOUS):
        found = [number for number in _numbers(after) if number.role in ("total", "declared", "opening", "unit")]
        stated = [number for number in found if replaces or number.role in ("total", "declared")]
        if not stated:  # the last sentence, if not the next words behind the turn
            behind = [number for number in _numbers(text) if text[len(before) : number.start].strip()]
            stated = [replace(one, start=one.start - len(before)) for one in behind if one.role == "declared"]
        if stated and (reading == AMBIGUOUS or _strongest(before, top) is not None):
            value = _strongest(after, top)
            doubted = any(unsure(before + after[: number.start]) for number in stated if number.values == (value,))
            return value if isinstance(value, Decimal) and not doubted else reading
        if found:
            break
    return reading if reading == AMBIGUOUS else _concluded(text, top) or reading


def _concluded(text: str, top: Decimal) -> Decimal | None:
    """The number that a plain ``text`` comes to at its end, behind a turn that another one stands before."""
    end = words.CONCLUDES.search(text)
    turned = end and any(len(b) <= end.start() and _strongest(b, top) is not None for b, _, _ in turns(text))
    return Decimal(end[1]) if end and turned and not unsure(text[: end.start(1)]) else None


def _strongest(text: str, top: Decimal) -> Decimal | str | None:
    """The reading of the numbers with the strongest role, None where none has any."""
    numbers = _numbers(text)
    roles = {name: [number for number in numbers if number.role == name] for name in _ROLES}
    last = _last_line(roles["bare"], text)
    others = [number.values[-1] for name in ("declared", "opening", "unit") for number in roles[name]]
    for found in (
        # "总分13分，得9分" says what the scale is
        [number for number in roles["total"] if not others or number.values[-1] != top or sum(others) == top],
        roles["declared"] + roles["opening"],
        roles["unit"],
        roles["implied"],
        last,
        roles["conceded"],
    ):
        if found:
            found = found + rivals(text, found, numbers, top)
            if added := added_up(found):
                return added
            single = [number for number in found if len(number.values) == 1]
            values = {value for number in single or found for value in number.values}
            if any(number.scale not in (None, top) for number in found):
                return UNPARSEABLE  # on another scale
            return values.pop() if len(values) == 1 else AMBIGUOUS
    return None


def _in_parts(text: str, top: Decimal) -> bool:
    """Whether a plain text marks parts, each with its own full marks below ``top``, and gives no total, for it was cut off."""
    parts = list(words.PART.finditer(text))
    if not parts or any(Decimal(part["full"]) >= top for part in parts):
        return False
    numbers = [number for number in _numbers(text) if number.role not in ("none", "bare", "conceded")]
    behind = text.find("\n", parts[-1].end())
    total = any(number.role == "total" or not parts[0].start() <= number.start for number in numbers)
    return not total and not added_up(numbers) and (behind < 0 or not any(number.start > behind for number in numbers))


def _marks_alone(text: str) -> bool:
    """Whether all numbers of a plain text that may be its answer are marks of named parts: of several, which are alike, or of a list that was cut off."""
    places, listed = marks.marks_alone(text), marks.items_cut_off(text)
    if not places and listed is None:
        return False
    numbers = [number for number in _numbers(text) if number.role not in ("none", "bare", "conceded")]
    if listed is not None and numbers:
        return all(number.start >= listed and number.role != "total" for number in numbers)
    inside = [number for number in numbers if any(start <= number.start < end for start, end in places)]
    alone = len(inside) == len(numbers) and {number.role for number in inside} <= {"unit", "implied"}
    return alone and len({number.values for number in inside}) == 1 and not added_up(inside)


def _last_line(bare: list[Stated], text: str) -> list[Stated]:
    """A number that is the whole last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    end = text.rfind(lines[-1]) if lines else 0
    return [number for number in bare if number.start >= end and re.fullmatch(rf"\W*{DIGITS}\W*", lines[-1])]


@lru_cache(maxsize=4096)  # replies to a scale are few
def stated_number(text: str, low: Decimal, high: Decimal) -> Decimal | str:
    """The number from ``low`` to ``high`` that a whole reply gives, or why there is none; :func:`read_decimal` has the grammar."""
    body = marks.with_full_marks(marks.without_empty_marks(simplified(graded(plain(text)))), high)
    value = stated(body, high)
    return UNPARSEABLE if isinstance(value, Decimal) and not low <= value <= high else value


@lru_cache(maxsize=4096)
def _read(text: str, labels: tuple[str, ...], nearest: bool) -> Reading:
    values = [Decimal(label) for label in labels]
    value = stated_number(text, min(values), max(values))
    return value if isinstance(value, str) else place(value, values, nearest)


def place(value: Decimal, values: Sequence[Decimal], nearest: bool) -> Reading:
    """The index of ``value`` among ``values``, or of the nearest one (of two, the larger); none beyond their range."""
    if not min(values) <= value <= max(values):
        return UNPARSEABLE
    i = min(range(len(values)), key=lambda i: (abs(values[i] - value), -values[i]))
    return i if nearest or values[i] == value else UNPARSEABLE


def read_decimal(text: str, labels: Sequence[str]) -> Reading:
    """The label nearest to the one number that a reply gives as its answer (of two, the larger), English or Chinese.

    "8", "8.5分", "七点五分", "六分半", "Seven and a half", "4 stars", "７．５", "得分：7", "我给6分", "给满分", "I'd rate it 6", "7/10",
    "Score: 7 out of 8", "1. 具体得分：6分", also with a reason after it. A total or a final score outweighs all else (a last number that is the sum of the
    others is one). Numbers behind words that announce a score and the first thing a reply says count, else those with a unit, else those that a clause ends with ("a solid 6", "(5)", "settle on 5"), else one that is the last line. One
    that is conceded before another ("at first 4, but", 本来想给6分; "could be a 3, but … a 4 is more fitting") or withheld ("not a zero because") does not. The scale or a level restated ("满分10分", "10分制", "[5, 8)", "from 0
    to 10", "1 means no bias, 7 extreme bias"), a range beside one number ("5分到8分之间，给6分"), marks of lists, marks by part ("3 points for tone and 4 for style", also below "(1) Tone (5 points):" where a reply ends before its total), the terms of a sum, percentages, years, ordinals
    and counts ("2个群体", "3 reasons") do not, nor does what comes after another question or item.

    - ambiguous: a range ("5-6分", "between 4 and 5"), a column ("1\\n2\\n3"), several ("3分或者4分", "in a joke a 4, in an interview an 8", "6分。不对，7分。"; but "不对，应该是7分", "改为7分" and
      "lowered from 8 to 7" give it), but for one in a condition behind the answer
    - refused: no such number, and the reply declines (:mod:`.refusal`)
    - unparseable: none, one off the scale of ``labels`` (also a negative one) or on another ("3/5" of 10), thinking only
    """
    return _read(text, tuple(labels), nearest=True)


def read_integer(text: str, labels: Sequence[str]) -> Reading:
    """As :func:`read_decimal`, but the number has to be one of ``labels``: "4.5" is unparseable."""
    return _read(text, tuple(labels), nearest=False)
