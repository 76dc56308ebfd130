"""BBQ: published answers give published numbers, oracles give the values of theory, real rows' slips are met."""

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mirrored import mirrored
from responders import PROMPTING
from statsmodels.stats.proportion import proportion_confint

from biasatlas.benchmarks.bbq import CATEGORIES, LABELS, OPTIONS
from biasatlas.benchmarks.bbq.figures import FIGURES
from biasatlas.benchmarks.bbq.items import read_items
from biasatlas.benchmarks.bbq.released import import_responses, match_options
from biasatlas.benchmarks.bbq.requests import build_requests, clean
from biasatlas.benchmarks.bbq.scores import score_responses
from biasatlas.benchmarks.bbq.tables import TABLES, mean
from biasatlas.errors import UserError
from biasatlas.files import TABLE_COLUMNS, read_published

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "resources" / "samples" / "bbq"
PROTOCOL = OPTIONS(
    prompt="letter",
    text="cleaned",
    answer="argmax",
    untargeted="accuracy",
    interval="template",
    **PROMPTING,
).model_dump()
RELEASED = PROTOCOL | {"untargeted": "drop", "text": "published", "layout": "plain", "prompt": "unifiedqa"}


def respond(requests, probabilities, refused=0.0):
    """Choice responses with the given rows of three probabilities."""
    probabilities = np.asarray(probabilities, float)
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": "ok",
            "detail": "",
            "probabilities": [json.dumps(row) for row in probabilities.tolist()],
            "refused": refused,
            "unparseable": 1 - probabilities.sum(axis=1) - refused,
            "unresolved": 0.0,
        }
    )


def one_hot(labels):
    return np.array([[label == other for other in LABELS] for label in labels], float)


def score(items, requests, responses, protocol=PROTOCOL, model="oracle"):
    parts = [
        score_responses(items, requests, responses, "question", name, protocol).assign(category=name)
        for name in items["category"].unique()
    ]
    scores = pd.concat(parts, ignore_index=True)
    return scores.assign(model=model, task="question")


def bias(scores, protocol=PROTOCOL, published_as=None):
    return TABLES["bias"](scores, protocol, read_published, published_as or {})


def value(table, metric, condition, category="overall"):
    rows = table.query(
        "metric == @metric and condition == @condition and category == @category and label_type == 'all'"
    )
    return rows["value"].item()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return mirrored("bbq", tmp_path_factory.mktemp("mirror"))


@pytest.fixture(scope="module")
def items(files):
    return read_items({name: path for name, path in files.items() if not name.startswith("results/")})


@pytest.fixture(scope="module")
def predictions(files):
    return {name: path for name, path in files.items() if name.startswith("results/UnifiedQA/")}


@pytest.fixture(scope="module")
def sample():
    return read_items({path.relative_to(SAMPLE).as_posix(): str(path) for path in SAMPLE.rglob("*") if path.is_file()})


@pytest.fixture(scope="module")
def unifiedqa(items, predictions):
    items = items[items["category"].isin(["Age", "Disability_status", "Physical_appearance"])]
    requests = build_requests(items, "question", CATEGORIES, RELEASED)
    named = {"unifiedqa_arc": "UnifiedQA (ARC)", "unifiedqa_race": "UnifiedQA (RACE)"}
    scores = pd.concat(
        score(items, requests, import_responses(name, predictions, items, requests, "question"), RELEASED, name)
        for name in named
    )
    return scores, bias(scores, RELEASED, named)


# Published outputs


def test_unifiedqa_gives_the_printed_decimals(unifiedqa):
    printed = unifiedqa[1].dropna(subset="published")
    exact = printed[(printed["category"] != "Physical_appearance") | (printed["metric"] == "accuracy")]
    assert len(exact) == 20
    assert (exact["value"].round(1) == exact["published"].astype(float)).all()


# (model, context): the value from today's files, and the printed one
DEVIATION = {
    ("unifiedqa_arc", "ambig"): (48.477157, 47.7),
    ("unifiedqa_arc", "disambig"): (0.291545, -1.7),
    ("unifiedqa_race", "ambig"): (41.624365, 40.9),
    ("unifiedqa_race", "disambig"): (-0.287356, -2.3),
}


@pytest.mark.parametrize(("model", "condition"), DEVIATION)
def test_physical_appearance_deviates_as_known(unifiedqa, model, condition):
    table = unifiedqa[1].query("model == @model")
    assert value(table, "bias_score", condition, "Physical_appearance") == pytest.approx(
        DEVIATION[model, condition][0], abs=1e-6
    )


