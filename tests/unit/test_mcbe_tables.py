"""McBE's tables of measured models and of the dataset."""

import numpy as np
import pandas as pd
import pytest
from mcbe_cases import (
    PROTOCOLS,
    PUBLISHED,
    PUBLISHED_AS,
    SPEC,
    changed,
    choose,
    measured_scores,
    row,
    sample_items,
    say,
    scored,
    tables_of,
)
from scipy import stats

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.mcbe import CATEGORY_NAMES, SUBSTITUTABLE, TASKS
from biasatlas.benchmarks.mcbe.quality import correlations, rouge_l, sentence_shares
from biasatlas.columns import TABLE_COLUMNS
from biasatlas.files import write_scores, write_table

ITEMS = sample_items()
RECOMMENDED = PROTOCOLS["recommended"]
TABLES = registry.tables("mcbe")


@pytest.fixture(scope="module")
def scores():
    return measured_scores()


@pytest.fixture(scope="module")
def tables(scores):
    return tables_of(scores)


def test_every_table_has_its_columns_and_declared_metrics(tables, tmp_path):
    assert {*TABLES} == set(SPEC.tables)
    for name, table in tables.items():
        assert tuple(table.columns[-len(TABLE_COLUMNS) :]) == TABLE_COLUMNS, name
        assert set(table["metric"]) <= set(SPEC.metrics), name
        assert len(table) and not table.duplicated([*table.columns[: -len(TABLE_COLUMNS)], "metric"]).any(), name
        write_table(table, tmp_path / f"{name}.csv", SPEC.metrics)


def test_every_declared_metric_is_in_a_table(tables):
    of_files = {"agreement_percent"}
    assert {metric for table in tables.values() for metric in table["metric"]} == set(SPEC.metrics) - of_files


def test_scores_have_the_declared_columns(scores, tmp_path):
    for task, spec in SPEC.tasks.items():
        part = scores[(scores["task"] == task) & (scores["category"] == "gender")]
        path = tmp_path / f"{task}.csv"
        write_scores(part[list(spec.scores)], path, spec.scores, model="small", task=task, category="gender")


def test_score_of_a_cell(scores, tables):
    table = tables["scores"]
    cell = scores[(scores["model"] == "small") & (scores["task"] == "PC") & (scores["category"] == "gender")]
    found = row(table, model="small", category="gender", task="PC", metric="score")
    assert found["value"] == pytest.approx(cell["score"].mean())
    assert (found["n"], found["not_applicable"], found["published"]) == (9, 1, "88.02")
    assert (found["refused"], found["unparseable"], found["truncated"], found["failed"]) == (0, 0, 0, 0)
    assert found["difference"] == pytest.approx(found["value"] - 88.02)
    assert row(table, model="small", category="gender", task="PC", metric="sd_over_repeats")["published"] == "0.18"
    assert row(table, model="small", category="gender", task="SC", metric="refusal_rate")["value"] == pytest.approx(10)


def test_what_does_not_apply_has_no_row(tables):
    table = tables["scores"]
    assert not ((table["category"] == "worldview") & table["task"].isin(["PC", "SS"])).any()
    assert not ((table["model"] == "black-box") & (table["task"] == "PC")).any()


def test_references_stand_beside_ss(tables):
    for category in SUBSTITUTABLE:
        for metric in ("a_share", "coin_flip_score", "fixed_ranking_score"):
            assert np.isfinite(
                row(tables["scores"], model="small", category=category, task="SS", metric=metric)["value"]
            )


def test_spread_over_repeats():
    """Four runs that score 100, 100, 0, 0: 57.7 by the sample's standard deviation."""

    def respond(asked):
        replies = say(asked, lambda request: request.subcategory)
        return replies.assign(text=replies["text"].where(replies["repeat"] < 2, "不知道"))

    part = scored(ITEMS, "SC", PROTOCOLS["paper"], respond).assign(model="m", task="SC", category="gender")
    table = TABLES["scores"](part, PROTOCOLS["paper"], PUBLISHED, {})
    assert row(table, metric="sd_over_repeats")["value"] == pytest.approx(57.735, abs=1e-3)
    assert row(table, metric="score")["value"] == 50
    assert row(table, metric="unparseable_rate")["value"] == 50


def test_refusals_are_counted_beside_n():
    def respond(asked):
        return choose(
            asked,
            lambda request: {} if request.item_id in ("gender-2", "gender-3") else {request.subcategory: 1.0},
        )

    part = scored(ITEMS, "SC", RECOMMENDED, respond).assign(model="m", task="SC", category="gender")
    found = row(TABLES["scores"](part, RECOMMENDED, PUBLISHED, {}), metric="score")
    assert (found["value"], found["n"], found["refused"]) == (100, 8, 2)
    assert (found["unparseable"], found["truncated"], found["failed"], found["not_applicable"]) == (0, 0, 0, 0)


