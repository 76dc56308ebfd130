"""How much of a published table comes out again, to the digit that was printed."""

from collections.abc import Collection, Iterable
from decimal import Decimal
from pathlib import Path

import pandas as pd

from biasatlas.files import read_csv


def replication(tables: Iterable[str | Path], models: Collection[str]) -> pd.DataFrame:
    """:func:`count_matches` of each table file, with ``benchmark`` and ``table`` from its path in front.

    Of tables by model, only the rows of ``models`` (those with published outputs) count.
    """
    parts = [
        count_matches(read_csv(path, published="str"), models).assign(benchmark=path.parts[-3], table=path.stem)
        for path in map(Path, tables)
    ]
    counts = pd.concat(parts, ignore_index=True)
    return counts[["benchmark", "table", *counts.columns.drop(["benchmark", "table"])]]


def count_matches(table: pd.DataFrame, models: Collection[str] | None = None) -> pd.DataFrame:
    """By metric of ``table``: how many ``values`` have a published number, and how many of them ``match`` it.

    ``published`` holds numbers as printed, in strings (missing where nothing was printed). A published number beside a
    missing value is no match. Also ``decimals``, the places compared at, and ``largest_difference``. Only the rows of
    ``models`` count, if given; the decimals are those of the whole column.
    """
    rows = []
    for metric, group in table[table["published"].notna()].groupby("metric", sort=False):
        decimals = printed_decimals(group["published"])
        if models is not None and "model" in group:
            group = group[group["model"].isin(models)]
        pairs = zip(group["value"], group["published"], strict=True)
        matches = sum(matches_printed_digits(value, text, decimals) for value, text in pairs)
        rows.append((metric, decimals, len(group), matches, group["difference"].abs().max()))
    return pd.DataFrame(rows, columns=["metric", "decimals", "values", "match", "largest_difference"])


def printed_decimals(published: pd.Series) -> int:
    """The decimal places of a column of numbers as printed: the most of any, for a table prints 1 for 1.000."""
    return max(-Decimal(text).as_tuple().exponent for text in published)


def matches_printed_digits(value: float, published: str, decimals: int) -> bool:
    """Whether ``value`` rounds to ``published`` at that many decimals; a tie may round either way."""
    if pd.isna(value):
        return False
    half_a_digit = Decimal(5).scaleb(-decimals - 1)
    return abs(Decimal(repr(float(value))) - Decimal(published)) <= half_a_digit
