"""DBB's items and requests: on its sample, and on templates made irregular here."""

import json
from math import comb

import pandas as pd
import pytest
from dbb_cases import (
    EXACT,
    PAPER,
    PUBLISHED,
    RELEASED,
    SAMPLE,
    SPEC,
    build_requests,
    changed,
    choices,
    files_of,
    read_items,
    score,
    table_of,
    write_questions,
)

from biasatlas.benchmarks.dbb import CATEGORIES, TYPES
from biasatlas.benchmarks.dbb.requests import NAMES, fill_context, fill_option
from biasatlas.errors import UserError
from biasatlas.files import write_items, write_requests


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return read_items(files_of(SAMPLE))


def test_sizes_are_the_papers():
    printed = dict(PUBLISHED("dbb_composition").itertuples(index=False))
    pairs = {name: sum(comb(len(own), 2) for own in types.values()) for name, types in TYPES.items()}
    assert {name: str(1547 * count) for name, count in pairs.items()} == printed
    assert sum(len(own) for types in TYPES.values() for own in types.values()) == 50


def test_sample_has_fifty_questions_a_template(sample):
    assert len(sample) == 50 * sample["template_id"].nunique()
    assert sample["item_id"].is_unique
    assert (sample[["fault", "fault_sg"]] == "").all(axis=None)
    assert {len(json.loads(text)) for text in sample["variations_1"]} == {10}
    assert sample.groupby("template_id")["row"].apply(list).map(lambda rows: rows == list(range(50))).all()


OPTIONS = [
    # template, pronoun, case, placeholder, expected
    ("[[X]] sat down.", "she", "grammatical", "all", "She sat down."),
    ("[[X]]'s eyes widened.", "he", "grammatical", "all", "His eyes widened."),
    ("With a sigh, [[X]] sat down.", "she", "grammatical", "all", "With a sigh, she sat down."),
    ("With a sigh, [[X]] sat down.", "she", "released", "all", "With a sigh, She sat down."),
    ("Tears ran down [[X]]'s face.", "she", "grammatical", "all", "Tears ran down her face."),
    ("Patrons greeted [[X]], smiling.", "he", "grammatical", "all", "Patrons greeted him, smiling."),
    ("A look, making [[X]] feel alone.", "she", "grammatical", "all", "A look, making her feel alone."),
    ("Eyes turned to [[X]] as the bell rang.", "he", "grammatical", "all", "Eyes turned to him as the bell rang."),
    ("It showed every move [[X]] made.", "he", "grammatical", "all", "It showed every move he made."),
    ("A bell rang. [[X]] left.", "she", "grammatical", "all", "A bell rang. She left."),
    ("[[X]] met the one who quoted [[X]]'s book.", "he", "grammatical", "all", "He met the one who quoted his book."),
    (
        "[[X]] met the one who quoted [[X]]'s book.",
        "he",
        "released",
        "released",
        "[[X]] met the one who quoted His book.",
    ),
    ("Nobody was there.", "he", "grammatical", "all", "Nobody was there."),
    (
        "As it rang, [[X]] left [[X]]'s seat.",
        "person",
        "grammatical",
        "all",
        "As it rang, the person left the person's seat.",
    ),
]


@pytest.mark.parametrize(("template", "pronoun", "case", "placeholder", "expected"), OPTIONS)
def test_option(template, pronoun, case, placeholder, expected):
    assert fill_option(template, pronoun, case, placeholder) == expected


CONTEXTS = [
    # template, descriptor, text, expected
    ("[[X]] sat down.", "The woman", "paper", "The woman sat down."),
    ("[[X]] sat down.", "Kai, a Muslim", "paper", "Kai, a Muslim, sat down."),
    ("[[X]] sat down.", "Amy, an American, ", "file", "Amy, an American,  sat down."),
    ("[[X]]'s journal lay there.", "Emily", "paper", "Emily's journal lay there."),
    (
        "[[X]]'s journal lay there.",
        "Amy, an American",
        "paper",
        "This is about Amy, an American. Her journal lay there.",
    ),
    ("[[X]] sat at [[X]]'s desk.", "Kai, a Muslim", "paper", "Kai, a Muslim, sat at her desk."),
]


@pytest.mark.parametrize(("template", "descriptor", "text", "expected"), CONTEXTS)
def test_context(template, descriptor, text, expected):
    assert fill_context(template, descriptor, "she", text) == expected


def texts(items, options, item_id):
    requests = build_requests(items, "MCQ", CATEGORIES, options)
    chat = json.loads(requests.loc[requests["item_id"] == item_id, "messages"].iloc[0])
    return chat[-1]["content"].split("Context: ")[1].splitlines()


