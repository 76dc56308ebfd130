"""The options that a reply chooses from, the forms of each, and where a text mentions one."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple

from rapidfuzz import fuzz

from biasatlas.benchmarks.shared.parsing import pattern, words
from biasatlas.benchmarks.shared.parsing.normalise import HAN, simplified

#: A text is an option with a typo if it is at least this similar (percent), and so much more than to any other option.
_ALIKE, _AHEAD = 92, 6
#: The words and Chinese characters of a squashed form, without joiners: every text that mentions the form has them.
_parts = lru_cache(maxsize=65536)(re.compile(r"(?!和)[\u3400-\u9fff]|\b(?!and\b)[^\W_\u3400-\u9fff]+").findall)


@dataclass(frozen=True)
class Option:
    """What may be chosen: its label ("A", "职业分工"), its text in the prompt, and names that a benchmark declares."""

    label: str
    text: str = ""
    aliases: tuple[str, ...] = ()


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
    text = re.sub(r"(?<=[\u3400-\u9fff])\s{0,2}(?:和|与|及|以及|、|/|&)\s{0,2}(?=[\u3400-\u9fff])", "和", folded(text))
    text = re.sub(r"[^\w'+#.%<>=\-]|(?<!\w)[.'\-]|[.'\-](?!\w)|_", " ", text)
    return re.sub(r"^(?:the|an?|option)\s(?=\w\w)", "", " ".join(text.replace("-", " ").split()))


class Options(tuple[Option, ...]):
    """Options in their order. ``Options.of`` makes them of labels, texts and aliases."""

    @classmethod
    def of(
        cls, labels: Sequence[str], texts: Sequence[str] = (), aliases: Mapping[str, Sequence[str]] | None = None
    ) -> "Options":
        """Options of ``labels``, with the ``texts`` that the prompt showed in the same order, and ``aliases`` by label.

        Raises ValueError if there are texts, but not as many as labels.
        """
        shown = zip(labels, texts or [""] * len(labels), strict=True)
        return _known(tuple(Option(label, text, tuple((aliases or {}).get(label, ()))) for label, text in shown))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(option.label for option in self)

    @cached_property
    def letters(self) -> bool:
        """Whether the labels are letters."""
        return all(re.fullmatch(r"[A-Za-z]", label) for label in self.labels)

    @cached_property
    def names(self) -> list[tuple[str, int]]:
        """Every form but letters, with the index of its option, the longest first; no forms that two options share."""
        owners: dict[str, tuple[str, set[int]]] = {}
        for i, option in enumerate(self):
            for form in self._forms(option):
                owners.setdefault(squash(form), (form, set()))[1].add(i)
        unique = [(form, min(them)) for key, (form, them) in owners.items() if key and len(them) == 1]
        return sorted(unique, key=lambda name: -len(name[0]))

    def _forms(self, option: Option) -> Iterator[str]:
        """The label, the text and aliases of an option, and halves of its label that no other label has."""
        if not self.letters:
            halves = re.split(r"\s?[/／]\s?|(?<=..)[与和及](?=..)| and | & ", option.label)
            yield from (option.label, *(half for half in halves if sum(half in each for each in self.labels) == 1))
        yield from (option.text, *option.aliases)
        mine = {squash(text) for text in (option.label, option.text, *option.aliases)}
        yield from words("unknown") if mine & {*map(squash, words("unknown"))} else ()

    @cached_property
    def exact(self) -> dict[str, int]:
        """Squashed form, or letter -> option."""
        letters = {option.label.casefold(): i for i, option in enumerate(self)} if self.letters else {}
        return {squash(form): i for form, i in self.names} | letters

    @cached_property
    def spelt(self) -> dict[str, int]:
        """How an answer may begin, in lower case, with or without an article -> option; sorted."""
        names = {re.sub(r"^(?:the|an?) (?=\w\w)", "", folded(name).strip(" .。")): i for name, i in self.names}
        forms = {f"{article}{name}": i for article in ("", "the ", "a ", "an ") for name, i in names.items()}
        forms |= {label.lower(): i for i, label in enumerate(self.labels) if self.letters}
        return dict(sorted(forms.items()))

    def content(self, text: str) -> int | None:
        """The option that ``text`` equals, except for punctuation, a typo, or an end that only one option can have."""
        key = squash(text[:600])
        if key in self.exact or len(key) < 3:
            return self.exact.get(key)
        if len(begun := {i for form, i in self.exact.items() if form.startswith(key)}) == 1:
            return begun.pop()
        alike = [0.0] * len(self)
        for form, i in self.exact.items():
            alike[i] = max(alike[i], fuzz.ratio(key, form))
        *_, second, best = [-100.0, *sorted(alike)]
        return alike.index(best) if best >= _ALIKE and best - second >= _AHEAD else None

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
        # Compiling takes milliseconds: no Chinese characters unless the text has some, and only names it may mention.
        letter, lower = r"(?-i:[^\W\u3400-\u9fff])" if HAN.search(text) else r"\w", text.lower()
        names = [name for name in self.names if all(part in lower for part in _parts(squash(name[0])))]
        for match in _named(tuple(form for form, _ in names), letter).finditer(text):
            form, option = names[match.lastindex - 1]  # type: ignore[operator]
            if _stands_alone(text, match, form):
                yield Mention(*match.span(), option, False)

    def _by_letter(self, text: str) -> Iterator[Mention]:
        for match in _LETTER.finditer(text):
            if (option := self.spelt.get(match["letter"].lower())) is not None and _is_letter(text, match):
                yield Mention(*match.span(), option, True)
        for i, place in enumerate(_PLACES[: len(self)]):
            for match in place.finditer(text):
                yield Mention(*match.span(), i, True)


@lru_cache(maxsize=4096)
def _named(forms: tuple[str, ...], letter: str) -> re.Pattern[str]:
    """A group for each of ``forms``; those not in Chinese touch no ``letter``, may have an article and be plural."""
    runs = []
    for han, keys in groupby(map(squash, forms), lambda key: bool(HAN.match(key))):
        run = "|".join(f"({_pattern(key)})" if han else rf"((?:(?:the|an?)\s)?{_pattern(key)})" for key in keys)
        runs.append(run if han else rf"(?<!{letter})(?:{run})(?:e?s)?(?!{letter})")
    return re.compile("|".join(runs) or "(?!)", re.I)


def _pattern(key: str) -> str:
    """A pattern that finds a squashed form in a text, whatever its spaces, hyphens and joiners."""
    text = re.escape(key).replace("\\ ", r"[\W_]{1,3}")
    text = re.sub(r"(?<=[\u3400-\u9fff])(?=\w)|(?<=\w)(?=[\u3400-\u9fff])", r"\\s?", text)
    either = r"\s?(?:[和与及/&、]|以及|and)\s?"
    return text.replace(r"\s?和\s?", either).replace(r"[\W_]{1,3}and[\W_]{1,3}", either)


#: What follows an ordinary word that is meant as an option.
_MEANT = re.compile(r"(?![\"')]{0,2}\s?(?:/|(?:or|and)\s))\s{0,3}(?:$|[^\w\s]|\n|[类的]|because|since)")


def _stands_alone(text: str, match: re.Match[str], form: str) -> bool:
    """Whether a name is meant as an option: 其他 in 在其他国家 is not, nor is "no" in "no easy answer"."""
    before, after = text[max(0, match.start() - 12) : match.start()], text[match.end() : match.end() + 12]
    if form.endswith("answer") and re.search(r"\b(?:i|we)\s$", before, re.I):
        return False  # who writes "I can't answer" declines
    if squash(form) in words("common"):
        joined = re.search(r"(?:\b(?:an?|simple|definitive|clear|either|or|of|and)\s[\"'(]{0,2}|\w/)$", before)
        return bool(not joined and _MEANT.match(after))
    return not re.search(r"\w[-']$", before)


#: A letter that stands alone, and is no grade, initial ("B. F. Skinner") or key of a number ("B: 0.7").
_LETTER = re.compile(
    r"(?:\b(?:option|sentence|statement|choice)\s{1,2}|(?:选项|句子?)\s{0,2})?[\"'(\[<]{0,3}(?<![A-Za-z0-9_&])"
    r"(?<![A-Za-z0-9]['-])(?P<letter>[A-Za-z])(?![A-Za-z0-9_+#]|[-&]\w|'(?!s (?:the|more|most)\b)\w|\.\s?[A-Z]\."
    r"|[:=]\s?\d|\.\d)(?P<close>[\"')\]>]{0,3})(?:选项|[项句](?:子|话)?)?"
)


def _is_letter(text: str, match: re.Match[str]) -> bool:
    """Whether a letter that stands alone is an option's, not an article, initial, grade or part of a name."""
    before, after = text[: match.start("letter")][-40:], text[match.end() : match.end() + 40]
    word = re.match(r"\s{1,2}[a-z'\"]+", after)
    if match["letter"].islower() and not match["close"]:
        cue = pattern(r"(?:{cue}|\b(?:is|be|are|as|with)|[是为选])\s?:?[\s\"'(\[-]{0,4}$")
        return bool(not word and cue.search(before))
    return not (match["letter"] in "AI" and word and not match["close"]) or bool(pattern(r"\s{1,2}{verb}").match(after))


