"""The parsers by name, and how they parse the beginning of a reply: the rule for when a choice is made.

For exact probabilities, the engine extends texts token by token, and stops where an answer ends. A text so far is open
(None) while it may become an announced answer or an option's text, or while more text may join its answer ("A or B",
"7-8", a letter before an option's text). An open text has only open beginnings. So the first beginning that is not
open gives the answer, and more text never changes it. Forms must be exact here: only whole replies are searched for a
typo, an answer after other words, or what follows an answer.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from typing import Any

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer, words
from biasatlas.benchmarks.shared.parsing.choice import parse_choice, parse_opening, parse_ranking, parse_refusal
from biasatlas.benchmarks.shared.parsing.normalise import answer_part, declines, first_item, plain
from biasatlas.benchmarks.shared.parsing.numbers import parse_number
from biasatlas.benchmarks.shared.parsing.options import Options, folded

Said = Answer | None  #: what a text so far says: None while it is open
#: Parses a text so far. If the result is None, so it is for all beginnings of that text.
Opening = Callable[[str, Options], Said]
#: Parses a whole reply: the index of an option, all of them in their order (rankings), or why there is none.
Whole = Callable[[str, Options], Any]
#: An answer begins within this many characters, or not at all.
_LONGEST = 600


@dataclass(frozen=True)
class Parser:
    """Parses ``whole`` replies, and texts so far by their ``opening``."""

    whole: Whole
    opening: Opening

    def __call__(self, text: str, options: Options, complete: bool, known: dict[str, Said] | None = None) -> Said:
        """What the ``opening`` decides; None while more text may change it, unless the text is ``complete``.

        ``known``: what other texts said with the same ``options``; this call adds the beginnings that it parses.
        """
        begun, known = text[:_LONGEST], {} if known is None else known
        end = next((end for end in range(len(begun), 0, -1) if begun[:end] in known), 0)
        said = known.get(begun[:end])
        while said is None and end < len(begun):
            end += 1
            said = known[begun[:end]] = self.opening(begun[:end], options)
        return self.whole(text, options) if said is None and complete else said


_THINKS = ("<reasoning>", "<think", "<|begin_of_thought|>", "<|channel|>", "<思考>", "[think]")
_LEADS, _REFUSALS = words("opening_leads"), words("opening_refusals")
_OPENINGS = sorted({*_LEADS, *_REFUSALS})
#: Around the words of a text so far, and inside a word of letters.
_OUTSIDE, _INSIDE = re.compile(r"(?:[^\w-]|-(?!\d))*"), re.compile("[a-z0-9'](?=[a-z0-9'])")
_LEAD = re.compile(rf"(?:{'|'.join(_LEADS)})(?<!{_INSIDE.pattern}){_OUTSIDE.pattern}")


def _begins(text: str, forms: Sequence[str]) -> bool:
    """Whether ``text`` may become one of ``forms``, which are sorted."""
    return (at := bisect_left(forms, text)) < len(forms) and forms[at].startswith(text)


def _behind_leads(text: str, answer: Callable[[str], Said]) -> Said:
    """What ``answer`` finds in a text so far, or after its leads ("I choose"); None while any of these is open."""
    body = folded(text).lstrip()
    if _begins(body, _THINKS) or body.startswith(_THINKS):
        return None
    found = [answer(rest := _OUTSIDE.sub("", body, count=1))]
    while lead := _LEAD.match(rest):
        found.append(answer(rest := rest[lead.end() :]))
    if None in found:
        return None
    if rest.startswith(_REFUSALS):
        return REFUSED
    if _begins(rest, _OPENINGS):
        return None
    return next((each for each in found if each != UNPARSEABLE), UNPARSEABLE)


#: Between two options: signs, and words that join them.
_BETWEEN = re.compile(r"(?:[^\w\n]|_|(?:or|and)(?![a-z0-9'])|[或和与及还跟以者是]|选项|(?:option|sentence)(?= ))*")
_JOINERS = ("and", "option", "or", "sentence", "选项")
#: After a letter: what may become a sentence about the option ("A is wrong").
_ABOUT = re.compile(
    r"[^\S\n]+(?:[a-z0-9']*|(?:is|was|seems?|appears?|would|looks|sounds)[^\w\n]{1,4}\w*)|[^\S\n]*[\u3400-\u9fff]{0,3}"
)


def _form(text: str, options: Options) -> str:
    """The longest form of an option that ``text`` begins with, or nothing."""
    ends = [end for end in range(len(text), 0, -1) if text[:end] in options.spelt]
    return next((text[:end] for end in ends if not _INSIDE.match(text, end - 1)), "")


def open_choice(text: str, options: Options) -> Said:
    """The option that a text so far begins with; ambiguous if it joins several."""
    forms = [*options.spelt]

    def choice(body: str) -> Said:
        rest = body[len(first := _form(body, options)) :]
        behind = _BETWEEN.sub("", rest, count=1)
        about = options.letters and len(first) == 1 and _ABOUT.fullmatch(rest)
        if _begins(body, forms) or (first and (about or _begins(behind, forms) or _begins(behind, _JOINERS))):
            return None
        if not first:
            return UNPARSEABLE
        second = _form(behind, options)
        after = behind[len(second) :]
        if second in words("common") and re.match(r"[^\w\s/]", rest):  # "Yes. No further checks" is one answer
            if not after.strip(" "):
                return None
            second = "" if re.match(r" +\w", after) else second
        rest = after if second else rest
        given = {options.spelt[form] for form in (first, second or first)}
        if options.letters and len(first) == 1 < len(second) and not re.match(r"\s?[^\w\s]|\n", rest):
            return options.spelt[first]  # "B. The grandson was not ..." is a letter
        if len(given) > 1:
            return AMBIGUOUS
        if options.letters and len(second or first) == 1 and (sign := _BETWEEN.match(rest)) and not sign[0].strip():
            return parse_opening(text, options)
        return UNPARSEABLE if re.match(r"[\u3400-\u9fff](?<![类这的吧中是或和与及还跟以者])", rest) else given.pop()

    return _behind_leads(text, choice)


#: After a number: what may continue it, or become another number, another scale or what is counted.
_UNFINISHED = (
    r"(?:[ .,)、]{0,9}| {0,9}(?:分|[a-z]+|out of?) {0,9}| {0,3}(?:分|points?)? {0,3}(?:[-–—~到至或]|to?|or?) {0,3}"
    r"| {0,3}分? {0,3}(?:/|out of) {0,3}\d{0,9})"
)


@cache
def _numbers(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for a text that begins with a number up to the highest of ``labels``, and for one that is open."""
    number = rf"(?:{'|'.join(map(str, range(max(int(Decimal(label)) for label in labels), -1, -1)))})(?:\.\d*)?(?!\d)"
    return re.compile(number), re.compile(number + _UNFINISHED)


