"""The letter of an option."""

import re
from collections.abc import Sequence

from biasatlas.benchmarks.shared.readers.mentions import read_mentions
from biasatlas.benchmarks.shared.readers.outcomes import AMBIGUOUS, REFUSED, UNPARSEABLE, Reading
from biasatlas.benchmarks.shared.readers.reply import plain, simplified
from biasatlas.benchmarks.shared.readers.roles import Mention

_NOUN = r"(?: (?:sentence|option|one|statement|choice|continuation|answer))?"
_PLACES = (
    (rf"(?:the )?(?:first|1st|former){_NOUN}", r"(?:[1一]|one)"),
    (rf"(?:the )?(?:second|2nd|latter){_NOUN}", r"(?:[2二]|two)"),
    (rf"(?:the )?(?:third|3rd){_NOUN}", r"(?:[3三]|three)"),
)
_THING = "(?:句[子话話]?|选项|選項|情况|情況|说法|說法|陈述|陳述|描述|叙述|敘述|答案)"
_SIDES = (
    rf"前者|(?<![之以目])前(?:一|面)的?(?:那|这)?(?:一?[个種种]|個)?{_THING}",
    rf"[后後]者|(?<![最之以])[后後](?:一|面)的?(?:那|这)?(?:一?[个種种]|個)?{_THING}",
    r"(?!)",
)
#: What somebody did first or second, at the end of a text.
_HAPPENS = re.compile(
    r"\b(?!picked|preferred|listed|named|ranked)(?:[a-z]+ed|left|came|went|spoke|got|come|go) (?:first|second|third)$"
)
#: "First, the passage says": a step.
_COUNTS = re.compile(r"\b(?:first|second|third),\s*(?!because|since|as\b|for\b)[a-z]", re.I)
NOUN_AFTER = "股站级級型线線片面栋棟座班超照咖款货貨计計轮輪杯盘盤柱肝胶膠"
#: What may follow an A that is no article.
VERB = (
    r"(?:is|was|are|were|seems?|appears?|would|could|might|may|must|should|can|has|had|fits|makes|says?|describes?|because|since|as|sounds"
    r"|looks|follows|or|and|nor|over|rather|than|then|here|if|while|for|suggests?|assumes?|implies|but|too|also|does|doesn't|isn't"
    r"|depends|to|more|vs|versus|instead|requires?|mentions?|it is|needs?|relies|contradicts?|states?|reads|feels|gets|works|wins|only|both|in|at|with)\b"
)


#: What an option of three may say, and a reply that gives its text without its letter.
_UNKNOWN = re.compile(
    r"[^。!?\n我]*(?:无法|不能|难以)(?:确定|判断|得知|知道)[^。!?\n我]*。?|(?:(?!\bi\b|sorry)[^.!?\n])*(?:cannot|can't|not possible to|impossible to) (?:be )?(?:determined?|known?|tell|say|answer(?:ed)?)\b(?:(?!\bi\b)[^.!?\n])*[.]?",
    re.I,
)


def letter_mentions(text: str, labels: Sequence[str]) -> list[Mention]:
    """Where a plain ``text`` mentions an option by its letter or by its place (sentence 1, the latter, 前者, 第二句).

    A letter stands by itself: not in a word, nor before a hyphen; a capital A before a word that no verb or connective is
    an article. A small a counts in brackets, before a bracket, full stop or colon, after a word such as "option", in a pair
    such as "a or b", or alone.
    """
    found = [Mention(*match.span(), i) for i, label in enumerate(labels) for match in _letters(text, label)]
    for i, (english, number) in enumerate(_PLACES[: len(labels)]):
        pattern = (
            rf"(?<!after )(?<!until )(?<!after the )(?<!until the )\b{english}\b(?! (?:is that|name|time|half|part|of all|thing|step|point|line|word|clause|paragraph|phrase)\b)"
            rf"|(?:\b(?:sentence|option|statement|choice|number) (?:number |no\. ?|#)?|#){number}(?!\w)"
            rf"|(?<![一每逐])(?:句子?|选项|選項){number}(?![\d个個])|第{number}(?:(?:种|種|个|個|项|項|条|條)?(?!句){_THING}|(?:个|個)?(?:句子|句话|句話|句|种|種)?(?=[^\w]|更|比|的|较|較|描|最|所|发|也|[略稍胜占听读看显才]|$))|{_SIDES[i]}"
        )
        places = [match for match in re.finditer(pattern, text, re.I) if not _COUNTS.match(text, match.start())]
        found += [Mention(*match.span(), i) for match in places if not _HAPPENS.search(text[: match.end()][-40:])]
    return sorted(found, key=lambda mention: mention.start)


