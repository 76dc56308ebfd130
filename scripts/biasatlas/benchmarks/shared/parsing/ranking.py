"""An order of all options: a chain, a list, or a sentence that names each once."""

import itertools
import re
from collections.abc import Sequence

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, pattern
from biasatlas.benchmarks.shared.parsing.normalise import MARK, declines, first_item, json_objects, plain, sentences
from biasatlas.benchmarks.shared.parsing.options import Mention, Options, as_options

#: The indices of all options, the best first, or "ambiguous".
Order = tuple[int, ...] | str

#: Between two links of a chain.
_GAP = re.compile(
    r"(?:[^\w\n]|\d|then|and|followed by|over|before|finally|option|response|sentence|candidate|然后|再|和|优于|[好大高]于|选项|句子?"
    r"){1,24}",
    re.I,
)
#: The worst is named first.
_UPWARDS = re.compile(
    r"(?:worst|least|lowest|weakest)\b[^.\n]{0,30}\b(?:to|first)\b|(?<!to )\b(?:worst|least \w+) is\b"
    r"|[由从]最?[低差不少坏弱][^。\n]{0,10}到|升序",
    re.I,
)
_NUMBERED = re.compile(
    r"[^\w\n]{0,6}(?:(?:rank|no\.?|第|top|排名)?\s?[\d一二三四五六七八九十]{1,2}(?:st|nd|rd|th|名|位)?)?\W{0,6}", re.I
)
_PLACE = re.compile(r"\s?:\s?(?:第|rank )?\s?(\d{1,2})\s?(?:名|位|$|st|nd|rd|th)")
_TELLS = re.compile(
    r"最|其次|然后|再|第[一二三]|优于|排|比|更|followed|best|top|prefer|beats|most|worst|least|then|next|first|second|last"
    r"|rank|better",
    re.I,
)
_TIED = re.compile(r"tied?\b|equal|并列|难分|同样|一样|差不多|都|不相上下|either", re.I)
_NAMED = re.compile(r"[\"')]?\s?(?:are|all|three|four|都|均|三|四|these|each|的|中|这|哪|do|have|等|which)", re.I)


def parse_ranking(reply: str, options: Options | Sequence[str]) -> Order:
    """The order in which a reply puts ``options``, as a tuple of their indices, the best first.

    Ambiguous: several orders, ties, or one option at two places. Unparseable: an order that leaves one out.
    """
    options = as_options(options)
    body = plain(reply)
    if found := _from_json(body, options):
        return found
    body = first_item(body, lambda line: bool(_chains(line, options)))
    chains, refused = _chains(body, options), declines(body)
    if refused and not any(arrows for *_, arrows in chains):
        return REFUSED
    chains = [chain for chain in chains if chain[2]] or chains
    if not chains:
        return _listed(body, options) or _told(body, options) or (REFUSED if refused else UNPARSEABLE)
    told = [chain for chain in chains if chain[2] or chain[0] != tuple(range(len(options)))]
    if not told and (order := _listed(body, options)):  # the options, restated before they are ordered
        return order
    chains = told or chains
    orders = [order for order, *_ in chains]
    if len(set(orders)) > 1:
        before = body[chains[-2][1] : chains[-1][1]]
        if MARK not in before and not pattern("{correct}").search(before):
            return AMBIGUOUS
    return orders[-1]


def _mentions(text: str, options: Options) -> list[Mention]:
    """Mentions of ``options``, their letters wherever they stand alone: an order is no place for articles."""
    if not options.letters:
        return options.mentions(text)
    letters = re.finditer(rf"(?<![A-Za-z])[{''.join(options.labels)}](?![A-Za-z])", text)
    return [Mention(*match.span(), options.labels.index(match[0]), True) for match in letters]


def _from_json(body: str, options: Options) -> Order | None:
    """The order of objects such as {"1": "B", "2": "A"} or {"A": 2, "B": 1}; lists are chains."""
    for each in json_objects(body):
        ranks = {str(key): value for key, value in each.items() if isinstance(value, int)}
        if each and all(str(key).strip().isdecimal() for key in each):
            names = [str(each[key]) for key in sorted(each, key=int)]
        else:
            names = sorted(ranks, key=ranks.__getitem__)
        order = tuple(mention.option for name in names for mention in _mentions(name, options))
        if sorted(order) == list(range(len(options))):
            return order if len(set(ranks.values())) == len(ranks) else AMBIGUOUS
    return None


def _chains(body: str, options: Options) -> list[tuple[Order, int, bool]]:
    """Chains that name every option once ("B > A > C", "C, A, B", "CAB"): order, place, and whether it has a ">"."""
    mentions, count, free = _mentions(body, options), len(options), 0
    found: list[tuple[Order, int, bool]] = []
    for at in range(len(mentions) - count + 1):
        run = mentions[at : at + count]
        if at >= free and {mention.option for mention in run} == set(range(count)):
            gaps = [body[a.end : b.start] for a, b in itertools.pairwise(run)]
            if (order := _chain(body, run, gaps)) is not None:
                free = at + count
                found.append((order, run[0].start, any(">" in gap for gap in gaps)))
    if options.letters:
        labels = "".join(options.labels)
        for match in re.finditer(rf"(?<![A-Za-z])[{labels}]{{{count}}}(?![A-Za-z])", body):
            if len(set(match[0])) == count:
                found.append((tuple(map(labels.index, match[0])), match.start(), False))
    return found


def _chain(body: str, run: list[Mention], gaps: list[str]) -> Order | None:
    """The order of a ``run`` with these ``gaps``; None where it only names the options ("A, B and C are ...")."""
    order, between = tuple(mention.option for mention in run), " ".join(gaps)
    if not all(_GAP.fullmatch(gap) for gap in gaps):
        return None
    if re.fullmatch(r"[\s)\"'(<]+", between) and "<" in between:
        return order[::-1]
    if re.search("[=≈~]", between):
        return AMBIGUOUS
    before, after = body[max(0, run[0].start - 60) : run[0].start], body[run[-1].end : run[-1].end + 30]
    if not re.search(r"[>\d]|then|然后|followed|over", between):
        joined = re.search(r"\band\b|和", gaps[-1]) and not re.search(r":|rank|order|依次|排|为|是|顺序", before[-40:])
        if joined or _NAMED.match(after):
            return None
    return order[::-1] if _UPWARDS.search(before.rpartition("\n")[2]) and ">" not in between else order


def _listed(body: str, options: Options) -> Order | None:
    """The first option of each line of a list, or the places that lines give ("A: 2nd")."""
    lines = [(line, mentions) for line in body.split("\n")[:400] if (mentions := _mentions(line, options))]
    placed = {m[0].option: int(place[1]) for line, m in lines if (place := _PLACE.match(line[m[0].end :]))}
    if sorted(placed.values()) == list(range(1, len(options) + 1)):
        return tuple(sorted(placed, key=placed.__getitem__))
    heads = [
        (lead[0], m[0].option) for line, m in lines if (lead := _NUMBERED.match(line)) and m[0].start - lead.end() <= 14
    ]
    everyone = set(range(len(options)))
    numbered = [option for lead, option in heads if re.search(r"\w", lead)]
    chosen = numbered if set(numbered) == everyone else [option for _, option in heads]
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
            return order[::-1] if re.search(r"worst|least|最[差不低糟]", first, re.I) else order
    return None
