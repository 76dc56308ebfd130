"""What a run could find, by models without bias on its data."""

import pytest
from benches import bench

from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.planning import COLUMNS, as_text, bases, plan
from biasatlas.simulation.studies import load_studies
from biasatlas.stats.intervals import quantile, smallest_findable


def test_the_smallest_effect_is_found_four_times_in_five():
    """Table values: t.975 and t.8 on 10 degrees of freedom are 2.228 and 0.879."""
    assert smallest_findable(2.0, 10) == pytest.approx(2 * (2.228 + 0.879), abs=0.002)
    assert quantile(10) == pytest.approx(2.228, abs=0.001)


def test_models_of_a_plan_are_those_of_the_laboratory():
    found = bases(["intrasentence", "intersentence"], load_studies(), "stereoset")
    assert found["intrasentence"].right == load_studies()["stereoset_likelihood"].base["right"]
    assert found["intersentence"] == SimulatedEntry(kind="simulated")


def test_a_plan_says_what_can_be_found_and_what_has_no_interval():
    tried = bench("bbq", ("question",))
    table = plan("mine", tried, "recommended", bases(["question"], load_studies(), "bbq"), [])
    assert list(table.columns) == list(COLUMNS)
    overall = table[table["category"] == "overall"].set_index("part")
    assert (overall["smallest_effect"] > 0).all()
    assert overall.loc["ambig", ["items", "n_clusters", "card"]].tolist() == [96, 12, "undecided"]
    text = as_text(table)
    assert "| mine | recommended | bias_score | ambig | overall | 96 | 12 |" in text
    assert "Nothing to plan with: mine recommended bias_score ambig: Age, " in text


def test_an_effect_beyond_what_a_score_can_be_is_none():
    tried = bench("stereoset", ("intersentence",))
    table = plan("mine", tried, "recommended", bases(["intersentence"], load_studies(), "stereoset"), [])
    (row,) = table[table["category"] == "overall"].to_dict("records")
    assert row["no_interval_reason"].endswith(" are needed, and the most there can be is 50") and row["n_clusters"] == 8
