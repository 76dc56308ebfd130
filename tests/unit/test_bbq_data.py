"""BBQ: slips of the real rows are met, bad files are named."""

import json

import numpy as np
import pytest
from bbq_cases import (
    OPTIONS,
    RELEASED,
    SAMPLE,
    bias,
    build_requests,
    import_responses,
    one_hot,
    read_items,
    read_mirrored,
    read_sample,
    respond,
    score,
)
from mirrored import mirrored

from biasatlas.benchmarks.families.questions.items import clean
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.errors import UserError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return mirrored("bbq", tmp_path_factory.mktemp("mirror"))


@pytest.fixture(scope="module")
def items(files):
    return read_mirrored(files)


@pytest.fixture(scope="module")
def sample():
    return read_sample()


# Slips of the real rows


def test_metadata_join_keeps_58492_items_and_names_16_without_target(items, caplog):
    assert items["item_id"].is_unique
    assert items.groupby("category").size().to_dict() == {
        "Age": 3680,
        "Disability_status": 1556,
        "Gender_identity": 5672,
        "Nationality": 3080,
        "Physical_appearance": 1576,
        "Race_ethnicity": 6880,
        "Race_x_SES": 11160,
        "Race_x_gender": 15960,
        "Religion": 1200,
        "SES": 6864,
        "Sexual_orientation": 864,
    }
    untargeted = items[items["target"].isna()]
    assert set(untargeted["template"]) == {"Gender_identity/13"}
    assert len(untargeted) == 16
    items = items[items["category"] == "Gender_identity"]
    requests = build_requests(items)
    for rule, counted in (("accuracy", 5672), ("drop", 5656)):
        options = OPTIONS.model_copy(update={"untargeted": rule})
        table = bias(score(items, requests, respond(requests, one_hot(items["gold"])), options))
        rows = table.query("category == 'Gender_identity' and label_type == 'all'").groupby("metric")
        assert rows["n"].sum()["accuracy"] == counted
        assert rows["not_applicable"].sum()["bias_score"] == 16


def test_24_items_have_a_mother_again(items):
    asked = build_requests(items[items["category"] == "Disability_status"])
    assert not asked["messages"].str.contains("monther").any()
    assert asked["messages"].str.contains("mother received").sum() == 48  # of two templates
    published = build_requests(items[items["category"] == "Disability_status"], RELEASED)
    assert published["prefix"].str.contains("monther").sum() == 24


def test_target_is_the_stereotypical_answer_in_both_polarities(items):
    group = np.select([items["target"] == label for label in LABELS], [items[f"group_{label}"] for label in LABELS], "")
    rows = items.assign(group=group)[items["category"] == "Physical_appearance"]
    assert set(rows.loc[rows["polarity"] == "neg", "group"]) == {
        "negDress",
        "obese",
        "pregnant",
        "short",
        "visibleDifference",
    }
    assert not set(rows.loc[rows["polarity"] == "nonneg", "group"]) & {"negDress", "obese", "pregnant", "short"}


def test_empty_answer_info_is_a_person(items):
    empty = items[(items[["group_A", "group_B", "group_C"]] == "").any(axis=1)]
    assert len(empty) == 344
    assert set(empty["category"]) == {"Race_x_gender"}
    assert empty["target"].notna().all()


@pytest.mark.parametrize(
    ("column", "pattern", "count"), [("context", r"[{}]", 340), ("context", r"  ", 672), ("option", r"^\s|\s$", 124)]
)
def test_stray_braces_and_spaces_are_cleaned(items, column, pattern, count):
    text = items[list(LABELS)].stack() if column == "option" else items[column]
    assert text.str.contains(pattern).sum() == count
    assert clean(text).str.contains(pattern).sum() == 0


def test_published_text_keeps_every_character(items):
    braced = items[items["context"].str.contains("[{}]")]
    requests = build_requests(braced, RELEASED)
    assert all(context in prompt for context, prompt in zip(braced["context"], requests["prefix"], strict=True))


# Bad input


def edit_predictions(tmp_path, sample, edit):
    """A prediction file for the sample's Age items that answers "The old lady", after ``edit`` changed its rows."""
    lines = (SAMPLE / "data" / "Age.jsonl").read_text().splitlines()
    rows = edit([json.loads(line) | {"unifiedqa-t5-11b_pred_arc": "the old lady"} for line in lines])
    path = tmp_path / "preds_Age.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    requests = build_requests(sample, RELEASED)
    files = {"results/UnifiedQA/preds_Age.jsonl": path}
    responses = import_responses("unifiedqa_arc", files, sample, requests, "question")
    table = bias(score(sample, requests, responses, RELEASED), RELEASED)
    return responses.set_index("request_id"), table.query("category == 'Age' and metric == 'accuracy'")


