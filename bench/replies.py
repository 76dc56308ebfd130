"""Precision and recall of the parsers on labelled replies (tests/replies): the tables of docs/measurements-replies.md.

python bench/replies.py [SET ...]     names of sets, real (all) or sealed (the last six); default: real sealed
python bench/replies.py SET --wrong   lists every misreading, too
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

from replies.corpus import LATEST, REAL, SEALED, parsed, real_rows, rows  # noqa: E402

from biasatlas.benchmarks.mcbe.parsers import PARSERS  # noqa: E402
from biasatlas.benchmarks.shared.parsing.options import Options  # noqa: E402

NO_LABEL = ("refused", "ambiguous", "unparseable")
GROUPS = {"real": list(REAL), "sealed": LATEST}
#: The parsers of McBE's authors, and the rows they are checked against.
AUTHORS = {
    "mcbe_first_five_characters": ("letter", "zh-Hans"),
    "mcbe_substring": ("label", "zh-Hans"),
    "mcbe_first_number": ("decimal", "zh-Hans"),
}


def answers(names: Sequence[str]) -> pd.DataFrame:
    """A row per reply and parser: ``set``, ``parser``, ``language``, ``text``, ``truth``, ``found``."""
    found = []
    for name in names:
        for row in real_rows(name) if name in REAL else rows(name):
            columns = {"set": name, "language": row["language"], "text": row["text"], "truth": row["truth"]}
            found.append({"parser": row["reader"], **columns, "found": parsed(row)})
            for author, of in AUTHORS.items():
                if of == (row["reader"], row["language"]):
                    labels = [*row["labels"], "AB"] if author == "mcbe_first_five_characters" else row["labels"]
                    answer = PARSERS[author].whole(row["text"], Options.of(labels))
                    label = labels[answer] if isinstance(answer, int) else answer
                    found.append({"parser": author, **columns, "found": label})
    return pd.DataFrame(found)


def share(hits: pd.Series) -> str:
    """A share with its 95% Wilson interval and n."""
    if not len(hits):
        return "–"
    low, high = proportion_confint(hits.sum(), len(hits), method="wilson")
    return f"{hits.mean():.4f} [{low:.3f}, {high:.3f}] ({len(hits)})"


def summary(found: pd.DataFrame, key: str) -> Iterable[tuple[str, ...]]:
    """For each group: its name, precision of labels, recall of labels, recall of refusals."""
    for name, group in found.groupby(key, sort=False):
        read, said = ~group["found"].isin(NO_LABEL), ~group["truth"].isin(NO_LABEL)
        hit = group["found"] == group["truth"]
        yield (str(name), *(share(hit[of]) for of in (read, said, group["truth"] == "refused")))


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["real", "sealed"], metavar="SET")
    parser.add_argument("--wrong", action="store_true", help="list every misreading")
    given = parser.parse_args()
    for group in given.sets:
        names = GROUPS.get(group, [group])
        if set(names) - {*SEALED, *REAL, "development"}:
            parser.error(f"{group}: no such set: expected one of {', '.join([*GROUPS, 'development', *SEALED, *REAL])}")
        found = answers(names)
        own = found[~found["parser"].isin(AUTHORS)]
        measures = ("precision", "recall", "refusal recall")
        print(f"\n{group}: {len(own)} replies\n")
        print(table(("parser", *measures), summary(pd.concat([own.assign(parser="all"), found]), "parser")))
        if len(names) > 1:
            print("\n" + table(("set", *measures), summary(own, "set")))
        wrong = own[(own["found"] != own["truth"]) & ~(own["found"].isin(NO_LABEL) & own["truth"].isin(NO_LABEL))]
        if given.wrong:
            lines = ([row.parser, row.truth, row.found, repr(row.text)] for row in wrong.itertuples())
            print("\n" + table(("parser", "truth", "parsed as", "reply"), lines))


if __name__ == "__main__":
    main()
