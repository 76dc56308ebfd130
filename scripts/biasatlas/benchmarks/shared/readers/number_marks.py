"""Full marks, marks of parts and marks of lists in a reply that gives a number; texts are in Simplified characters."""

import re
from decimal import Decimal

from biasatlas.benchmarks.shared.readers.numerals import DIGITS

#: Full marks that are given, without a number beside them: "I'd give it full marks", 给满分.
_FULL = re.compile(
    r"(?P<gives>(?:^\W*|(?:给|打|得|获|拿|评|判|值)[^,。;:!?\n\d不没未无]{0,10}|[^,。;!?\n\d不没未无]{0,8}是(?=满分(?:$|[\n,。!]))|(?:得分|分数|评分|打分|总分)(?:应该?|可以)?(?:是|为|:)\s*)\"?)满分"
    rf"(?!\"?\s*(?:为|是|:)?\s*(?:{DIGITS}|[一二三四五六七八九]?十)|制|的?(?:标准|要求|条件|话)|应|需|要|以|之)"
    r"|(?P<give>(?:^\W*|\b(?:give|giving|gives|gave|gets?|got|getting|deserves?|earn(?:s|ed)?|award(?:s|ed|ing)?|merits?|receives?|scores?|rating|score|scored)\b:?(?: (?:it|this|that|them|the|a|my|its|reply|response|answer|sentence|statement))*\s+)(?:a |the )?)"
    r"(?:full|perfect|top|maximum) (?:marks?|score|points|credit|rating)\b(?!\s*(?:is|are|was|would|means?|requires?|needs?|=|:))",
    re.I,
)
#: Full marks that are withheld: nothing is said of another number, nor is the reply declined.
_WITHHELD = re.compile(
    r"\b(?:i |we )?(?:can't|cannot|can not|couldn't|won't|will not|wouldn't|don't|didn't|not) (?:quite |really |just )?(?:give|award|assign|score|rate|get|deserve|earn|merit)(?: (?:it|this|that|them|a|the|(?:this |the )?(?:reply|response|answer|sentence|statement)))*"
    r" (?:full|perfect|top|maximum) (?:marks?|score|points|credit|rating)\b|(?:不能|无法|没法|没能|不会|不宜|不足以|还?不|未|没有?)(?:直接)?[给打得拿](?:出|到|它|其)?满分",
    re.I,
)
#: What is to be earned, or not quite.
_NOT_GIVEN = re.compile(
    r"\b(?:to|for|from|before|if|would|could|might|may)(?: \w+)? $|(?:要|想|若|如果|才|就|可能|方)(?:能|会|可以?)?$",
    re.I,
)
_MARK = re.compile(r"^[ \t]*\(?(?P<number>\d{1,2})\s*(?:[)、]|\.(?!\d))[ \t]*(?P<empty>$)?", re.M)
#: A line with the mark of one part: "Accuracy: 4/5", 准确性：4分.
_PART = re.compile(
    rf"^[ \t]*(?:[-•*]|\(?\d\s*[.)、])?\s*(?P<name>[^\d\n:,。;!?]{{2,24}}):\s*{DIGITS}\s*(?:分|points?)?(?:\s*/\s*{DIGITS})?\s*分?[,;.。]?[ \t]*$",
    re.M | re.I,
)
#: Names of what a reply judges as a whole, or says of its judgement.
_WHOLE = re.compile(
    r"bias|stereotyp|offens|sever|score|rating|confiden|certain|偏见|歧视|冒犯|程度|得分|评分|置信|信心|把握", re.I
)
#: The marks of the first and the second item of a list.
FIRST = re.compile(
    r"^\s*\(?(?:1\s*(?:[)、]|\.(?!\d))\s*(?=[^\s\d])|\d\s*(?:[)、]|\.(?!\d))\s*(?!理由|原因|解释|说明|更正|reason|expl|comment|correct)(?=[^\s\d:][^\n:]{0,15}:\s*\d))",
    re.I,
)
SECOND = re.compile(r"\n\s*\(?2\s*(?:[)、]|\.(?!\d))")


#: An item with its head: "1. Accuracy: it names the bias, 4 points."
_ITEM = re.compile(
    r"^[ \t]*(?:[-•*]|\(?\d{1,2}\s*[.)、]|\(?[一二三四五六]\)?[、.)]|第[一二三四五六](?:部分|项|点|条)[:,]?)?[ \t]*(?P<head>[^\d\n:,。;!?]{2,24}?)(?:\([^)\n]*\))?:[ \t]*(?P<said>[^\n]*)$",
    re.M,
)
#: A text that begins with the mark of one part.
_ONE_PART = re.compile(r"[^\d\n:,。;!?]{2,24}:[ \t]*\d{1,2}\s*(?:分|points?)[.。,;][^\d\n]*\Z")
#: How long a remark with its mark is, in characters, that is no field of a form.
_PROSE = 10
#: A head without the mark of a list, below which comes why.
_REASONS = re.compile(r"[ \t]*(?:理由|原因|依据|建议|备注|reasons?|why|notes?|suggestions?)\b", re.I)
#: Heads below which the whole is judged.
_JUDGES = re.compile(
    r".*(?:score|rating|grade|mark|verdict|answer|overall|total|得分|评分|打分|分数|程度|分值|总|整体|最终|结论|答案)|(?:reason|explanation|analysis|why|note|理由|原因|说明|解释|分析|评价|点评|评语|依据)s?\s*$",
    re.I,
)


def with_full_marks(text: str, top: Decimal) -> str:
    """A plain ``text`` with the number ``top`` for full marks that it gives."""

    def number(match: re.Match[str]) -> str:
        if _NOT_GIVEN.search(text[max(0, match.start() - 20) : match.start()]):
            return match[0]
        return f"{match['gives']}{top:f}分" if match["gives"] is not None else f"{match['give']}{top:f} points"

    return _FULL.sub(number, _WITHHELD.sub("", text))


def without_empty_marks(text: str) -> str:
    """A plain ``text`` with blanks for the marks of a list that has empty lines ("1. \\n2. \\n3.", "1. It is fair.\\n2."), up to the last of those."""
    listed: list[re.Match[str]] = []
    for match in _MARK.finditer(text):
        if int(match["number"]) == len(listed) + 1:
            listed.append(match)
    while listed and listed[-1]["empty"] is None:
        listed.pop()
    for match in listed if len(listed) > 1 else []:
        text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
    return text


def marks_alone(text: str) -> list[tuple[int, int]]:
    """Where the lines of a plain ``text`` stand that mark a part each, two and more by different names; else nothing."""
    parts = [part for part in _PART.finditer(text) if not _WHOLE.search(part["name"])]
    return [part.span() for part in parts] if len({part["name"].strip() for part in parts}) > 1 else []


def items_cut_off(text: str) -> int | None:
    """Where the list of parts begins in which a plain text ends in the middle of a sentence; None where there is none."""
    items = list(_ITEM.finditer(text))
    marked = [item for item in items if re.search(r"\d", item["said"]) and len(item["said"]) >= _PROSE]
    if (
        (len(items) < 2 and not (items and _ONE_PART.match(text) and not _WHOLE.search(items[0]["head"])))
        or _REASONS.match(items[-1][0])
        or not marked
        or any(_JUDGES.match(item["head"]) for item in marked)
    ):
        return None
    last = text[items[-1].start() :].rstrip()
    closed = last.endswith(tuple('。.!?)"分')) or "\n" in last or re.search(r"\d\s*(?:points?)?$", last)
    return None if closed else items[0].start()
