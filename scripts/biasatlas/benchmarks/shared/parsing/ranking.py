"""An order of all options: places, a chain, a list, or a sentence that names each once."""

import itertools
import re

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, pattern
from biasatlas.benchmarks.shared.parsing.normalise import MARK, declines, first_item, plain
from biasatlas.benchmarks.shared.parsing.options import Mention, Options

#: The indices of all options, the best first, or "ambiguous".
Order = tuple[int, ...] | str

#: Between two links of a chain.
_GAP = re.compile(r"(?:[^\w\n]|\d|then|and|over|finally|option|然后|再|和|[优好大高]于|选项|句子?){0,24}", re.I)
#: The worst is named first.
_UPWARDS = re.compile(r"\b(?:worst|least|lowest|weakest)\b.{0,30}\b(?:to|first)\b|从最?[低差少坏弱].{0,9}到|升序", re.I)
_NUMBERED = re.compile(
    r"[^\w\n]{0,6}(?:(?:rank|no\.?|第|top|排名)?\s?[\d一二三四五六七八九十]{1,2}(?:st|nd|rd|th|名|位)?)?\W{0,6}", re.I
)
#: Says that a text puts options in order, or that it does not.
_TELLS = pattern("最|其次|然后|再|第[一二三]|优于|排|比|更|best|top|prefer|beat|most|worst|least|then|first|better")
_TIED = re.compile(r"tied?\b|equal|并列|难分|同样|一样|差不多|都|不相上下|either", re.I)


def parse_ranking(reply: str, options: Options) -> Order:
    """The order in which a reply puts ``options``, as a tuple of their indices, the best first.

    Ambiguous: several orders, ties, or one option at two places. Unparseable: an order that leaves one out.
    """
    body = plain(reply)
    body = first_item(body, lambda line: bool(_chains(line, options)))
    chains = _chains(body, options)
    told = [chain for chain in chains if chain[2]]
    if not told and declines(body):
        return REFUSED
    if not told and (order := _listed(body, options) or (None if chains else _told(body, options))):
        return order
    if not (chains := told or chains):
        return UNPARSEABLE
    last, at, _ = chains[-1]
    between = body[chains[-2][1] : at] if len({order for order, *_ in chains}) > 1 else MARK
    return last if MARK in between or pattern("{correct}").search(between) else AMBIGUOUS


def _mentions(text: str, options: Options) -> list[Mention]:
    """Mentions of ``options``, their letters wherever no others stand beside them: an order has no articles."""
    if not options.letters:
        return options.mentions(text)
    runs = re.finditer(rf"(?<![A-Za-z])[{''.join(options.labels)}]{{1,{len(options)}}}(?![A-Za-z])", text)
    places = ((letter, at) for run in runs for at, letter in enumerate(run[0], run.start()))
    return [Mention(at, at + 1, options.labels.index(letter), True) for letter, at in places]


def _chains(body: str, options: Options) -> list[tuple[Order, int, bool]]:
    """Chains that name every option once ("B > A > C", "C, A, B", "CAB"): order, place, and whether it has a ">"."""
    mentions, count, free = _mentions(body, options), len(options), 0
    found: list[tuple[Order, int, bool]] = []
    for at in range(len(mentions) - count + 1):
        run = mentions[at : at + count]
        order = tuple(mention.option for mention in run)
        gaps = [body[a.end : b.start] for a, b in itertools.pairwise(run)]
        if at < free or len({*order}) < count or not all(_GAP.fullmatch(gap) for gap in gaps):
            continue
        signs, before = "".join(gaps), body[max(0, run[0].start - 60) : run[0].start].rpartition("\n")[2]
        upwards = ">" not in signs and ("<" in signs or _UPWARDS.search(before))
        tied = re.search("[=≈~]", signs)
        found.append((AMBIGUOUS if tied else order[::-1] if upwards else order, run[0].start, ">" in signs))
        free = at + count
    return found


def _listed(body: str, options: Options) -> Order | None:
    """The order in which the lines of a list begin with options; ambiguous: one of them twice."""
    found = []
    for line in body.split("\n")[:400]:
        mentions, lead = _mentions(line, options), _NUMBERED.match(line)
        if mentions and lead and mentions[0].start - lead.end() <= 14:
            found.append((bool(re.search(r"\w", lead[0])), mentions[0].option))
    heads = [option for numbered, option in found if numbered] or [option for _, option in found]
    if {*heads} != set(range(len(options))):
        return None
    return tuple(heads) if len(heads) == len(options) else AMBIGUOUS


def _told(body: str, options: Options) -> Order | None:
    """An order in words: "A is best, followed by C, and B is the worst"."""
    mentions = _mentions(body, options)
    order = tuple(dict.fromkeys(mention.option for mention in mentions))
    if len(order) < len(options) or not _TELLS.search(body) or _TIED.search(body):
        return None
    return order[::-1] if _UPWARDS.search(body[: mentions[1].start]) else order
