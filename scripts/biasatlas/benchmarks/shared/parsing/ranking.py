"""An order of all options: places, a chain, a list, or a sentence that names each once."""

import itertools
import re
from collections.abc import Sequence

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, pattern
from biasatlas.benchmarks.shared.parsing.normalise import MARK, first_item, plain, sentences
from biasatlas.benchmarks.shared.parsing.options import Mention, Options, as_options
from biasatlas.benchmarks.shared.parsing.refusal import declines

#: The indices of all options, the best first, or "ambiguous".
Order = tuple[int, ...] | str

#: Behind an option: its place ("A: 2nd").
_PLACE = re.compile(r"[\"')]?\s?:\s?(?:第|rank )?\s?(\d{1,2})\s?(?:名|位|$|st|nd|rd|th)")
#: Between two links of a chain.
_GAP = re.compile(
    r"(?:[^\w\n]|\d|then|and|followed by|over|before|finally|option|response|sentence|candidate|然后|再|和|[优好大高]于"
    r"|选项|句子?){0,24}",
    re.I,
)
#: Behind options that are only named ("A, B and C are all ...").
_NAMED = re.compile(r"[\"')]?\s?(?:are|all|three|four|都|均|三|四|these|each|的|中|这|哪|do|have|等|which)", re.I)
#: The worst is named first.
_UPWARDS = re.compile(
    r"(?:worst|least|lowest|weakest)\b[^.\n]{0,30}\b(?:to|first)\b|(?<!to )\b(?:worst|least \w+) is\b"
    r"|[由从]最?[低差不少坏弱][^。\n]{0,10}到|升序",
    re.I,
)
_NUMBERED = re.compile(
    r"[^\w\n]{0,6}(?:(?:rank|no\.?|第|top|排名)?\s?[\d一二三四五六七八九十]{1,2}(?:st|nd|rd|th|名|位)?)?\W{0,6}", re.I
)
#: Says that a sentence puts options in order, or that it does not.
_TELLS = re.compile(
    r"最|其次|然后|再|第[一二三]|优于|排|比|更|followed|best|top|prefer|beats|most|worst|least|then|next|first|second|last"
    r"|rank|better",
    re.I,
)
_TIED = re.compile(r"tied?\b|equal|并列|难分|同样|一样|差不多|都|不相上下|either", re.I)


def parse_ranking(reply: str, options: Options | Sequence[str]) -> Order:
    """The order in which a reply puts ``options``, as a tuple of their indices, the best first.

    Ambiguous: several orders, ties, or one option at two places. Unparseable: an order that leaves one out.
    """
    options = as_options(options)
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
        if not re.search(r"[<>\d]", signs) and _NAMED.match(body, run[-1].end):
            continue
        upwards = ">" not in signs and ("<" in signs or _UPWARDS.search(before))
        tied = re.search("[=≈~]", signs)
        found.append((AMBIGUOUS if tied else order[::-1] if upwards else order, run[0].start, ">" in signs))
        free = at + count
    return found


def _listed(body: str, options: Options) -> Order | None:
    """The order in which the lines of a list begin with options, or of the places that these have behind them."""
    heads, numbered = [], []
    for at, line in enumerate(body.split("\n")[:400]):
        mentions, lead = _mentions(line, options), _NUMBERED.match(line)
        if mentions and lead and mentions[0].start - lead.end() <= 14:
            place = _PLACE.match(line, mentions[0].end)
            heads.append((int(place[1]) if place else at, mentions[0].option))
            numbered += heads[-1:] if re.search(r"\w", lead[0]) else []
    everyone = set(range(len(options)))
    chosen = tuple(option for _, option in sorted(numbered if {i for _, i in numbered} == everyone else heads))
    return None if {*chosen} != everyone else chosen if len(chosen) == len(options) else AMBIGUOUS


def _told(body: str, options: Options) -> Order | None:
    """An order in sentences: "A is best, followed by C, and B is the worst"."""
    for text in (*(sentence for _, sentence in sentences(body)), body):
        mentions = _mentions(text, options)
        order = tuple(dict.fromkeys(mention.option for mention in mentions))
        if len(order) == len(options) and _TELLS.search(text):
            return None if _TIED.search(text) else order[::-1] if _UPWARDS.search(text[: mentions[1].start]) else order
    return None
