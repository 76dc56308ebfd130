"""Matches to the printed digit."""

import pandas as pd
import pytest

from biasatlas.benchmarks.contract import Table
from biasatlas.report.replication import (
    count_matches,
    is_recomputed,
    match_published,
    matches_printed_digits,
    printed_decimals,
    summarise,
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
        (7.259e-14, "7.26e-14", 16, True),
        (7.254e-14, "7.26e-14", 16, False),
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
            "group": ["x", None, None, "x"],
            "metric": ["ratio", "effect", "ratio", "effect"],
            "value": [0.8, 0.1364, 0.3, float("nan")],
            "published": ["1", "0.136", "0.3", None],
            "difference": [-0.2, 0.0004, 0.0, float("nan")],
        }
    )


def test_count_matches_by_metric(table):
    counts = count_matches(match_published({("twbias", "gender"): table}, ())).set_index("metric")
    assert counts.loc["ratio", ["decimals", "values", "match"]].to_list() == [1, 2, 1]
    assert counts.loc["effect", ["decimals", "values", "match"]].to_list() == [3, 1, 1]
    assert counts.loc["ratio", "largest_difference"] == 0.2


def test_every_table_is_counted_and_what_does_not_match_is_named(table):
    numbers = match_published({("twbias", "gender"): table}, ())
    summary = count_matches(numbers)
    assert summary[["benchmark", "table", "metric", "values", "match"]].to_numpy().tolist() == [
        ["twbias", "gender", "ratio", 2, 1],
        ["twbias", "gender", "effect", 1, 1],
    ]
    unmatched = numbers[~numbers["match"]]
    assert unmatched[["benchmark", "table", "of", "metric", "value", "published"]].to_numpy().tolist() == [
        ["twbias", "gender", "a, x", "ratio", 0.8, "1"]
    ]
    text = summarise(numbers)
    assert "2 of 3 published values reproduced to the printed digit." in text
    assert text.count("The others, which") == 1


def test_a_missing_value_beside_a_published_one_is_no_match(table):
    table["published"] = ["1", "0.136", "0.3", "0.1"]
    numbers = match_published({("twbias", "gender"): table}, ())
    assert numbers["match"].tolist() == [False, True, True, False]


def test_recomputed_numbers_are_compared_each_at_its_own_digits():
    """As the statistics that a paper's other tables imply: one metric, printed in several places."""
    table = pd.DataFrame(
        {
            "statistic": ["Table 1", "Table 2", "Friedman", "Table 3", "Table 4"],
            "metric": "p_value",
            "value": [4641.2, 0.9986, 4.8e-14, 3e-4, 1e-9],
            "published": ["4641", "0.999", "7.26e-14", "0", "0"],
            "difference": 0.0,
        }
    )
    numbers = match_published({("mcbe", "replication"): table}, {("mcbe", "replication")})
    assert numbers["match"].tolist() == [True, True, False, False, True]
    assert count_matches(numbers)[["values", "match"]].to_numpy().tolist() == [[5, 3]]
    as_a_column = match_published({("mcbe", "replication"): table}, ())
    assert as_a_column["match"].tolist() == [False, False, False, False, False]
    assert "own" in summarise(numbers)


def test_a_table_that_nothing_was_printed_for_has_no_row(table):
    other = table.assign(published=None, difference=float("nan"))
    numbers = match_published({("twbias", "gender"): table, ("twbias", "prompts"): other}, ())
    assert set(numbers["table"]) == {"gender"}
    assert len(match_published({("twbias", "prompts"): other}, ())) == 0


def test_a_recomputed_table_reads_no_scores_and_stands_beside_no_one_table():
    assert is_recomputed(Table("The paper's statistics, recomputed", ()))
    assert not is_recomputed(Table("Means", ("PC",)))
    assert not is_recomputed(Table("Sizes", (), "mcbe_sizes"))
    assert not is_recomputed(Table("Agreement", (), file="ratings"))


def test_a_published_value_that_is_no_number_is_an_error(table):
    table["published"] = ["1", "n/a", "NaN", None]
    with pytest.raises((ValueError, ArithmeticError)):
        match_published({("twbias", "gender"): table}, ())
