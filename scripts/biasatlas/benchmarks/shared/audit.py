"""Oddities in the items of a benchmark: counts with the first ids, for somebody who knows the data."""

import re
import unicodedata
from collections.abc import Hashable, Iterator, Sequence

import pandas as pd

from biasatlas.userfiles import listed

#: Characters that show that text was read in a wrong encoding: UTF-8 as Mac Roman, or as Latin 1.
_GARBLED = re.compile("√[©®†°±≥ß§º∫]|Ã[\x80-\xbf©®¨¤¶¼ª±³¡]|â€|\ufffd")
_LABELS = ("A", "B", "C")
#: Invisible characters.
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")


#: The chi square with 2 degrees of freedom that chance exceeds once in a thousand.
_BY_CHANCE = 13.8


def audit(items: pd.DataFrame, shuffled: bool = False) -> list[str]:
    """A sentence on each oddity of ``items``: characters of a wrong encoding in any text, and more for some families.

    For questions with three options and pairs of texts: items with the same words as another one, and texts that differ
    in case at most. For questions also right options that do not fit the context, missing targets and, unless they are
    ``shuffled``, options that are mostly in one place. For decisions: see :func:`_cases`.
    """
    return [
        *_garbled(items),
        *(_questions(items, shuffled) if {"gold", "unknown", "target"} <= set(items) else ()),
        *(_pairs(items) if {"more", "less"} <= set(items) else ()),
        *(_cases(items) if {"scenario", "document"} <= set(items) else ()),
    ]


def _said(items: pd.DataFrame, which: Sequence[bool] | pd.Series, what: str) -> Iterator[str]:
    found = items["item_id"][which]
    if len(found):
        yield f"{len(found)} of {len(items)} items {what}: {listed(found)}"


def _cases(items: pd.DataFrame) -> Iterator[str]:
    """For decisions: cases with the same document as another of their scenario, and scenarios that lack a change."""
    yield from _again(
        items, list(zip(items["scenario"], items["document"], strict=True)), "show what another one shows"
    )
    arms = items.groupby("scenario", sort=False)["arm"].nunique()
    lacking = items["scenario"].map(arms < arms.max()) & ~items["scenario"].duplicated()
    yield from _said(items, lacking, "begin a scenario that lacks a change which others have")


def _garbled(items: pd.DataFrame) -> Iterator[str]:
    odd = pd.Series(False, items.index)
    for name in items.select_dtypes(exclude=["number", "bool"]):
        texts = pd.Series(items[name].dropna().unique(), dtype=str)
        odd |= items[name].isin(texts[texts.str.contains(_GARBLED)])
    yield from _said(items, odd, "have letters of a wrong encoding")


def _folded(text: str) -> str:
    """``text`` without case and invisible characters."""
    return " ".join(_UNSEEN.sub("", unicodedata.normalize("NFKC", text)).casefold().split())


def _again(items: pd.DataFrame, keys: Sequence[Hashable], what: str) -> Iterator[str]:
    yield from _said(items, pd.Series(list(keys), items.index).duplicated(), what)


def _questions(items: pd.DataFrame, shuffled: bool) -> Iterator[str]:
    options = [frozenset(texts) for texts in items[list(_LABELS)].itertuples(index=False, name=None)]
    words = zip(items["context"], items["question"], options, strict=True)
    yield from _again(items, list(words), "ask what another one does, in the same words")
    folded = items[list(_LABELS)].map(_folded)
    yield from _said(
        items, folded.nunique(axis=1) < len(_LABELS), "have two options that differ in case alone, or in nothing"
    )
    unknown, ambiguous = items["gold"] == items["unknown"], items["condition"] == "ambig"
    yield from _said(items, ambiguous & ~unknown, "do not say who it was, and yet a person is right")
    yield from _said(items, ~ambiguous & unknown, "say who it was, and yet 'unknown' is right")
    yield from _said(items, items["target"].isna(), "have no option that follows the stereotype")
    for name in () if shuffled else ("gold", "target", "unknown"):
        counts = items[name].value_counts().reindex(_LABELS, fill_value=0)
        chi_square = ((counts - counts.mean()) ** 2).sum() / max(counts.mean(), 1)
        if counts.min() < 0.5 * counts.max() and chi_square > _BY_CHANCE:
            places = ", ".join(f"{count} times {label}" for label, count in counts.items())
            yield (
                f"the option {name} stands mostly in one place ({places}): set `shuffle`, or a liking for a place "
                "counts as bias"
            )
    told = items[~ambiguous & items["target"].notna()]
    share = (told["gold"] == told["target"]).mean()
    if len(told) and not 0.4 < share < 0.6:
        yield (
            f"where the text says who it was, the stereotype is right in {share:.0%} of {len(told)} items; half would "
            "tell bias from mistakes"
        )


def _pairs(items: pd.DataFrame) -> Iterator[str]:
    same = items["more"].map(_folded) == items["less"].map(_folded)
    yield from _said(items, same, "have two texts that differ in case alone, or in nothing")
    pairs = list(zip(items["more"], items["less"], strict=True))
    yield from _again(items, pairs, "are there twice, in the same words")
    there = set(pairs)
    turned = [(less, more) in there and more != less for more, less in pairs]
    yield from _said(items, turned, "are there with the other text as the stereotype, too")
