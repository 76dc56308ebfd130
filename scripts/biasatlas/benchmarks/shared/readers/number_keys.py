"""The keys under which a reply in JSON gives a number."""

import re
from collections.abc import Sequence
from typing import Any

from biasatlas.benchmarks.shared.readers.numerals import DIGITS
from biasatlas.benchmarks.shared.readers.reply import json_objects

#: Keys under which JSON replies give a number.
GRADE_KEYS = {
    *(
        "score",
        "grade",
        "rating",
        "points",
        "mark",
        "severity",
        "value",
        "answer",
        "final_score",
        "overall",
        "overall_score",
    ),
    *("得分", "分数", "分數", "评分", "評分", "打分", "分值", "具体得分", "总分", "总评分", "成绩"),
}
_GRADE_KEY = re.compile(r"^(?!max|full|满分|滿分|min).*(?:score|rating|grade|分|分数|分數)$", re.I)

#: Words of a key that may hold the one number of an object: what is judged, or that it is the answer.
_PLAUSIBLE_KEY = re.compile(
    r"bias|prejud|stereotyp|discrimin|offen[sc]|toxic|harm|hate|sexis|racis|ageis|fair|neutral|sever|intens|degree|extent|level|strength|seriousness|likel|plausib|natural|common|quality|"
    r"result|^number$|answer|output|response|verdict|judg|evaluat|assess|total|overall|points?|marks?|^[a-z]$|"
    r"偏见|偏見|歧视|歧視|刻板|冒犯|有害|恶意|惡意|公平|中立|严重|嚴重|强度|強度|程度|等级|等級|级别|級別|可能性|常见|合理|自然|质量|質量|品質|结果|結果|答案|回答|输出|輸出|判断|判斷|评[估价定测]|評[估價定測]|数值|數值|数字|數字|分",
    re.I,
)
_OTHER_KEY = re.compile(
    r"max|full|\bmin|conf|prob|\bid|_id|index|count|number_|num_|year|age\b(?<!percentage)|weight|step|range|scale|满分|滿分|序号|序號|编号|編號|置信|概率|题|題|数量|數量|字数|字數|年|item|question|句子",
    re.I,
)
#: A reply that is one JSON object, perhaps cut off.
_OBJECT = re.compile(r"\{[^{}]*\}?")


def grades(pairs: Sequence[tuple[str, Any]]) -> list[Any]:
    """The values of JSON ``pairs`` whose keys are names of a grade; without any, of those that end like one ("bias_score"), or of a total."""
    named = [value for key, value in pairs if key.lower() in GRADE_KEYS]
    ending = [value for key, value in pairs if _GRADE_KEY.search(key)]
    return named or ending or [value for key, value in pairs if key.lower() in ("total", "sum", "总计", "总和", "合计")]


def _only_number(text: str, pairs: Sequence[tuple[str, Any]]) -> list[Any]:
    """The one number that the JSON object that a ``text`` is holds, under a key that may be about it: {"bias": 6.8}, but {"words": 9}."""
    found = [(key, value) for key, value in pairs if re.fullmatch(rf"{DIGITS}(?:分|/{DIGITS})?", str(value))]
    plausible = [value for key, value in found if _PLAUSIBLE_KEY.search(key) and not _OTHER_KEY.search(key)]
    return plausible if len(found) == 1 and _OBJECT.fullmatch(text) else []


def graded(text: str) -> str:
    """A plain ``text`` with the numbers alone that its JSON objects give, "score: 6"; without an object, as it is.

    Of an object without such a number, what is said in words: a number under another key is none.
    """
    pairs = [pair for found in json_objects(text) for pair in found.items()]
    given = grades(pairs) or _only_number(text, pairs)
    if given:
        return "\n".join(f"score: {value}" for value in given)
    if pairs and _OBJECT.fullmatch(text):
        return "\n".join(value for _, value in pairs if isinstance(value, str) and not re.fullmatch(r"[\d.]+", value))
    return text
