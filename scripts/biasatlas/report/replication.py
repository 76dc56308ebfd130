"""How many published numbers the workflow reproduces to the printed digit."""

from collections.abc import Collection, Mapping
from decimal import Decimal

import pandas as pd

from biasatlas.benchmarks.contract import Table

#: (benchmark, table).
Name = tuple[str, str]

#: A bare 0 does not say where it was rounded (a p-value's, say): it is compared at so many decimals.
ZERO_DECIMALS = 6


def is_recomputed(table: Table) -> bool:
    """Whether a table recomputes printed numbers from other printed numbers: no scores, no one table beside it."""
    return not (table.tasks or table.published or table.file)


def printed_decimals(published: pd.Series) -> int:
    """The decimal places of a column of numbers as printed: the most of any, since a table prints 1 for 1.000."""
    return max(_decimals(text) for text in published)


def matches_printed_digits(value: float, published: str, decimals: int) -> bool:
    """Whether ``value`` rounds to ``published`` at that many decimals; a tie may round either way."""
    if pd.isna(value):
        return False
    half_a_digit = Decimal(5).scaleb(-decimals - 1)
    return abs(Decimal(repr(float(value))) - Decimal(published)) <= half_a_digit


def match_published(tables: Mapping[Name, pd.DataFrame], recomputed: Collection[Name]) -> pd.DataFrame:
    """One row for each published number in ``tables``, whose column ``published`` holds strings as printed.

    Columns ``benchmark``, ``table``, ``of`` (the row's keys in words), ``metric``, ``decimals``, ``value``, ``published``,
    ``difference`` (ours minus the published) and ``match``, whether ours rounds to it; a missing value does not. A table
    is compared at the decimals of each metric's column, which ``decimals`` gives; the tables named in ``recomputed``
    hold numbers from many places, and each is compared at its own (``decimals`` is missing).
    """
    parts = [
        _match(table, name in recomputed).assign(benchmark=name[0], table=name[1]) for name, table in tables.items()
    ]
    columns = ["benchmark", "table", "of", "metric", "decimals", "value", "published", "difference", "match"]
    return pd.concat(parts, ignore_index=True)[columns]


def count_matches(numbers: pd.DataFrame) -> pd.DataFrame:
    """By benchmark, table and metric of :func:`match_published`: its ``values``, and how many of them ``match``.

    Also ``decimals``, and ``largest_difference`` (absolute).
    """
    counts = numbers.groupby(["benchmark", "table", "metric", "decimals"], sort=False, as_index=False, dropna=False)
    return counts.agg(
        values=("match", "size"),
        match=("match", "sum"),
        largest_difference=("difference", lambda differences: differences.abs().max()),
    )


def summarise(numbers: pd.DataFrame) -> str:
    """:func:`match_published` as a text: the counts, their sum, and the numbers that do not match."""
    counts = count_matches(numbers)
    counts["decimals"] = counts["decimals"].astype("string").fillna("own")
    text = (
        f"{counts.to_string(index=False)}\n\n{numbers['match'].sum()} of {len(numbers)} published values "
        "reproduced to the printed digit.\n"
    )
    others = numbers.loc[~numbers["match"], ["benchmark", "table", "of", "metric", "value", "published"]]
    if len(others):
        text += f"\nThe others, which the benchmarks' pages in docs/ explain:\n\n{others.to_string(index=False)}\n"
    return text


def _match(table: pd.DataFrame, recomputed: bool) -> pd.DataFrame:
    """The rows of one table with a published number."""
    keys = list(table.columns[: table.columns.get_loc("metric")])
    printed = table[table["published"].notna()]
    if recomputed:
        compared_at = printed["published"].map(lambda text: ZERO_DECIMALS if text == "0" else _decimals(text))
    else:
        compared_at = printed.groupby("metric")["published"].transform(printed_decimals)
    rows = zip(printed["value"], printed["published"], compared_at, strict=True)
    return printed.assign(
        of=[", ".join(str(key) for key in row if not pd.isna(key)) for row in printed[keys].itertuples(index=False)],
        decimals=(compared_at * float("nan") if recomputed else compared_at).astype("Int64"),
        match=pd.Series([matches_printed_digits(*row) for row in rows], printed.index, dtype=bool),
    )


def _decimals(text: str) -> int:
    """The decimal places of a number as printed; 7.26e-14 has 16."""
    exponent = Decimal(text).as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"published value {text!r} is no number")
    return -exponent
