"""Precision and recall of the readers on replies with their truth (tests/replies), as the tables of docs/replies.md.

python bench/replies.py [SET]            the set that was sealed last, or another (sealed, sealed_second ...)
python bench/replies.py development      the half that readers are developed on, with every misreading
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

from replies.corpus import SEALED, reading, rows  # noqa: E402

from biasatlas.benchmarks.mcbe.readers import MCBE_REPLIES  # noqa: E402
from biasatlas.benchmarks.shared.parsing import REFUSED, Answer  # noqa: E402
from biasatlas.benchmarks.shared.parsing.named import PARSERS, REPLIES  # noqa: E402

NO_LABEL = ("refused", "ambiguous", "unparseable")
#: The authors' readers, and the rows they are held against.
AUTHORS = {
    "mcbe_first_five_characters": ("letter", "zh-Hans"),
    "mcbe_substring": ("label", "zh-Hans"),
    "mcbe_first_number": ("decimal", "zh-Hans"),
}


def opening(name: str) -> Callable[[str, Sequence[str]], Answer]:
    """The reader of choices on a whole reply: it looks at the beginning alone, as exact probabilities do."""

    return lambda text, labels: PARSERS[name](text, labels, True)


def readings(half: str) -> pd.DataFrame:
    """A row per reply and reader: ``reader``, ``language``, ``form``, ``text``, ``truth``, ``found``."""
    found = []
    for row in rows(half):
        columns = {name: row[name] for name in ("language", "form", "text", "truth")}
        found.append({"reader": row["reader"], **columns, "found": reading(row, REPLIES[row["reader"]])})
        if row["reader"] in PARSERS:
            choice = reading(row, opening(row["reader"]))
            found.append({"reader": f"{row['reader']}, as a choice", **columns, "found": choice})
        for name, of in AUTHORS.items():
            if of == (row["reader"], row["language"]):
                labels = [*row["labels"], "AB"] if name == "mcbe_first_five_characters" else row["labels"]
                found.append(
                    {"reader": name, **columns, "found": reading(row | {"labels": labels}, MCBE_REPLIES[name])}
                )
    return pd.DataFrame(found)


def share(hits: pd.Series) -> str:
    """A share with its 95 % Wilson interval and n."""
    if not len(hits):
        return "–"
    low, high = proportion_confint(hits.sum(), len(hits), method="wilson")
    return f"{hits.mean():.3f} [{low:.3f}, {high:.3f}] ({len(hits)})"


def summary(found: pd.DataFrame, keys: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """Of each group: precision of labels, recall of labels, recall of refusals, precision of refusals."""
    for names, group in found.groupby(list(keys), sort=False):
        read, answers = ~group["found"].isin(NO_LABEL), ~group["truth"].isin(NO_LABEL)
        refused, refusals = group["found"] == REFUSED, group["truth"] == REFUSED
        hit = group["found"] == group["truth"]
        yield (*names, *(share(hit[of]) for of in (read, answers, refusals, refused)))


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("half", nargs="?", default=[*SEALED][-1], choices=(*SEALED, "development"))
    half = parser.parse_args().half
    found = readings(half)
    measures = ("precision", "recall", "refusal recall", "refusal precision")
    header = ("reader", "language", *measures)
    print(f"{len(rows(half))} replies: {half}.\n")
    whole = found.assign(language="all")
    own = whole[whole["reader"].isin(REPLIES)].assign(reader="all")
    choices, authors = found["reader"].str.endswith(", as a choice"), found["reader"].isin(MCBE_REPLIES)
    print(table(header, summary(pd.concat([own, whole[~choices & ~authors], found[~choices & ~authors]]), header[:2])))
    print("\nReaders of choices, on the same replies as a whole:\n")
    print(table(header, summary(whole[choices], header[:2])))
    print("\nThe authors' readers, on the Chinese replies:\n")
    print(table(header, summary(whole[authors], header[:2])))
    forms = found[found["reader"].isin(REPLIES)]
    wrong = forms[
        (forms["found"] != forms["truth"]) & ~(forms["found"].isin(NO_LABEL[1:]) & forms["truth"].isin(NO_LABEL[1:]))
    ]
    print("\nForms with a misreading:\n")
    missed = forms.merge(wrong[["reader", "form"]].drop_duplicates())
    print(table(("reader", "form", *measures), summary(missed, ("reader", "form"))))
    print("\nMisreadings:\n")
    lines = ([row.reader, row.form, row.truth, row.found, repr(row.text)] for row in wrong.itertuples())
    print(table(("reader", "form", "truth", "read as", "reply"), lines))


if __name__ == "__main__":
    main()