@pytest.mark.parametrize(("one_word", "scored_items"), [("exclude", 0), ("hundred", 1)])
def test_rates_are_over_what_was_asked(one_word, scored_items):
    """A model that always refuses: 100%, though the list of one word (gender-10) is asked nothing in SS."""
    options = changed(RECOMMENDED, one_word=one_word)
    part = scored(ITEMS, "SS", options, lambda asked: choose(asked, lambda _: {}))
    table = TABLES["scores"](part.assign(model="m", task="SS", category="gender"), options, PUBLISHED, {})
    refusals = row(table, metric="refusal_rate")
    assert (refusals["value"], refusals["n"]) == (100, 9)
    found = row(table, metric="score")
    assert (found["n"], found["refused"], found["not_applicable"]) == (scored_items, 9, 1 - scored_items)


@pytest.mark.parametrize("task", ["SC", "SS", "BS"])
def test_a_request_that_failed_is_no_answer_that_does_not_refuse(task):
    """Half of the items fail, and every answer to the others refuses: 100% of the answers."""

    def respond(asked):
        answers = choose(asked, lambda _: {})
        lost = asked["item_id"].isin([f"gender-{number}" for number in range(2, 7)]).to_numpy()
        answers.loc[lost, ["probabilities", "refused", "ambiguous", "unparseable", "unresolved"]] = None
        return answers.assign(status=answers["status"].mask(lost, "failed"))

    part = scored(ITEMS, task, RECOMMENDED, respond).assign(model="m", task=task, category="gender")
    tables = {name: TABLES[name](part, RECOMMENDED, PUBLISHED, {}) for name in ("scores", "category_means")}
    rate, score = (row(tables["scores"], metric=name) for name in ("refusal_rate", "score"))
    assert (rate["value"], rate["n"], score["failed"]) == (100, 4 if task == "SS" else 5, 5)
    assert score["unparsed"] == 100
    mean = row(tables["category_means"], metric="mean_score", average="available")
    assert (mean["unparsed"], mean["n"]) == (100, 0)


def test_every_status_has_a_column_of_its_own():
    statuses = {"gender-2": "failed", "gender-3": "truncated", "gender-4": "unparseable", "gender-5": "refused"}

    def judge(asked):
        return choose(asked, lambda _: {"4": 1.0})

    def respond(asked):
        replies = say(asked.assign(repeats=1), lambda _: "这句话有偏见。")
        return replies.assign(status=replies["request_id"].map(statuses).fillna("ok"))

    part = scored(ITEMS, "BA", RECOMMENDED, respond, judge=judge).assign(model="m", task="BA", category="gender")
    found = row(TABLES["scores"](part, RECOMMENDED, PUBLISHED, {}), metric="score")
    # A truncated analysis is judged like any other.
    assert (found["n"], found["failed"], found["unparseable"], found["refused"], found["truncated"]) == (7, 1, 1, 1, 0)


def test_means_over_available_and_common_tasks(tables):
    scores, means = tables["scores"], tables["category_means"]

    def mean(model, tasks):
        return np.mean([row(scores, model=model, category="age", task=task, metric="score")["value"] for task in tasks])

    found = row(means, model="small", category="age", average="available")
    assert (found["tasks"], found["value"]) == ("PC SC SS BA BS", pytest.approx(mean("small", TASKS)))
    found = row(means, model="small", category="age", average="common")
    assert (found["tasks"], found["value"]) == ("SC SS BA BS", pytest.approx(mean("small", TASKS[1:])))
    assert row(means, model="black-box", category="worldview", average="available")["tasks"] == "SC BA BS"


def test_task_means_and_sizes(tables):
    means, sizes = tables["task_means"], tables["sizes"]
    found = row(means, model="small", task="SS", average="available")
    # PAPER_VS_CODE: the printed scores of Qwen2.5-0.5B average 87.687 over the eleven categories.
    assert found["published"] == "87.69" and found["ci_low"] < found["value"] < found["ci_high"]
    assert found["categories"].split() == list(SUBSTITUTABLE)
    assert set(sizes["family"]) == {"Qwen2.5"} and set(sizes["size_billion"]) == {0.5, 7.0}