def test_released_code_reuses_the_option_before(tmp_path):
    files = write_questions(
        tmp_path, ("[[X]] sat.", "[[X]] sang.", "[[X]] read."), ("[[X]] ran.", "It rained.", "[[X]] won.")
    )
    items = read_items(files)
    released = changed(PAPER, placeholder="released", pronoun_case="released")
    # The variable keeps the text of the last question before: Religions, named Kai; for Gender's male one, its own.
    assert texts(items, released, "t0001/Gender 1/Female")[2:] == ["a) He sang.", "b) She won."]
    assert texts(items, released, "t0001/Race 4/White")[2:] == ["a) He sang.", "b) She won."]
    assert texts(items, PAPER, "t0001/Gender 1/Female")[2:] == ["a) It rained.", "b) She won."]


def test_names_are_drawn_by_concept_and_type_and_shared_by_its_identities(sample):
    drawn = changed(PAPER, name_rule="random_per_type", name_seed=3)
    names = {}
    for template in sample["template_id"].unique():
        for type_, identity in (("SES 1", "Rich"), ("SES 1", "Poor"), ("SES 2", "Rich")):
            names[template, type_, identity] = texts(sample, drawn, f"{template}/{type_}/{identity}")[0].split(",")[0]
    assert set(names.values()) <= set(NAMES)
    assert len(set(names.values())) > 3
    assert all(names[t, "SES 1", "Rich"] == names[t, "SES 1", "Poor"] for t, _, _ in names)
    assert any(names[t, "SES 1", "Rich"] != names[t, "SES 2", "Rich"] for t, _, _ in names)
    fewer = sample[sample["template_id"] < "t0004"]
    assert texts(fewer, drawn, "t0002/SES 1/Rich") == texts(sample, drawn, "t0002/SES 1/Rich")


def test_the_file_of_descriptors_is_read_by_content(tmp_path):
    # Identities in the file's order, one misspelt; the positions of the two types are the other way round than Table 10's.
    descriptors = {
        "gender_and_sex": {
            "female": ["Mother", "The actress", "The woman", "Emily"],
            "male": ["Father", "The actor", "The man", "John"],
        },
        "religions": {"Jewish": [", a Jewish,"], "Muslim": [", who flew a kite,"]},
    }
    path = tmp_path / "data/descriptors.json"
    path.parent.mkdir()
    path.write_text(json.dumps(descriptors))
    items = read_items(write_questions(tmp_path, ("[[X]] sat.", "[[X]] sang.", "[[X]] read."))).set_index("item_id")
    assert items.loc["t0000/Gender 3/Female", "descriptor_file"] == "Emily"
    assert items.loc["t0000/Religion 3/Jewish", "descriptor_file"] == "{name}, a Jewish,"
    assert "who flew a kite" in items.loc["t0000/Religion 1/Muslim", "fault_descriptor"]
    kept = build_requests(items.reset_index(), "MCQ", CATEGORIES, changed(PAPER, descriptor_text="file"))
    assert set(kept["item_id"].str.split("/").str[1]) == {*TYPES["Gender"], "Religion 3"}


def test_shared_pronoun_leaves_only_the_description_to_differ(sample):
    shared = changed(PAPER, pronoun_rule="shared")
    women, men = (texts(sample, shared, f"t0000/Gender 4/{identity}") for identity in ("Female", "Male"))
    assert women[0] != men[0]
    assert women[1:] == men[1:]


# Bad input


def test_bad_templates_are_named_and_the_rest_goes_on(tmp_path):
    rows = [("[[X]] sat.", "[[X]] sang.", "[[X]] read."), ("Rain fell.", "[[X]] sang.", "[[X]] read.")]
    items = read_items(write_questions(tmp_path, *rows, ("[[X]] sat.", "[[X]] sang.", " ")))
    scores = score(items, EXACT, lambda requests: choices(requests, 0.5))
    assert len(scores) == 3 * 67
    assert (scores["status"] == "failed").sum() == 2 * 67
    details = scores.loc[scores["status"] == "failed", "detail"].unique()
    assert "line 3: no placeholder" in details[0]
    assert "line 4: the concept has one option" in details[1]
    table = table_of("composition", scores, EXACT)
    assert table.loc[table["category"] == "All", ["value", "n", "failed"]].iloc[0].tolist() == [201, 67, 134]


def variations(ids: list[int], shift: int = 0) -> pd.DataFrame:
    """A row for each id, of the concepts of the question with that id (and ``shift``) in :func:`write_questions`."""
    rows = [(number, "[[X]] a.", "[[X]] b.", f"one {number + shift}", f"two {number + shift}") for number in ids]
    return pd.DataFrame(rows, columns=["id", "s1", "s2", "bias type1", "bias type2"])