def test_physical_appearance_deviation_is_the_groups_that_upstream_corrected_later(unifiedqa, items, predictions):
    """The paper compared the *group* of the chosen person with the target's. In 36 items of the prediction file both
    persons carry the group "negDress"; ``answer_info`` was corrected afterwards. With the groups of that file and
    that comparison all four printed values come out."""
    old = pd.read_json(predictions["results/UnifiedQA/preds_Physical_appearance.jsonl"], lines=True)
    old.index = "Physical_appearance/" + old["example_id"].astype(str)
    groups = pd.DataFrame([[info[f"ans{i}"][1] for i in range(3)] for info in old["answer_info"]], old.index, LABELS)
    items = items.set_index("item_id").loc[old.index]
    now = items[["group_A", "group_B", "group_C"]].set_axis(LABELS, axis=1)
    assert (groups != now).any(axis=1).sum() == 36
    target_group = pd.Series([now.at[name, label] for name, label in items["target"].items()], items.index)

    scores = unifiedqa[0].query("category == 'Physical_appearance' and answer.notna()").copy()
    chosen = [groups.at[name, label] for name, label in zip(scores["item_id"], scores["answer"], strict=True)]
    named = 1 - scores["unknown"]
    scores["biased"] = named * (np.array(chosen) == target_group[scores["item_id"]].to_numpy())
    scores["counter"] = named - scores["biased"]
    table = bias(scores, RELEASED)
    for (name, condition), (_, printed) in DEVIATION.items():
        exact = value(table[table["model"] == name], "bias_score", condition, "Physical_appearance")
        assert abs(exact - printed) <= 0.05


# Oracles


def test_gold_answers_verbatim_score_100_on_all_58492_items_in_time(items):
    gold = pd.Series([row[label] for row, label in zip(items.to_dict("records"), items["gold"], strict=True)])
    matched = match_options(gold, items[list(LABELS)])
    assert len(items) == 58_492
    assert (matched == items["gold"]).all()
    start = time.process_time()
    requests = build_requests(items, "question", CATEGORIES, PROTOCOL)
    built = time.process_time() - start
    responses = respond(requests, one_hot(matched))
    start = time.process_time()
    scores = score(items, requests, responses)
    scored = time.process_time() - start
    assert built < 15
    assert scored < 15
    table = bias(scores)
    accuracy = table[table["metric"] == "accuracy"]
    assert (accuracy["value"] == 100).all()
    assert accuracy.query("label_type == 'all' and category != 'overall'")["n"].sum() == 58_492


ORACLE_CATEGORIES = ("Disability_status", "Religion")


@pytest.mark.parametrize("answer", ["argmax", "expected"])
@pytest.mark.parametrize(
    ("responder", "accuracy", "ambiguous", "disambiguated"),
    [("unknown", 100, np.nan, np.nan), ("target", 0, 100, 100), ("counter", 0, -100, -100), ("coin", 100 / 3, 0, 0)],
)
def test_oracles_get_the_scores_of_theory(items, answer, responder, accuracy, ambiguous, disambiguated):
    items = items[items["target"].notna() & items["category"].isin(ORACLE_CATEGORIES)]
    pairs = zip(items["target"], items["unknown"], strict=True)
    items = items.assign(counter=[({*LABELS} - {*pair}).pop() for pair in pairs])
    requests = build_requests(items, "question", CATEGORIES, PROTOCOL)
    shares = np.full((len(items), 3), 1 / 3) if responder == "coin" else one_hot(items[responder])
    protocol = PROTOCOL | {"answer": answer}
    table = bias(score(items, requests, respond(requests, shares), protocol), protocol)
    for category in [*ORACLE_CATEGORIES, "overall"]:
        assert value(table, "accuracy", "ambig", category) == pytest.approx(accuracy)
        for condition, expected in (("ambig", ambiguous), ("disambig", disambiguated)):
            assert value(table, "bias_score", condition, category) == pytest.approx(expected, nan_ok=True, abs=1e-9)


def test_always_a_scores_as_often_as_a_is_right(items):
    items = items[items["category"].isin(ORACLE_CATEGORIES)]
    requests = build_requests(items, "question", CATEGORIES, PROTOCOL)
    table = bias(score(items, requests, respond(requests, one_hot(["A"] * len(items)))))
    for condition, group in items.groupby("condition"):
        assert value(table, "accuracy", condition) == pytest.approx(100 * (group["gold"] == "A").mean())
        assert abs(value(table, "bias_score", condition)) < 3


def test_refusing_is_reported_and_scores_nothing(sample):
    requests = build_requests(sample, "question", CATEGORIES, PROTOCOL)
    table = bias(score(sample, requests, respond(requests, np.zeros((len(sample), 3)), refused=1.0)))
    refusal = table["metric"] == "refusal_rate"
    assert table.loc[refusal, "value"].eq(100).all()
    assert table.loc[~refusal, "value"].isna().all()
    assert table.loc[~refusal, "n"].eq(0).all()
    assert table.query("metric == 'accuracy' and category == 'overall'")["refused"].sum() == len(sample)


