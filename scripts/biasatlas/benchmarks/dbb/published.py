"""Check DBB's printed tables against one another: which of their numbers follow from the others."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from math import comb

import pandas as pd

from biasatlas.benchmarks.dbb import TEMPLATES, TYPES

COLUMNS = ["table", "key", "value", "published", "difference", "match"]


def check_published(published: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """One row per printed number that another one implies; columns :data:`COLUMNS`.

    ``published`` reads a published table as strings. ``value`` is what the other numbers give, ``published`` what is
    printed, ``difference`` the first minus the second, and ``match`` whether the value rounds to the printed digits.
    """
    composition = published("dbb_composition").astype({"test_instances": int})
    rows = [
        *_counts(composition),
        *_sums("Table 4 against Table 1", published("dbb_descriptor_stats"), _table_1(published("dbb_models"))),
        *_sums("Table 9 against Table 8", published("dbb_sg_descriptor_stats"), published("dbb_sg_models")),
        *_totals("Table 4", published("dbb_descriptor_stats"), composition),
        *_totals("Table 9", published("dbb_sg_descriptor_stats"), composition),
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(table: str, key: str, value: float, printed: str) -> dict:
    exact = Decimal(printed)
    half_a_digit = Decimal(5).scaleb(exact.as_tuple().exponent - 1)
    difference = Decimal(repr(value)) - exact
    return {
        "table": table,
        "key": key,
        "value": value,
        "published": printed,
        "difference": float(difference),
        "match": abs(difference) <= half_a_digit,
    }


def _counts(composition: pd.DataFrame) -> Iterator[dict]:
    """Table 3: templates times the pairs of identities of every type."""
    pairs = {
        category: sum(comb(len(identities), 2) for identities in types.values()) for category, types in TYPES.items()
    }
    for category, count in composition.itertuples(index=False):
        yield _row("Table 3", f"{category}: templates x pairs", TEMPLATES * pairs[category], str(count))
    yield _row("Table 3", "sum", int(composition["test_instances"].sum()), "103649")


def _table_1(models: pd.DataFrame) -> pd.DataFrame:
    """Table 1's DBB columns in the form of Table 8."""
    dbb = models[models["benchmark"] == "DBB"]
    wide = dbb.pivot(index="model", columns="measure", values="value").loc[dbb["model"].unique()]
    names = {"count of instances >= 20": "count", "mean bias score of instances >= 20": "mean_score"}
    return wide.rename(columns=names).reset_index()


def _sums(table: str, by_type: pd.DataFrame, by_model: pd.DataFrame) -> Iterator[dict]:
    """Counts add up over types; the mean over all is the mean over types weighted by their counts."""
    numbers = by_type.assign(count=by_type["count"].astype(int), mean_score=by_type["mean_score"].astype(float))
    numbers["sum_score"] = (numbers["count"] * numbers["mean_score"]).fillna(0)
    sums = numbers.groupby("model")[["count", "sum_score"]].sum()
    for _, printed in by_model.iterrows():
        count, total = sums.loc[printed["model"]]
        yield _row(table, f"{printed['model']}: count", int(count), printed["count"])
        yield _row(table, f"{printed['model']}: weighted mean", float(total / count), printed["mean_score"])


def _totals(table: str, by_type: pd.DataFrame, composition: pd.DataFrame) -> Iterator[dict]:
    """The size printed for each type: templates times its pairs."""
    sizes = by_type.drop_duplicates("type")
    for kind, identities in (pair for types in TYPES.values() for pair in types.items()):
        printed = sizes.loc[sizes["type"] == kind, "total"].iloc[0]
        yield _row(table, f"{kind}: instances", TEMPLATES * comb(len(identities), 2), printed)
    total = int(sizes["total"].astype(int).sum())
    yield _row(table, "all types: instances", total, str(composition["test_instances"].sum()))
