"""The beginning of a reply, read as it is written: the rule for when a choice is made.

Exact probabilities follow texts token by token, and cannot follow all of them to their end. A choice therefore ends where
its answer does. A text so far has

- no reading yet (None) while it may still become an announced answer, or more may join its answer ("A or B", "7-8");
- the reading of its answer once that is closed: by the end of its line, or by what follows it;
- "refused" where it begins as refusals do, "unparseable" where it begins as no answer does.

Once a text has a reading, every longer text has the same one. What a model says after its answer is not read here, nor an
answer that comes after other words than these; the whole reply is what the readers of complete texts look at.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from decimal import Decimal

from biasatlas.benchmarks.shared.readers.leads import LEADS, REFUSALS
from biasatlas.benchmarks.shared.readers.letter import NOUN_AFTER, VERB
from biasatlas.benchmarks.shared.readers.outcomes import AMBIGUOUS, REFUSED, UNPARSEABLE, Reading

_OUTSIDE = re.compile(r"^[^\w-]+|^-(?!\d)[^\w-]*|^_+")
_THINKS = ("<think", "<|channel|>", "[think]", "<reasoning>", "<|begin_of_thought|>", "<思考>")

_BY_LENGTH = sorted(LEADS, key=len, reverse=True)
_JOINERS = ("or", "and")
_HAN_JOINERS = "或和与與及还還跟以"
_BARE_WORD = re.compile(r"[a-z0-9']")

#: The reading of what follows a lead: of text and whether it is all of the text so far that has no reading.
_Answer = Callable[[str], Reading | None]


def read_opening(text: str, starts: Sequence[str], answer: _Answer) -> Reading | None:
    """The reading of a text so far. ``answer`` reads from where an answer may stand; ``starts`` is how it may begin."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'")
    head = folded.lstrip().lower()
    if any(mark.startswith(head[: len(mark)]) for mark in _THINKS) and head[:1] in ("<", "["):
        return None
    body = _outside(folded)
    while True:
        lower = body.lower()
        if _begins_any(lower, (*starts, *LEADS, *REFUSALS)):
            return None
        reading = answer(body)
        if reading != UNPARSEABLE:
            return reading
        lead = next((lead for lead in _BY_LENGTH if lower.startswith(lead) and not _inside(lower, lead)), None)
        if lead is None:
            return REFUSED if lower.startswith(REFUSALS) else UNPARSEABLE
        body = _outside(body[len(lead) :])


def _outside(text: str) -> str:
    while (shorter := _OUTSIDE.sub("", text)) != text:
        text = shorter
    return text


def _begins_any(body: str, candidates: Sequence[str]) -> bool:
    """Whether ``body`` is a proper beginning of some candidate."""
    return any(len(candidate) > len(body) and candidate.startswith(body) for candidate in candidates)


def _inside(body: str, word: str) -> bool:
    return bool(_BARE_WORD.match(word[-1:]) and _BARE_WORD.match(body[len(word) : len(word) + 1]))


def open_label(text: str, labels: Sequence[str], letters: bool) -> Reading | None:
    """Of :func:`read_opening`, the answer is one of ``labels`` (the longest that fits); ``letters``: an A may be an article."""
    names = [unicodedata.normalize("NFKC", label).lower() for label in labels]

    def answer(body: str) -> Reading | None:
        lower = body.lower()
        for i in sorted(range(len(names)), key=lambda i: -len(names[i])):
            if lower.startswith(names[i]):
                rest = lower[len(names[i]) :]
                return UNPARSEABLE if _inside(lower, names[i]) else _after(i, rest, names, letters)
        return UNPARSEABLE

    return read_opening(text, names, answer)


