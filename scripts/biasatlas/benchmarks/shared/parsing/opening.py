"""The beginning of a reply, parsed as it is written: the rule for when a choice is made.

Exact probabilities follow texts token by token, and cannot follow all of them to their end. A choice therefore ends
where its answer does. A text so far has

- no answer yet (None) while it may still become an announced answer or an option's text, or more may join its answer
  ("A or B", "7-8", a letter before an option's text);
- its answer once that is closed: by the end of its line, or by what follows it;
- "refused" where it begins as refusals do, "unparseable" where it begins as no answer does.

Its answer is that of its shortest beginning that has one, so that more text never changes it. Forms are exact here:
a typo, an answer behind other words and what comes after an answer are seen in whole replies alone.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Literal

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer
from biasatlas.benchmarks.shared.parsing.normalise import simplified
from biasatlas.benchmarks.shared.parsing.numbers import place
from biasatlas.benchmarks.shared.parsing.options import Options, as_options
from biasatlas.benchmarks.shared.parsing.phrases import either, finds, words

#: What the beginning of a reply says; None while it is open.
Opening = Callable[[str, Options], Answer | None]
#: Characters in which an answer begins, if at all.
_LONGEST = 600
_OUTSIDE = re.compile(r"(?:[^\w-]|-(?!\d)|_(?=[\W_]))+")
_THINKS = ("<think", "<|channel|>", "[think]", "<reasoning>", "<|begin_of_thought|>", "<思考>")
_JOINERS, _HAN_JOINERS = ("or", "and"), "或和与及还跟以"
_WORD = re.compile(r"[a-z0-9']")


def decided(opening: Opening, text: str, options: Options) -> Answer | None:
    """What ``opening`` says of the shortest beginning of ``text`` of which it says anything; beginnings are
    remembered."""
    if any(option.text or option.aliases for option in options) and not _touches(text, options):
        options = as_options(
            options.labels
        )  # what was found for the labels alone holds for every request that has them
    known: dict[tuple[Opening, str], Answer | None] = options.__dict__.setdefault("openings", {})
    if len(known) > 500_000:
        known.clear()
    for end in range(1, min(len(text), _LONGEST) + 1):
        key = (opening, text[:end])
        if key not in known:
            known[key] = opening(key[1], options)
        if known[key] is not None:
            return known[key]
    return None


def _folded(text: str) -> str:
    return simplified(unicodedata.normalize("NFKC", text)).replace("’", "'").replace("其它", "其他")


def _touches(text: str, options: Options) -> bool:
    """Whether any word of ``text`` begins as a form of ``options`` does: if none, their texts change nothing."""
    known: set[str] | None = options.__dict__.get("begins")
    if known is None:
        forms = [form for form, _ in _forms(options) if len(form) > 1 or not options.letters]
        known = options.__dict__["begins"] = {form[:end] for form in forms for end in (1, 2, 3)}
    folded = _folded(text).lower()
    return any(word[:3] in known for word in re.findall(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s]", folded))


def _open(text: str, starts: Sequence[str], answer: Callable[[str], Answer | None]) -> Answer | None:
    """What a text so far says. ``answer`` parses where an answer may stand; ``starts`` is how it may begin."""
    folded = _folded(text)
    head = folded.lstrip().lower()
    if head[:1] in ("<", "[") and any(mark.startswith(head[: len(mark)]) for mark in _THINKS):
        return None
    leads, refusals = _by_length("leads"), _by_length("refusals")
    body = _outside(folded)
    while True:
        lower = body.lower()
        if _begins_any(lower, (*starts, *leads, *refusals)):
            return None
        found = answer(body)
        if found != UNPARSEABLE:
            return found
        lead = next((lead for lead in leads if lower.startswith(lead) and not _inside(lower, lead)), None)
        if lead is None:
            return REFUSED if lower.startswith(refusals) else UNPARSEABLE
        body = _outside(body[len(lead) :])


@cache
def _by_length(key: str) -> tuple[str, ...]:
    return tuple(sorted(words("opening", key), key=len, reverse=True))


def _outside(text: str) -> str:
    match = _OUTSIDE.match(text)
    return text[match.end() :] if match else text


def _begins_any(body: str, candidates: Sequence[str]) -> bool:
    """Whether ``body`` is a proper beginning of some candidate."""
    return any(len(candidate) > len(body) and candidate.startswith(body) for candidate in candidates)


def _inside(body: str, word: str) -> bool:
    return bool(_WORD.match(word[-1:]) and _WORD.match(body[len(word) : len(word) + 1]))


def _forms(options: Options) -> list[tuple[str, int]]:
    """How answers may be written, with their options, the longest first: labels, texts, other names, with an
    article or not."""
    known: list[tuple[str, int]] | None = options.__dict__.get("forms")
    if known is None:
        found: dict[str, int] = {}
        for name, i in options.names:
            form = _folded(name).lower().strip(" .。")
            bare = re.sub(r"^(?:the|an?) (?=\w\w)", "", form)
            articles = ("the ", "a ", "an ") if options.letters and re.match("[a-z]", bare) else ()
            found |= dict.fromkeys((form, bare, *(article + bare for article in articles)), i)
        if options.letters:
            found |= {label.lower(): i for i, label in enumerate(options.labels)}
        known = options.__dict__["forms"] = sorted(found.items(), key=lambda form: -len(form[0]))
    return known


def open_choice(text: str, options: Options) -> Answer | None:
    """The option that a text so far begins with."""
    forms = _forms(options)
    names = [form for form, _ in forms]

    def answer(body: str) -> Answer | None:
        lower = body.lower()
        for form, i in forms:
            if lower.startswith(form) and not _inside(lower, form):
                lettered = options.letters and len(form) == 1
                return _after(i, lower[len(form) :], forms, lettered)
        return UNPARSEABLE

    return _open(text, names, answer)


def _after(i: int, rest: str, forms: Sequence[tuple[str, int]], lettered: bool) -> Answer | None:
    """The answer of option ``i`` with ``rest`` after it."""
    gap = re.split(r"[^\W_]", rest, maxsplit=1)[0]
    if "\n" in gap:
        return i
    tail = rest[len(gap) :]
    if not tail:
        return None
    texts = [form for form, _ in forms if len(form) > 1]
    if lettered and _begins_any(tail, texts):
        return None
    if lettered and (shown := next((each for each in forms if _is_text(tail, each[0])), None)):
        return _shown(i, shown[1], tail[len(shown[0]) :])
    names = [form for form, _ in forms if len(form) == 1] if lettered else texts
    word = re.match(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+'?[^\W_\u3400-\u9fff]*", tail)
    if not word:
        return None
    after = tail[word.end() :]
    if "\u3400" <= word[0] <= "\u9fff":
        return _after_han(i, gap, tail, forms, lettered)
    if not after and any(other.startswith(word[0]) for other in (*_JOINERS, *names)):
        return None
    if word[0] in _JOINERS:
        return _joined(i, after, forms)
    if (other := dict(forms).get(word[0])) is not None:
        return i if other == i else AMBIGUOUS
    if not lettered or gap.strip():
        return i
    return _after_word(i, forms, word[0], after)


def _is_text(tail: str, form: str) -> bool:
    return len(form) > 1 and tail.startswith(form) and not _inside(tail, form)


def _shown(i: int, other: int, behind: str) -> Answer | None:
    """The answer of letter ``i`` before the text of option ``other``, with ``behind`` after it."""
    if not behind or (other != i and behind.isspace() and "\n" not in behind):
        return None
    return AMBIGUOUS if other != i and re.match(r"\s?[^\w\s]|\n", behind) else i


def _after_word(i: int, forms: Sequence[tuple[str, int]], word: str, after: str) -> Answer | None:
    """The answer of a letter before a word of its own sentence: "A is wrong", "A man", "B says"."""
    if not after:
        return None
    if re.fullmatch(r"is|was|seems?|appears?|would|looks|sounds", word):
        following = re.match(r"\W{0,4}(\w+)\W", after)
        if not following:
            return None
        denied = ("not", "wrong", "incorrect", "unlikely", "less", "a", "an", "about")
        return UNPARSEABLE if following[1] in denied else i
    says = r"says|describes|mentions|assumes|states|suggests|implies|requires|needs|contradicts"
    article = dict(forms).get("a") == i and not re.match(either("answers", "verb"), word)
    return UNPARSEABLE if article or re.fullmatch(says, word) else i


def _after_han(i: int, gap: str, rest: str, forms: Sequence[tuple[str, int]], lettered: bool) -> Answer | None:
    if rest[0] in _HAN_JOINERS:
        return _joined(i, rest.lstrip(_HAN_JOINERS + "者是有以选项"), forms)
    if gap and _begins_any(rest, [form for form, _ in forms]):
        return None
    if any(rest.startswith(form) and other != i for form, other in forms):
        return AMBIGUOUS
    if gap:
        return i
    if not lettered:
        return i if re.match(r"[类这的吧中是,。]", rest) else UNPARSEABLE
    if re.fullmatch(r"(?:[更最]|比?较|比)(?:不(?:容易?出?)?)?", rest):
        return None
    if re.match(r"(?:[更最]|比?较)(?:不(?!错|容易出?错)|少见|罕见|[难低小])|不|错", rest):
        return UNPARSEABLE
    return UNPARSEABLE if finds("answers", "after").match(rest) else i


def _joined(i: int, rest: str, forms: Sequence[tuple[str, int]]) -> Answer | None:
    """The answer of option ``i`` with ``rest`` behind "or": ambiguous where that is another option."""
    body = re.sub(r"^(?:/or)?\W+(?:(?:option|sentence|choice)\W+)?", "", rest)
    known = dict(forms)
    unfinished = body in known and _WORD.match(body[-1:])  # "A or B" may become "A or Bob"
    begun = _begins_any(body, ("option ", "sentence ", "choice ", *known))
    if not body or unfinished or "/or".startswith(rest) or begun:
        return None
    other = next((at for form, at in forms if body.startswith(form) and not _inside(body, form)), None)
    return AMBIGUOUS if other not in (None, i) else i


_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
_GOES_ON = re.compile(r"\s{0,3}(?:分|points?)?\s{0,3}(?:-|–|—|~|到|至|to\b|或|or\b)\s{0,3}(?P<other>\d)?")
_MARK = re.compile(r"[.)、]\s{0,3}(?=\D)")
_COUNTED = re.compile(r"\s{0,3}[%个名位种处件次岁年月天人项]")
_CLOSED: Literal["closed"] = "closed"
_OVER = re.compile(r"\s{0,3}分?\s{0,3}(?:/|out of)\s{0,3}(?P<top>\d{0,9})(?P<end>\D)?")


def open_number(text: str, options: Options, nearest: bool = False) -> Answer | None:
    """The number that a text so far begins with.

    "1. Score: 6" and "6. It names the stereotype": a number with a list's mark is the answer unless another is
    announced.
    """
    values = [Decimal(label) for label in options.labels]
    top, leads = max(values), _by_length("leads")

    def answer(body: str) -> Answer | None:
        found = _DIGITS.match(body)
        if not found or not 0 <= Decimal(found[0]) <= top:
            return UNPARSEABLE
        value, rest = Decimal(found[0]), body[found.end() :]
        if not rest or rest in (".", ")", "、") or (rest.isspace() and "\n" not in rest):
            return None
        marked = _MARK.match(rest)
        if not marked or found[0] != "1":
            said = _after_number(rest.lower(), value, top)
            return place(value, values, nearest) if said == _CLOSED else said
        listed = _outside(rest[marked.end() :])
        if not listed or _begins_any(listed.lower(), leads):
            return None
        return _open(listed, (), answer) if listed.lower().startswith(leads) else place(value, values, nearest)

    return _open(text, (), answer)


def open_decimal(text: str, options: Options) -> Answer | None:
    """As :func:`open_number`; a number between two labels is the nearer."""
    return open_number(text, options, nearest=True)


def _after_number(rest: str, value: Decimal, top: Decimal) -> Answer | Literal["closed"] | None:
    """_CLOSED where a number with ``rest`` after it is an answer, else what the text says."""
    if rest.startswith("\n"):
        return _CLOSED
    if over := _OVER.match(rest):
        same = over["top"] and Decimal(over["top"]) == top
        return None if not over["end"] else _CLOSED if same else UNPARSEABLE
    if goes_on := _GOES_ON.match(rest):
        if goes_on["other"]:
            return AMBIGUOUS
        return None if goes_on.end() == len(rest) else _CLOSED
    if re.fullmatch(r"\s{0,9}(?:分|[a-z]+|out of?|out o)?\s{0,9}|[\s.,]{0,9}", rest):
        return None
    following = re.match(r"\s{1,9}([a-z]{3,})\b", rest)
    counts = following and following[1] not in ("points", "point", "because", "since", "out", "and", "for")
    return UNPARSEABLE if counts or _COUNTED.match(rest) else _CLOSED
