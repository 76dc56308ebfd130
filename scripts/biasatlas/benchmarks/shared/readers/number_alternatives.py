"""Scores of which a reply chooses none: each under a condition, or for a reading of its own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from biasatlas.benchmarks.shared.readers.corrections import unsure
from biasatlas.benchmarks.shared.readers.cues import CONTRASTS
from biasatlas.benchmarks.shared.readers.numerals import DIGITS


@dataclass(frozen=True)
class Stated:
    """A number, or two that bound it, where it begins, how it is stated, and the scale beside it."""

    values: tuple[Decimal, ...]
    start: int
    role: str
    scale: Decimal | None


#: Roles of numbers that may stand beside a chosen one.
_BESIDE = ("declared", "opening", "unit", "implied")
#: Numbers that are looked at, of an endless text.
_MOST = 20
_SENTENCE = re.compile(r"[\n。!?]|\.\s")
#: The score depends on something.
_DEPENDS = re.compile(
    r"\bdepend(?:s|ing|ent)?\b(?! (?:variable|clause))|取决于|视[^,。\n]{1,20}而定|(?:要|得|就|主要|还)看(?!起来|到|来|出|似|过|重|好|不)|因[^,。\n]{1,8}而异|看(?:您|你|怎么|如何|是)[^,。\n]{0,16}(?:理解|看待|解读|角度|标准|侧重)",
    re.I,
)
#: What a score is given for or under, before it in its sentence.
_FRAME = re.compile(
    r"^\W*(?:(?:and|but|while|whereas|or|so)\s+)?(?:in|as|for|from|within|among|when|if|coming from|taken|read|said|spoken|to)\b(?! (?:(?:an?|the) \w+ (?:like|as) |such|my|short|summary|sum|conclusion|total|general|particular|short|fact|all|example|instance|it|this|that|sum|addition|light|contrast|me|a scale))"
    r"|^\W*(?:而|但|不过|那么)?(?:如果|若|要是|假如|假设|在(?!我|这)|作为|当作?|对于?(?!我|这|该|此)|从(?!我)|站在|单看|只看|按|放在|当成|换作|换成)",
    re.I,
)
#: A score that follows from what comes before it, or that is picked among others.
_PICKS = re.compile(
    r"\b(?:so|therefore|thus|hence|settl(?:e|ing) (?:on|for)|in the end|rather than|instead|go(?:ing)? with|make (?:it|that)|average|all in all|on balance|my final|i(?:'d| would)? lean|because|given|since|considering|in view of)\b|鉴于|考虑到|由于|因为|[→⇒]|所以|因此|因而|故|于是|综合|综上|总体|折中|折衷|取中|平均|最后|最终|具体|我选|倾向|改|调|修正|降|升|提[高到升]",
    re.I,
)
_CLAUSE = re.compile(r"[,;:]\s|[,;:](?=[\u4e00-\u9fff])|[。\n]")
#: What a score of its own may be for, and one that is only a part taken off.
_ANOTHER_CASE = re.compile(
    r"\b(?:in|as|for|from|on|to|if|when|without|under|second|other|another|latter|whereas|while|or)\b|方面|维度|层面|如果|若|要是|[在放写]|作为|当[成作做]|对|从|看|算|论|言|来说|或|后|另一|换|则",
    re.I,
)
_DEDUCTED = re.compile(
    r"\b(?:off|deduct\w*|los[te]s?|minus|missing|too|harsh|short)\b|扣|减|剩下|剩余|另外|其余|过[重轻高低]|太[重轻高低]|配分",
    re.I,
)
#: A number with a case of its own behind "and": "3 for friends and 6 for strangers".
_AND = re.compile(r"\b(?:and|or)\s+(?:an?\s+)?$", re.I)
_FOR = re.compile(
    r"\W*(?:(?:and|but|while|whereas) )?(?:for|on|as (?:to|for)|in|under|regarding|in terms of) [^\d]{2,40}"
)
_CASE = re.compile(r"[\d.]+(?:\s*/\s*\d+)?\s+(?:points? )?(?:under|for|in|if|when|with|on|from|as)\b", re.I)
_ENDS = re.compile(r"[\d.]*\d\s*(?:$|[\n,;!?)]|\.(?!\d))")
_OR = re.compile(r"\bor\b|或|要么", re.I)
#: A score that others may see, or that something else would have.
_ASIDE = re.compile(
    r"\bwhich (?:would|i)\b|\bunlike\b|\bthe (?:last|previous|next|preceding) (?:one|sentence|reply|item|statement)\b|比[^,。;]*$|[上前下]一[句个条题][^,。;]*$|\b(?:others?|some|many|people|someone|one|you)\b[^,.;]{0,20}\b(?:might|may|could|would|will|see|say|give|argue)\b[^,.;]{0,20}$|(?:有人|别人|他人|其他人|有些人|通常)[^,。;]{0,12}$",
    re.I,
)


_TO = rf"\s*分?\s*(?:-|–|—|~|到|至|to|and|或者?|or|和|与|还是)\s*(?:an? )?(?P<high>{DIGITS})"
#: Scores that are all said to be possible: "anywhere from 4 to 8", "it could be a 4 among friends and an 8", 4到8分都说得过去.
_OPEN = (
    re.compile(
        rf"\b(?:anywhere|somewhere|anything)(?: \w+){{0,2}}? (?:from|between|in the range of) (?:an? )?(?P<low>{DIGITS}){_TO}",
        re.I,
    ),
    re.compile(
        rf"\b(?:could|might|may|can)(?: \w+)? be (?:an? )?(?P<low>{DIGITS})\b[^.;\d]{{0,60}}\b(?:or|and|but|while)\b[^.;\d]{{0,30}}?(?P<high>{DIGITS})\b",
        re.I,
    ),
    re.compile(
        rf"\b(?P<word>maybe|perhaps|possibly) (?:an? )?(?P<low>{DIGITS}),?(?: or| and)? (?P=word) (?:an? )?(?P<high>{DIGITS})",
        re.I,
    ),
    re.compile(
        rf"(?<![\d.])(?P<low>{DIGITS})\b[^.\n\d]{{0,40}}?\b(?P<high>{DIGITS})\b[^.\n\d]{{0,12}}(?:can't|cannot|hard to|difficult to|unable to) (?:tell|say|decide|choose|know) (?:which|what)",
        re.I,
    ),
    re.compile(rf"(?<![\d.])(?P<low>{DIGITS})\s*分?,?\s*(?:也|或)(?:可能|许)是?\s*(?P<high>{DIGITS})"),
    re.compile(rf"\b(?:whether|torn between|either)\b[^.,;\d]{{0,30}}?(?P<low>{DIGITS}){_TO}", re.I),
    re.compile(
        rf"(?<![\d.])(?P<low>{DIGITS}){_TO}\s*分?(?:之间)?(?:我觉得|其实|似乎|好像)?(?:都|皆|均)[^,。;]{{0,4}}(?:可以|可能|得过去|合理|得通|行|成立|不为过|有道理)"
    ),
    re.compile(
        rf"(?:可能|可以|能|也许|或许)(?:是|给|打|算)(?P<low>{DIGITS})[^。;\d]{{0,24}}?(?:也|或|又)[^。;\d]{{0,12}}?(?P<high>{DIGITS})"
    ),
    re.compile(rf"(?:是|给|打|该)[^,。;\d]{{0,4}}(?P<low>{DIGITS})\s*分?,?还是[^,。;\d]{{0,6}}(?P<high>{DIGITS})"),
)


def leaves_open(text: str, top: Decimal) -> bool:
    """Whether a plain ``text`` that settles for no number calls several possible, and those no more than the scale up to ``top`` itself."""
    for match in filter(None, (form.search(text) for form in _OPEN)):
        low, high = Decimal(match["low"]), Decimal(match["high"])
        if low != high and max(low, high) <= top and not (low <= 1 and high == top):
            return True
    return False


def rivals(text: str, found: Sequence[Stated], numbers: Sequence[Stated], top: Decimal) -> list[Stated]:
    """Of the ``numbers`` of a plain ``text``, those between which and ``found`` nothing decides.

    ``found`` are those with the strongest role. Another number stands against them in their sentence where a word names a case
    of its own ("in a joke", 算上后半段), in any where the score
    is said to depend on something, and in one that names another case as theirs does ("For you a 3. For me a 7."). It does not where words
    between pick one, where it is on another scale than up to ``top``, in brackets, or a mere possibility.
    """
    if found[0].role not in _BESIDE:
        return []
    values = {value for number in found for value in number.values}
    return [
        number
        for number in numbers[:_MOST]
        if number not in found
        and (number.role in _BESIDE or _joined(text, number))
        and len(number.values) == 1
        and number.values[0] not in values
        and 0 <= number.values[0] <= top
        and number.scale in (None, top)
        and any(_undecided(text, chosen, number) for chosen in found[:_MOST])
    ]


def added_up(found: Sequence[Stated]) -> Decimal | None:
    """The last or first of several numbers that is the sum of the others: its parts."""
    values = [number.values[0] for number in found if len(number.values) == 1]
    for total, parts in ((values[-1:], values[:-1]), (values[:1], values[1:])):
        if len(values) == len(found) and len(parts) > 1 and total[0] == sum(parts):
            return total[0]
    return None


def _joined(text: str, number: Stated) -> bool:
    """Whether a ``number`` of a plain ``text`` that is no more than mentioned stands with a case of its own: behind "and", or in a clause that is the case and it."""
    if number.role != "bare":
        return False
    clause = _CLAUSE.split(text[: number.start])[-1]
    follows = _AND.search(text[: number.start]) and _CASE.match(text, number.start)
    return bool(follows or (_FOR.fullmatch(clause) and _ENDS.match(text, number.start)))


def _undecided(text: str, chosen: Stated, other: Stated) -> bool:
    """Whether nothing in a plain ``text`` decides between a ``chosen`` number and an ``other`` one."""
    first, second = sorted((chosen.start, other.start))
    between = text[first:second]
    left = {number: _SENTENCE.split(text[: number.start])[-1] for number in (chosen, other)}
    if between.count("(") != between.count(")") or _ASIDE.search(left[other]) or _PICKS.search(between):
        return False
    depends = _DEPENDS.search(text)
    if depends and not _SENTENCE.search(text[chosen.start : depends.start()]):  # "6. It depends, though" has one
        return not CONTRASTS.search(text[depends.end() : chosen.start])
    if _CASE.match(text, chosen.start) and _CASE.match(text, other.start) and not _SENTENCE.search(between):
        return True  # "8 if it is meant literally, 4 if ironically"
    if _SENTENCE.search(between):
        return all(_FRAME.match(words) for words in left.values())
    clause = _CLAUSE.split(left[other])[-1] + _CLAUSE.split(text[other.start :])[0]
    if _DEDUCTED.search(clause) or not _ANOTHER_CASE.search(left[other] if other.start < chosen.start else between):
        return False
    if other.start < chosen.start:
        return not CONTRASTS.search(between)
    return bool(_OR.search(between)) or unsure(text[: chosen.start]) or not unsure(text[: other.start])
