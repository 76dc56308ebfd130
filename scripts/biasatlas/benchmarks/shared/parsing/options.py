"""The options that a reply chooses from, the forms that each of them has, and where a text mentions one."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz

from biasatlas.benchmarks.shared.parsing.normalise import simplified
from biasatlas.benchmarks.shared.parsing.phrases import either, words

#: A form with a typo: so alike in percent, and so much more than to the second.
_ALIKE, _AHEAD = 92, 6
#: Characters of a form that are looked for in a text.
_LONGEST_FORM = 300
_HAN = re.compile(r"[\u3400-\u9fff]")
#: A letter of another script. Without regard to case, which would take time for each of 26,000 Chinese characters.
_LETTERS = r"(?-i:[^\W\u3400-\u9fff])"


@dataclass(frozen=True)
class Option:
    """What may be chosen: its label ("A", "职业分工"), the text that a prompt showed for it, and other names of it that
    the benchmark declares. ``unknown``: it says that nothing can be said ("Cannot be determined"), in any wording."""

    label: str
    text: str = ""
    aliases: tuple[str, ...] = ()
    unknown: bool = False


class Mention(NamedTuple):
    """Where a text names an option; ``lettered``: by its letter or place."""

    start: int
    end: int
    option: int
    lettered: bool


def folded(text: str) -> str:
    """``text`` in lower case, half-width and Simplified characters; 其它 as 其他."""
    return simplified(unicodedata.normalize("NFKC", text)).replace("’", "'").replace("其它", "其他").lower()


@lru_cache(maxsize=65536)
def squash(text: str) -> str:
    """``text`` for comparison: no case, script, punctuation, spaces, articles; 其它 as 其他, 和, 与 and / as one."""
    text = simplified(unicodedata.normalize("NFKC", text).casefold()).replace("其它", "其他").replace("’", "'")
    text = re.sub(r"(?<=[\u3400-\u9fff])\s{0,2}(?:和|与|及|以及|、|/|&)\s{0,2}(?=[\u3400-\u9fff])", "和", text)
    text = re.sub(r"\s{0,2}(?:/|&)\s{0,2}", " and ", text)
    text = re.sub(r"[^\w'+#.%<>=\-]|(?<!\w)[.'\-]|[.'\-](?!\w)|_", " ", text)
    text = re.sub(r"(?<=[\u3400-\u9fff])\s+|\s+(?=[\u3400-\u9fff])", "", text)
    return re.sub(r"^(?:the|an?|option)\s(?=\w\w)", "", " ".join(text.replace("-", " ").split()))


class Options(tuple[Option, ...]):
    """Options in their order. ``Options.of`` makes them of labels, texts and aliases."""

    @classmethod
    def of(
        cls,
        labels: Sequence[str],
        texts: Sequence[str] = (),
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> "Options":
        """Options of ``labels``, with the ``texts`` that the prompt showed in the same order, and ``aliases`` by label.

        ValueError: there are texts, and not as many as labels.
        """
        return _options(tuple(labels), tuple(texts), tuple((k, tuple(v)) for k, v in (aliases or {}).items()))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(option.label for option in self)

    @cached_property
    def letters(self) -> bool:
        """Whether the labels are letters."""
        return all(re.fullmatch(r"[A-Za-z]", label) for label in self.labels)

    @cached_property
    def names(self) -> list[tuple[str, int]]:
        """Every form of every option but letters, with its option, the longest first. A form of two options is none."""
        found: dict[str, dict[int, str]] = {}
        for i, option in enumerate(self):
            i = self.labels.index(option.label)  # a label that is given twice is the first
            for form in self._forms(option):
                if key := squash(form):
                    found.setdefault(key, {})[i] = form
        for i, option in enumerate(self):  # halves that are unique
            halves = [] if self.letters else re.split(r"\s?[/／]\s?|(?<=..)[与和及](?=..)| and | & ", option.label)
            for half in halves if len(halves) > 1 else []:
                if (key := squash(half)) and key not in found and sum(half in each.label for each in self) == 1:
                    found[key] = {i: half}
        unique = [(form, i) for owners in found.values() if len(owners) == 1 for i, form in owners.items()]
        return sorted(unique, key=lambda name: -len(name[0]))

    def _forms(self, option: Option) -> Iterator[str]:
        texts = [option.text, *option.aliases] if self.letters else [option.label, option.text, *option.aliases]
        yield from (text for text in texts if text)
        if option.unknown:
            yield from words("unknown")
        mine = {squash(text) for text in texts}
        for group in words("aliases"):
            names = group.split("=")
            if mine & {squash(name) for name in names}:
                yield from names

    @cached_property
    def exact(self) -> dict[str, int]:
        """Squashed forms, letters too, to options."""
        letters = {option.label.casefold(): i for i, option in enumerate(self)} if self.letters else {}
        return dict(self._squashed) | letters

    @cached_property
    def _squashed(self) -> list[tuple[str, int]]:
        return [(squash(form), i) for form, i in self.names]

    @cached_property
    def spelt(self) -> dict[str, int]:
        """How an answer may begin, in lower case: letters, names with an article and without; the longest first."""
        found: dict[str, int] = {}
        for name, i in self.names:
            bare = re.sub(r"^(?:the|an?) (?=\w\w)", "", form := folded(name).strip(" .。"))
            articles = ("the ", "a ", "an ") if self.letters and re.match("[a-z]", bare) else ()
            found |= dict.fromkeys((form, bare, *(article + bare for article in articles)), i)
        found |= {label.lower(): i for i, label in enumerate(self.labels) if self.letters}
        return dict(sorted(found.items(), key=lambda form: -len(form[0])))

    @cached_property
    def beginnings(self) -> set[str]:
        """The beginnings of all names, of up to three characters."""
        return {form[:end] for form in self.spelt if len(form) > 1 or not self.letters for end in (1, 2, 3)}

    def content(self, text: str) -> int | None:
        """The option whose text ``text`` is: the same but for punctuation, a typo, or cut off where only one begins
        so."""
        key = squash(text[: 2 * _LONGEST_FORM])
        if not key or (found := self.exact.get(key)) is not None:
            return found if key else None
        if len(key) < 3:
            return None
        alike = [
            max((fuzz.ratio(key, form) for form, at in self._squashed if at == i), default=0.0)
            for i in range(len(self))
        ]
        *_, second, best = [-100.0, *sorted(alike)]
        if best >= _ALIKE and best - second >= _AHEAD:
            return alike.index(best)
        begun = {i for form, i in self._squashed if _begins(form, key)}
        return begun.pop() if len(begun) == 1 else None

    @cached_property
    def _named(self) -> re.Pattern[str] | None:
        forms = {at: _pattern(form) for at, (form, _) in enumerate(self.names) if len(form) <= _LONGEST_FORM}
        han, others = (
            "|".join(f"(?P<n{at}>{form})" for at, form in forms.items() if bool(_HAN.match(form)) == is_han)
            for is_han in (True, False)
        )
        parts = filter(None, [others and f"(?<!{_LETTERS})(?:{others})(?!{_LETTERS})", han])
        return re.compile("|".join(parts), re.I) if forms else None

    def mentions(self, text: str) -> list[Mention]:
        """Where a plain ``text`` names an option, in order; a letter inside a name is none."""
        named, found, at = list(self._by_name(text)), [], 0
        for mention in sorted(self._by_letter(text) if self.letters else ()):
            while at < len(named) and named[at].end <= mention.start:
                at += 1
            if at == len(named) or named[at].start > mention.start:
                found.append(mention)
        return sorted(named + found)

    def _by_name(self, text: str) -> Iterator[Mention]:
        for match in self._named.finditer(text) if self._named else ():
            form, option = self.names[int(match.lastgroup[1:])]  # type: ignore[index]
            if _stands_alone(text, match, form):
                yield Mention(*match.span(), option, False)

    def _by_letter(self, text: str) -> Iterator[Mention]:
        places = {option.label.upper(): i for i, option in enumerate(self)}
        for match in _LETTER.finditer(text):
            if (option := places.get(match["letter"].upper())) is not None and _is_letter(text, match):
                yield Mention(*match.span(), option, True)
        for i, pattern in enumerate(_PLACES[: len(self)] if len(self) < 4 else ()):
            for match in pattern.finditer(text):
                yield Mention(*match.span(), i, True)


def _begins(form: str, key: str) -> bool:
    """Whether ``key`` is a beginning of ``form``: whole words, or cut off after most of it."""
    if len(key) >= len(form) or not form.startswith(key):
        return False
    return form[len(key)] == " " or len(key) > 0.6 * len(form)


def _pattern(form: str) -> str:
    """What finds ``form`` in a text: other spaces, hyphens, joiners, a plural."""
    form = simplified(unicodedata.normalize("NFKC", form)).replace("’", "'").replace("其它", "其他").strip(" .。")
    text, last = "", ""
    for part in re.findall(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+|[^\w\s]|_", form) or [form]:
        joiner = part in "和与及/&、" and bool(text)
        if not (joiner or re.match(r"\w", part) or not text):
            last = "other" if text else last
            continue
        if text and not joiner:
            close = last != "other" and bool(_HAN.match(part))
            text += "" if last == "joiner" else r"\s?" if close or last == "han" else r"[\W_]{1,3}"
        text += (
            r"\s?(?:[和与及/&、]|以及|and)\s?"
            if joiner
            else "[他它]"
            if part == "他" and text.endswith(r"其\s?")
            else re.escape(part)
        )
        last = "joiner" if joiner else "han" if _HAN.match(part) else ""
    return text if _HAN.match(text) else rf"(?:(?:the|an?)\s)?{text}(?:e?s)?"


#: What may stand before an ordinary word that is meant as an option.
_NAMED_BEFORE = re.compile(
    r"(?:^|[\n\"'(\[:,.)。是为选择入于到属]|\b(?:is|say|answer|says|be|as|into|to|under|in|choose|pick))\s{0,3}[\"'(]?$"
)


@cache
def _unknown() -> frozenset[str]:
    return frozenset(squash(phrase) for phrase in words("unknown"))


def _stands_alone(text: str, match: re.Match[str], form: str) -> bool:
    """Whether a name is meant as one: 其他 in 在其他国家 is none, nor "no" in "no easy answer"."""
    before, after = text[max(0, match.start() - 12) : match.start()], text[match.end() : match.end() + 12]
    if squash(form) in _unknown() and re.search(r"(?:\b(?:i|we)|我们?)\s{0,2}$", before, re.I):
        return False  # who writes "I can't answer" declines
    if squash(form) in words("common"):
        joined = re.search(r"\b(?:an?|simple|definitive|clear|either|or|of|and)\s[\"'(]{0,2}$", before)
        if joined or re.match(r"[\"')]{0,2}\s?(?:or|/|and)\s", after):
            return False
        return bool(_NAMED_BEFORE.search(before) and re.match(r"\s{0,3}(?:$|[^\w\s]|\n|[类的])", after))
    if not _HAN.match(form):
        return not re.search(r"(?:\w[-']|\b(?:any|no) )$", before)
    return True


_LETTER = re.compile(
    r"(?P<noun>\b(?:option|sentence|statement|choice|letter|candidate|number)\s{1,2}|(?:选项|句子?)\s{0,2})?"
    r"[\"'(\[<]{0,3}(?<![A-Za-z0-9_&])(?<![A-Za-z0-9]['-])(?P<letter>[A-Za-z])(?![A-Za-z0-9_+#]|[-&]\w"
    r"|'(?!s (?:the|more|most|right|correct|my|best|it)\b)\w)"
    r"(?P<close>[\"')\]>]{0,3})(?:选项|[项句](?:子|话)?)?",
    re.I,
)


@cache
def _around() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    return (
        re.compile(rf"{either('blocked')}\s?$", re.I),
        re.compile(either("after")),
        re.compile(rf"\s{{1,2}}{either('verb')}"),
        re.compile(rf"(?:{either('cue')}|\b(?:is|be|are|as|with)|[是为选])\s?:?[\s\"'(\[-]{{0,4}}$", re.I),
    )


def _is_letter(text: str, match: re.Match[str]) -> bool:
    """Whether a letter that stands alone is an option's, and no article, initial, grade or part of a name."""
    blocked, behind, verb, cue = _around()
    letter, start = match["letter"], match.start("letter")
    before, after = text[max(0, start - 40) : start], text[match.end() : match.end() + 40]
    if match["noun"]:
        return not (letter in "aI" and re.match(r"\s[a-z]", after) and not verb.match(after))
    if blocked.search(before.rstrip("\"'(")) or behind.match(after):
        return False
    if re.match(r"\.\s?[A-Z]\.|[:=]\s?\d|\.\d", after):  # "B. F. Skinner", "B: 0.7"
        return False
    opened, closed = before[-1:] in tuple("([\"'<"), bool(match["close"])
    if letter.islower():
        pair = re.match(r"\s?(?:or|and|/|&|,|>)\s?[\"'(]?[a-e]\b", after) or re.search(
            r"\b[a-e][\"')]?\s?(?:or|and|/|&|,|>)\s?[\"'(]?$", before
        )
        alone = re.match(r"\s{0,3}(?:$|[.):,;\n。])", after) and (not before.strip(" \"'([-*") or before[-1:] == "\n")
        named = cue.search(before) and not re.match(r"\s{1,2}[a-z]", after)
        return bool(pair or alone or named or (closed and (opened or letter != "i" or not before.strip())))
    if letter not in "AI":
        return True
    article = re.match(r"\s{1,2}[a-z'\"]+", after) and not verb.match(after) and not closed
    return not article or bool(re.search(r"[a-z,]\s{1,2}$", before))


