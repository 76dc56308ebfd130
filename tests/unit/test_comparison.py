"""DBB's Tables 1 and 5 out of the baselines' tables."""

import pandas as pd
import pytest

from biasatlas.benchmarks.comparison import compare_refusals, compare_scores
from biasatlas.files import TABLE_COLUMNS, read_published

COUNTS = {"n": 10, "refused": 2, "unparseable": 0, "missing": 0}


def row(metric, value, **keys):
    return {
        "model": "mine",
        **keys,
        "metric": metric,
        "value": value,
        "ci_low": value - 1,
        "ci_high": value + 1,
        **COUNTS,
    }


@pytest.fixture
def tables():
    bbq = {"category": "overall", "label_type": "all"}
    return {
        ("bbq", "bias"): pd.DataFrame(
            [
                row("bias_score", 2.0, condition="ambig", **bbq),
                row("accuracy", 60.0, condition="ambig", **bbq),
                row("accuracy", 71.0, condition="disambig", **bbq),
                row("accuracy", 9.0, condition="disambig", **bbq | {"category": "Age"}),
                row("refusal_rate", 6.0, condition="ambig", **bbq),
            ]
        ),
        ("crows_pairs", "prompted"): pd.DataFrame([row("stereotype_score", 65.0, category="overall", direction="all")]),
        ("crows_pairs", "scores"): pd.DataFrame([row("stereotype_score", 55.0, category="overall", direction="all")]),
        ("stereoset", "prompted"): pd.DataFrame([row("icat", 54.0, task="intrasentence_choice", category="overall")]),
    }


def test_table_1_takes_the_overall_rows_in_printed_units(tables):
    table = compare_scores(tables, read_published, {"mine": "Llama-3.1-8B"}).set_index(["benchmark", "reading"])
    assert tuple(table.columns[-len(TABLE_COLUMNS) :]) == TABLE_COLUMNS
    assert table["value"].to_dict() == {
        ("BBQ-ambig", "prompted"): 0.02,
        ("BBQ-disambig", "prompted"): 71.0,
        ("CrowS-Pairs", "prompted"): 65.0,
        ("StereoSet intrasentence", "prompted"): 54.0,
        ("CrowS-Pairs", "likelihood"): 55.0,
    }
    printed = table["published"].dropna().astype(float)
    assert printed.to_list() == [0.0201, 71.14, 65.58, 54.26]
    assert table.loc[("BBQ-disambig", "prompted"), "difference"] == pytest.approx(-0.14)
    assert table.loc[("BBQ-ambig", "prompted"), ["ci_low", "ci_high"]].tolist() == pytest.approx([0.01, 0.03])


def test_table_5_has_refusal_rates(tables):
    table = compare_refusals(tables, read_published, {"mine": "Llama-3.1-8B"})
    assert table[["benchmark", "value", "published"]].to_numpy().tolist() == [["BBQ-ambig", 6.0, "6.04"]]


def test_without_tables_there_is_an_empty_comparison():
    assert compare_scores({}, read_published, {}).empty
