"""DBB beside other benchmarks: its Tables 1 and 5 out of the baselines' tables, its concepts beside BBQ's questions."""

import pandas as pd
import pytest

from biasatlas.benchmarks.comparison import (
    METRICS,
    compare_dbb_bbq,
    compare_refusals,
    compare_scores,
    compare_sizes,
    match_distribution,
    match_examples,
)
from biasatlas.benchmarks.dbb.figures import draw_distribution, draw_match
from biasatlas.benchmarks.shared import styles
from biasatlas.benchmarks.shared.estimates import Counts, Estimate
from biasatlas.benchmarks.shared.estimates import row as table_row
from biasatlas.columns import TABLE_COLUMNS
from biasatlas.files import write_table
from biasatlas.resources import Resources

ALL = ("dbb", "bbq", "crows_pairs", "stereoset")
PUBLISHED = Resources.shipped("published/dbb_*.csv").published


def row(metric, value, **keys):
    estimated = table_row(
        {"model": "mine", **keys}, metric, Estimate(value, value - 1, value + 1, 10), Counts(refused=2)
    )
    return estimated | {"of": None}  # as read from a file


@pytest.fixture
def tables():
    bbq = {"category": "overall", "label_type": "all"}
    return {
        ("dbb", "bias"): pd.DataFrame([row("count", 40_000.0, category="All"), row("count", 9.0, category="Age")]),
        ("bbq", "bias"): pd.DataFrame(
            [
                row("bias_score", 2.0, condition="ambig", **bbq),
                row("accuracy", 60.0, condition="ambig", **bbq),
                row("accuracy", 71.0, condition="disambig", **bbq),
                row("accuracy", 9.0, condition="disambig", **bbq | {"category": "Age"}),
                row("refusal_rate", 5.0, condition="ambig", **bbq),
                row("unanswered_rate", 6.0, condition="ambig", **bbq),
            ]
        ),
        ("crows_pairs", "prompted"): pd.DataFrame([row("stereotype_score", 65.0, category="overall", direction="all")]),
        ("crows_pairs", "scores"): pd.DataFrame([row("stereotype_score", 55.0, category="overall", direction="all")]),
        ("stereoset", "prompted"): pd.DataFrame([row("icat", 54.0, task="intrasentence_choice", category="overall")]),
    }


def test_table_1_takes_the_overall_rows_in_printed_units(tables):
    table = compare_scores(tables, PUBLISHED, {"mine": "Llama-3.1-8B"}, ALL).set_index(["benchmark", "asked"])
    assert tuple(table.columns[-len(TABLE_COLUMNS) :]) == TABLE_COLUMNS
    assert table["value"].to_dict() == {
        ("DBB", "prompted"): 40_000.0,
        ("BBQ-ambig", "prompted"): 0.02,
        ("BBQ-disambig", "prompted"): 71.0,
        ("CrowS-Pairs", "prompted"): 65.0,
        ("StereoSet intrasentence", "prompted"): 54.0,
        ("CrowS-Pairs", "likelihood"): 55.0,
    }
    printed = table["published"].dropna().astype(float)
    assert printed.to_list() == [44993, 0.0201, 71.14, 65.58, 54.26]
    assert table.loc[("BBQ-disambig", "prompted"), "difference"] == pytest.approx(-0.14)
    assert table.loc[("BBQ-ambig", "prompted"), ["ci_low", "ci_high"]].tolist() == pytest.approx([0.01, 0.03])


def test_print_stands_beside_the_printed_population_alone(tables):
    table = compare_scores(tables, PUBLISHED, {"mine": "Llama-3.1-8B"}, ["crows_pairs"])
    assert table.loc[table["published"].notna(), "benchmark"].to_list() == ["CrowS-Pairs"]


def test_table_5_has_rates_of_requests_without_an_answer(tables):
    table = compare_refusals(tables, PUBLISHED, {"mine": "Llama-3.1-8B"}, ALL)
    assert table[["benchmark", "value", "published"]].to_numpy().tolist() == [["BBQ-ambig", 6.0, "6.04"]]


def test_without_tables_there_is_an_empty_comparison():
    assert compare_scores({}, PUBLISHED, {}, ()).empty


def test_every_metric_is_declared(tables, tmp_path):
    for compare in (compare_scores, compare_refusals):
        write_table(compare(tables, PUBLISHED, {}, ()), tmp_path / "table.csv", METRICS)


# Concepts beside questions


def test_match_bbq():
    dbb = pd.DataFrame(
        {
            "model": "m",
            "source_id": ["bbq/Age/4"] * 2 + ["bbq/Age/9", "sofa/4"],
            "status": "ok",
            "score": [10.0, 30, 5, 5],
            "type": "Age 1",
        }
    ).assign(concept_1="a", concept_2="b")
    bbq = pd.DataFrame(
        {
            "model": "m",
            "item_id": ["Age/4", "Age/5", "Age/6", "Age/7"],
            "template": ["Age/1", "Age/1", "Age/1", "Age/2"],
            "persons": "old / young",
            "condition": ["ambig", "ambig", "disambig", "ambig"],
            "biased": [0.5, 1.0, 0, 0],
            "counter": [0.25, 0.0, 1, 1],
            "status": "ok",
        }
    )
    table, model_styles = compare_dbb_bbq(dbb, bbq), styles.styles(["m"])
    assert table[["metric", "value", "n"]].to_numpy().tolist() == [["dbb_score", 20.0, 2], ["bbq_bias", 62.5, 2]]
    assert set(table["metric"]) <= set(METRICS)
    assert len(draw_match(table, model_styles).axes) == 1
    none = compare_dbb_bbq(dbb.iloc[3:], bbq)
    assert none.empty
    assert "Nothing to draw" in draw_match(none, model_styles).texts[0].get_text()


