"""BBQ: published answers give published numbers, oracles give the values of theory."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bbq_cases import (
    CATEGORIES,
    OPTIONS,
    PUBLISHED,
    RELEASED,
    bias,
    build_requests,
    import_responses,
    one_hot,
    read_mirrored,
    read_sample,
    respond,
    score,
    value,
)
from counting import calls
from mirrored import mirrored

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.pairs import Answers
from biasatlas.benchmarks.families.questions.scores import accuracy, accuracy_gap, weighted_biased_share
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.benchmarks.shared import styles
from biasatlas.benchmarks.shared.predictions import match_options
from biasatlas.columns import MASSES, TABLE_COLUMNS


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return mirrored("bbq", tmp_path_factory.mktemp("mirror"))


@pytest.fixture(scope="module")
def items(files):
    return read_mirrored(files)


@pytest.fixture(scope="module")
def predictions(files):
    return {name: Path(path) for name, path in files.items() if name.startswith("results/UnifiedQA/")}


@pytest.fixture(scope="module")
def sample():
    return read_sample()


@pytest.fixture(scope="module")
def unifiedqa(items, predictions):
    items = items[items["category"].isin(["Age", "Disability_status", "Physical_appearance"])]
    requests = build_requests(items, RELEASED)
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


def test_gold_answers_verbatim_score_100_on_all_58492_items(items):
    gold = pd.Series([row[label] for row, label in zip(items.to_dict("records"), items["gold"], strict=True)])
    matched = match_options(gold, items[list(LABELS)])
    assert len(items) == 58_492
    assert (matched == items["gold"]).all()
    requests = build_requests(items)
    scores = score(items, requests, respond(requests, one_hot(matched)))
    table = bias(scores)
    accuracy = table[table["metric"] == "accuracy"]
    assert (accuracy["value"] == 100).all()
    assert accuracy.query("label_type == 'all' and category != 'overall'")["n"].sum() == 58_492


def test_work_grows_no_faster_than_the_items(items):
    def work(count):
        some = items.iloc[:count]
        requests, building = calls(build_requests, some)
        _, scoring = calls(score, some, requests, respond(requests, one_hot(some["gold"])))
        return building + scoring

    work(10)
    few, more, most = work(200), work(400), work(800)
    assert most - more < 2.1 * (more - few)


ORACLE_CATEGORIES = ("Disability_status", "Religion")


@pytest.mark.parametrize("answer", ["argmax", "expected"])
@pytest.mark.parametrize(
    ("respondent", "accuracy", "ambiguous", "disambiguated"),
    [
        ("unknown", 100, 0, 0),
        ("gold", 100, 0, 0),
        ("target", 0, 100, 100),
        ("counter", 0, -100, -100),
        ("coin", 100 / 3, 0, 0),
    ],
)
def test_oracles_get_the_scores_of_theory(items, answer, respondent, accuracy, ambiguous, disambiguated):
    items = items[items["target"].notna() & items["category"].isin(ORACLE_CATEGORIES)]
    pairs = zip(items["target"], items["unknown"], strict=True)
    items = items.assign(counter=[({*LABELS} - {*pair}).pop() for pair in pairs])
    requests = build_requests(items)
    shares = np.full((len(items), 3), 1 / 3) if respondent == "coin" else one_hot(items[respondent])
    options = OPTIONS.model_copy(update={"answer": answer})
    table = bias(score(items, requests, respond(requests, shares), options), options)
    for category in [*ORACLE_CATEGORIES, "overall"]:
        assert value(table, "accuracy", "ambig", category) == pytest.approx(accuracy)
        for condition, expected in (("ambig", ambiguous), ("disambig", disambiguated)):
            assert value(table, "bias_score", condition, category) == pytest.approx(expected, nan_ok=True, abs=1e-9)


def test_always_a_scores_as_often_as_a_is_right(items):
    items = items[items["category"].isin(ORACLE_CATEGORIES)]
    requests = build_requests(items)
    table = bias(score(items, requests, respond(requests, one_hot(["A"] * len(items)))))
    for condition, group in items.groupby("condition"):
        assert value(table, "accuracy", condition) == pytest.approx(100 * (group["gold"] == "A").mean())
        assert abs(value(table, "bias_score", condition)) < 3


@pytest.mark.parametrize(
    ("said", "mass", "counted"),
    [("ok", "refused", "refused"), ("filtered", "refused", "filtered"), ("thought", "unparseable", "thought")],
)
def test_refusing_is_reported_and_scores_nothing(sample, said, mass, counted):
    """Also where a service's filter does it, or nothing but thinking came: tables count those apart."""
    requests = build_requests(sample)
    refusing = respond(requests, np.zeros((len(sample), 3)), refused=float(mass == "refused")).assign(status=said)
    table = bias(score(sample, requests, refusing))
    rates = table["metric"].str.endswith("_rate")
    values = table[rates].groupby("metric")["value"].unique().map(list).to_dict()
    assert values == {
        "refusal_rate": [100 * (mass == "refused")],
        "unanswered_rate": [100],
        "ambiguous_rate": [0],
        "unparseable_rate": [100 * (mass == "unparseable")],
    }
    assert table.loc[~rates, "value"].isna().all()
    assert table.loc[~rates, "n"].eq(0).all()
    assert table.query("metric == 'accuracy' and category == 'overall'")[counted].sum() == len(sample)
    assert table[["refused", "filtered", "thought"]].gt(0).any().sum() == 1


