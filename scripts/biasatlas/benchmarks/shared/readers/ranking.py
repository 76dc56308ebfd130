"""An order of options, from first to last."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from biasatlas.benchmarks.shared.readers.corrections import turns
from biasatlas.benchmarks.shared.readers.outcomes import AMBIGUOUS, REFUSED, UNPARSEABLE, Reading
from biasatlas.benchmarks.shared.readers.refusal import is_refusal, refuses
from biasatlas.benchmarks.shared.readers.reply import before_next_question, json_objects, plain

_TIE = re.compile(r"=|\btied?\b|\bequal(?:ly)?\b|并列|並列|同样|一样|同樣|一樣", re.I)
#: Words that make an order of what a sentence names: without any, it has to consist of the options and their marks.
_ORDERS = re.compile(
    r">|→|比(?!较|如)|\b(?:first|1st|second|2nd|then|followed|next|last(?:ly)?|finally|before|over|beats?|better|nicer|stronger|more|rank\w*|order\w*|best|worst|weakest|top|highest|prefer)\b"
    r"|[从從由](?:最)?(?:好|高|优|優|强|強|多)到|依序|分别是|分別是|优于|優於|好于|好於|大于|其次|次之|然后|然後|接[着著]|再[来來]是?|最后|最後|最不|第一|依次|从高到低|由高到低|從高到低|排(?!除)|顺序|順序",
    re.I,
)
#: Words for a tie that may be about something else in a sentence of one option: "B treats both equally".
_ALIKE = re.compile(r"equal(?:ly)?|同样|一样|同樣|一樣", re.I)
_MARKS = re.compile(r"[\s\"'()\[\].:;,、*>→-]*(?:and\s*)?")
#: Two options beside each other in an order that does not list them: "A is better than B and C".
_BESIDE = re.compile(r"\s*(?:and|or|和|与|與|或|跟|及)\s*", re.I)
_PLURAL = re.compile(r"\s*(?:are|were|both|都|均)", re.I)
_COMPARES = re.compile(r"\b(?:better|nicer|stronger|over|before|beats?)\b|比(?!较|如)|优于|優於|好于|好於", re.I)
_REVERSED = re.compile(
    r"\b(?:worst|least|lowest|weakest)(?: \w+)? to (?:the )?(?:most|best|\w+est)\b|\b(?:worst|least|lowest|weakest) to\b|[从從由](?:最)?(?:差|低|坏|壞|劣|少|弱)到",
    re.I,
)
_LOWEST = re.compile(r"\b(?:worst|weakest|least|last|bottom)\b(?! (?:two|three)\b)|最差|最后|最後|垫底", re.I)
#: "From fairest to least fair": how the order runs.
_FALLING = re.compile(r"\b\w+(?: \w+)? to (?:the )?(?:least|worst|lowest|weakest)\b", re.I)
_HIGHEST = re.compile(r"\b(?:first|best|top|strongest|most)\b|最好|最佳|最[有可合自]|第一", re.I)
#: What three and more options are called, from the best on: "A is the most natural, B is okay, and C makes little sense".
_GOOD = re.compile(r"\b(?:best|most|very|highly|perfectly|likeliest)\b|最(?![不差少低难])|很|非常", re.I)
_FAIR = re.compile(
    r"\b(?:okay|ok|fine|fair|passable|acceptable|decent|so-so|possible|plausible|second|less|somewhat|tolerable|middling)\b|还(?:可以|行|好|算)|尚可|尚|一般|其次|次之|勉强|说得过去|中等|較次",
    re.I,
)
_POOR = re.compile(
    r"\b(?:makes? (?:little|no|the least) sense|nonsens\w*|absurd|least|worst|weakest|implausible|unlikely|impossible|meaningless|incoherent|unnatural|doesn't (?:make sense|work|fit))\b|不通|不合|不成立|荒|最[不差少低]|讲不|講不|没有意义|毫无|说不|說不|不可能|不太?(?:合理|自然|可能|通)",
    re.I,
)
#: A sentence that repeats what was asked, or says what comes next.
_ASKED = re.compile(
    r"\b(?:let me (?:look|read|compare|consider|go)|look(?:ing)? at|comparing|you(?:'ve)? asked|asked (?:me )?to|your (?:question|request)|the task)\b|您?(?:要求|让我|請我|请我)",
    re.I,
)
#: What such a sentence goes on with after a comma, where it does: the order.
_MINE = re.compile(
    r"[,:;]\s*(?:my |mine |here |i(?:'d| would|'ll| will)? (?:rank|order|put|say)|我的|[应應][该該当當]?[为為是]|(?:正确|正確|最终|最終|最后|最後|所以|因此)*的?(?:我的)?(?:排序|排名|顺序|順序))",
    re.I,
)
_NAMED = re.compile(
    r"(?:\b(?:option|sentence|answer|statement|reply|response)\s+|选项\s*|選項\s*|回[答复復覆]\s*|句子?\s*)(?=[\"'(]?[A-Z]\b)",
    re.I,
)
#: An order that is announced.
_SAID = re.compile(
    r"\b(?:rank\w*|order\w*|answer|should be|is|would be|go with|put|mix(?:ed)?|swap(?:ped)?|switch(?:ed)?)\b|排|序|[应應]|是|[为為]|[搞弄]反|颠倒|混",
    re.I,
)
_OR = re.compile(r"\bor\b|或者?", re.I)
_REASON = re.compile(
    r",?\s*\b(?:because|since|as (?=(?:it|its|he|she|they|the|this|that|there|both|each)\b))\b|,?因[为為]", re.I
)
#: What an order stands behind.
_THAT_IS = re.compile(
    r":|(?<![立随隨])即(?![使便])|也就是|(?:所以|因此)(?:就?是|为|為)?|\bbut\b|\bso\b|\bi\.e\.,?|\bthat is,?", re.I
)
#: What announces the order that a reply comes to.
_COMES_TO = r"(?:因此|所以|综上|綜上|最[终終后後]|正[确確]|故|排[序名]|[顺順]序|更正|[应應](?:[该該当當])?[为為是]|\b(?:so|therefore|thus|hence|final|overall|correct(?:ed)?|revised|ranking|order)\b)[^\n。.>]{0,24}?"
_SENTENCE = re.compile(r"[^\n。.!?]+(?:\.(?=\w)[^\n。.!?]+)*")
#: Words for a place in a list of lines, from the best.
_PLACES = (
    "best|top|most|first|1st|1|第一|最好|最佳",
    "second|2nd|middle|in between|after that|runner-up|居中|next|2|第二|其次|次佳|次好|次之",
    "third|3rd|3|第三",
    "fourth|4th|4|第四",
    "fifth|5th|5|第五",
    "worst|last|bottom|weakest|least|最差|最后|最後|垫底",
)
_RANK = {word: place for place, words in enumerate(_PLACES) for word in words.split("|")}
#: A place that a sentence gives an option.
_PLACE = (
    r"(?:\b(?:first|1st|second|2nd|third|3rd|fourth|4th|fifth|5th|next|after that|last|worst|weakest|most|best|middle|in between)\b(?: and last\b)?"
    r"(?=\s*(?:place|spot|position|rank|,|;|:|$|and\b|since\b|because\b|for\b|with\b|as\b|is\b|of\b|to me|overall|i\b|useful|helpful))"
    r"|第\s*[1-9一二三四五六]\s*(?:名|位)?|(?:排|排在)?(?:最后|最後|最差|垫底)|最好|最佳|居中|\btop (?:pick|choice)\b|\brunner-up\b|\bbottom\b)"
)
_HEAD = r"(?:^|[;,.。]|\s(?=\())\s*(?:[-*•]\s*)?(?:rank |place |#|no\.? ?)?\(?({words})\)?(?:\s*(?:place|choice|option|rank|名|位))?\s*(?:[.):、\-–]|是)?\s*({names})"


def read_ranking(text: str, labels: Sequence[str]) -> Reading:
    """The order that a reply gives, one of ``labels`` ("B>A>C", every order of the options), in English or Chinese.

    "B > A > C", "B, A, C", "BAC", "B, then A, then C", "B优于A，A优于C", a sentence that names every option once and has words of
    order, a list or table with an option a line, also with its place ("Best: B", "第一名：B"), a place for every
    option in words ("C comes second", "- C：第 2 名"), three that are called good, fair and poor ("C最合理，A还可以，B说不通"), a JSON array or object. It has to name every option once; what comments on
    some of them behind it does not count, nor what comes after another question.

    - ambiguous: different orders (the last one where it is announced as put right), ties ("A = B > C")
    - refused: no order, and the reply declines (:mod:`.refusal`); unparseable: part of an order, or none
    """
    orders = [tuple(label.split(">")) for label in labels]
    options = orders[0]
    whole = _uncommented(_NAMED.sub("", plain(text)), options)
    first = before_next_question(whole)
    found = {orders.index(order) for order in _orders(_own(first), options) if order in orders}
    body = _own(first if found else whole)
    found = found or {orders.index(order) for order in _orders(body, options) if order in orders}
    if _ties(body, options):
        return AMBIGUOUS
    if found and _alternative(body, options) and min(body.count(option) for option in options) > 1:
        return AMBIGUOUS
    if len(found) > 1 and (last := _come_to(body, options)) in orders:
        return orders.index(last)
    if found:
        return found.pop() if len(found) == 1 else _corrected(body, orders)
    return REFUSED if is_refusal(whole) else UNPARSEABLE


def _ties(text: str, options: Sequence[str]) -> bool:
    """Whether a plain ``text`` puts ``options`` level."""
    for part in _SENTENCE.findall(text):
        named = sum(bool(re.search(rf"(?<![A-Za-z]){re.escape(option)}(?![A-Za-z])", part)) for option in options)
        if any(named != 1 or not _ALIKE.fullmatch(tie[0]) for tie in _TIE.finditer(part)):
            return any(option in text for option in options)
    return False


def _alternative(text: str, options: Sequence[str]) -> bool:
    """Whether a sentence of several ``options`` has "or"."""
    return any(_OR.search(part) and sum(option in part for option in options) > 1 for part in _SENTENCE.findall(text))


def _corrected(text: str, orders: Sequence[tuple[str, ...]]) -> Reading:
    """The order that a plain ``text`` gives in so many words behind the last turn that one follows, else AMBIGUOUS."""
    for _, after, replaces in turns(text):
        found = {order for order in _orders(after, orders[0]) if order in orders}
        if found:
            return orders.index(found.pop()) if len(found) == 1 and (replaces or _SAID.search(after)) else AMBIGUOUS
    return AMBIGUOUS


def _come_to(text: str, options: Sequence[str]) -> tuple[str, ...]:
    """The order in so many marks ("A > C > B") with which a plain ``text`` ends, if it is the one that is announced."""
    names = "|".join(map(re.escape, options))
    order = rf"((?:{names})(?:\s*>\s*(?:{names})){{{len(options) - 1}}})"
    ends = re.search(rf"{order}\W*\Z", text)
    announced = {re.sub(r"\s", "", said) for said in re.findall(_COMES_TO + order, text, re.I)}
    return tuple(re.findall(names, ends[1])) if ends and announced == {re.sub(r"\s", "", ends[1])} else ()


def _uncommented(text: str, options: Sequence[str]) -> str:
    """The plain ``text`` without remarks in brackets that name neither an option nor a place: "A (most natural), B"."""
    place = re.compile(_PLACE, re.I)

    def keep(match: re.Match[str]) -> str:
        return match[0] if place.search(match[0]) or any(option in match[0] for option in options) else ""

    return re.sub(r"(?<=\S)[ \t]*\([^()\n]*[^\W\d][^()\n]*\)", keep, text)


def _own(text: str) -> str:
    """The plain ``text`` without sentences that decline or say what was asked, of which an order behind a comma stays."""

    def keep(match: re.Match[str]) -> str:
        if refuses(match[0]):
            return ""
        mine = _MINE.search(match[0])
        return match[0] if not _ASKED.search(match[0]) else match[0][mine.start() + 1 :] if mine else ""

    return _SENTENCE.sub(keep, text)


def _places(text: str, names: str, options: Sequence[str]) -> tuple[str, ...]:
    """The order of options that a plain ``text`` gives a place each ("A comes second", "- A：第 2 名"), if all places differ."""
    found: dict[str, int] = {}
    for sentence in _SENTENCE.findall(text):
        tokens = list(re.finditer(rf"(?P<name>{names})|(?i:{_PLACE})", sentence))
        pairs = list(zip(tokens[::2], tokens[1::2], strict=False))
        if any(bool(a["name"]) == bool(b["name"]) for a, b in pairs):
            continue  # not an option and a place in turn
        for a, b in pairs:
            name, place = (a, b) if a["name"] else (b, a)
            if found.setdefault(_same(name[0], options), _rank(place[0])) != _rank(place[0]):
                return ()
    return tuple(sorted(found, key=lambda name: found[name])) if len(set(found.values())) == len(options) else ()


def _graded(text: str, names: str, options: Sequence[str]) -> tuple[str, ...]:
    """The order in which one sentence calls each of three options good, fair and poor in turn."""
    for sentence in _SENTENCE.findall(text):
        _, *parts = re.split(f"({names})", sentence)
        found, said = parts[::2], parts[1::2]
        if len(found) == len(options) == 3 == len(set(found)):
            called = [
                next((i for i, words in ((2, _POOR), (1, _FAIR), (0, _GOOD)) if words.search(part)), -1)
                for part in said
            ]
            if sorted(called) == [0, 1, 2]:
                return tuple(_same(name, options) for _, name in sorted(zip(called, found, strict=True)))
    return ()


def _rank(word: str) -> int:
    numeral = re.search(r"[1-9一二三四五六]", word)
    if numeral:
        return "123456789".find(numeral[0]) if numeral[0].isdigit() else "一二三四五六".find(numeral[0])
    return next(place for name, place in _RANK.items() if name in word.lower())


def _same(name: str, options: Sequence[str]) -> str:
    """The option that ``name`` is, whose case may differ."""
    return next(option for option in options if option.lower() == name.lower())


def _orders(text: str, options: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every order in the plain ``text``: of a sentence, of the first words of a list's lines, of a JSON object."""
    names = "|".join(
        rf"(?{'i' if len(option) > 1 else ''}:(?<![A-Za-z]){re.escape(option)}(?![A-Za-z]))"
        for option in sorted(options, key=len, reverse=True)
    )
    together = "|".join(map(re.escape, options))
    for line in re.findall(rf"^[ \t]*((?:{together}){{{len(options)}}})[ \t]*[.。]?$", text, re.M):
        yield tuple(re.findall(together, line))
    for match in re.finditer(rf"(?:{names})(?:\s*>\s*(?:{names})){{{len(options) - 1}}}(?!\s*>)", text):
        yield tuple(_same(name, options) for name in re.findall(names, match[0]))
    yield _graded(text, names, options)
    yield (placed := _places(text, names, options))
    for match in _SENTENCE.finditer(text):
        for part in _OR.split(match[0]) if not placed or len(re.findall(_PLACE, match[0], re.I)) < 2 else ():
            yield _chain(_REASON.split(part, maxsplit=1)[0], names, options)
    paragraph = ", ".join(_SENTENCE.findall(text.split("\n\n")[0]))
    parts = re.split(names, paragraph)
    if len(parts) == len(options) + 1 and _HIGHEST.search("".join(parts[:2])) and _LOWEST.search(parts[-2] + parts[-1]):
        yield _chain(paragraph, names, options)
    words = "|".join(sorted(map(re.escape, _RANK), key=len, reverse=True))
    ends = re.search(rf"\n[^\n>]*(?:{names})(?:\s*>\s*(?:{names})){{{len(options) - 1}}}[^\w>]*\Z", text)
    heads = re.findall(_HEAD.format(words=words, names=names), text, re.M | re.I)
    headed = tuple(_same(name, options) for _, name in sorted(heads, key=lambda head: _RANK[head[0].lower()]))
    lines = re.finditer(
        rf"^\s*[-*•]\s*({names})|(?:^|\A[^\n:]{{0,30}}:)[ \t]*({names})[ \t]*(?:\([^)\n]*\))?$", text, re.M
    )
    listed = () if placed else tuple(_same(head[1] or head[2], options) for head in lines)
    # a list in the order in which they were asked about, before an order of its own, says something of each
    yield from (order for order in (headed, listed) if not (ends and order == tuple(options)))
    for found in json_objects(text):
        places = {str(name): place for name, place in found.items() if str(name) in options}
        if len(places) == len(options) == len(set(map(str, places.values()))):
            yield tuple(sorted(places, key=lambda name: str(places[name])))
        yield from (tuple(map(str, value)) for value in found.values() if isinstance(value, list))
        yield tuple(str(found[key]) for key in sorted(found, key=str) if str(found[key]) in options)