def test_an_item_without_target_is_not_applicable():
    dbb = pd.DataFrame({"model": ["m"], "source_id": "bbq/Age/4", "status": "ok", "score": 10.0, "type": "Age 1"})
    bbq = pd.DataFrame(
        {
            "model": "m",
            "item_id": ["Age/4", "Age/5", "Age/6"],
            "template": "Age/1",
            "persons": "old / young",
            "condition": "ambig",
            "biased": [0.5, None, None],
            "counter": [0.25, None, None],
            "status": ["ok", "ok", "refused"],
        }
    )
    table = compare_dbb_bbq(dbb.assign(concept_1="a", concept_2="b"), bbq).set_index("metric")
    assert table.loc["bbq_bias", ["value", "n", "refused", "not_applicable"]].tolist() == [25.0, 1, 1, 1]


def instances():
    """Two concepts of one BBQ category: one whose question shows bias, one whose question shows none."""
    dbb = pd.DataFrame(
        {
            "model": "m",
            "source_id": ["bbq/Age/1", "bbq/Age/1", "bbq/Age/2"],
            "status": "ok",
            "score": [5.0, 95.0, 15.0],
            "type": "Age 1",
            "template_id": ["t1", "t1", "t2"],
            "identity_1": "Old",
            "identity_2": "Young",
            "concept_1": ["a", "a", "c"],
            "concept_2": ["b", "b", "d"],
        }
    )
    bbq = pd.DataFrame(
        {
            "model": "m",
            "item_id": ["Age/1", "Age/2"],
            "template": ["Age/1", "Age/2"],
            "persons": "old / young",
            "condition": "ambig",
            "biased": [0.5, 1.0],
            "counter": [0.5, 0.0],
            "status": "ok",
        }
    )
    return dbb, bbq


def test_instances_stand_apart_where_the_question_shows_no_bias():
    dbb, bbq = instances()
    table = match_distribution(dbb, bbq, compare_dbb_bbq(dbb, bbq)).set_index(["bbq", "score_low"])
    assert set(table["metric"]) <= set(METRICS)
    assert table.loc["no bias", "value"].loc[[0, 90]].tolist() == [0.5, 0.5]
    assert table.loc["bias", "value"][10] == 1 and table.loc["bias", "n"].eq(1).all()
    assert len(draw_distribution(table.reset_index(), styles.styles(["m"])).axes) == 1


def test_an_example_is_the_strongest_instance_of_a_concept_without_bias_in_bbq():
    dbb, bbq = instances()
    names = [f"{template}/Age 1/{who}" for template in ("t1", "t2") for who in ("Old", "Young")]
    items = pd.DataFrame({"item_id": names, "context": "[[X]] sat.", "option_1": "One", "option_2": "Two"})
    items["descriptor_paper"] = items["item_id"]
    asked = bbq[["item_id", "template", "condition"]].assign(context="A bench.", question="Who?")
    (row,) = match_examples(dbb, bbq, compare_dbb_bbq(dbb, bbq), items, asked).to_dict("records")
    assert (row["bbq"], row["dbb"]) == ("A bench. Who?", "[[X]] sat. A) One B) Two")
    assert (row["described_as"], row["value"], row["bbq_bias"]) == ("t1/Age 1/Old / t1/Age 1/Young", 95.0, 0.0)


def test_without_a_shared_concept_both_are_empty():
    dbb, bbq = instances()
    none = dbb.iloc[:0]
    matched = compare_dbb_bbq(none, bbq)
    assert match_distribution(none, bbq, matched).empty
    assert match_examples(none, bbq, matched, pd.DataFrame({"item_id": []}), bbq).empty
    assert "Nothing to draw" in draw_distribution(matched, styles.styles(["m"])).texts[0].get_text()


def test_cbbq_enters_what_mcbe_says_of_size():
    """Section 5.2: CBBQ's shares of the models whose name says a size, below what the two papers print."""
    printed = table_row(
        {"benchmark": "CBBQ", "model": "GLM-10B", "size": "10B", "measure": "ambiguous"}, "cbbq_bias", Estimate(0.48)
    )
    overall = {"category": "overall"}
    cbbq = [
        row("biased_share", 45.0, condition="ambig", **overall),
        row("biased_share", 55.0, condition="disambig", **overall),
        row("bias_score", 9.0, condition="ambig", **overall),
        row("biased_share", 9.0, condition="ambig", category="age"),
        row("biased_share", 9.0, condition="ambig", **overall) | {"model": "sizeless"},
    ]
    found = compare_sizes(
        {("mcbe", "sizes_elsewhere"): pd.DataFrame([printed]), ("cbbq", "bias"): pd.DataFrame(cbbq)},
        PUBLISHED,
        {"mine": "Qwen2.5-0.5B-Instruct"},
        (),
    )
    assert list(found) == list(printed)
    keys = ["benchmark", "model", "size", "measure", "value", "ci_low"]
    assert found[keys].to_numpy().tolist()[1:] == [
        ["CBBQ", "Qwen2.5-0.5B-Instruct", "0.5B", "ambiguous", 0.45, 0.44],
        ["CBBQ", "Qwen2.5-0.5B-Instruct", "0.5B", "disambiguated", 0.55, 0.54],
    ]
    assert set(found["metric"]) <= set(METRICS)
