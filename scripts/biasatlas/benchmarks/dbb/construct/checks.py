"""What a sentence of DBB's construction must not be: the rules of the paper's Tables 13 and 15. Pure functions.

How many faults they find, and how many good sentences they reject, on a writer whose faults are known: docs/dbb.md.
"""

import re
import unicodedata
from collections.abc import Iterator

from rapidfuzz.fuzz import ratio

from biasatlas.benchmarks.dbb.vocabulary import PLACEHOLDER


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Words that name an identity of one of DBB's five categories, whoever they are said of.
_IDENTITIES = _set(
    """
    man men woman women boy boys girl girls male female males females gentleman lady ladies mother father mom dad son
    daughter sister brother husband wife grandmother grandfather grandma grandpa uncle aunt widow widower nonbinary
    transgender teenager teenagers teen elderly senior seniors toddler baby babies retiree retired african asian
    latino latina hispanic caucasian chinese japanese korean mexican indian arab american european muslim muslims
    christian christians jewish jew jews hindu hindus buddhist buddhists catholic atheist mosque synagogue wealthy
    mr mrs ms madam poor homeless billionaire millionaire impoverished
    """
)
#: Words that do so only of a person.
_ADJECTIVES = "old|older|young|younger|rich|black|white|brown|blind|deaf|gay|straight|foreign"
_OF_PERSON = re.compile(
    rf"\b(?:{_ADJECTIVES})\s+(?:\w+\s+)?(?:person|people|guy|kid|child|adult|folks?|couple|worker|student)\b"
    rf"|\b\d+[ -]years?[ -]old\b|\baged \d+"
    rf"|{re.escape(PLACEHOLDER)}\W+(?:(?:is|was|who|an?|the|so|very|too)\s+)+(?:{_ADJECTIVES})\b",
    re.I,
)
_GENDERED = re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself)\b", re.I)
_THEY = re.compile(r"\b(?:they|them|their|theirs|themselves|themself)\b", re.I)
#: What "they" may stand for beside the person: a noun in the plural, or what is one without an s.
_PLURAL = re.compile(
    r"\b(?!(?:this|was|is|has|its|across|as|always|perhaps|glass|class|less|us|yes)\b)[a-z]{2,}(?<!s)s\b|\b(?:people|children|family|crowd|team|group|audience|everyone|others)\b",
    re.I,
)

_STOP_WORDS = _set(
    """
    a an the and or of in on at to for with by is are be as not no one's their his her
    """
)
_ENDINGS = (
    "iest",
    "iness",
    "ness",
    "ings",
    "ence",
    "ance",
    "est",
    "ent",
    "ant",
    "ing",
    "ies",
    "ied",
    "ily",
    "ers",
    "er",
    "ors",
    "or",
    "ed",
    "es",
    "ly",
    "al",
    "y",
    "s",
    "e",
)
_LEAST_STEM = 3

#: Frequent words that English lacks, and some that it has.
_OTHER_LANGUAGES = _set(
    """
    el los las una que en con por para su se del und der die das ist nicht mit ein eine auf le les des une est dans
    pour il elle och att
    """
)
_ENGLISH = _set(
    """
    the a an and of to in with at on for was were is from over into that as by while after before
    """
)
#: Above this share of shared text (0 to 100) two options are one.
_ALIKE = 90


class Rejected(Exception):
    """Why a reply is not taken; another may be."""


class Declined(Rejected):
    """Why a row goes no further: the reply is as it should be, and says so."""


def check_concepts(first: str, second: str) -> None:
    """Raise :class:`Rejected` for a pair that is one concept, or of which one names an identity."""
    if _plain(first) == _plain(second):
        raise Rejected(f"both concepts are {first!r}")
    for concept in (first, second):
        if name := next(_identities(concept), ""):
            raise Rejected(f"the concept {concept!r} names an identity: {name!r}")


def check_sentence(sentence: str, concept: str = "", *, part: str) -> None:
    """Raise :class:`Rejected` for a sentence without exactly one placeholder, that says who the person is (an identity, a
    pronoun), is in another language than English, or names the ``concept`` that it is to show.

    ``part`` is what the sentence is called in the message.
    """
    count = sentence.count(PLACEHOLDER)
    if count != 1:
        found = f"{count} placeholders" if count else "no placeholder"
        raise Rejected(f"{found} {PLACEHOLDER} in the {part} {sentence!r}; expected one")
    if name := next(_identities(sentence), ""):
        raise Rejected(f"the {part} names an identity: {name!r}")
    if pronoun := _pronoun(sentence):
        raise Rejected(f"the {part} has a pronoun of the person: {pronoun!r}")
    if not _is_english(sentence):
        raise Rejected(f"the {part} is not in English: {sentence!r}")
    if concept and names_concept(sentence, concept):
        raise Rejected(f"the {part} names the concept {concept!r}: {sentence!r}")


def check_options(first: str, second: str) -> None:
    """Raise :class:`Rejected` for two options that are one, or nearly."""
    if ratio(_plain(first), _plain(second)) >= _ALIKE:
        raise Rejected(f"the options are the same: {first!r} and {second!r}")


def names_concept(sentence: str, concept: str) -> bool:
    """Whether all content words of ``concept`` stand in ``sentence``, in any inflection; an example in brackets is no part."""
    concept = re.sub(r"\(.*?\)", "", concept) or concept
    wanted = {_stem(word) for word in _words(concept)} - {""}
    return bool(wanted) and wanted <= {_stem(word) for word in _words(sentence)}


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z']+", text.replace(PLACEHOLDER, " ").lower()) if word not in _STOP_WORDS]


def _stem(word: str) -> str:
    """``word`` without its endings, two at most: "doctoring" and "doctor" are one, and so are "helpful" and "helped"."""
    return _shorter(_shorter(re.sub("i?ful(ly|ness)?$", "", word.removesuffix("'s").strip("'"))))


def _shorter(word: str) -> str:
    """``word`` without the longest ending that leaves three letters."""
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= _LEAST_STEM), "")
    stem = word[: len(word) - len(ending)]
    doubled = ending[:1] in "aeiy" and stem[-1:] == stem[-2:-1]
    return stem[:-1] if doubled and len(stem) > _LEAST_STEM else stem


def _identities(text: str) -> Iterator[str]:
    yield from (word for word in re.findall(r"[a-z]+", text.lower()) if word in _IDENTITIES)
    yield from (match[0] for match in _OF_PERSON.finditer(text))


def _pronoun(sentence: str) -> str:
    """A pronoun that can only be the person's; "they" only where no plural stands before it."""
    if match := _GENDERED.search(sentence):
        return match[0]
    they = _THEY.search(sentence)
    return they[0] if they and not _PLURAL.search(sentence[: they.start()]) else ""


def _is_english(sentence: str) -> bool:
    letters = [character for character in sentence.replace(PLACEHOLDER, "") if character.isalpha()]
    latin = sum(unicodedata.normalize("NFD", character)[0].isascii() for character in letters)
    words = re.findall(r"[a-z]+", sentence.lower())
    others, ours = (sum(word in known for word in words) for known in (_OTHER_LANGUAGES, _ENGLISH))
    return latin >= 0.9 * len(letters) and others <= ours


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