_NOUN = r"(?:\s(?:sentence|option|one|statement|choice|continuation|answer))"
_THING = r"(?:一?[个种])?(?:句[子话]?|选项|情况|说法|陈述|描述|叙述|答案)"
_PLACES = tuple(
    re.compile(
        rf"(?<!after )(?<!until )\b(?:the\s)?(?:{word}){_NOUN}|\bthe\s(?:{word})(?=\s(?:is|seems|sounds|would"
        rf"|because|since|makes|as|more|appears|reads|fits)\b|[.,;]|\s?$)"
        rf"|\b(?:sentence|option|statement|choice|number)\s?(?:number\s|no\.\s?|#)?(?:{number}|{spelt})(?!\w)"
        rf"|(?<![一每逐])(?:句子?|选项){number}(?![\d个])|第{number}(?:{_THING}|(?:个|种)(?=[^\w]|更|比|的|较|描|最|所|发|也|略|稍|$)"
        rf"|句(?!话))|{side}",
        re.I,
    )
    for word, number, spelt, side in (
        ("first|1st|former", "[1一]", "one", rf"前者|(?<![之以目])前[一面]?的?(?:那|这)?{_THING}"),
        ("second|2nd|latter", "[2二]", "two", rf"后者|(?<![最之以])后[一面]?的?(?:那|这)?{_THING}"),
        ("third|3rd", "[3三]", "three", r"(?!)"),
    )
)


