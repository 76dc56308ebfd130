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

_GAP = re.compile(
    r"[\s\"'*).:]{0,6}(?:>{1,3}|[,、;|]|\s|\n|then|and(?: then)?|followed by|over|before|first|second|third|\d(?:st"
    r"|nd|rd|th)|lastly"
    r"|last|finally|其次|然后|接着|再|最后|和|"
    r"优于|好于|大于|高于|-{1,2}>?|[\d一二三四五六七八九十]{1,2}[.)、]|是|为|the|is|option|response|选项|回答|句子?|statement|sentence"
    r"|candidate|[(\"'#])*[\s\"'(]{0,6}",
    re.I,
)
_UPWARDS = re.compile(
    r"(?:worst|least|lowest|weakest)\b[^.\n]{0,30}\b(?:to|first)\b|(?<!to )\b(?:worst|least \w+) (?:is|being)\b"
    r"|从(?:最)?(?:低|差|不|少|坏|弱)[^。\n]{0,10}(?:到|至|往)"
    r"|(?:由|从)(?:低|差|坏|弱)(?:到|至|往)|升序",
    re.I,
)
_RANKED = re.compile(
    r"^[^\w\n]{0,6}(?:(?:rank|no\.?|#|第|top|place|排名|排序)?\s?(?:\d{1,2}|[一二三四五六七八九十])(?:st|nd|rd|th)?(?:\s?(?:place"
    r"|名|位|个|是|为))?|best|worst|first|last|最佳|最差|最好)?\W{0,6}",
    re.I,
)
_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")


def parse_ranking(reply: str, options: Options | Sequence[str]) -> Parsed:
    """The order in which a reply puts ``options``, as a tuple of their indices, the best first.

    Ambiguous: several orders, ties, or one option at two places. Unparseable: an order that leaves one out.
    """
    options = as_options(options)
    body = plain(reply)
    if not body:
        return Parsed(UNPARSEABLE, "nothing")
    found = _from_json(body, options)
    if found:
        return Parsed(cast(Any, found), "key")
    body = first_item(body, lambda line: bool(_orders(line, options)))
    orders = _orders(body, options)
    if declines(body) and not any(chain for *_, chain in orders):
        return Parsed(REFUSED, "declined")
    if not orders:
        listed = _listed(body, options) or _told(body, options)
        orders = [(listed, 0, False)] if listed else []
    orders = [each for each in orders if each[2]] or orders
    distinct = {order for order, *_ in orders}
    if len(distinct) == 1:
        order = distinct.pop()
        return Parsed(cast(Any, order), "order")
    if distinct:
        last, before = orders[-1][0], body[orders[-2][1] : orders[-1][1]]
        settled = (
            finds("answers", "correct").search(before)
            or finds("answers", "conclude").search(before[-60:])
            or MARK in before
        )
        return Parsed(cast(Any, last if settled else AMBIGUOUS), "order")
    return Parsed(REFUSED if declines(body) else UNPARSEABLE, "nothing")


def _mentions(text: str, options: Options) -> list[Mention]:
    """Mentions of ``options``, their letters wherever they stand alone: an order is no place for articles."""
    if not options.letters:
        return options.mentions(text)
    at = {label.upper(): i for i, label in enumerate(options.labels)}
    found = (Mention(*match.span(), at.get(match[0].upper(), -1), True) for match in _LETTER.finditer(text))
    return [
        mention
        for mention in found
        if mention.option >= 0 and (text[mention.start].isupper() or options.labels[0].islower())
    ]


def _from_json(body: str, options: Options) -> tuple[int, ...] | str | None:
    if "{" not in body and "[" not in body:
        return None
    lists = [value for each in json_objects(body) for value in each.values() if isinstance(value, list | str)]
    lists += re.findall(r"\[[^\[\]{}]{3,2000}\]", body)
    found = []
    for value in lists:
        text = (
            value
            if isinstance(value, str)
            else " > ".join(
                str(part.get("name", next(iter(part.values()), "")) if isinstance(part, dict) else part)
                for part in value[:60]
            )
        )
        order = tuple(mention.option for mention in _mentions(text, options))
        if len(order) == len(options) == len(set(order)):
            found.append(order)
    for each in json_objects(body):
        if each and all(str(key).strip().isdecimal() for key in each):
            placed = [str(each[key]) for key in sorted(each, key=int)]
            order = tuple(mention.option for mention in _mentions(" > ".join(placed), options))
            if len(order) == len(options) == len(set(order)):
                found.append(order)
        ranks = {
            options.exact.get(str(key).casefold().strip()): value
            for key, value in each.items()
            if isinstance(value, int)
        }
        if None not in ranks and len(ranks) == len(options) and len(set(ranks.values())) == len(options):
            found.append(tuple(sorted(ranks, key=ranks.__getitem__)))  # type: ignore[arg-type]
    return found[0] if len(set(found)) == 1 else AMBIGUOUS if found else None