@pytest.mark.parametrize(
    ("said", "mass"),
    [
        ("ok", "refused"),
        ("ok", "ambiguous"),
        ("ok", "unparseable"),
        ("filtered", "refused"),
        ("thought", "unparseable"),
        ("failed", None),
    ],
)
def test_a_verdict_rests_on_the_worst_that_missing_answers_could_have_said(sample, said, mass):
    """Whatever they are missing for, and whether or not what trips a filter is like the rest."""
    requests = build_requests(sample)
    lost = np.arange(len(sample)) // 4 % 2 == 0
    masses = np.where(lost[:, None], 0.0, one_hot(sample["gold"]))
    responses = respond(requests, masses).assign(unparseable=0.0, status=np.where(lost, said, "ok"))
    responses = responses.assign(**{mass: lost.astype(float)}) if mass else responses
    if not mass:
        responses.loc[lost, ["probabilities", *MASSES]] = None
    scores = score(sample, requests, responses).assign(model="m")
    found = Answers.by_model(scores, "bbq", OPTIONS)["m"].evidence()["bias_score", "ambig", "overall"]
    assert found.value == 0
    low, high = found.missing
    assert low == pytest.approx(-50, abs=5) and high == pytest.approx(50, abs=5)


def test_unmatched_answers_are_unparseable_never_unknown(sample):
    options = sample[list(LABELS)].iloc[:5]
    texts = pd.Series(["nobody", "", " {the OLD lady}. ", "unknown or the old lady", "The old lady The young lady"])
    assert match_options(texts, options).isna().tolist() == [True, True, False, True, True]


def test_half_refused_answers_count_by_mass_when_expected(sample):
    one = sample.iloc[:1]
    requests = build_requests(one)
    shares = 0.5 * one_hot(one["gold"])
    options = OPTIONS.model_copy(update={"answer": "expected"})
    row = score(one, requests, respond(requests, shares, refused=0.5), options).iloc[0]
    assert (row["correct"], row["answered"], row["refused"], row["status"]) == (0.5, 0.5, 0.5, "ok")
    row = score(one, requests, respond(requests, 0.4 * shares, refused=0.8)).iloc[0]
    assert row["status"] == "refused"
    assert np.isnan(row["correct"])


@pytest.mark.parametrize(("refused", "status"), [(0.4, "ok"), (0.5, "ok"), (0.51, "refused")])
def test_an_item_that_is_answered_as_often_as_refused_has_its_likeliest_option(sample, refused, status):
    """No single option need outweigh the refusals; the missing mass could have changed which option is likeliest."""
    one = sample.iloc[:1]
    requests = build_requests(one)
    gold = one_hot(one["gold"])
    masses = (1 - refused) * (0.5 * gold + 0.25 * (1 - gold))
    row = score(one, requests, respond(requests, masses, refused=refused)).iloc[0]
    assert (row["status"], row["refused"]) == (status, refused)
    assert row["correct"] == 1 if status == "ok" else np.isnan(row["correct"])
    assert (row["biased_lower_bound"], row["biased_upper_bound"]) == (0, 1)


# Estimates and the whole path


def test_intervals_take_a_template_for_one_answer():
    """200 worlds of 40 templates with 20 items each, whose own probability varies around 0.3."""
    noise = np.random.default_rng(1)
    template = np.repeat(np.arange(40), 20)
    covered = {"template": 0, "item": 0}
    for _ in range(200):
        chance = noise.beta(0.6, 1.4, 40)
        correct = (noise.random(800) < np.repeat(chance, 20)).astype(float)
        scores = pd.DataFrame({"correct": correct, "answered": 1.0})
        for unit, labels in (("template", template), ("item", np.arange(800))):
            estimate = accuracy(scores, pd.Series(labels))
            covered[unit] += estimate.ci_low <= 30 <= estimate.ci_high
    assert covered["template"] >= 186
    assert covered["item"] < 130


@pytest.mark.parametrize(("right", "gap"), [((1, 1), 0), ((1, 0), 100), ((0.5, 0.5), 0)])
def test_templates_that_agree_give_a_gap_in_accuracy_with_an_interval(right, gap):
    """Of 20 templates whose two items are all right, say, others can hide as many as 5% of all would show."""
    scores = pd.DataFrame({"aligned": [1.0, 0.0] * 20, "answered": 1.0, "correct": [*right] * 20})
    found = accuracy_gap(scores, pd.Series(np.repeat(np.arange(20), 2)), "disambig")
    assert (found.value, found.n, found.n_clusters, found.no_interval_reason) == (gap, 40, 20, "")
    assert found.ci_low <= gap <= found.ci_high and 10 < found.ci_high - found.ci_low < 60