_NOUN = r"(?:\s(?:sentence|option|one|statement|choice|continuation|answer))"
_PLACES = tuple(
    re.compile(
        rf"\b(?:the\s)?(?:{word}){_NOUN}|\bthe\s(?:{word})(?=\s(?:is|seems|would|because)\b|[.,;]|\s?$)"
        rf"|\b(?:sentence|option|statement|number)\s?#?{number}(?!\w)|(?<![一每逐])(?:句子?|选项){number}(?![\d个])"
        rf"|第{number}(?:一?[个种]|句话?|选项)(?:句子|选项|说法)?|{side}",
        re.I,
    )
    for word, number, side in (
        ("first|1st|former", "[1一]", "前者|(?<![之以目])前一?句"),
        ("second|2nd|latter", "[2二]", "后者|(?<![最之以])后一?句"),
        ("third|3rd", "[3三]", "(?!)"),
    )
)


@lru_cache(maxsize=4096)
def asked_options(labels: str, options: object = None) -> Options:
    """The options of a request, from its columns ``labels`` and ``options`` (JSON; anything but text is missing)."""
    names, shown = json.loads(labels), json.loads(options) if isinstance(options, str) and options else []
    shown = [[each] if isinstance(each, str) else each for each in shown]
    return Options.of(names, [each[0] for each in shown], {n: each[1:] for n, each in zip(names, shown, strict=False)})


#: Equal options are one object, whose cached properties are computed once.
_known = lru_cache(maxsize=4096)(Options)
