"""Validity cards of a benchmark that someone brings: measured on its own items, honoured by a run until either changes."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_described import described
from test_lookup import targets_of

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import CHANGED, made_from, read_cards
from biasatlas.benchmarks.comparisons.findings import about, closed_by, of_benchmark
from biasatlas.benchmarks.scaffold import start
from biasatlas.errors import UserError
from biasatlas.files import read_csv
from biasatlas.simulation.measure import validate_description
from biasatlas.simulation.studies import studies_of
from biasatlas.simulation.validity import CARD_COLUMNS
from biasatlas.workflow.lookup import Lookup
from biasatlas.workflow.paths import files, filled, places

SHIPPED = str(ROOT / "resources/simulation/cards.csv")


def passed(path, folder, **changed):
    """A card of a shift of sides, beside the description, as `validate-benchmark` writes it."""
    card = dict.fromkeys(CARD_COLUMNS, np.nan) | {
        "benchmark": "elsewhere.yaml",
        "protocol": "recommended",
        "data": "own",
        "tasks": "pair",
        "metric": "side_shift",
        "of": "pair, overall",
        "verdict": "passed",
        "made_from": made_from(path, folder),
    }
    pd.DataFrame([card | changed]).to_csv(path.replace(".yaml", ".cards.csv"), index=False)


def cards_of(path, data):
    """What a job is given of a run of one's own benchmark."""
    benchmarks = {"mine": {"benchmark": path, "data": f"{data}/"}}
    models = {"fair": {"kind": "simulated"}}
    find = Lookup(targets_of(benchmarks=benchmarks, models=models), unchanged=str, local=str, source=str)
    tree = find.cards()
    given = {**filled(places(tree), files(tree)), "shipped": SHIPPED}
    return about(of_benchmark(read_cards(given), path, "recommended"), "side_shift", ["pair"], "overall")


def test_a_card_beside_a_description_opens_its_verdicts(tmp_path):
    path = described(tmp_path, "pairs")
    assert closed_by(cards_of(path, tmp_path / "data")) == "what it mistakes for bias was not tried"
    passed(path, tmp_path / "data")
    assert closed_by(cards_of(path, tmp_path / "data")) == ""


@pytest.mark.parametrize("what", ["data", "description"])
def test_a_card_counts_until_the_data_or_the_description_change(tmp_path, what):
    path = described(tmp_path, "pairs")
    passed(path, tmp_path / "data")
    if what == "data":
        file = tmp_path / "data/data.csv"
        file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
    else:
        described(tmp_path, "pairs", stereotype={"women": ["engineer"], "men": ["nurse"]})
    (card,) = cards_of(path, tmp_path / "data")
    assert (card["verdict"], card["reason"]) == ("inconclusive", CHANGED)
    assert CHANGED in closed_by([card])


def test_what_changes_no_number_leaves_a_card_as_it_is(tmp_path):
    path = described(tmp_path, "pairs")
    passed(path, tmp_path / "data")
    (tmp_path / "data/README").write_text("who made it")
    described(tmp_path, "pairs", citation="Somebody, 2026")
    assert closed_by(cards_of(path, tmp_path / "data")) == ""


def test_pinned_data_count_alike_in_a_folder_and_at_their_source(mirror):
    assert made_from("rubia", mirror / "rubia") == made_from("rubia", None)


@pytest.mark.parametrize(
    ("family", "tasks"),
    [("pairs", ["pair", "pair_choice"]), ("questions", ["question"]), ("decisions", ["decision"]), ("contexts", [])],
)
def test_studies_are_of_headlines_whose_null_is_known(tmp_path, family, tasks):
    path = described(tmp_path, family)
    studies = studies_of(path, family)
    assert list(studies) == tasks
    declared = {each.metric for each in registry.load_spec(path).headlines if each.null is not None}
    assert {each.metric for study in studies.values() for each in study.headlines} <= declared


def test_a_study_of_one_s_own_items_writes_cards(tmp_path):
    """Two models are too few to pass, and so are five times as many, which are asked where two leave it open."""
    path = described(tmp_path, "questions")
    said = list(validate_description(path, str(tmp_path / "data"), 2))
    (study,) = studies_of(path, "questions").values()
    asked = [line.split(": ")[1:] for line in said if line.startswith("question: ")]
    assert [setting for setting, count in asked if count == "2 models"] == study.settings()
    again = [setting for setting, count in asked if count == "10 models"]
    assert again and set(again) <= set(study.settings()) and not [name for name in again if study.dose(name)]
    written = read_csv(tmp_path / "mine.cards.csv")
    assert set(written["of"]) == {"overall, ambig", "overall, disambig", "age, ambig", "age, disambig"}
    assert set(written["seeds"]) == {2} and "passed" not in set(written["verdict"])
    assert set(written["made_from"]) == {made_from(path, tmp_path / "data")}
    assert "bias_score, age, ambig: " in "\n".join(said) and said[-1].startswith(f"{tmp_path}/mine.cards.csv: written")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("bbq", "bbq: its studies ship with the workflow"),
        ("mine", "mine.yaml: no headline of it says what a model"),
        ("discrim_eval", "discrim_eval: this benchmark has none of the 3 placebos that a verdict needs"),
    ],
)
def test_where_nothing_can_be_validated_the_reason_is_said(tmp_path, name, sentence):
    path = described(tmp_path, "contexts") if name == "mine" else name
    with pytest.raises(UserError) as error:
        list(validate_description(path, str(tmp_path / "data") if name == "mine" else "", 2))
    assert sentence in str(error.value)


def test_an_interruption_ends_a_validation_at_once(tmp_path, monkeypatch):
    """Ctrl-C goes to every process of the terminal; what waits, minutes of it, must not begin."""
    monkeypatch.chdir(tmp_path)
    start("mine", "decisions")
    process = subprocess.Popen(
        [ROOT / "bias-atlas", "validate-benchmark", "./mine.yaml", "./mine"],
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline().startswith("decision: bias-0: ")
    os.killpg(process.pid, signal.SIGINT)
    try:
        assert process.communicate(timeout=20)[1] == "error: interrupted\n"
        assert process.returncode == 130 and not (tmp_path / "mine.cards.csv").exists()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