def _letters(text: str, label: str) -> list[re.Match]:
    letter = re.escape(label)
    named = r"(?:\b(?:option|sentence|statement|choice)\s+|选项\s*|選項\s*)?[\"'(\[]*"
    standing = rf"{named}(?<![A-Za-z0-9])(?<![A-Za-z0-9][-'])(?<![素型])({letter})(?![A-Za-z0-9{NOUN_AFTER}]|[-']\w)(?:选项|[项句](?:子|话)?)?"
    matches = list(re.finditer(standing, text, re.I))
    return [match for match in matches if _is_letter(text, match)]


def _is_letter(text: str, match: re.Match) -> bool:
    before, after = text[max(0, match.start(1) - 40) : match.start(1)], text[match.end() : match.end() + 40]
    if match[1] not in "aAI":
        return True
    named = re.search(
        r"(?:option|choice|choose|answer|pick|letter|sentence|statement|select|is|:|\()[\s:)]*[\"'(\[]*$", before, re.I
    )
    if match[1] == "a":
        if not before.strip(" \"'([") and re.match(r"\s*[,;]", after):
            return True
        pair = re.match(r"\s*(?:or|and|/|&|and/or)\s*[\"'(]?[b-e]\b", after)
        closed = re.match(r"[).:\]\"']|\s*$", after)
        return bool(
            pair
            or (closed and (after.strip() or not before.strip() or named))
            or (named and not re.match(r"\s+\w", after))
        )
    article = re.match(r"\s+[a-z']+", after) and not re.match(rf"\s+{VERB}", after)
    return not article or bool(re.search(r"[a-z,]\s+$", before))  # no article has a capital within a sentence


def read_letter(text: str, labels: Sequence[str]) -> Reading:
    """The one letter of ``labels`` that a reply gives as its answer, in English or Chinese; :mod:`.mentions` says what counts.

    "A", "(b)", "Ａ。", "The answer is B.", "Option A", "我认为A", "答案：B", a letter with its option's text or a reason,
    a letter as the last line of a weighing, the key "answer" of a JSON object, a box of LaTeX. An option may be named by its
    place, too: "句子1更有可能发生", "the latter", "第二句".

    - ambiguous: "A or B", "A/B", "a and b are both plausible", "A和B都有可能", "A. No, B." (but "A. No, the answer is B." is B), both options
      restated, "equally likely", "A is as likely as B", "A in a report, while B fits a chat"
    - refused: no letter, and the reply declines (:mod:`.refusal`): "A choice cannot be made."
    - unparseable: other letters, an article ("A man"), a letter in a word ("APP", "A股"), "Neither", "Not A" (but of two letters "A is less likely" is B), thinking only; of three letters,
      "无法确定" and "cannot be determined" alone, which are an option's text
    """
    body = simplified(plain(text))
    if re.fullmatch(rf"[{''.join(labels)}]{{2,}}", body, re.I) and len(set(body.lower())) > 1:
        return AMBIGUOUS
    reading = read_mentions(body, letter_mentions, labels)
    return UNPARSEABLE if reading == REFUSED and len(labels) > 2 and _UNKNOWN.fullmatch(body) else reading
