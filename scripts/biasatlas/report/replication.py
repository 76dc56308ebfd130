"""How much of a published table comes out again, to the digit that was printed."""

from decimal import Decimal

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


def count_matches(table: pd.DataFrame) -> pd.DataFrame:
    """By metric of ``table``: how many ``values`` have a published number, and how many of them ``match`` it.

    ``published`` holds numbers as printed, in strings (missing or empty where nothing was printed). A published number
    beside a missing value is no match. Also ``decimals``, the places compared at, and ``largest_difference``.
    """
    printed = table[table["published"].notna() & (table["published"] != "")]
    rows = []
    for metric, group in printed.groupby("metric", sort=False):
        decimals = printed_decimals(group["published"])
        pairs = zip(group["value"], group["published"], strict=True)
        rows.append(
            {
                "metric": metric,
                "decimals": decimals,
                "values": len(group),
                "match": sum(matches_printed_digits(value, text, decimals) for value, text in pairs),
                "largest_difference": group["difference"].abs().max(),
            }
        )
    return pd.DataFrame(rows, columns=["metric", "decimals", "values", "match", "largest_difference"])