def _orders(body: str, options: Options) -> list[tuple[tuple[int, ...] | str, int, bool]]:
    """Chains that name every option once, with their places: "B > A > C", "C, A, B", "CAB"."""
    found: list[tuple[tuple[int, ...] | str, int, bool]] = []
    mentions, count = _mentions(body, options), len(options)
    free = 0
    for at in range(len(mentions) - count + 1):
        if at < free:
            continue
        run = mentions[at : at + count]
        gaps = [body[a.end : b.start] for a, b in itertools.pairwise(run)]
        if {mention.option for mention in run} != set(range(count)):
            continue
        order: tuple[int, ...] | str = tuple(mention.option for mention in run)
        before = body[max(0, run[0].start - 60) : run[0].start]
        if all(re.fullmatch(r"[\s)\"']{0,3}<[\s(\"']{0,3}", gap) for gap in gaps):
            order = order[::-1]
        elif all(re.fullmatch(r"[\s)\"']{0,3}(?:>|=|≈|~|≥|>=)[\s(\"']{0,3}", gap) for gap in gaps) and any(
            re.search("[=≈~]", gap) for gap in gaps
        ):
            order = AMBIGUOUS
        elif not all(len(gap) < 24 and "\n" not in gap and _GAP.fullmatch(gap) for gap in gaps):
            continue
        elif (
            _UPWARDS.search(before.rpartition("\n")[2])
            and isinstance(order, tuple)
            and not any(">" in gap for gap in gaps)
        ):
            order = order[::-1]
        if _plain_list(order, gaps, body, run, options):
            continue
        free = at + count
        found.append((order, run[0].start, any(">" in gap for gap in gaps)))
    if options.letters and not found:
        labels = "".join(options.labels)
        for match in re.finditer(rf"(?<![A-Za-z])[{labels}]{{{count}}}(?![A-Za-z])", body):
            if len(set(match[0])) == count:
                found.append((tuple(labels.index(letter) for letter in match[0]), match.start(), False))
    return found


def _plain_list(order: object, gaps: list[str], body: str, run: list[Mention], options: Options) -> bool:
    """Whether a run only names the options ("A, B and C are ..."), and puts them in no order."""
    if any(re.search(r"[>\d]|then|其次|然后|followed|over", gap) for gap in gaps):
        return False
    after, before = body[run[-1].end : run[-1].end + 30], body[max(0, run[0].start - 40) : run[0].start]
    named = re.match(
        r"[\"')]?\s?(?:are|all|is|three|four|都|均|三|四|these|each|的|中|这|哪|do|have|in (?:terms|order)|等|which)",
        after,
        re.I,
    )
    joined = re.search(r"\band\b|和|与|以及", gaps[-1]) and not re.search(r":|rank|order|依次|排|为|是|顺序", before)
    return bool(named or joined) and not re.search(r"\border (?:is|would be)|依次(?:是|为)?:?$", before)


def _listed(body: str, options: Options) -> tuple[int, ...] | str | None:
    """The first option of each line of a list."""
    order = []
    for line in body.split("\n")[:400]:
        lead = _RANKED.match(line)
        mentions = _mentions(line, options)
        if (
            lead
            and mentions
            and mentions[0].start - lead.end() <= 14
            and not re.search(r"[.。]\s", line[lead.end() : mentions[0].start])
        ):
            order.append(
                (mentions[0].option, bool(re.search(r"\d|[一二三四五六七八九十]|best|worst|first|last|最", lead[0])))
            )
    placed = {}
    for line in body.split("\n")[:400]:
        mentions = _mentions(line, options)
        place = (
            re.match(r"\s?:\s?(?:第|rank )?\s?(\d{1,2})\s?(?:名|位|$|st|nd|rd|th)", line[mentions[0].end :])
            if mentions
            else None
        )
        if place:
            placed[mentions[0].option] = int(place[1])
    if sorted(placed.values()) == list(range(1, len(options) + 1)):
        return tuple(sorted(placed, key=placed.__getitem__))
    numbered = [option for option, number in order if number]
    chosen = numbered if set(numbered) == set(range(len(options))) else [option for option, _ in order]
    if set(chosen) != set(range(len(options))):
        return None
    if len(chosen) != len(options):
        return AMBIGUOUS
    upwards = _UPWARDS.search(body.split("\n")[0])
    return tuple(chosen[::-1]) if upwards else tuple(chosen)


def _told(body: str, options: Options) -> tuple[int, ...] | str | None:
    """An order in sentences: "A is best, followed by C, and B is the worst"."""
    tells = re.compile(
        r"最|其次|次之|然后|再|followed|best|top|bottom|prefer|beats|most|worst|least|then|first|second|last|rank|排|第[一二三]"
        r"|better|比|更|next|优于|不如"
        r"|in that order",
        re.I,
    )
    for text in [sentence for _, sentence in sentences(body)] + [body]:
        mentions = _mentions(text, options)
        order = tuple(dict.fromkeys(mention.option for mention in mentions))
        if len(order) == len(options) and tells.search(text) and (len(mentions) == len(order) or len(text) < 160):
            if re.search(r"tied?\b|equal|并列|难分|同样|一样|差不多|都|不相上下|either", text, re.I):
                return None
            first = text[max(0, mentions[0].start - 20) : mentions[0].start] + text[mentions[0].end : mentions[1].start]
            worst_first = re.search(r"worst|least|最(?:差|不|低|糟)", first, re.I)
            return (
                order[::-1] if worst_first and not re.search(r"\bbest|most (?!un)|最(?:好|佳)", first, re.I) else order
            )
    return None
