"""The audit of items finds each oddity that is put in, none in sound items, and in published data those that are known."""

import pandas as pd
import pytest

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.audit import audit
from biasatlas.resources import Resources
from biasatlas.sources import names_in, raw_files


def read(benchmark, folder):
    names = names_in(folder)
    return registry.read_items(benchmark)(raw_files(names, [folder / name for name in names]), Resources({}))


@pytest.fixture(scope="module")
def questions():
    """EsBBQ's sample: sound, and its options change places."""
    return read("esbbq", ROOT / "resources/samples/esbbq")


@pytest.fixture(scope="module")
def pairs():
    return read("crows_pairs", ROOT / "resources/samples/crows_pairs")


def test_sound_items_have_nothing_odd(questions, pairs):
    assert audit(questions) == [] and audit(pairs) == []


def with_first(items, **changes):
    """``items`` whose first row has other values."""
    changed = items.copy()
    for name, value in changes.items():
        changed.loc[changed.index[0], name] = value
    return changed


#: What is changed in the first item, and the sentence. The first is an ambiguous question about "El abuelo".
ODD_QUESTIONS = [
    (lambda item: {"context": "Un ni√±o"}, "have letters of a wrong encoding"),
    (lambda item: {"question": "Â¿QuiÃ©n?"}, "have letters of a wrong encoding"),
    (lambda item: {"A": item["B"].upper()}, "have two options that differ in case alone, or in nothing"),
    (lambda item: {"A": item["B"].replace(" ", "\u00a0")}, "have two options that differ in case alone, or in nothing"),
    (lambda item: {"A": f"\u200b {item['B']}"}, "have two options that differ in case alone, or in nothing"),
    (lambda item: {"A": "José", "B": "Jose\u0301"}, "have two options that differ in case alone, or in nothing"),
    (lambda item: {"gold": item["target"]}, "do not say who it was, and yet a person is right"),
    (lambda item: {"condition": "disambig"}, "say who it was, and yet 'unknown' is right"),
    (lambda item: {"target": None}, "have no option that follows the stereotype"),
]


@pytest.mark.parametrize(("change", "sentence"), ODD_QUESTIONS)
def test_an_odd_question_is_named(questions, change, sentence):
    item = questions.iloc[0]
    assert audit(with_first(questions, **change(item))) == [
        f"1 of {len(questions)} items {sentence}: {item['item_id']}"
    ]


def test_the_same_question_in_another_order_of_its_options_is_the_same(questions):
    item = questions.iloc[0]
    again = questions.iloc[[0]].assign(item_id="again", A=item["B"], B=item["A"])
    found = audit(pd.concat([questions, again], ignore_index=True))
    assert found == [f"1 of {len(questions) + 1} items ask what another one does, in the same words: again"]


def test_options_that_stand_in_one_place_and_one_sided_answers_are_told(questions):
    fixed = questions.assign(unknown="C")
    assert any(
        each.startswith("the option unknown stands mostly in one place (0 times A, 0 times B,") for each in audit(fixed)
    )
    for untold in (audit(fixed, shuffled=True), audit(fixed.iloc[:6])):
        assert not any("stands mostly in one place" in each for each in untold)
    one_sided = questions[(questions["condition"] == "ambig") | (questions["gold"] == questions["target"])]
    assert any("the stereotype is right in 100% of" in each for each in audit(one_sided))


def test_odd_pairs_are_named(pairs):
    first = pairs.iloc[0]
    assert audit(with_first(pairs, less=first["more"].upper())) == [
        f"1 of {len(pairs)} items have two texts that differ in case alone, or in nothing: {first['item_id']}"
    ]
    spaced = with_first(pairs, less=first["more"].replace(" ", "  "))
    assert audit(spaced) == audit(with_first(pairs, less=first["more"]))
    twice = pd.concat([pairs, pairs.iloc[[0]].assign(item_id="again")], ignore_index=True)
    assert audit(twice) == [f"1 of {len(twice)} items are there twice, in the same words: again"]
    turned = pd.concat([pairs, pairs.iloc[[0]].assign(item_id="turned", more=first["less"], less=first["more"])])
    assert audit(turned) == [
        f"2 of {len(turned)} items are there with the other text as the stereotype, too: {first['item_id']}, turned"
    ]


#: Benchmark -> the beginning of each sentence on its published data.
KNOWN = {
    "kobbq": ["10 of 2280 items ask what another one does, in the same words: disability_status-003b-002-amb-bsd,"],
    "rubia": ["215 of 2220 items are there twice, in the same words: 1000,"],
    "crows_pairs": ["1 of 1508 items are there twice, in the same words: 1502"],
    "crows_pairs_nl": ["2 of 1463 items are there with the other text as the stereotype, too: 1094, 15"],
    "winogender": [],
}


@pytest.mark.parametrize("benchmark", KNOWN)
def test_what_is_odd_in_published_data_is_what_is_known(mirror, benchmark):
    found = audit(read(benchmark, mirror / benchmark))
    assert len(found) == len(KNOWN[benchmark])
    assert all(each.startswith(known) for each, known in zip(found, KNOWN[benchmark], strict=True))