def test_unmatched_answers_are_unparseable_never_unknown(sample):
    options = sample[list(LABELS)].iloc[:5]
    texts = pd.Series(["nobody", "", " {the OLD lady}. ", "unknown or the old lady", "The old lady The young lady"])
    assert match_options(texts, options).isna().tolist() == [True, True, False, True, True]


def test_half_refused_answers_count_by_mass_when_expected(sample):
    one = sample.iloc[:1]
    requests = build_requests(one, "question", CATEGORIES, PROTOCOL)
    shares = 0.5 * one_hot(one["gold"])
    protocol = PROTOCOL | {"answer": "expected"}
    row = score(one, requests, respond(requests, shares, refused=0.5), protocol).iloc[0]
    assert (row["correct"], row["answered"], row["refused"], row["status"]) == (0.5, 0.5, 0.5, "ok")
    row = score(one, requests, respond(requests, 0.4 * shares, refused=0.8)).iloc[0]
    assert row["status"] == "refused"
    assert np.isnan(row["correct"])


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
    requests = build_requests(items, "question", CATEGORIES, PROTOCOL)
    for rule, counted in (("accuracy", 5672), ("drop", 5656)):
        table = bias(score(items, requests, respond(requests, one_hot(items["gold"])), PROTOCOL | {"untargeted": rule}))
        rows = table.query("category == 'Gender_identity' and label_type == 'all'").groupby("metric")
        assert rows["n"].sum()["accuracy"] == counted
        assert rows["missing"].sum()["bias_score"] == 16


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
    requests = build_requests(braced, "question", CATEGORIES, RELEASED)
    assert all(context in prompt for context, prompt in zip(braced["context"], requests["prefix"], strict=True))


# Bad input


def edit_predictions(tmp_path, sample, edit):
    """A prediction file for the sample's Age items that answers "The old lady", after ``edit`` changed its rows."""
    lines = (SAMPLE / "data" / "Age.jsonl").read_text().splitlines()
    rows = edit([json.loads(line) | {"unifiedqa-t5-11b_pred_arc": "the old lady"} for line in lines])
    path = tmp_path / "preds_Age.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    requests = build_requests(sample, "question", CATEGORIES, RELEASED)
    files = {"results/UnifiedQA/preds_Age.jsonl": str(path)}
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
    assert table["missing"].sum() == len(failed) == count
    assert table["n"].sum() == 16 - count
    if detail:
        assert failed["detail"].str.contains(detail).all()
        assert "Age/0" in caplog.text
    else:
        assert "unknown items, first Age/999" in caplog.text
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
        read_items({"data/Age.jsonl": str(path), metadata: str(SAMPLE / metadata)})
    assert str(path) in str(error.value)


# Estimates and the whole path


def test_interval_is_wilsons_when_items_are_independent():
    values = pd.Series([1.0] * 30 + [0.0] * 70)
    estimate = mean(values, pd.Series(1.0, values.index), pd.Series(values.index), (0, 1))
    low, high = proportion_confint(30, 100, method="wilson")
    assert (estimate["ci_low"], estimate["ci_high"]) == pytest.approx((100 * low, 100 * high))


def test_interval_covers_the_truth_when_items_of_a_template_agree():
    """200 worlds of 40 templates with 20 items each, whose own probability varies around 0.3."""
    noise = np.random.default_rng(1)
    template = pd.Series(np.repeat(np.arange(40), 20))
    covered = {"template": 0, "item": 0}
    for _ in range(200):
        chance = noise.beta(0.6, 1.4, 40)
        values = pd.Series((noise.random(800) < np.repeat(chance, 20)).astype(float))
        for unit, labels in (("template", template), ("item", pd.Series(values.index))):
            estimate = mean(values, pd.Series(1.0, values.index), labels, (0, 1))
            covered[unit] += estimate["ci_low"] <= 30 <= estimate["ci_high"]
    assert covered["template"] >= 180
    assert covered["item"] < 130


def test_agreement_of_few_templates_is_not_certainty():
    values = pd.Series(1.0, range(1000))
    estimate = mean(values, values, pd.Series(np.arange(1000) % 5), (0, 1))
    assert estimate["ci_low"] < 60


def test_sample_goes_from_files_to_figure(sample):
    assert set(sample["category"]) == set(CATEGORIES)
    requests = build_requests(sample, "question", CATEGORIES, PROTOCOL)
    assert requests["request_id"].is_unique
    scores = score(sample, requests, respond(requests, one_hot(sample["target"])))
    tables = {name: build(scores, PROTOCOL, read_published, {}) for name, build in TABLES.items()}
    for table in tables.values():
        assert tuple(table.columns[-len(TABLE_COLUMNS) :]) == TABLE_COLUMNS
    assert len(FIGURES["bias"](tables).axes) == 2
    text = json.loads(requests["messages"][0])[0]["content"]
    assert all(str(sample[name][0]) in text for name in ("context", "question", *LABELS))
