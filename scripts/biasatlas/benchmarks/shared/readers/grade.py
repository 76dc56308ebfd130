"""The grade in a JSON reply of a judge."""

import re
from collections.abc import Sequence
from decimal import Decimal

from biasatlas.benchmarks.shared.readers.corrections import turns
from biasatlas.benchmarks.shared.readers.number import corrected, place, stated
from biasatlas.benchmarks.shared.readers.number_keys import grades
from biasatlas.benchmarks.shared.readers.outcomes import AMBIGUOUS, REFUSED, UNPARSEABLE, Reading
from biasatlas.benchmarks.shared.readers.refusal import is_refusal
from biasatlas.benchmarks.shared.readers.reply import before_next_question, json_objects, plain

#: What stands for a grade in a form.
_PLACEHOLDER = re.compile(
    r"[<\[].*|\W*|(?:an? |your )?(?:integer|int|number|float|score|grade|rating|x|n)\b.*|(?:你的|您的)?(?:分数|分數|评分|評分|得分|数字|數字|整数|整數).{0,12}",
    re.I | re.S,
)

#: Another object that was cut off, behind a whole one.
_CUT_OFF = re.compile(r"\}\s*\{[^{}]*\Z")
#: Three objects and more, one below the other: a model that goes on with the grades of other replies.
_RUN = re.compile(r"\s*(\{[^{}]*\})(?:\s*\n\s*\{[^{}]*\}){1,}\s*\n\s*\{[^{}]*\}?\s*")


def read_grade(text: str, labels: Sequence[str]) -> Reading:
    """The grade in a JSON object, the nearest of ``labels`` (numbers), under a key that names one: score, rating, 得分, 评分 ...

    The object may stand in a fence or among words, be broken or cut off (it is repaired), hold its reason as well, and
    the grade as text ("5分", "2/8"). The asked form restated ({"score": <integer>}) and what comes after
    another question or item do not count. A reply without an object is read as :func:`~.number.read_decimal` reads it.

    - ambiguous: different grades (the last one where it is put right in words), a range, several numbers under keys that name no grade
    - refused: a refusal instead of the object, or as its text where it holds no grade
    - unparseable: no grade, one off the scale or on another one
    """
    whole, values = plain(text), [Decimal(label) for label in labels]
    body = before_next_question(whole)
    body = body if json_objects(body) else whole
    run = _RUN.fullmatch(body)
    objects = json_objects(run[1] if run else _CUT_OFF.sub("}", body))
    if not objects:
        return _grade(body, values)
    pairs = [(key, value) for found in objects for key, value in found.items()]
    given = grades(pairs)
    given = [value for value in given if not _is_placeholder(value, values)] or given
    readings = {AMBIGUOUS if isinstance(value, list) else _grade(f"score: {value}", values) for value in given}
    if len(readings) > 1:
        return next((read_grade(after, labels) for _, after, _ in turns(body) if json_objects(after)), AMBIGUOUS)
    if readings and (reading := readings.pop()) != UNPARSEABLE:
        again = corrected("score: 0" + body[body.rfind("}") + 1 :], max(values), AMBIGUOUS)
        return place(again, values, nearest=True) if isinstance(again, Decimal) else reading
    if any(is_refusal(value) for _, value in pairs if isinstance(value, str)):
        return REFUSED
    numbers = [value for _, value in pairs if isinstance(value, int | float)]
    return AMBIGUOUS if not given and len(numbers) > 1 else UNPARSEABLE


def _is_placeholder(value: object, values: Sequence[Decimal]) -> bool:
    """Whether a value only says what belongs there: the asked form restated, {"score": <integer from 0 to 10>}."""
    scale = rf"{min(values):g}\s*[-~–]\s*{max(values):g}"
    return isinstance(value, str) and bool(_PLACEHOLDER.fullmatch(value.strip()) or re.fullmatch(scale, value.strip()))


def _grade(text: str, values: Sequence[Decimal]) -> Reading:
    value = stated(text, max(values))
    return value if isinstance(value, str) else place(value, values, nearest=True)
