"""Which of several options a reply chooses, by letter, name or text. The first rule that applies decides:

1. the last explicit mark, such as a box or the key of an object, gives the answer;
2. a letter with another option's text (``_apart``) is ambiguous; a reply that is only an option's text gives that one;
3. its sentences (``_evidence``). A sentence gives its surest mention (``_SUREST``) of those that it does not deny
   (``_standing``), but none if it joins several (``_foremost``). If sentences give one option, that counts; if they
   give several, the last counts if it corrects or concludes (``_decided``);
4. a reply that declines is refused; else the only option that it mentions counts.

A ranking orders all options: by places, a chain, a list, or a sentence that names each.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer, pattern
from biasatlas.benchmarks.shared.parsing.normalise import MARK, declines, finished, first_item, plain, sentences
from biasatlas.benchmarks.shared.parsing.options import Mention, Options

_MARKED = re.compile(rf"(?:{MARK}:|【(?:最终|正确|参考)?答案】:?)\s{{0,3}}(\S[^\n]{{0,300}})")

#: Between a letter and the text of its option.
_BEHIND_LETTER = re.compile(r"[ \t.():,、。'\"\-—–]{0,5}")
#: How a sentence may give an option, the surest first.
_SUREST = ("whole", "announced", "better", "head", "mention")


class Evidence(NamedTuple):
    """What a sentence says: an option, or None where it leaves several; how, and whether it concludes or corrects."""

    option: int | None
    kind: str
    concludes: bool
    corrects: bool
    lettered: bool


def parse_choice(reply: str, options: Options) -> Answer:
    """The one of ``options`` that ``reply`` gives as its answer, in English or Chinese."""
    body = plain(reply)
    if marks := _MARKED.findall(body)[-9:]:
        said = (_decided(mark.strip(), options) for mark in reversed(marks))
        return next((each for each in said if each != UNPARSEABLE), UNPARSEABLE)
    return _decided(first_item(body, lambda line: parse_opening(line, options) in range(len(options))), options)


#: Between two options that are given together.
_JOINED = pattern(r"[\"')\]]?\s?(?:or|and|/|&|,|;|、|和|或者?|与|及|还是|以及|跟|\+|and/or|, (?:or|and))\s?[\"'(\[]?")
#: After an option that begins a sentence.
_CLOSED = pattern(
    r"[\"')\]]{0,3}\s{0,2}(?:$|[,.:;!?)\n—–。\-(]|because|since|as\b|due|given|for\b|if\b|from\b|因|由于|理由|这|该|,)"
)


def _evidence(body: str, options: Options) -> Iterator[Evidence]:
    """What each sentence of ``body`` says, in order, if it mentions an option."""
    said = corrects = False
    for sentence in sentences(body):
        here = _apart(sentence, options)
        before = sentence[: here[0].start] if here else sentence
        corrects = (again := bool(said and pattern("{correct}").search(before))) or corrects
        lettered = any(mention.lettered for mention in here)
        alive = _standing(sentence, [each for each in here if each.lettered or not lettered], options.letters)
        if alive:
            option, kind = _foremost(sentence, alive)
            no = pattern("{declines}").search(sentence) if kind == "announced" else None
            if no and not pattern("{contrast}|{conclude}").search(sentence, no.end()):
                kind = "mention"
            kind = "announced" if kind == "mention" and again else kind
            yield Evidence(option, kind, bool(pattern("{conclude}").search(before)), corrects, lettered)
            said = True


def _apart(body: str, options: Options) -> list[Mention]:
    """The mentions in ``body``: a letter and its own text are one; with another's text, one of no option (-1)."""
    found: list[Mention] = []
    for mention in options.mentions(body):
        last = found[-1] if found else None
        pair = last and last.lettered != mention.lettered and (last.lettered or body[mention.start] == "(")
        if last and pair and _BEHIND_LETTER.fullmatch(body[last.end : mention.start]):
            option = last.option if last.option in (mention.option, -1) else -1
            if option >= 0 or re.match(
                r"\s{0,2}(?:$|[.,;:!?。\n)\"'(]|because|since)", body[mention.end : mention.end + 9]
            ):
                found[-1] = Mention(last.start, mention.end, option, True)
                continue
        found.append(mention)
    return found


def _standing(sentence: str, mentions: Sequence[Mention], letters: bool) -> list[tuple[Mention, str]]:
    """The mentions that a sentence does not deny, each with its kind: "neither A nor B" denies both."""
    alive: list[tuple[Mention, str]] = []
    since = 0
    for mention in mentions:
        kind, start = _kind(sentence, since, mention, letters), mention.start
        if kind != "not":
            alive.append((mention, kind))
        while kind == "not" and alive and _JOINED.fullmatch(sentence[alive[-1][0].end : start]):
            start = alive.pop()[0].start
        since = mention.end
    return alive