@pytest.mark.parametrize("biased", [0.0, 1.0])
def test_templates_that_agree_give_a_weighted_share_with_an_interval(biased):
    rows = {"condition": ["ambig", "disambig"] * 20, "status": "ok", "biased": biased, "counter": 1 - biased}
    unit = pd.Series(np.repeat(np.arange(20), 2))
    found = weighted_biased_share(pd.DataFrame(rows), unit, {"ambig": 0.4, "disambig": 0.6})
    assert (found.value, found.no_interval_reason) == (100 * biased, "")
    assert found.ci_high - found.ci_low == pytest.approx(16.8, abs=0.1)  # Clopper and Pearson's of 20


@pytest.mark.parametrize("respondent", ["gold", "unknown"])
def test_models_without_bias_score_0_where_the_papers_formula_does_not(items, respondent):
    """Physical appearance has templates whose right answer follows the stereotype more often than not."""
    items = items[items["category"].isin(["Physical_appearance", "SES"]) & items["target"].notna()]
    requests = build_requests(items)
    scores = score(items, requests, respond(requests, one_hot(items[respondent])))
    ours, papers = bias(scores).query("metric == 'bias_score'"), bias(scores, RELEASED)
    assert ours["value"].abs().max() < 1e-9
    assert ((ours["ci_low"] < 0) & (ours["ci_high"] > 0)).all()
    assert ours["ci_high"].max() < 35
    assert ours.query("category == 'overall' and label_type == 'all'")["ci_high"].max() < 12
    expected = {"gold": [8.12, 2.10], "unknown": [np.nan, np.nan]}[respondent]
    printed = [value(papers, "bias_score", "disambig", name) for name in ("Physical_appearance", "SES")]
    assert printed == pytest.approx(expected, abs=0.005, nan_ok=True)


def draw(tables):
    return registry.figures("bbq")["bias"](tables, styles.styles(["oracle"]))


def test_sample_goes_from_files_to_figure(sample):
    assert set(sample["category"]) == set(CATEGORIES)
    assert list(sample.columns) == list(registry.load_spec("bbq").items)
    requests = build_requests(sample)
    assert requests["request_id"].is_unique
    scores = score(sample, requests, respond(requests, one_hot(sample["target"])))
    assert (
        tuple(scores.columns[: len(registry.load_spec("bbq").tasks["question"].scores)])
        == registry.load_spec("bbq").tasks["question"].scores
    )
    tables = {name: make(scores, OPTIONS, PUBLISHED, {}) for name, make in registry.tables("bbq").items()}
    for table in tables.values():
        assert tuple(table.columns[-len(TABLE_COLUMNS) :]) == TABLE_COLUMNS
    assert len(draw(tables).axes) == 2
    text = json.loads(requests["messages"][0])[0]["content"]
    assert all(str(sample[name][0]) in text for name in ("context", "question", *LABELS))


def test_the_figure_of_a_model_that_never_names_a_person_says_why_it_is_empty(sample):
    requests = build_requests(sample)
    table = bias(score(sample, requests, respond(requests, one_hot(sample["unknown"]))), RELEASED)
    table = table[(table["metric"] != "bias_score") | (table["condition"] == "disambig")]
    assert table.loc[table["metric"] == "bias_score", "value"].isna().all()
    assert "no answer names a person" in draw({"bias": table}).texts[0].get_text()


def test_rates_are_of_probability_over_all_answers_that_came(sample):
    """A quarter refused and a quarter unreadable, in one of two answers; a third did not come."""
    items = sample.iloc[:3]
    requests = build_requests(items)
    shares = np.array([[0.5, 0, 0], [1, 0, 0], [1, 0, 0]])
    responses = respond(requests, shares, refused=np.array([0.25, 0, 0]))[:2]
    scores = score(items, requests, responses)
    lost = scores[scores["status"] == "failed"]
    assert (lost["biased_lower_bound"] == 0).all() and (lost["biased_upper_bound"] == 1).all() and len(lost) == 1
    table = bias(scores).query("label_type == 'all' and category == 'overall'")
    rates = table[table["metric"].str.endswith("_rate")].groupby("metric")
    weighted = rates.apply(lambda rows: (rows["value"] * rows["n"]).sum() / rows["n"].sum())
    assert weighted.to_dict() == {
        "refusal_rate": 12.5,
        "ambiguous_rate": 0,
        "unparseable_rate": 12.5,
        "unanswered_rate": 25,
    }
    assert rates["n"].sum().eq(2).all()
    assert rates["failed"].sum().eq(1).all()
