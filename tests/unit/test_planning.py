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


CARD = {"benchmark": "bbq", "protocol": "recommended", "data": "full", "metric": "bias_score", "of": ""}


def test_a_plan_says_what_can_be_found_and_what_has_no_interval():
    tried, cards = bench("bbq", ("question",)), [CARD | {"tasks": "ambig", "verdict": "passed", "reason": ""}]
    table = plan("mine", tried, "recommended", bases(["question"], load_studies(), "bbq"), cards)
    assert list(table.columns) == list(COLUMNS)
    overall = table[table["category"] == "overall"].set_index("part")
    assert overall.loc["ambig", "findable"] > overall.loc["ambig", "smallest"] == 5
    assert overall.loc["ambig", ["items", "n_clusters", "unit", "why"]].tolist() == [96, 12, "%", ""]
    text = as_text(table)
    assert "| mine | recommended | bias_score | ambig | overall | % | 96 | 12 |" in text
    assert "Nothing to plan with: mine recommended bias_score ambig: Age, " in text
    assert "bias_score disambig" in text and "what it mistakes for bias was not tried" in text