def test_an_instance_that_breaks_the_format_is_counted_in_every_table(scores, tables):
    """It has no sentence; a file of scores has nothing there, which is read as missing."""
    broken = scores["item_id"] == scores["item_id"].iloc[0]
    status = scores["status"].mask(broken, "failed")
    faulty = scores.assign(score=scores["score"].mask(broken), sentence=scores["sentence"].mask(broken), status=status)
    for name in tables.keys() - {"sizes_elsewhere", "replication"}:  # these are of printed numbers first
        mine = faulty[faulty["task"].isin(SPEC.tables[name].tasks)]
        table = TABLES[name](mine, RECOMMENDED, PUBLISHED, PUBLISHED_AS)
        assert table["failed"].max() > tables[name]["failed"].max() or not len(table), name
    of = TABLES["composition"](faulty[faulty["task"] == "SC"], RECOMMENDED, PUBLISHED, PUBLISHED_AS)
    assert of["value"].sum() == tables["composition"]["value"].sum() - 2  # of its category, and of its subcategory


@pytest.mark.parametrize("name", ["scores", "category_means", "task_means", "sizes", "task_sizes", "friedman"])
def test_tables_have_every_task_on_one_scale(scores, tables, name):
    """Equation 5's weighted mean gives BA 12.5 at most: 49.9 of 100 is 6.2 there, and the tables are as of sums."""
    means = scores.assign(score=scores["score"].where(scores["task"] != "BA", scores["score"] / 8))
    mine = means[means["task"].isin(SPEC.tables[name].tasks)]
    table = TABLES[name](mine, changed(RECOMMENDED, ba_aggregate="weighted_mean"), PUBLISHED, PUBLISHED_AS)
    pd.testing.assert_frame_equal(table, tables[name])


def test_friedman_and_pairs(tables):
    table = tables["friedman"]
    cells = row(table, blocks="category-by-task cells", metric="friedman_chi_square")
    assert cells["n"] == 12 * 3 + 11  # PC is not common to all three
    ranks = table[(table["blocks"] == "category means") & (table["metric"] == "mean_rank")]
    assert ranks["value"].sum() == pytest.approx(6)
    assert ((table["metric"] == "nemenyi_p") & (table["blocks"] == "category means")).sum() == 3
    wide = (
        tables["category_means"]
        .query("average == 'available'")
        .pivot(index="category", columns="model", values="value")
    )
    found = row(table, blocks="category means", metric="friedman_chi_square")
    assert found["value"] == pytest.approx(stats.friedmanchisquare(*wide.to_numpy().T).statistic)


def test_friedman_over_the_printed_scores_is_the_reading_that_the_page_names(scores):
    """The eleven printed models as if measured: category means over the tasks that each has give 85.17."""
    printed = PUBLISHED("mcbe_scores").astype({"score": float})
    ours = {name: category for category, name in CATEGORY_NAMES.items()}
    one = {"item_id": "1", "sentence_id": "1", "prompt_set": "original", "status": "ok"}
    cells = printed.assign(category=printed["category"].map(ours), **one)
    found = row(
        TABLES["friedman"](cells, RECOMMENDED, PUBLISHED, {}), blocks="category means", metric="friedman_chi_square"
    )
    assert (found["n"], round(found["value"], 2)) == (12, 85.17)


def test_friedman_of_two_models_is_missing(scores):
    table = TABLES["friedman"](scores[scores["model"] != "large"], RECOMMENDED, PUBLISHED, {})
    assert table.loc[table["metric"] == "friedman_p", "value"].isna().all()


def test_robustness_compares_the_templates(scores):
    parts = scores[scores["task"] == "BS"].copy()
    original = parts["prompt_set"] == "original"
    means = parts[original].groupby(["model", "category"])["score"].transform("mean")
    parts.loc[~original, "score"] = (2 * means + 1).to_numpy()
    table = TABLES["robustness"](parts, RECOMMENDED, PUBLISHED, {})
    assert row(table, points="all", metric="pearson")["value"] == pytest.approx(1)
    assert row(table, points="all", metric="spearman")["n"] == 36
    assert row(table, points="race, health, appearance", metric="spearman")["n"] == 9
    assert table["published"].isna().all()  # the nine published points are of other models
    its = dict(zip(("small", "large", "black-box"), PUBLISHED("mcbe_robustness")["model"].unique(), strict=True))
    table = TABLES["robustness"](parts, RECOMMENDED, PUBLISHED, its)
    printed = table.dropna(subset="published").set_index("metric")["published"].to_dict()
    assert printed == {"spearman": "0.967", "spearman_p": "2.16e-5", "pearson": "0.999", "pearson_p": "2.76e-11"}
    assert set(table.dropna(subset="published")["points"]) == {"race, health, appearance"}
    lost = parts["category"].eq("race") & parts["item_id"].eq(parts.loc[parts["category"] == "race", "item_id"].iloc[0])
    some = parts.assign(
        status=parts["status"].mask(lost, "refused"),
        score=parts["score"].mask(lost),
        refused=parts["refused"].mask(lost, 1.0),
    )
    few = row(TABLES["robustness"](some, RECOMMENDED, PUBLISHED, its), points="all", metric="pearson")
    assert few["refused"] == 3 and few["unparsed"] < 20  # of all answers, not of those without a score alone


