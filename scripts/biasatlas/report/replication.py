"""How much of a published table comes out again, to the digit that was printed."""

from decimal import Decimal

import numpy as np
import pandas as pd


def printed_decimals(published: pd.Series) -> int:
    """The decimal places of a column of numbers as printed: the most of any, for a table prints 1 for 1.000."""
    return max(-Decimal(text).as_tuple().exponent for text in published)


def matches_printed_digits(value: float, published: str, decimals: int) -> bool:
    """Whether ``value`` rounds to ``published`` at that many decimals; a tie may round either way."""
    if pd.isna(value):
        return False
    half_a_digit = Decimal(5).scaleb(-decimals - 1)
    return abs(Decimal(repr(float(value))) - Decimal(published)) <= half_a_digit


def _matching(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``table`` with a published number, with ``decimals`` and whether they ``match``."""
    printed = table[table["published"].notna() & (table["published"] != "")]
    if "match" in table:  # printed numbers held against other printed numbers, each to its own digits
        return printed.assign(
            metric=printed["table"], decimals=None, match=printed["match"].isin([True, "True", "yes"])
        )
    decimals = printed.groupby("metric")["published"].transform(printed_decimals).astype(int)
    columns = (printed["value"], printed["published"], decimals)
    match = [matches_printed_digits(*row) for row in zip(*columns, strict=True)]
    return printed.assign(decimals=decimals, match=np.array(match, dtype=bool))


def count_matches(table: pd.DataFrame) -> pd.DataFrame:
    """By metric of ``table``: how many ``values`` have a published number, and how many of them ``match`` it.

    ``published`` holds numbers as printed, in strings (missing or empty where nothing was printed). A published number
    beside a missing value is no match. Also ``decimals``, the places compared at, and ``largest_difference``.
    """
    counts = _matching(table).groupby(["metric", "decimals"], sort=False, as_index=False, dropna=False)
    return counts.agg(
        values=("match", "size"), match=("match", "sum"), largest_difference=("difference", lambda x: x.abs().max())
    )


def replication(tables: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """:func:`count_matches` of every one of ``tables``, by (benchmark, table)."""
    counts = [
        count_matches(table).assign(benchmark=benchmark, table=name) for (benchmark, name), table in tables.items()
    ]
    return pd.concat(counts, ignore_index=True)[
        ["benchmark", "table", "metric", "decimals", "values", "match", "largest_difference"]
    ]


def unmatched(tables: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """The values that do not match, by (benchmark, table): what each is of, ours and the published one."""
    rows = []
    for (benchmark, name), table in tables.items():
        matching = _matching(table)
        keys = ["key"] if "key" in table else list(table.columns[: table.columns.get_loc("metric")])
        for row in matching[~matching["match"]].to_dict("records"):
            what = ", ".join(str(row[key]) for key in keys if not pd.isna(row[key]))
            rows.append((benchmark, name, what, row["metric"], row["value"], row["published"]))
    return pd.DataFrame(rows, columns=["benchmark", "table", "of", "metric", "value", "published"])