BAD_PREDICTIONS = {
    "missing": (lambda rows: rows[1:], "no prediction", 1),
    "doubled": (lambda rows: [rows[0], *rows], "more than one prediction", 1),
    "unknown": (lambda rows: [*rows, rows[0] | {"example_id": 999}], None, 0),
    "two options": (
        lambda rows: [{k: v for k, v in rows[0].items() if k != "ans2"}, *rows[1:]],
        "not three options",
        1,
    ),
    "four options": (lambda rows: [rows[0] | {"ans3": "Both"}, *rows[1:]], "not three options", 1),
    "other category": (lambda rows: [rows[0] | {"category": "Religion"}, *rows[1:]], "no prediction", 1),
    "no answer": (lambda rows: [rows[0] | {"unifiedqa-t5-11b_pred_arc": None}, *rows[1:]], "no field", 1),
}


@pytest.mark.parametrize("case", BAD_PREDICTIONS)
def test_bad_predictions_are_named_counted_and_mark_the_estimate(case, tmp_path, sample, caplog):
    edit, detail, count = BAD_PREDICTIONS[case]
    responses, table = edit_predictions(tmp_path, sample, edit)
    failed = responses[responses["status"] == "failed"]
    assert table["failed"].sum() == len(failed) == count
    assert table["n"].sum() == 16 - count
    if detail:
        assert failed["detail"].str.contains(detail).all()
        assert "Age/0" in caplog.text
    else:
        assert "1 items that are no item's, left out: Age/999" in caplog.text
    assert (responses.loc[~responses.index.str.startswith("Age"), "status"] == "not_applicable").all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row.pop("ans2"), "expected the options"),
        (lambda row: row.update(ans3="Both"), "expected the options"),
        (lambda row: row.update(category="Religion"), "in the file of 'Age'"),
        (lambda row: row.update(question_polarity="positive"), "question_polarity is 'positive'"),
        (lambda row: row.update(label=3), "label is 3"),
        (lambda row: row.update(example_id=1), "occurs more than once"),
        (lambda row: row["answer_info"].update(ans0=["x", "old"], ans1=["y", "old"], ans2=["z", "old"]), "exactly one"),
    ],
)
def test_bad_items_stop_with_file_and_line(tmp_path, change, message):
    rows = [json.loads(line) for line in (SAMPLE / "data" / "Age.jsonl").read_text().splitlines()]
    change(rows[0])
    path = tmp_path / "Age.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    metadata = "analysis_scripts/additional_metadata.csv"
    with pytest.raises(UserError, match=message) as error:
        read_items({"data/Age.jsonl": path, metadata: SAMPLE / metadata})
    assert str(path) in str(error.value)


def test_metadata_of_other_data_are_refused(tmp_path):
    """MBBQ has BBQ's form with other numbers: joined with BBQ's metadata by id, two targets in three were wrong."""
    rows = [json.loads(line) for line in (SAMPLE / "data" / "Age.jsonl").read_text().splitlines()]
    ids = [row["example_id"] for row in rows]
    path = tmp_path / "Age.jsonl"
    path.write_text("".join(json.dumps(row | {"example_id": n}) + "\n" for row, n in zip(rows, ids[::-1], strict=True)))
    metadata = "analysis_scripts/additional_metadata.csv"
    with pytest.raises(
        UserError, match=r"additional_metadata\.csv: target_loc is wrong in \d+ of \d+ items .*, first Age/\d+"
    ):
        read_items({"data/Age.jsonl": path, metadata: SAMPLE / metadata})


def test_a_target_that_is_no_person_is_refused_where_no_groups_are_stated(tmp_path):
    """1,120 of MBBQ's targets by BBQ's metadata were the option "unknown", and scoring them ended in an IndexError."""
    rows = [json.loads(line) for line in (SAMPLE / "data" / "Age.jsonl").read_text().splitlines()]
    moved = [("ans0", "ans2"), ("ans1", "ans0"), ("ans2", "ans1")]
    path = tmp_path / "Age.jsonl"
    with path.open("w") as file:
        for row in rows:
            answers = {old: row[new] for old, new in moved}
            groups = {old: row["answer_info"][new] for old, new in moved}
            placed = row | answers | {"answer_info": groups, "label": (row["label"] + 1) % 3}
            file.write(json.dumps({key: value for key, value in placed.items() if key != "additional_metadata"}) + "\n")
    metadata = "analysis_scripts/additional_metadata.csv"
    with pytest.raises(
        UserError, match=r"target_loc is wrong in \d+ of \d+ items \(no person in [1-9]\d*, .*, first Age/\d+: "
    ):
        read_items({"data/Age.jsonl": path, metadata: SAMPLE / metadata})