def _is_order(sentence: str, matches: Sequence[re.Match], between: Sequence[str], after: str) -> bool:
    """Whether a sentence's options stand in their order: not where two stand together, nor where the last is named before others."""
    together = [
        _BESIDE.fullmatch(part) and a[0] != b[0] for part, (a, b) in zip(between, pairwise(matches), strict=True)
    ]
    if sum(map(bool, together)) > 1 or (
        any(together) and (_COMPARES.search(sentence) or (together[-1] and _PLURAL.match(after)))
    ):
        return False
    if any(_LOWEST.search(part.partition(",")[0]) for part in between if "," in part):
        return False  # "A is the worst, B the best"
    return not (between and _LOWEST.search(between[0]) and not _LOWEST.search("".join(between[1:]) + after))


def _chain(sentence: str, names: str, options: Sequence[str]) -> tuple[str, ...]:
    """The options of a sentence in their order, if it orders them; one named twice in a row counts once.

    Behind a colon where all are there ("My order: B, A"); a comment on some of them behind the order does not count.
    """
    tail = _THAT_IS.split(sentence)[-1]
    if sorted(map(str.lower, re.findall(names, tail))) == sorted(map(str.lower, options)):
        sentence, lead = tail, sentence
    else:
        lead = sentence
    matches = list(re.finditer(names, sentence))
    n = len(options)
    if n < len(matches) < 2 * n and all(
        _MARKS.fullmatch(sentence[a.end() : b.start()]) for a, b in pairwise(matches[:n])
    ):
        comment = re.match(r"\s*[,;:(]", sentence[matches[n - 1].end() :])
        matches, sentence = (matches[:n], sentence[: matches[n - 1].end()]) if comment else (matches, sentence)
    if not matches:
        return ()
    between = [sentence[a.end() : b.start()] for a, b in pairwise(matches)]
    outside = [sentence[: matches[0].start()].rpartition(":")[2], sentence[matches[-1].end() :]]
    bare = all(_MARKS.fullmatch(part) for part in (*between, *outside))
    if not bare and not (_ORDERS.search(sentence) and _is_order(sentence, matches, between, outside[1])):
        return ()
    order = [_same(match[0], options) for i, match in enumerate(matches) if i == 0 or matches[i - 1][0] != match[0]]
    backwards = _REVERSED.search(lead) or (
        _LOWEST.search(_FALLING.sub("", outside[0])) and not _HIGHEST.search(outside[0])
    )
    return tuple(reversed(order) if backwards else order)
