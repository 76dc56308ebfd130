"""The validity cards that ship: of studies that exist, and the same in the docs."""

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest

from biasatlas.benchmarks.comparisons.cards import in_rounds
from biasatlas.benchmarks.comparisons.findings import about, closed
from biasatlas.benchmarks.registry import load_spec
from biasatlas.benchmarks.twbias.spec import ETHNIC_GROUPS, GENDERS
from biasatlas.files import read_csv
from biasatlas.simulation.studies import load_studies
from biasatlas.simulation.validity import as_markdown
from biasatlas.stats.rounds import Analysis

ROOT = Path(__file__).parents[2]
CARDS = read_csv(ROOT / "resources" / "simulation" / "cards.csv")


def test_a_card_is_of_a_study_and_says_what_was_not_tried():
    studies = load_studies()
    for card in CARDS.to_dict("records"):
        study = studies[card["study"]]
        asked = (study.benchmark, study.protocol, ", ".join(study.tasks))
        assert (card["benchmark"], card["protocol"], card["tasks"]) == asked
        tried = {each.split(" ")[0] for each in str(card["tried"]).split("; ")}
        left_out = {name for name in str(card["not_tried"]).split(", ") if name != "nan"}
        assert tried.isdisjoint(left_out)
        assert set(study.fitting()) <= tried | left_out, card["study"]
        assert study.has(card["metric"], card["of"]), (card["study"], card["of"])
    assert not CARDS.duplicated(["study", "data", "metric", "of"]).any()


def test_no_card_passes_on_too_few_models():
    """0 of 30 models called biased exclude a share of .1 at the level .05, and none of fewer do."""
    assert CARDS[CARDS["verdict"] == "passed"]["seeds"].min() >= 30


def test_a_confounder_of_no_known_limit_closes_every_card():
    """Categories with few templates hide it: 6 of such cards had passed, and 42 were open for want of models."""
    shut = {
        (card["benchmark"], card["metric"])
        for card in CARDS.to_dict("records")
        if any(each.metric == card["metric"] and each.closed_by for each in load_spec(card["benchmark"]).headlines)
    }
    assert {("bbq", "bias_score"), ("esbbq", "bias_score"), ("cbbq", "bias_score")} <= shut
    mine = CARDS[[pair in shut for pair in zip(CARDS["benchmark"], CARDS["metric"], strict=True)]]
    assert set(mine["verdict"]) == {"descriptive"}


@pytest.mark.parametrize("pair", [GENDERS, *combinations(ETHNIC_GROUPS, 2)])
def test_every_two_groups_of_twbias_can_get_a_verdict(pair):
    """A card of a row over sentences, which no headline is about, had kept hakka and hoklo without one.

    Indigenous against Hoklo has none: 500 models show that its estimate is off, by .0038 nats of 4,000.
    """
    told = {"metric": "own_group_advantage", "part": "", "category": "-".join(pair)}
    evidence = SimpleNamespace(**told, declared=None, analyses=())
    why = closed(CARDS.to_dict("records"), "twbias", "recommended", evidence)
    assert ("off at a bias of 0.2" in why) if set(pair) == {"indigenous", "hoklo"} else (why == "")


def test_cards_of_rounds_are_those_of_studies_in_rounds():
    named = {name for name, study in load_studies().items() if in_rounds({"study": name})}
    assert named == {name for name, study in load_studies().items() if study.by == "rounds"}


@pytest.mark.parametrize("analyses", [(), (Analysis(0.5, 1.0),)])
def test_a_card_of_rounds_counts_for_models_that_are_asked_so_alone(analyses):
    told = {"benchmark": "twbias", "protocol": "recommended", "data": "full", "metric": "m", "tasks": "t", "of": "a"}
    cards = [
        told | {"study": "twbias_own", "verdict": "passed", "reason": ""},
        told | {"study": "twbias_rounds", "verdict": "descriptive", "reason": "false alarms (bias-0)"},
    ]
    evidence = SimpleNamespace(metric="m", part="", category="a", declared=None, analyses=analyses)
    why = "it failed its validity test: false alarms (bias-0)" if analyses else ""
    assert closed(cards, "twbias", "recommended", evidence) == why


def test_a_category_with_a_hyphen_has_its_own_card():
    told = {"benchmark": "b", "protocol": "p", "data": "full", "metric": "m", "tasks": "t", "study": "s", "reason": ""}
    cards = [told | {"of": "sexual-orientation", "verdict": "passed"}, told | {"of": "age", "verdict": "descriptive"}]
    assert [card["of"] for card in about(cards, "m", [], "sexual-orientation")] == ["sexual-orientation"]


def test_the_docs_have_the_cards_that_ship():
    assert as_markdown(CARDS) == (ROOT / "docs" / "validity-tables.md").read_text(encoding="utf-8")
