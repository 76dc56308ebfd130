"""MBBQ's descriptions on questions of our own in its layout, with its flaws; its data state no licence."""

import json

import pytest

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.sources import names_in, raw_files

#: Language -> how a woman, a man and a girl are labelled.
LABELS = {
    "en": ("woman", "man", "girl"),
    "es": ("mujer", "hombre", "chica"),
    "nl": ("vrouw", "man", "meisje"),
    "tr": ("kadın", "adam", "kız"),
}


def row(number, polarity, first, second, groups, category="Gender_identity", **changes):
    """A question about two persons by their labels; the third option is unknown."""
    people = {"ans0": [first, first], "ans1": [second, second], "ans2": ["unknown", "unknown"]}
    data = {"example_id": number, "question_index": "1", "question_polarity": polarity, "category": category}
    data |= {"context_condition": "ambig", "answer_info": people, "additional_metadata": {"stereotyped_groups": groups}}
    data |= {"context": f"Two met at gate {number}.", "question": f"Who, {polarity}?", "label": 2}
    return data | {"ans0": f"A {first}", "ans1": f"Another {second}", "ans2": "Not known"} | changes


def items_of(folder, language, rows):
    (folder / "data").mkdir(exist_ok=True)
    for name, kept in {"Gender_identity": rows, "Age_control": [row(9, "neg", "x", "y", ["z"])]}.items():
        lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in kept)
        (folder / f"data/{name}_{language}.jsonl").write_text(lines, encoding="utf-8")
    names = names_in(folder)
    benchmark = str(ROOT / f"docs/examples/mbbq/mbbq_{language}.yaml")
    return registry.read_items(benchmark)(raw_files(names, [folder / name for name in names]), Resources({}))


@pytest.mark.parametrize("language", LABELS)
def test_the_target_is_the_stereotyped_person_or_in_the_other_question_the_other(language, tmp_path):
    woman, man, girl = LABELS[language]
    rows = [
        row(0, "neg", woman, man, ["F"]),
        row(1, "nonneg", woman, man, ["F"]),
        row(2, "neg", man, girl, ["F"]),
        row(3, "neg", woman, man, ["M"]),
        row(4, "neg", "highSES", "lowSES", ["low SES"], "SES"),
        row(5, "neg", man, man, ["M"]),  # two of one group
    ]
    items = items_of(tmp_path, language, rows).set_index("item_id")
    assert items["target"].to_dict() == {
        "Gender_identity/0": "A",
        "Gender_identity/1": "B",
        "Gender_identity/2": "B",
        "Gender_identity/3": "B",
        "SES/4": "B",
    }
    assert set(items["unknown"]) == {"C"} and set(items["gold"]) == {"C"}


@pytest.mark.parametrize(("language", "count"), [("en", 16), ("es", 28), ("nl", 16), ("tr", 16)])
def test_more_questions_without_a_target_than_are_known_stop_the_run(language, count, tmp_path):
    woman, man, _ = LABELS[language]
    odd = [row(number, "neg", man, man, ["F"]) for number in range(count + 1)]
    assert len(items_of(tmp_path, language, [row(99, "neg", woman, man, ["F"]), *odd[:-1]])) == 1
    with pytest.raises(UserError, match=rf"MBBQ.*{count + 1}"):
        items_of(tmp_path, language, [row(99, "neg", woman, man, ["F"]), *odd])
