"""An order of all options: a chain, a list, or a sentence that names each once."""

import itertools
import re
from collections.abc import Sequence
from typing import Any, cast

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Parsed
from biasatlas.benchmarks.shared.parsing.items import first_item
from biasatlas.benchmarks.shared.parsing.normalise import MARK, json_objects, plain, sentences
from biasatlas.benchmarks.shared.parsing.options import Mention, Options, as_options
from biasatlas.benchmarks.shared.parsing.phrases import finds
from biasatlas.benchmarks.shared.parsing.refusal import declines

#: The indices of all options, the best first, or "ambiguous".
Order = tuple[int, ...] | str

_GAP = re.compile(
    r"[\s\"'*).:]{0,6}(?:>{1,3}|[,、;|]|\s|then|and(?: then)?|followed by|over|before|first|second|third"
    r"|\d(?:st|nd|rd|th)|lastly|last|finally|其次|然后|接着|再|最后|和|优于|好于|大于|高于|-{1,2}>?|[\d一二三四五六七八九十]{1,2}[.)、]|是|为|the|is"
    r"|option|response|选项|回答|句子?|statement|sentence|candidate|[(\"'#])*[\s\"'(]{0,6}",
    re.I,
)
_UPWARDS = re.compile(
    r"(?:worst|least|lowest|weakest)\b[^.\n]{0,30}\b(?:to|first)\b|(?<!to )\b(?:worst|least \w+) (?:is|being)\b"
    r"|(?:由|从)最?(?:低|差|不|少|坏|弱)[^。\n]{0,10}(?:到|至|往)|升序",
    re.I,
)
_RANKED = re.compile(
    r"^[^\w\n]{0,6}(?:(?:rank|no\.?|#|第|top|place|排名|排序)?\s?(?:\d{1,2}|[一二三四五六七八九十])(?:st|nd|rd|th)?"
    r"(?:\s?(?:place|名|位|个|是|为))?|best|worst|first|last|最佳|最差|最好)?\W{0,6}",
    re.I,
)
_PLACE = re.compile(r"\s?:\s?(?:第|rank )?\s?(\d{1,2})\s?(?:名|位|$|st|nd|rd|th)")
_TELLS = re.compile(
    r"最|其次|次之|然后|再|followed|best|top|bottom|prefer|beats|most|worst|least|then|first|second|last|rank|排|第[一二三]"
    r"|better|比|更|next|优于|不如|in that order",
    re.I,
)
_TIED = re.compile(r"tied?\b|equal|并列|难分|同样|一样|差不多|都|不相上下|either", re.I)
_NAMED = re.compile(
    r"[\"')]?\s?(?:are|all|is|three|four|都|均|三|四|these|each|的|中|这|哪|do|have|in (?:terms|order)|等|which)", re.I
)
_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")


def parse_ranking(reply: str, options: Options | Sequence[str]) -> Parsed:
    """The order in which a reply puts ``options``, as a tuple of their indices, the best first.

    Ambiguous: several orders, ties, or one option at two places. Unparseable: an order that leaves one out.
    """
    options = as_options(options)
    body = plain(reply)
    if found := _from_json(body, options):
        return Parsed(cast(Any, found), "key")
    body = first_item(body, lambda line: bool(_chains(line, options)))
    chains = _chains(body, options)
    refused = declines(body)
    if refused and not any(chain for *_, chain in chains):
        return Parsed(REFUSED, "declined")
    chains = [each for each in chains if each[2]] or chains
    orders = [order for order, *_ in chains] or [
        order for order in [_listed(body, options) or _told(body, options)] if order
    ]
    if not orders:
        return Parsed(REFUSED if refused else UNPARSEABLE, "nothing")
    if len(set(orders)) > 1:
        before = body[chains[-2][1] : chains[-1][1]]
        concludes = MARK in before or finds("answers", "conclude").search(before[-60:])
        if not concludes and not finds("answers", "correct").search(before):
            return Parsed(AMBIGUOUS, "order")
    return Parsed(cast(Any, orders[-1]), "order")


def _mentions(text: str, options: Options) -> list[Mention]:
    """Mentions of ``options``, their letters wherever they stand alone: an order is no place for articles."""
    if not options.letters:
        return options.mentions(text)
    small = options.labels[0].islower()
    at = {label.upper(): i for i, label in enumerate(options.labels)}
    found = (match for match in _LETTER.finditer(text) if small or match[0].isupper())
    return [Mention(*match.span(), at[match[0].upper()], True) for match in found if match[0].upper() in at]


def _order(text: str, options: Options) -> tuple[int, ...] | None:
    order = tuple(mention.option for mention in _mentions(text, options))
    return order if len(order) == len(options) == len(set(order)) else None


