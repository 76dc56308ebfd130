"""What a run could find, by models without bias on its data."""

import pytest
from benches import bench

from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.planning import COLUMNS, IN_ROUNDS, as_text, bases, plan
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


CARD = {"benchmark": "stereoset", "protocol": "recommended", "data": "full", "metric": "own_target_shift", "of": ""}


def test_a_plan_says_what_can_be_found_and_what_has_no_interval():
    """Of StereoSet, since nothing is claimed of BBQ's score, whose confounder has no known limit."""
    tried, cards = (
        bench("stereoset", ("intrasentence",)),
        [CARD | {"tasks": "intrasentence", "verdict": "passed", "reason": ""}],
    )
    table = plan("mine", tried, "recommended", bases(["intrasentence"], load_studies(), "stereoset"), cards)
    assert list(table.columns) == list(COLUMNS)
    shift = table[table["measure"] == "own_target_shift"].set_index("category")
    assert shift.loc["overall", "findable"] > shift.loc["overall", "smallest"] == 0.1
    assert shift.loc["overall", ["items", "n_clusters", "unit", "why"]].tolist() == [34, 12, "nats", ""]
    text = as_text(table)
    assert "| mine | recommended | own_target_shift | intrasentence | overall | nats | 34 | 12 |" in text
    assert "Nothing to plan with: mine recommended own_target_shift intrasentence: gender, profession" in text
    assert "stereotype_score intrasentence" in text and "likelier words" in text


def test_a_plan_in_rounds_says_what_a_verdict_takes():
    tried = bench("stereoset", ("intrasentence",))
    cards = [CARD | {"tasks": "intrasentence", "verdict": "passed", "reason": ""}]
    given = ("mine", tried, "recommended", bases(["intrasentence"], load_studies(), "stereoset"), cards)
    assert plan(*given)[list(IN_ROUNDS)].isna().all(axis=None)
    table = plan(*given, families=2)
    row = table[(table["measure"] == "own_target_shift") & (table["category"] == "overall")].iloc[0]
    shares, chances = ([row[f"{name}_{times}d"] for times in (1, 2, 4)] for name in ("asked", "decided"))
    assert all(0.5 <= share <= 1 for share in shares)  # half of its 34 items are the first round
    assert 0 <= chances[0] < 0.1
    assert chances[0] <= chances[1] <= chances[2] <= 1
    assert "asked 4d" in as_text(table)
    assert table.loc[table["category"] != "overall", list(IN_ROUNDS)].isna().all(axis=None)


def test_a_plan_claims_nothing_of_what_has_a_confounder():
    card = {**CARD, "benchmark": "bbq", "metric": "bias_score", "tasks": "ambig", "verdict": "passed", "reason": ""}
    tried = bench("bbq", ("question",))
    table = plan("mine", tried, "recommended", bases(["question"], load_studies(), "bbq"), [card])
    score = table[table["measure"] == "bias_score"]
    assert score["findable"].isna().all() and score["why"].str.contains('says "unknown"').all()