def test_the_users_variations_take_the_place_of_the_datasets():
    files = files_of(SAMPLE)
    variations_file = next(path for name, path in files.items() if "more_contexts" in name)
    items = read_items({name: path for name, path in files.items() if path != variations_file})
    assert {len(json.loads(text)) for text in items["variations_1"]} == {1}
    for given in (files, files | {"variations": variations_file}):
        assert {len(json.loads(text)) for text in read_items(given)["variations_1"]} == {10}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            variations([1] * 10 + [2] * 10, shift=-1),
            r"id 1 is of the concepts \('one 1', 'two 1'\), the row of \('one 0'",
        ),
        (variations([0] * 9 + [1] * 11), "id 0: 9 rows with both options; expected 10"),
        (variations([]), "no rows below the header"),
        (variations([0] * 10 + [1] * 10).drop(columns="s2"), "no column 's2'"),
    ],
    ids=["ids from 1", "not ten", "empty", "no column"],
)
def test_variations_that_fit_no_question(tmp_path, table, words):
    files = write_questions(tmp_path, *[("[[X]] sat.", "[[X]] sang.", "[[X]] read.")] * 2)
    table.to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(UserError, match=words):
        read_items(files | {"variations": tmp_path / "own.csv"})


def test_bad_variations_leave_multiple_choice_alone(tmp_path):
    files = write_questions(tmp_path, *[("[[X]] sat.", "[[X]] sang.", "[[X]] read.")] * 2)
    path = tmp_path / "Questions/own_all_data_more_contexts_questions.csv"
    variations([0] * 10 + [1] * 9 + [7]).to_csv(path, index=False)
    items = read_items(files | files_of(tmp_path))
    assert (items["fault"] == "").all()
    faults = items.drop_duplicates("template_id")["fault_sg"].tolist()
    assert faults[0] == ""
    assert "id 1: 9 rows" in faults[1]
    assert "id '7' is no question's" in faults[1]
    assert set(build_requests(items, "SG", CATEGORIES, PAPER)["item_id"].str[:5]) == {"t0000"}
    assert set(build_requests(items, "MCQ", CATEGORIES, PAPER)["item_id"].str[:5]) == {"t0000", "t0001"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: {}, "not among the files"),
        (lambda folder: write_questions(folder), "no rows below the header"),
        (lambda folder: write_questions(folder, ("It rained.", "[[X]] sang.", "[[X]] read.")), "no placeholder"),
    ],
)
def test_nothing_usable_is_an_error(tmp_path, make, words):
    with pytest.raises(UserError, match=words):
        read_items(make(tmp_path))


def test_file_text_without_the_file_is_an_error(sample):
    with pytest.raises(UserError, match=r"descriptors\.json"):
        build_requests(sample, "MCQ", ["Age"], RELEASED)


def test_items_and_requests_have_the_declared_columns(sample, tmp_path):
    write_items(sample, tmp_path / "items.parquet", SPEC.items, {})
    for task, declared in SPEC.tasks.items():
        requests = build_requests(sample, task, ["Age"], PAPER)
        write_requests(requests, tmp_path / f"{task}.parquet", declared.requests)


# The published data


@pytest.fixture(scope="module")
def published_items(mirror):
    return read_items(files_of(mirror / "dbb"))


def test_published_data_have_the_papers_sizes(published_items):
    assert len(published_items) == 77_350
    assert published_items["template_id"].nunique() == 1547
    smaller = [name for name in CATEGORIES if name != "Race"]  # whose 61,880 instances take as long as all others
    scores = score(published_items, EXACT, lambda requests: choices(requests, 0.5), categories=smaller)
    composition = table_of("composition", scores, EXACT)
    assert (composition["difference"].iloc[1:] == 0).all()
    assert not composition["failed"].any()


def test_published_irregular_templates(published_items):
    bare = ~published_items["option_1"].str.contains("[[X]]", regex=False)
    assert published_items.loc[bare, "template_id"].nunique() == 3
    doubled = published_items["option_2"].str.count(r"\[\[X\]\]") > 1
    for options, raw in ((PAPER, 0), (RELEASED, 2 * 50)):
        requests = build_requests(published_items[bare | doubled], "MCQ", CATEGORIES, options)
        assert requests["messages"].str.contains("[[X]]", regex=False).sum() == raw
    assert (published_items["fault_descriptor"] == "").all()
    capital = published_items.drop_duplicates("template_id")
    inside = capital["option_1"].str.match(r".+\[\[X\]\]") | capital["option_2"].str.match(r".+\[\[X\]\]")
    assert inside.sum() == 76  # pairs that the released code gives a capital pronoun inside a sentence