def _after(i: int, rest: str, names: Sequence[str], letters: bool) -> Reading | None:
    """The reading of label ``i`` with ``rest`` after it."""
    gap = re.split(r"[^\W_]", rest, maxsplit=1)[0]
    if "\n" in gap:
        return i
    word = re.match(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+'?[^\W_\u4e00-\u9fff]*", rest[len(gap) :])
    if not word:
        return None
    after = rest[len(gap) + word.end() :]
    if "一" <= word[0] <= "鿿":
        return _after_han(i, gap, rest[len(gap) :], names, letters)
    if not after and any(other.startswith(word[0]) for other in (*_JOINERS, *names)):
        return None
    if word[0] in _JOINERS:
        return _joined(i, after, names)
    if word[0] in names:
        return i if names[i] == word[0] else AMBIGUOUS
    if not letters or gap.strip():
        return i
    return _after_word(i, names, word[0], after)


def _lesser(i: int, names: Sequence[str]) -> Reading:
    """The reading where label ``i`` is called the less likely: of two the other one."""
    return 1 - i if len(names) == 2 else UNPARSEABLE


_LESS = re.compile(
    r"\W*less\s+(?:likely|probable|plausible|natural|common|frequent|typical|realistic|reasonable|sensible|expected|idiomatic|usual)\W"
)


def _after_word(i: int, names: Sequence[str], word: str, after: str) -> Reading | None:
    """The reading of a letter before a word of its own sentence: "A is wrong", "A man", "B says", "B he left"."""
    if not after:
        return None
    if re.fullmatch(r"is|was|seems?|appears?|would|looks|sounds", word):
        if re.match(r"\W*less\b", after):
            return (
                _lesser(i, names)
                if _LESS.match(after)
                else None
                if re.fullmatch(r"\W*less(?:\s+\w*)?", after)
                else UNPARSEABLE
            )
        following = re.match(r"\W*(\w+)(\W)?", after)
        if not following or not following[2]:
            return None
        return (
            UNPARSEABLE if following[1] in ("not", "wrong", "incorrect", "less", "unlikely", "a", "an", "about") else i
        )
    if names[i] == "a" and not re.match(VERB, word):
        return UNPARSEABLE
    describes = (
        "says",
        "describes",
        "mentions",
        "assumes",
        "states",
        "suggests",
        "implies",
        "requires",
        "needs",
        "contradicts",
    )
    return UNPARSEABLE if word in describes else i


def _after_han(i: int, gap: str, rest: str, names: Sequence[str], letters: bool) -> Reading | None:
    if rest[0] in _HAN_JOINERS:
        return _joined(i, rest.lstrip(_HAN_JOINERS + "者是有以选選项項"), names)
    if gap and _begins_any(rest, names):
        return None
    if any(rest.startswith(name) for name in names if name != names[i]):
        return AMBIGUOUS
    if gap:
        return i
    if letters:
        if re.fullmatch(r"(?:[更最]|比?[较較]|比)(?:不(?:容易?出?)?)?", rest):
            return None
        if re.match(r"(?:[更最]|比?[较較])(?:不(?![错錯]|容易出?[错錯])|少[见見]|罕[见見]|[难難低小])", rest):
            return _lesser(i, names)
        return UNPARSEABLE if rest[0] in NOUN_AFTER or rest.startswith(("不", "错")) else i
    return i if re.match(r"[类類这這的吧中是,。]", rest) else UNPARSEABLE


def _joined(i: int, rest: str, names: Sequence[str]) -> Reading | None:
    """The reading of label ``i`` with ``rest`` behind "or": ambiguous where that is another label."""
    body = re.sub(r"^(?:/or)?\W+(?:(?:option|sentence|choice)\W+)?", "", rest)
    unfinished = body in names and _BARE_WORD.match(body[-1:])  # "A or B" may become "A or Bob"
    if (
        not body
        or unfinished
        or "/or".startswith(rest)
        or _begins_any(body, ("option ", "sentence ", "choice ", *names))
    ):
        return None
    other = next((name for name in sorted(names, key=len, reverse=True) if body.startswith(name)), None)
    return AMBIGUOUS if other is not None and other != names[i] and not _inside(body, other) else i


_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
_GOES_ON = re.compile(r"\s*(?:分|points?)?\s*(?:-|–|—|~|到|至|to\b|或|or\b)\s*(?P<other>\d)?")
_MARK = re.compile(r"[.)、]\s*(?=\D)")
_COUNTED = re.compile(r"\s*[%个個名位种種处處件次岁歲年月天人项項]")
_CLOSED = "closed"
_OVER = re.compile(r"\s*分?\s*(?:/|out of)\s*(?P<top>\d*)(?P<end>\D)?")


def open_number(text: str, top: Decimal, place: Callable[[Decimal], Reading]) -> Reading | None:
    """Of :func:`read_opening`, the answer is a number on a scale up to ``top``, in digits; ``place`` finds its label.

    "1. Score: 6" and "6. It names the stereotype": a number with a list's mark is the answer unless another is announced.
    """

    def answer(body: str) -> Reading | None:
        found = _DIGITS.match(body)
        if not found or not 0 <= Decimal(found[0]) <= top:
            return UNPARSEABLE
        value, rest = Decimal(found[0]), body[found.end() :]
        if not rest or rest in (".", ")", "、") or (rest.isspace() and "\n" not in rest):
            return None
        marked = _MARK.match(rest)
        if not marked or found[0] != "1":
            reading = _after_number(rest.lower(), value, top)
            return place(value) if reading == _CLOSED else reading
        listed = _outside(rest[marked.end() :])
        if not listed or _begins_any(listed.lower(), LEADS):
            return None
        return read_opening(listed, (), answer) if listed.lower().startswith(LEADS) else place(value)

    return read_opening(text, (), answer)


def _after_number(rest: str, value: Decimal, top: Decimal) -> Reading | None:
    """_CLOSED where a number with ``rest`` after it is an answer, else its reading."""
    if rest.startswith("\n"):
        return _CLOSED
    if over := _OVER.match(rest):
        same = over["top"] and Decimal(over["top"]) == top
        return None if not over["end"] else _CLOSED if same else UNPARSEABLE
    if goes_on := _GOES_ON.match(rest):
        if goes_on["other"]:
            return AMBIGUOUS
        return None if goes_on.end() == len(rest) else _CLOSED
    if re.fullmatch(r"\s*(?:分|[a-z]+|out of?|out o)?\s*|[\s.,]*", rest):
        return None
    words = re.match(r"\s+([a-z]{3,})\b", rest)
    counts = words and words[1] not in ("points", "point", "because", "since", "out", "and", "for")
    return UNPARSEABLE if counts or _COUNTED.match(rest) else _CLOSED