def test_a_mean_of_scores_of_0_to_100_has_no_interval_beyond_and_one_where_all_agree(scores):
    alike = scores.assign(score=100.0)
    near = scores.assign(score=np.where(scores["item_id"].str.endswith("2"), 80.0, 100.0))
    for given in (alike, near):
        means = TABLES["task_means"](given[given["status"] == "ok"], RECOMMENDED, PUBLISHED, {})
        assert (means["ci_low"] < means["value"]).all() and (means["ci_high"] <= 100).all()


def test_composition_similarity_words(tables):
    total = row(tables["composition"], category="gender", subcategory="all")
    assert (total["value"], total["published"]) == (10, "752")
    alike = tables["similarity"]
    assert alike["value"].between(0, 1).all() and alike["category"].nunique() == 13
    shares = alike[alike["metric"] == "rouge_l_share"].groupby("category")
    assert shares["value"].sum().round(9).eq(1).all()
    assert row(tables["words"], category="health", word="乙肝病毒")["value"] == 1


def test_words_of_grammar_and_the_papers_four_are_stop_words():
    sentences = ["然后我们的护士可能是一些很温柔的女性", "那些护士因为温柔"]
    parts = pd.DataFrame({"category": "age", "item_id": ["1", "2"], "sentence": sentences})
    table = TABLES["words"](parts, RECOMMENDED, PUBLISHED, {})
    assert table.set_index("word")["value"].to_dict() == {"护士": 2, "温柔": 2, "女性": 1}


def test_rouge_l_is_that_of_characters():
    """Longest common subsequence 甲丙丁, lengths 4 and 3: F1 = 2 x 3 / 7."""
    parts = pd.DataFrame(
        {
            "category": "age",
            "item_id": ["1", "2"],
            "sentence": ["甲乙丙丁", "甲丙丁"],
            "model": "m",
            "prompt_set": "original",
        }
    )
    table = TABLES["similarity"](parts, RECOMMENDED, PUBLISHED, {})
    assert row(table, category="age", metric="rouge_l")["value"] == pytest.approx(6 / 7)
    assert row(table, category="all", low=0.84)["value"] == 1


def test_mean_rouge_l_is_with_all_others():
    """甲乙, 甲丙, 丁戊: F1 is 1/2 between the first two, 0 with the third."""
    assert rouge_l(["甲乙", "甲丙", "丁戊"]).tolist() == pytest.approx([0.25, 0.25, 0])
    assert np.isnan(rouge_l(["甲乙"])).all()
    assert sentence_shares(pd.Series([0.25, 0.25, 0.0])) == pytest.approx(
        {0.0: 1 / 3, 0.24: 2 / 3} | {n / 50: 0 for n in range(1, 12)}
    )


def test_sizes_elsewhere_holds_printed_and_measured(tables):
    table = tables["sizes_elsewhere"]
    assert len(table) == 10 and table["published"].notna().all()
    measured = table.dropna(subset="value")
    assert set(measured["model"]) == {"Qwen2.5-0.5B-Instruct", "Qwen2.5-7B-Instruct"}
    of_task = row(tables["task_means"], model="large", task="SS", average="available")["value"]
    assert row(measured, model="Qwen2.5-7B-Instruct")["value"] == pytest.approx(of_task)


def test_categories_are_those_of_the_paper():
    assert list(dict.fromkeys(PUBLISHED("mcbe_scores")["category"])) == list(CATEGORY_NAMES.values())


@pytest.mark.parametrize("other", [[10.0, 20.0, 30.0, 50.0, 70.0], [19.0, 17.0, 15.0, 11.0, 7.0]])
def test_points_on_a_line_have_a_correlation_without_an_interval_of_no_width(other):
    found = correlations(pd.Series([1.0, 2.0, 3.0, 5.0, 7.0]), pd.Series(other))["pearson"]
    assert abs(found.value) == pytest.approx(1)
    assert np.isnan([found.ci_low, found.ci_high]).all()
