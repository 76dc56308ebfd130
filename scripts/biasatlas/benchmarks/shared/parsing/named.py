"""The parsers by name, and the beginning of a reply, parsed as it is written: the rule for when a choice is made.

Exact probabilities follow texts token by token, and end a choice where its answer does. A text so far has no answer
yet (None) while it may become an announced answer or an option's text, or while more may join its answer ("A or B",
"7-8", a letter before an option's text). Once a line's end or another word closes it, it is parsed as a whole reply is;
it is "refused" where it begins as refusals do, "unparseable" where it begins as no answer does.

Its answer is that of its shortest beginning that has one, so that more text never changes it. Forms are exact here: a
typo, an answer behind other words and what comes after an answer are seen in whole replies alone.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache, partial
from typing import Any

import regex

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer, Parser, Silence, words
from biasatlas.benchmarks.shared.parsing.choice import parse_choice, parse_opening
from biasatlas.benchmarks.shared.parsing.normalise import answer_part, first_item, plain
from biasatlas.benchmarks.shared.parsing.numbers import parse_number
from biasatlas.benchmarks.shared.parsing.options import Options, as_options, folded
from biasatlas.benchmarks.shared.parsing.ranking import parse_ranking
from biasatlas.benchmarks.shared.parsing.refusal import declines, parse_refusal

#: What the beginning of a reply says; None while it is open.
Opening = Callable[[str, Options], Answer | None]
#: Parses a whole reply: the index of an option, all of them in their order (rankings), or why there is none.
Whole = Callable[[str, Options | Sequence[str]], Any]
#: Characters in which an answer begins, if at all.
_LONGEST = 600
_THINKS = r"(?:<think|<\|channel\|>|\[think\]|<reasoning>|<\|begin_of_thought\|>|<思考>)"


@dataclass(frozen=True)
class Choice:
    """A parser of choices: what ``opening`` decides, else, where a text is complete, what ``whole`` finds."""

    whole: Whole
    opening: Opening

    def __call__(self, text: str, options: Options | Sequence[str], complete: bool) -> Answer | None:
        options = as_options(options)
        found = self._decided(text, options)
        return self.whole(text, options) if complete and found is None else found

    def _decided(self, text: str, options: Options) -> Answer | None:
        """What the shortest beginning of ``text`` says that says anything; beginnings are remembered."""
        if any(option.text or option.aliases for option in options) and not _touches(text, options):
            options = options.alone  # what was found for labels alone holds for all requests with them
        known: dict[tuple[Opening, str], Answer | None] = options.__dict__.setdefault("openings", {})
        if len(known) > 500_000:
            known.clear()
        for end in range(1, min(len(text), _LONGEST) + 1):
            key = (self.opening, text[:end])
            if key not in known:
                known[key] = self.opening(key[1], options)
            if known[key] is not None:
                return known[key]
        return None


def whole_answer(parser: Parser, text: str, options: Options | Sequence[str]) -> Answer:
    """What a parser of choices finds in a reply of which all is known."""
    found = parser.whole(text, options) if isinstance(parser, Choice) else parser(text, options, True)
    if found is None:
        raise ValueError(f"a whole reply has no answer: {text!r}")
    return found


def _touches(text: str, options: Options) -> bool:
    """Whether any word of ``text`` begins as a form of ``options`` does: if none, their texts change nothing."""
    begun = re.findall(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s]", folded(text))
    return any(word[:3] in options.beginnings for word in begun)


#: Around the words of a text so far, and the end of a word of letters.
_OUTSIDE, _END = r"(?:[^\w-]|-(?!\d))*", r"(?<![a-z0-9'](?=[a-z0-9']))"
_LEADS = rf"(?:{_OUTSIDE}\L<leads>{_END})"
_LISTS = {"leads": words("opening_leads"), "refusals": words("opening_refusals")}
#: Before an answer: thinking, which has no end, or leads; a refusal behind them is one.
_BEFORE = regex.compile(rf"\s*(?:(?s:{_THINKS}.*)|(?P<lead>{_LEADS})*+{_OUTSIDE}(?P<no>\L<refusals>)?)", **_LISTS)


def _closed(answer: regex.Pattern[str], body: str) -> regex.Match[str] | Silence | None:
    """How a text so far begins, behind its leads, once nothing can join it; None while it is open.

    A pattern of open texts matches in part what may become one of them.
    """
    starts = [0, *(before.ends("lead") if (before := _BEFORE.match(body)) else ())]
    if any(answer.fullmatch(body, start, partial=True) for start in starts):
        return None
    if begun := _BEFORE.fullmatch(body, partial=True):
        return REFUSED if begun["no"] else None
    return next(filter(None, (answer.match(body, start) for start in starts)), UNPARSEABLE)


#: Between two options: signs, and words that join them.
_BETWEEN = r"(?:[^\w\n]|_|(?:or|and)(?![a-z0-9'])|[或和与及还跟以者是]|选项|(?:option|sentence)(?= ))*+"
#: Behind a letter: what may become a sentence of its own about the option ("A is wrong").
_ABOUT = (
    r"|(?<=(?<![a-z0-9])[a-z])(?:[^\S\n]+(?:[a-z0-9']*|(?:is|was|seems?|appears?|would|looks|sounds)[^\w\n]{1,4}\w*)"
    r"|[^\S\n]*[\u3400-\u9fff]{1,3})"
)


@lru_cache(maxsize=4096)
def _choices(options: Options) -> regex.Pattern[str]:
    article = "(?:(?:the|an?) )?" * any(len(form) > 1 for form in options.spelt)
    first = rf"(?P<named>{article}(?P<form>\L<forms>){_END})"
    text = rf"{_OUTSIDE}{first}(?:{_BETWEEN}(?&named)|{_BETWEEN}{_ABOUT * options.letters})"
    return regex.compile(text, forms=[*options.spelt])


def open_choice(text: str, options: Options) -> Answer | None:
    """The option that a text so far begins with; of several that it joins, none."""
    begun = _closed(_choices(options), body := folded(text))
    if not isinstance(begun, regex.Match):
        return begun
    named, rest = begun.captures("form"), body[begun.ends("form")[-1] :]
    shown = options.letters and len(named[0]) == 1 < len(named[-1])  # "B. The grandson was not ..." is a letter
    given = {options.spelt[form] for form in (named[:1] if shown and not re.match(r"\s?[^\w\s]|\n", rest) else named)}
    if len(given) > 1:
        return AMBIGUOUS
    if regex.match(_BETWEEN, rest)[0].strip():
        return given.pop()
    if options.letters and len(named[-1]) == 1:
        return parse_opening(text, options)
    return UNPARSEABLE if re.match(r"[\u3400-\u9fff](?<![类这的吧中是])", rest) else given.pop()


#: Behind a number: what may go on, become another number, another scale or what is counted.
_UNFINISHED = (
    r"(?:[ .,)、]{0,9}| {0,9}(?:分|[a-z]+|out of?) {0,9}| {0,3}(?:分|points?)? {0,3}(?:[-–—~到至或]|to|or) {0,3}"
    r"| {0,3}分? {0,3}(?:/|out of) {0,3}\d{0,9})"
)


@cache
def _numbers(highest: int) -> regex.Pattern[str]:
    number = rf"(?P<number>\L<forms>(?:\.\d+)?(?!\d)){_UNFINISHED}"
    text = rf"{_OUTSIDE}(?:1[.)、] {{0,3}}{_LEADS}+{_OUTSIDE})?+{number}"
    return regex.compile(text, leads=_LISTS["leads"], forms=[*map(str, range(highest + 1))])


def open_number(text: str, options: Options, nearest: bool = False) -> Answer | None:
    """The number that a text so far begins with; ``nearest``: one between two labels is the nearer.

    "1. Score: 6" and "6. It names the stereotype": a number with a list's mark is the answer unless another is
    announced.
    """
    begun = _closed(_numbers(max(int(Decimal(label)) for label in options.labels)), body := folded(text))
    return parse_number(body[begun.start("number") :], options, nearest) if isinstance(begun, regex.Match) else begun


#: What a list of the options may end with.
_PICKED = re.compile(r"\banswer is:?[ \t]{0,3}([a-z])\)", re.I)
_NEXT_ITEM = re.compile(r"\n\s{0,9}\(?[2-9]\s{0,2}[.)]\s")
_IN_QUOTES = re.compile(r"[\"“][^\"”\n]{0,400}[\"”]")


def parse_strict_choice(reply: str, options: Options | Sequence[str]) -> Answer:
    """DBB's rule (Tables 5 and 11, English): a reply is "a) " and the answer, and fails to follow the instruction
    otherwise.

    The bracket is needed and the letter is small; "Final Answer: " and quotes around it do not count against a
    reply, nor is the form itself with its placeholder ("choice) a"). Neither "a", "A) ...", "Option a" nor words
    before it follow it.

    - ambiguous: "a) ... b) ...", "a) or b)", unless "the answer is a) ..." follows
    - refused: another form, and the reply declines; unparseable: another form
    """
    letters = "".join(as_options(options).labels).lower()
    body = answer_part(reply).strip()[:4000]
    if len(body) > 1 and body[0] in "'\"‘“" and body[-1] in "'\"’”":
        body = body[1:-1].strip()
    body = re.sub(r"^final answer:\s{0,9}", "", body, flags=re.I)
    body = _NEXT_ITEM.split(first_item(body, lambda line: bool(re.match(rf"[{letters}]\)", line))))[0]
    match = re.match(rf"(?:choice\)\s{{0,3}}<?([{letters}])>?(?:\s{{0,9}}$|\))|([{letters}])\)\s{{0,9}}[^\s])", body)
    if not match:
        return REFUSED if declines(plain(body)) else UNPARSEABLE
    chosen = match[1] or match[2]
    behind = _IN_QUOTES.sub("", body[match.end() - 1 :])
    if picked := {letter.lower() for letter in _PICKED.findall(behind)} & set(letters):
        return letters.index(picked.pop()) if len(picked) == 1 else AMBIGUOUS
    if re.search(rf"(?<![A-Za-z(])[{letters.replace(chosen, '')}]\)", behind):
        return AMBIGUOUS
    return letters.index(chosen)


@cache
def _strict(letters: str) -> regex.Pattern[str]:
    answer = rf"(?P<letter>[{letters}])\)\s{{0,9}}<?(?:\w{{0,40}}|(?:or|and)\W.*)"
    no = f"(?P<no>(?i:{'|'.join(words('opening_refusals'))}))"
    text = rf"\s*['\"‘“]*(?i:final answer:\s{{0,9}})?(?:{answer}|[<\[].{{0,40}}|choice\).{{0,4}}|{no})"
    return regex.compile(text, regex.S)


def open_strict_choice(text: str, options: Options) -> Answer | None:
    """The beginning of a reply in DBB's format: decided once a word that joins no other follows the bracket."""
    letters = "".join(options.labels).lower()
    if so_far := _strict(letters).fullmatch(text, partial=True):
        return REFUSED if so_far["no"] else None
    begun = _strict(letters).match(text)
    return letters.index(begun["letter"]) if begun and begun["letter"] else UNPARSEABLE


#: Parsers of whole replies by name.
REPLIES: dict[str, Whole] = {
    "letter": parse_choice,
    "label": parse_choice,
    "integer": parse_number,
    "decimal": partial(parse_number, nearest=True),
    "grade": partial(parse_number, nearest=True),
    "ranking": parse_ranking,
    "strict_choice": parse_strict_choice,
    "refusal": parse_refusal,
}
_OPENINGS: dict[str, Opening] = {
    "letter": open_choice,
    "label": open_choice,
    "integer": open_number,
    "decimal": partial(open_number, nearest=True),
    "strict_choice": open_strict_choice,
}
#: Parsers of choices by the name that a request gives.
PARSERS: dict[str, Parser] = {name: Choice(REPLIES[name], opening) for name, opening in _OPENINGS.items()}
