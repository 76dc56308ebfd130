"""Where the two texts of a pair differ, and the words that end both."""

from difflib import SequenceMatcher
from itertools import takewhile

import pandas as pd

#: Stands for the words of a text that has none of its own, as where the other has one word more.
NO_WORDS = "(none)"


def cleaned(items: pd.DataFrame, text: str) -> pd.DataFrame:
    """``items`` with both texts as the option ``text`` says."""
    return items if text == "published" else items.assign(more=clean(items["more"]), less=clean(items["less"]))


def clean(text: pd.Series) -> pd.Series:
    """``text`` without line breaks, as pair 1293 of CrowS-Pairs has one before its final full stop."""
    return text.str.replace(r"\s*\n\s*(?=[.,;!?])", "", regex=True).str.replace(r"\s*\n\s*", " ", regex=True)


def differences(items: pd.DataFrame) -> pd.DataFrame:
    """How the texts ``more`` and ``less`` of each item differ, with the index of ``items``.

    ``end`` is what both end in after the last difference, from the white space before its first word, and ``words`` how
    many words it has: 0 where the last words differ, as in a language that is written without spaces. ``more_start``
    and ``less_start`` are what precedes it. ``more_words`` and ``less_words`` are the words that the other text lacks,
    in small letters (:data:`NO_WORDS` where there are none).
    """
    rows = [_difference(more, less) for more, less in zip(items["more"], items["less"], strict=True)]
    names = ["end", "words", "more_start", "less_start", "more_words", "less_words"]
    return pd.DataFrame(rows, index=items.index, columns=names)


def _difference(more: str, less: str) -> tuple[str, int, str, str, str, str]:
    alike = takewhile(lambda letters: letters[0] == letters[1], zip(reversed(more), reversed(less), strict=False))
    same = more[len(more) - sum(1 for _ in alike) :]
    spaces = [place for place, letter in enumerate(same) if letter.isspace()]
    end = same[spaces[0] :] if spaces else ""
    first, second = more.split(), less.split()
    edits = [edit for edit in SequenceMatcher(None, first, second, autojunk=False).get_opcodes() if edit[0] != "equal"]
    mine = " ".join(word for _, start, stop, _, _ in edits for word in first[start:stop])
    others = " ".join(word for _, _, _, start, stop in edits for word in second[start:stop])
    starts = more[: len(more) - len(end)], less[: len(less) - len(end)]
    return end, len(end.split()), *starts, mine.lower() or NO_WORDS, others.lower() or NO_WORDS