def open_number(text: str, options: Options, nearest: bool = False) -> Said:
    """The number that a text so far begins with; ``nearest``: one between two labels is the nearer.

    "1. Score: 6" and "6. It names the stereotype": a number with a list's mark is the answer unless another is
    announced.
    """
    number, unfinished = _numbers(options.labels)

    def found(body: str) -> Said:
        if (listed := re.match(r"1[.)、] {0,3}(?=\D)", body)) and _begins(body[listed.end() :], sorted(_LEADS)):
            return None
        if listed and (lead := _LEAD.match(body, listed.end())):
            return found(body[lead.end() :])
        if not body or unfinished.fullmatch(body):
            return None
        return parse_number(body, options, nearest) if number.match(body) else UNPARSEABLE

    return _behind_leads(text, found)


def parse_strict_choice(reply: str, options: Options) -> Answer:
    """DBB's rule (Tables 5 and 11, English): "a) " and the answer, also in quotes or behind "Final Answer:", or the
    form itself with its placeholder ("choice) a"). "a", "A) ...", "Option a" and words before it break the rule.

    Ambiguous: "a) ... b) ...". Refused: another form, and the reply declines; unparseable: another form.
    """
    letters = "".join(options.labels).lower()
    body = answer_part(reply).strip()[:4000]
    if len(body) > 1 and body[0] in "'\"‘“" and body[-1] in "'\"’”":
        body = body[1:-1].strip()
    body = re.sub(r"^final answer:\s{0,9}", "", body, flags=re.I)
    body = first_item(body, lambda line: bool(re.match(rf"[{letters}]\)", line)))
    match = re.match(rf"(?:choice\)\s{{0,3}}<?([{letters}])>?(?:\s{{0,9}}$|\))|([{letters}])\)\s{{0,9}}[^\s])", body)
    if not match:
        return REFUSED if declines(plain(body)) else UNPARSEABLE
    chosen = match[1] or match[2]
    another = re.search(rf"(?<![A-Za-z(])[{letters.replace(chosen, '')}]\)", body[match.end() - 1 :])
    return AMBIGUOUS if another else letters.index(chosen)


def open_strict_choice(text: str, options: Options) -> Said:
    """Parses the beginning of a reply by DBB's rule: decided once a word other than "or" or "and" follows "a)"."""
    letters, body = "".join(options.labels).lower(), text.lstrip().lstrip("'\"‘“")
    body = re.sub(r"^final answer:\s{0,9}", "", body, flags=re.I)
    if body.lower().startswith(_REFUSALS):
        return REFUSED
    answer = rf"[{letters}](?:\)\s{{0,9}}<?(?:\w{{0,40}}|(?:or|and)\W.*))?|[<\[].{{0,40}}|choice\).{{0,4}}"
    if _begins(body.lower(), sorted(("final answer:", "choice)", *_REFUSALS))) or re.fullmatch(answer, body, re.S):
        return None
    return letters.index(body[0]) if re.match(rf"[{letters}]\)", body) else UNPARSEABLE


_NEAREST: Whole = partial(parse_number, nearest=True)
#: Parsers of choices by the name that a request gives.
PARSERS = {
    "letter": Parser(parse_choice, open_choice),
    "label": Parser(parse_choice, open_choice),
    "integer": Parser(parse_number, open_number),
    "decimal": Parser(_NEAREST, partial(open_number, nearest=True)),
    "strict_choice": Parser(parse_strict_choice, open_strict_choice),
}
#: Parsers of whole replies by name.
REPLIES = {name: parser.whole for name, parser in PARSERS.items()}
REPLIES |= {"grade": _NEAREST, "ranking": parse_ranking, "refusal": parse_refusal}
