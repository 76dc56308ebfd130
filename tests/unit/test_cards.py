"""The validity cards that ship: of studies that exist, and the same in the docs."""

from pathlib import Path

from biasatlas.benchmarks.registry import load_spec
from biasatlas.files import read_csv
from biasatlas.simulation.studies import load_studies
from biasatlas.simulation.validity import as_markdown

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


def test_a_blind_spot_of_no_known_limit_closes_every_card():
    """BBQ's categories with few templates hide it: 5 of their cards had passed, and 20 were open for want of models."""
    closed = {
        (card["benchmark"], card["metric"])
        for card in CARDS.to_dict("records")
        if any(each.metric == card["metric"] and each.closed_by for each in load_spec(card["benchmark"]).headlines)
    }
    assert {("bbq", "bias_score"), ("esbbq", "bias_score"), ("cbbq", "bias_score")} <= closed
    mine = CARDS[[pair in closed for pair in zip(CARDS["benchmark"], CARDS["metric"], strict=True)]]
    assert set(mine["verdict"]) == {"descriptive"}


def test_the_docs_have_the_cards_that_ship():
    assert as_markdown(CARDS) == (ROOT / "docs" / "validity-tables.md").read_text(encoding="utf-8")