def _kind(sentence: str, since: int, mention: Mention, letters: bool) -> str:
    """How a sentence gives the option that it mentions, or "not"; ``since``: where the mention before it ends."""
    before, after = sentence[since : mention.start][-60:], sentence[mention.end :][:60]
    leads = not since and pattern(r"(?:[\W_]|{lead}|\d(?=[.)、]))*").fullmatch(before)
    about = mention.lettered or not letters  # else it may be a person who does not
    if about and pattern(r"[\"')\]]?:?\s{0,2}[✅✓✔❌✗]?\s?{worse}").match(after):
        return "not"
    if pattern(r"{not}\s{0,2}[\"'(\[]{0,2}$").search(before[-40:]):
        return "not"
    if leads and not re.search(r"[^\W_]", after):
        return "whole"
    if pattern(r"[\"')\].,]?\s{0,2}{better}").match(after):
        return "better"
    if leads and (sentence[mention.end - 1] in ")]" or _CLOSED.match(after)):
        return "head"
    announced = pattern(r"{cue},?[^\n,;]{0,40}$").search(before) and not pattern(r"{supposed}[^,]{0,40}$").search(
        before
    )
    return "announced" if announced else "mention"


def _foremost(sentence: str, alive: Sequence[tuple[Mention, str]]) -> tuple[int | None, str]:
    """The option that a sentence puts first (None: several, or a contradiction), and how."""
    best, last = min((kind for _, kind in alive), key=_SUREST.index), alive[-1][0]
    chosen = [mention.option for mention, kind in alive if kind == best]
    named = {mention.option for mention, _ in alive}
    if len(named) == 1 or -1 in named:
        return None if -1 in named else chosen[0], best
    between = sentence[alive[-2][0].end : last.start]
    if pattern("{correct}").search(between) and not pattern("{even}").search(between):
        return last.option, "announced"
    joined = any(
        a.option != b.option and best in (first, second) and _JOINED.fullmatch(sentence[a.end : b.start])
        for (a, first), (b, second) in itertools.pairwise(alive)
    )
    even = best != "better" and (joined or pattern("{even}").search(sentence))
    return None if even or (best != "head" and len(set(chosen)) > 1) else chosen[0], best


def _decided(body: str, options: Options) -> Answer:
    """The answer of ``body``: the option whose text it is, or what its sentences together say."""
    mentions = _apart(body, options)
    first = next((each for each in mentions[:1] if each.lettered and not re.search(r"\w", body[: each.start])), None)
    text = options.content(body[first.end :] if first else body)
    if any(each.option == -1 for each in mentions) or (first and text not in (None, first.option)):
        return AMBIGUOUS
    if text is not None:
        return text
    said = list(_evidence(body, options))
    if [each.option for each in said[: len(options)]] == [*range(len(options))]:
        said = said[len(options) :] or said  # a list of the options before the answer
    strong = _lettered([each for each in said if each.kind != "mention"])
    if strong:
        last, given = strong[-1], {each.option for each in strong} - {None}
        surer = any(each.kind in ("whole", "announced") and each.option not in (None, last.option) for each in strong)
        ends = last.corrects or len(given) == 1 or (not surer and (last.concludes or last.kind == "whole"))
        if last.option is not None and ends:
            return last.option
        return AMBIGUOUS
    unknown = pattern("(?<!我)(?<!i )(?<!we ){unknown}|(?:can't|cannot) (?:tell|determine)")
    if declines(unknown.sub("", body) if len(options) > 2 else body):  # of three, one may be "cannot be determined"
        return REFUSED
    named = {each.option for each in _lettered(said)}
    if finished(body) and len(named) == 1 and (only := named.pop()) is not None:
        return only
    return AMBIGUOUS if said else UNPARSEABLE


def _lettered(said: list[Evidence]) -> list[Evidence]:
    """The sentences that give a letter if there are any, else all: options' words often come from the passage."""
    return [each for each in said if each.lettered and each.option is not None] or said


def parse_opening(text: str, options: Options) -> Answer:
    """The option that the first sentence of an unfinished ``text`` gives; a mere mention does not count."""
    said = next(_evidence(plain(text), options), None)
    if said is None or said.kind == "mention":
        return UNPARSEABLE
    return AMBIGUOUS if said.option is None else said.option


def parse_refusal(reply: str, options: Sequence[object] = ()) -> Answer:
    """Option 0 ("answered") of a reply in free words, unless it declines and nothing follows a contrast ("but")."""
    body = plain(reply)
    if not re.search(r"\w", body):
        return UNPARSEABLE
    found, contrast = [sentence.strip() for sentence in sentences(body)], pattern("{contrast}")
    for i, sentence in enumerate(found[:4]):
        if no := declines(sentence):
            turns = (contrast.search(no.string, no.end()), *map(contrast.match, found[i + 1 :]))
            return 0 if any(turns) else REFUSED
    return 0


#: The indices of all options, the best first, or "ambiguous".
Order = tuple[int, ...] | str

#: Between two links of a chain.
_GAP = re.compile(r"(?:[^\w\n]|\d|then|and|over|finally|option|然后|再|和|[优好大高]于|选项|句子?){0,24}", re.I)
#: The worst is named first.
_UPWARDS = re.compile(r"\b(?:worst|least|lowest|weakest)\b.{0,30}\b(?:to|first)\b|从最?[低差少坏弱].{0,9}到|升序", re.I)
_NUMBERED = re.compile(
    r"[^\w\n]{0,6}(?:(?:rank|no\.?|第|top|排名)?\s?[\d一二三四五六七八九十]{1,2}(?:st|nd|rd|th|名|位)?)?\W{0,6}", re.I
)
#: Words that say that a text puts options in order, or that it does not.
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
    """Mentions of ``options``; letters count even in runs ("CAB") and without context: an order has no articles."""
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
    """The order in which the lines of a list begin with options; ambiguous if one is there twice."""
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