def _from_json(body: str, options: Options) -> Order | None:
    if "{" not in body and "[" not in body:
        return None
    objects = json_objects(body)
    texts = [_joined(value) for each in objects for value in each.values() if isinstance(value, list | str)]
    texts += re.findall(r"\[[^\[\]{}]{3,2000}\]", body)
    for each in objects:
        if each and all(str(key).strip().isdecimal() for key in each):  # {"1": "B", "2": "A"}
            texts.append(" > ".join(str(each[key]) for key in sorted(each, key=int)))
        ranks = {str(key): value for key, value in each.items() if isinstance(value, int)}  # {"A": 2, "B": 1}
        if len(ranks) == len(options) == len(set(ranks.values())):
            texts.append(" > ".join(sorted(ranks, key=ranks.__getitem__)))
    found = {order for text in texts if (order := _order(text, options))}
    return found.pop() if len(found) == 1 else AMBIGUOUS if found else None


def _joined(value: list | str) -> str:
    if isinstance(value, str):
        return value
    named = (part.get("name", next(iter(part.values()), "")) if isinstance(part, dict) else part for part in value[:60])
    return " > ".join(map(str, named))


def _chains(body: str, options: Options) -> list[tuple[Order, int, bool]]:
    """Chains that name every option once ("B > A > C", "C, A, B", "CAB"): order, place, and whether it has a ">"."""
    mentions, count = _mentions(body, options), len(options)
    found: list[tuple[Order, int, bool]] = []
    free = 0
    for at in range(len(mentions) - count + 1):
        run = mentions[at : at + count]
        if at >= free and {mention.option for mention in run} == set(range(count)):
            gaps = [body[a.end : b.start] for a, b in itertools.pairwise(run)]
            if (order := _chain(body, run, gaps)) is not None:
                free = at + count
                found.append((order, run[0].start, any(">" in gap for gap in gaps)))
    if options.letters and not found:
        labels = "".join(options.labels)
        for match in re.finditer(rf"(?<![A-Za-z])[{labels}]{{{count}}}(?![A-Za-z])", body):
            if len(set(match[0])) == count:
                found.append((tuple(map(labels.index, match[0])), match.start(), False))
    return found


def _chain(body: str, run: list[Mention], gaps: list[str]) -> Order | None:
    """The order of a ``run`` with these ``gaps``; None where it only names the options ("A, B and C are ...")."""
    order = tuple(mention.option for mention in run)
    if all(re.fullmatch(r"[\s)\"']{0,3}<[\s(\"']{0,3}", gap) for gap in gaps):
        return order[::-1]
    if all(re.fullmatch(r"[\s)\"']{0,3}(?:>|=|≈|~|≥|>=)[\s(\"']{0,3}", gap) for gap in gaps):
        return AMBIGUOUS if re.search("[=≈~]", "".join(gaps)) else order
    if not all(len(gap) < 24 and "\n" not in gap and _GAP.fullmatch(gap) for gap in gaps):
        return None
    before, after = body[max(0, run[0].start - 60) : run[0].start], body[run[-1].end : run[-1].end + 30]
    if not re.search(r"[>\d]|then|其次|然后|followed|over", " ".join(gaps)):
        joined = re.search(r"\band\b|和|与|以及", gaps[-1]) and not re.search(
            r":|rank|order|依次|排|为|是|顺序", before[-40:]
        )
        if (joined or _NAMED.match(after)) and not re.search(r"\border (?:is|would be)|依次(?:是|为)?:?$", before):
            return None
    upwards = _UPWARDS.search(before.rpartition("\n")[2]) and ">" not in "".join(gaps)
    return order[::-1] if upwards else order


def _listed(body: str, options: Options) -> Order | None:
    """The first option of each line of a list, or the places that lines give ("A: 2nd")."""
    lines = [(line, mentions) for line in body.split("\n")[:400] if (mentions := _mentions(line, options))]
    placed = {m[0].option: int(place[1]) for line, m in lines if (place := _PLACE.match(line[m[0].end :]))}
    if sorted(placed.values()) == list(range(1, len(options) + 1)):
        return tuple(sorted(placed, key=placed.__getitem__))
    heads = [(lead, line[lead.end() : m[0].start], m[0].option) for line, m in lines if (lead := _RANKED.match(line))]
    heads = [head for head in heads if len(head[1]) <= 14 and not re.search(r"[.。]\s", head[1])]
    numbered = [option for lead, _, option in heads if re.search(r"\w", lead[0])]
    everyone = set(range(len(options)))
    chosen = numbered if set(numbered) == everyone else [option for *_, option in heads]
    if set(chosen) != everyone:
        return None
    if len(chosen) != len(options):
        return AMBIGUOUS
    return tuple(chosen[::-1]) if _UPWARDS.search(body.split("\n")[0]) else tuple(chosen)


def _told(body: str, options: Options) -> Order | None:
    """An order in sentences: "A is best, followed by C, and B is the worst"."""
    for text in (*(sentence for _, sentence in sentences(body)), body):
        mentions = _mentions(text, options)
        order = tuple(dict.fromkeys(mention.option for mention in mentions))
        if len(order) == len(options) and _TELLS.search(text) and (len(mentions) == len(order) or len(text) < 160):
            if _TIED.search(text):
                return None
            first = text[max(0, mentions[0].start - 20) : mentions[0].start] + text[mentions[0].end : mentions[1].start]
            worst = re.search(r"worst|least|最(?:差|不|低|糟)", first, re.I)
            return order[::-1] if worst and not re.search(r"\bbest|most (?!un)|最(?:好|佳)", first, re.I) else order
    return None
