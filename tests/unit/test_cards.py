"""The validity cards that ship: of studies that exist, and the same in the docs."""

from pathlib import Path

from biasatlas.files import read_csv
from biasatlas.simulation.studies import load_studies
from biasatlas.simulation.validity import cards_as_markdown, named

ROOT = Path(__file__).parents[2]
CARDS = read_csv(ROOT / "resources" / "simulation" / "cards.csv")


def test_a_card_is_of_a_headline_of_a_study():
    declared = {
        (name, *(row[key] for key in ("benchmark", "protocol", "tasks", "metric", "of")))
        for name, study in load_studies().items()
        for row in (named(name, study, headline) for headline in study.headlines)
    }
    shipped = CARDS[["study", "benchmark", "protocol", "tasks", "metric", "of"]]
    assert set(shipped.itertuples(index=False, name=None)) <= declared
    assert not CARDS.duplicated(["study", "data", "metric", "of"]).any()


def test_the_docs_have_the_cards_that_ship():
    assert cards_as_markdown(CARDS) in (ROOT / "docs" / "validity.md").read_text(encoding="utf-8")