def asked_options(labels: str, options: object = None) -> Options:
    """The options of a request, from its columns ``labels`` and ``options`` (JSON; anything but text is missing)."""
    return _asked(labels, options if isinstance(options, str) and options else "[]")


@lru_cache(maxsize=4096)
def _asked(labels: str, options: str) -> Options:
    names, shown = json.loads(labels), json.loads(options)
    texts = [each if isinstance(each, str) else each[0] for each in shown]
    aliases = {name: each[1:] for name, each in zip(names, shown, strict=False) if not isinstance(each, str)}
    return Options.of(names, texts, aliases)


def as_options(options: "Options | Sequence[str]") -> Options:
    """``options`` themselves, or those of plain labels."""
    return options if isinstance(options, Options) else _options(tuple(options), (), ())


@lru_cache(maxsize=4096)
def _options(
    labels: tuple[str, ...], texts: tuple[str, ...], aliases: tuple[tuple[str, tuple[str, ...]], ...]
) -> Options:
    if texts and len(texts) != len(labels):
        raise ValueError(f"{len(labels)} labels and {len(texts)} texts")
    named = dict(aliases)
    return Options(
        Option(
            label,
            text,
            named.get(label, ()),
            any(squash(name) in _unknown() for name in (label, text, *named.get(label, ()))),
        )
        for label, text in zip(labels, texts or ("",) * len(labels), strict=True)
    )
