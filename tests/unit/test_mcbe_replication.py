"""The paper's statistics, recomputed from its printed scores."""

from decimal import Decimal

import pandas as pd
import pytest
from mcbe_cases import PROTOCOLS, PUBLISHED, SPEC, row

from biasatlas.benchmarks import registry


@pytest.fixture(scope="module")
def table():
    return registry.tables("mcbe")["replication"](pd.DataFrame(), PROTOCOLS["recommended"], PUBLISHED, {})


#: docs: what each reading of the Friedman test's blocks gives; PAPER_VS_CODE, section 1.1.
FRIEDMAN = {
    "category means over the tasks that apply": (12, 85.17, 4.8e-14),
    "category means without Health and Appearance": (10, 72.53, 1.4e-11),
    "category means without PC": (12, 91.94, 2.2e-15),
    "category means, what does not apply as 0": (12, 94.20, None),
    "category-by-task cells": (43, 89.54, 6.6e-15),
    "category-by-task cells without Health and Appearance": (39, 77.48, 1.6e-12),
    "category-by-task cells, white-box models": (52, 63.50, 3.0e-11),
    "SC alone": (12, 56.80, 1.5e-8),
    "BS alone": (12, 94.78, 6.0e-16),
    "SS alone": (9, 69.56, 5.4e-11),
    "BA alone": (10, 91.98, 2.2e-15),
    "task means": (4, 14.05, 0.17),
}


def match(found: pd.Series) -> bool:
    """Whether a row rounds to the published number at the digits as printed."""
    printed = Decimal(found["published"])
    half_a_digit = Decimal(5).scaleb(printed.as_tuple().exponent - 1)
    return abs(Decimal(repr(float(found["value"]))) - printed) <= half_a_digit


@pytest.mark.parametrize("reading", FRIEDMAN)
def test_friedman_from_printed_scores(table, reading):
    n, statistic, p_value = FRIEDMAN[reading]
    found = row(table, quantity=reading, metric="friedman_chi_square")
    assert (found["n"], round(found["value"], 2), found["published"]) == (n, statistic, "84.27")
    if p_value:
        assert row(table, quantity=reading, metric="friedman_p")["value"] == pytest.approx(p_value, rel=0.04)


def test_every_reading_is_checked(table):
    assert set(table.loc[table["published_in"] == "Appendix E.2", "quantity"]) == set(FRIEDMAN)


def test_correlations_from_printed_scores(table):
    rows = table[table["published_in"] == "Table 12"]
    assert len(rows) == 8 and rows.apply(match, axis=1).all()
    assert row(rows, quantity="BS", metric="pearson_p")["value"] == pytest.approx(2.762e-11, rel=1e-3)
    assert row(rows, quantity="SC", metric="pearson")["value"] == pytest.approx(0.99870, abs=5e-6)


def test_means_from_printed_scores(table):
    found = row(table, published_in="Table 13")
    assert found["value"] == pytest.approx(83.74) and match(found)
    rows = table[table["published_in"] == "Section 5.2"]
    assert rows["value"].round(3).tolist() == [87.687, 80.490, 77.829, 77.113]
    assert rows.apply(match, axis=1).tolist() == [True, True, False, True]  # 77.82 is printed for 77.829


def test_replication_needs_no_scores(table):
    assert len(table) == 36 + 1 + 8 + 1 + 4 + 24
    assert SPEC.tables["replication"].tasks == ()
    assert not table.duplicated(["published_in", "quantity", "metric"]).any()
