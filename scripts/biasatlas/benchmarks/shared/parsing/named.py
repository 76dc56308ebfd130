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
from functools import partial
from typing import Any

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer, Parser, words
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
_THINKS = ("<think", "<|channel|>", "[think]", "<reasoning>", "<|begin_of_thought|>", "<思考>")
_OUTSIDE = re.compile(r"(?:[^\w-]|-(?!\d)|_(?=[\W_]))*")
_WORD = re.compile(r"[a-z0-9']")


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


def _open(text: str, starts: Sequence[str], answer: Callable[[str], Answer | None]) -> Answer | None:
    """What a text so far says. ``answer`` parses where an answer may stand; ``starts`` is how it may begin."""
    body = folded(text).lstrip()
    if body[:1] in ("<", "[") and any(mark.startswith(body[: len(mark)]) for mark in _THINKS):
        return None
    leads, refusals = words("opening_leads"), words("opening_refusals")
    while True:
        body = _OUTSIDE.sub("", body, count=1)
        if _begins_any(body, (*starts, *leads, *refusals)):
            return None
        if (found := answer(body)) != UNPARSEABLE:
            return found
        lead = next((lead for lead in leads if _starts(body, lead)), None)
        if lead is None:
            return REFUSED if body.startswith(refusals) else UNPARSEABLE
        body = body[len(lead) :]


def _begins_any(body: str, candidates: Sequence[str]) -> bool:
    """Whether ``body`` is a proper beginning of some candidate."""
    return any(len(candidate) > len(body) and candidate.startswith(body) for candidate in candidates)


def _starts(body: str, word: str) -> bool:
    """Whether ``body`` starts with all of ``word``."""
    return body.startswith(word) and not (_WORD.match(word[-1:]) and _WORD.match(body[len(word) : len(word) + 1]))


#: Between two options: signs, and words that join them.
_BETWEEN = re.compile(r"(?:[\W_]|(?:or|and)(?![a-z0-9'])|[或和与及还跟以者是]|选项|option(?= )|sentence(?= ))*")
_JOINERS = ("or", "and", "option ", "sentence ", "选项")
#: Behind a letter: what may become a sentence of its own about the option ("A is wrong").
_PENDING = re.compile(
    r"\s+[a-z0-9']*|\s+(?:is|was|seems?|appears?|would|looks|sounds)\W{1,4}\w*|\s*[\u3400-\u9fff]{1,3}"
)


def open_choice(text: str, options: Options) -> Answer | None:
    """The option that a text so far begins with; of several that it joins, none."""
    forms = options.spelt

    def answer(body: str) -> Answer | None:
        named: list[str] = []
        while (form := next((form for form in forms if _starts(body, form)), None)) is not None:
            named.append(form)
            rest = body[len(form) :]
            between = _BETWEEN.match(rest)[0]  # type: ignore[index]
            body = rest[len(between) :]
            shown = options.letters and len(named[0]) == 1 < len(form)
            ended = re.match(r"\s?[^\w\s]|\n" if shown else r"\W", rest)
            if "\n" in between or (len(named) > 1 and ended):
                break
            if not body or _begins_any(body, (*forms, *_JOINERS)):
                return None
        if not named:
            return UNPARSEABLE
        given = {forms[form] for form in (named if ended or not shown else named[:1])}  # "B. The grandson was not ..."
        if len(given) > 1:
            return AMBIGUOUS
        if options.letters and len(named[-1]) == 1 and not between.strip():
            return None if body and _PENDING.fullmatch(rest) else parse_opening(text, options)
        goes_on = not between and re.match(r"[\u3400-\u9fff](?<![类这的吧中是])", body)
        return UNPARSEABLE if goes_on else given.pop()

    return _open(text, [*forms], answer)


_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
#: Behind a number: what may go on, become another number, another scale or what is counted.
_UNFINISHED = re.compile(
    r"[\s.,)、]{0,9}|\s{0,9}(?:分|[a-z]+|out of?)\s{0,9}|\s{0,3}(?:分|points?)?\s{0,3}(?:-|–|—|~|到|至|to|或|or)\s{0,3}"
    r"|\s{0,3}分?\s{0,3}(?:/|out of)\s{0,3}\d{0,9}"
)


def open_number(text: str, options: Options, nearest: bool = False) -> Answer | None:
    """The number that a text so far begins with; ``nearest``: one between two labels is the nearer.

    "1. Score: 6" and "6. It names the stereotype": a number with a list's mark is the answer unless another is
    announced.
    """
    highest, leads = max(Decimal(label) for label in options.labels), words("opening_leads")

    def answer(body: str) -> Answer | None:
        found = _DIGITS.match(body)
        if not found or not 0 <= Decimal(found[0]) <= highest:
            return UNPARSEABLE
        rest = body[found.end() :]
        if _UNFINISHED.fullmatch(rest) and not rest.lstrip(" .").startswith("\n"):
            return None
        if found[0] == "1" and (marked := re.match(r"[.)、]\s{0,3}(?=\D)", rest)):
            listed = _OUTSIDE.sub("", rest[marked.end() :], count=1)
            if not listed or _begins_any(listed, leads):
                return None
            if listed.startswith(leads):
                return _open(listed, (), answer)
        return parse_number(body, options, nearest)

    return _open(text, (), answer)


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


def open_strict_choice(text: str, options: Options) -> Answer | None:
    """The beginning of a reply in DBB's format: decided once a word that joins no other follows the bracket."""
    letters = "".join(options.labels).lower()
    body = re.sub(r"^final answer:\s{0,9}", "", text.lstrip().lstrip("'\"‘“"), flags=re.I)
    if match := re.match(rf"[{letters}]\)\s{{0,9}}<?(\w+)\W", body):
        return None if match[1].lower() in ("or", "and") else letters.index(body[0])
    begun = rf"(?:[{letters}](?:\)\s{{0,9}}<?\w{{0,40}})?|<.{{0,40}}|\[.{{0,40}}|choice\).{{0,4}})?"
    body, refusals = body.lower() if not re.fullmatch(begun, body, re.S) else "", words("opening_refusals")
    if _begins_any(body, ("final answer:", "choice)", *refusals)):
        return None
    return REFUSED if body.startswith(refusals) else UNPARSEABLE


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
#: Parsers of choices by the name that a request gives.
PARSERS: dict[str, Parser] = {
    "letter": Choice(parse_choice, open_choice),
    "label": Choice(parse_choice, open_choice),
    "integer": Choice(parse_number, open_number),
    "decimal": Choice(REPLIES["decimal"], partial(open_number, nearest=True)),
    "strict_choice": Choice(parse_strict_choice, open_strict_choice),
}
