"""Matches to the printed digit."""

import pandas as pd
import pytest

from biasatlas.report.replication import (
    count_matches,
    matches_printed_digits,
    printed_decimals,
    replication,
    unmatched,
)


@pytest.mark.parametrize(
    ("value", "published", "decimals", "expected"),
    [
        (0.0915, "0.092", 3, True),
        (0.0914, "0.092", 3, False),
        (0.0925, "0.092", 3, True),  # a tie may round either way
        (0.8, "1", 1, False),
        (0.96, "1", 1, True),
        (-0.2424, "-0.242", 3, True),
        (0.2424, "-0.242", 3, False),
        (float("nan"), "0", 1, False),
        (307.0, "307", 0, True),
    ],
)
def test_matches_printed_digits(value, published, decimals, expected):
    assert matches_printed_digits(value, published, decimals) is expected


def test_a_number_printed_without_decimals_is_compared_at_those_of_its_column():
    assert printed_decimals(pd.Series(["1", "0.3", "0.180"])) == 3


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "model": ["a", "a", "b", "b"],
            "metric": ["ratio", "effect", "ratio", "effect"],
            "value": [0.8, 0.1364, 0.3, float("nan")],
            "published": ["1", "0.136", "0.3", None],
            "difference": [-0.2, 0.0004, 0.0, float("nan")],
        }
    )


def test_count_matches_by_metric(table):
    counts = count_matches(table).set_index("metric")
    assert counts.loc["ratio", ["decimals", "values", "match"]].to_list() == [1, 2, 1]
    assert counts.loc["effect", ["decimals", "values", "match"]].to_list() == [3, 1, 1]
    assert counts.loc["ratio", "largest_difference"] == 0.2


def test_replication_counts_every_table_and_names_what_does_not_match(table):
    tables = {("twbias", "gender"): table}
    summary = replication(tables)
    assert summary[["benchmark", "table", "metric", "values", "match"]].to_numpy().tolist() == [
        ["twbias", "gender", "ratio", 2, 1],
        ["twbias", "gender", "effect", 1, 1],
    ]
    assert unmatched(tables).to_numpy().tolist() == [["twbias", "gender", "a", "ratio", 0.8, "1"]]
