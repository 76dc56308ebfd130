"""McBE's tables, figures and the statistics recomputed from the paper's printed scores."""

import json

import numpy as np
import pandas as pd
import pytest
from mcbe_cases import PROTOCOLS, categories, choose, likelihoods, sample_items, say, scored
from scipy import stats

from biasatlas.benchmarks.mcbe import CATEGORY_NAMES, SPEC, SUBSTITUTABLE, TASKS
from biasatlas.benchmarks.mcbe import published as replicated
from biasatlas.benchmarks.mcbe.agreement import annotator_agreement, judge_agreement
from biasatlas.benchmarks.mcbe.figures import FIGURES
from biasatlas.benchmarks.mcbe.judge import build_judge_requests
from biasatlas.benchmarks.mcbe.requests import build_requests
from biasatlas.benchmarks.mcbe.scores import score_responses
from biasatlas.benchmarks.mcbe.tables import TABLES
from biasatlas.errors import UserError
from biasatlas.files import TABLE_COLUMNS, read_csv, read_published, write_csv

ITEMS = sample_items()
RECOMMENDED = PROTOCOLS["recommended"]
PUBLISHED_AS = {"small": "Qwen2.5-0.5B-Instruct", "large": "Qwen2.5-7B-Instruct", "black-box": "GLM4-AIR"}


def responder(task, rng):
    """Answers at random, a tenth of them refusals."""

    def respond(asked):
        if task == "PC":
            return likelihoods(asked, lambda _: 2 + rng.standard_normal() / 3)
        if task == "BA":
            return say(asked.assign(repeats=1), lambda _: "这句话有偏见，因为以偏概全。")
        return choose(
            asked,
            lambda one: dict(
                zip(json.loads(one.labels), 0.9 * rng.dirichlet(np.ones(len(json.loads(one.labels)))), strict=True)
            ),
        )

    return respond


@pytest.fixture(scope="module")
def scores():
    """A model scored on the whole sample; two others whose scores stray from its own, one of them without PC."""
    rng = np.random.default_rng(0)
    parts = []
    for task in TASKS:
        asked = build_requests(ITEMS, task, categories(task), RECOMMENDED)
        answers = responder(task, rng)(asked)
        judged = None
        if task == "BA":
            judge_asked = build_judge_requests(ITEMS, asked, answers, task, RECOMMENDED)
            judged = choose(judge_asked, lambda _: {"4": 1.0})
        for category in categories(task):
            part = score_responses(ITEMS, asked, answers, task, category, RECOMMENDED, judged)
            parts.append(part.assign(model="small", task=task, category=category))
    small = pd.concat(parts, ignore_index=True)
    stray = rng.normal(scale=5, size=(2, len(small)))
    large = small.assign(model="large", score=(small["score"] + 2 + stray[0]).clip(0, 100))
    black_box = small.assign(model="black-box", score=(small["score"] - 2 + stray[1]).clip(0, 100))
    return pd.concat([small, large, black_box[black_box["task"] != "PC"]], ignore_index=True)


@pytest.fixture(scope="module")
def tables(scores):
    return {
        name: TABLES[name](scores[scores["task"].isin(spec.tasks)], RECOMMENDED, read_published, PUBLISHED_AS)
        for name, spec in SPEC.tables.items()
        if not spec.file
    }


def row(table, **keys):
    for column, value in keys.items():
        table = table[table[column] == value]
    assert len(table) == 1, keys
    return table.iloc[0]


def test_every_table_has_its_columns_and_declared_metrics(tables):
    assert set(TABLES) == set(SPEC.tables)
    for name, table in tables.items():
        assert tuple(table.columns[-len(TABLE_COLUMNS) :]) == TABLE_COLUMNS, name
        assert set(table["metric"]) <= set(SPEC.metrics), name
        assert len(table) and not table.duplicated([*table.columns[: -len(TABLE_COLUMNS)], "metric"]).any(), name


def test_score_of_a_cell(scores, tables):
    table = tables["scores"]
    cell = scores[(scores["model"] == "small") & (scores["task"] == "PC") & (scores["category"] == "gender")]
    found = row(table, model="small", category="gender", task="PC", metric="score")
    assert found["value"] == pytest.approx(cell["score"].mean())
    assert (found["n"], found["missing"], found["published"]) == (9, 1, "88.02")
    assert found["difference"] == pytest.approx(found["value"] - 88.02)
    assert row(table, model="small", category="gender", task="PC", metric="sd_over_repeats")["published"] == "0.18"
    assert row(table, model="small", category="gender", task="SC", metric="refusal_rate")["value"] == pytest.approx(0.1)


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
        replies = say(asked, lambda one: one.subcategory)
        return replies.assign(text=replies["text"].where(replies["repeat"] < 2, "不知道"))

    part = scored(ITEMS, "SC", PROTOCOLS["paper"], respond).assign(model="m", task="SC", category="gender")
    table = TABLES["scores"](part, PROTOCOLS["paper"], read_published, {})
    assert row(table, metric="sd_over_repeats")["value"] == pytest.approx(57.735, abs=1e-3)
    assert row(table, metric="score")["value"] == 50
    assert row(table, metric="unparseable_rate")["value"] == 0.5


def test_refusals_are_counted_beside_n():
    def respond(asked):
        return choose(asked, lambda one: {} if one.item_id in ("gender-2", "gender-3") else {one.subcategory: 1.0})

    part = scored(ITEMS, "SC", RECOMMENDED, respond).assign(model="m", task="SC", category="gender")
    found = row(TABLES["scores"](part, RECOMMENDED, read_published, {}), metric="score")
    assert (found["value"], found["n"], found["refused"], found["missing"]) == (100, 8, 2, 0)


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


def test_friedman_and_pairs(tables):
    table = tables["friedman"]
    cells = row(table, blocks="category-by-task cells", metric="friedman_chi_square")
    assert cells["n"] == 12 * 3 + 11  # PC is not common to all three
    ranks = table[(table["blocks"] == "category means") & (table["metric"] == "mean_rank")]
    assert ranks["value"].sum() == pytest.approx(6)
    assert ((table["metric"] == "nemenyi_p") & (table["blocks"] == "category means")).sum() == 3
    wide = (
        tables["category_means"].query("average == 'common'").pivot(index="category", columns="model", values="value")
    )
    found = row(table, blocks="category means", metric="friedman_chi_square")
    assert found["value"] == pytest.approx(stats.friedmanchisquare(*wide.to_numpy().T).statistic)


def test_friedman_of_two_models_is_missing(scores):
    table = TABLES["friedman"](scores[scores["model"] != "large"], RECOMMENDED, read_published, {})
    assert table.loc[table["metric"] == "friedman_p", "value"].isna().all()


def test_robustness_compares_the_wordings(scores):
    parts = scores[scores["task"] == "BS"].copy()
    original = parts["prompt_set"] == "original"
    means = parts[original].groupby(["model", "category"])["score"].transform("mean")
    parts.loc[~original, "score"] = (2 * means + 1).to_numpy()
    table = TABLES["robustness"](parts, RECOMMENDED, read_published, {})
    assert row(table, task="BS", metric="pearson")["value"] == pytest.approx(1)
    assert row(table, task="BS", metric="spearman")["n"] == 36
    assert row(table, task="BS", metric="spearman")["published"] == "0.967"


def test_composition_similarity_words(tables):
    total = row(tables["composition"], category="gender", subcategory="all")
    assert (total["value"], total["published"]) == (10, "752")
    alike = tables["similarity"].set_index(["category", "other_category"])["value"]
    assert len(alike) == 12 * 13 / 2 and alike.between(0, 1).all()
    assert row(tables["words"], category="health", word="乙肝病毒")["value"] == 1


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
    table = TABLES["similarity"](parts, RECOMMENDED, read_published, {})
    assert row(table, category="age", other_category="age")["value"] == pytest.approx(6 / 7)


def test_figures_draw_from_tables_as_read_from_files(tables, tmp_path):
    read = {}
    for name, table in tables.items():
        write_csv(table, tmp_path / f"{name}.csv")
        read[name] = read_csv(tmp_path / f"{name}.csv")
    for name, spec in SPEC.figures.items():
        figure = FIGURES[name]({table: read[table] for table in spec.tables})
        assert figure.axes, name


def test_figures_say_when_there_is_nothing_to_draw(tables):
    empty = {name: table.iloc[:0] for name, table in tables.items()}
    for name in ("sizes", "scenario_selection", "category_means", "task_means"):
        assert "Nothing to draw" in FIGURES[name](empty).axes[0].texts[0].get_text()


#: docs: what each reading of the Friedman test's blocks gives; PAPER_VS_CODE, section 1.1.
FRIEDMAN = {
    "category means over the tasks that apply": (12, 85.17, 4.8e-14),
    "category means without Health and Appearance": (10, 72.53, 1.4e-11),
    "category means without PC": (12, 91.94, 2.2e-15),
    "category means, what does not apply as 0": (12, 94.20, None),
    "category-by-task cells": (43, 89.54, 6.6e-15),
    "category-by-task cells without Health and Appearance": (39, 77.48, 1.6e-12),
    "category-by-task cells, white-box models": (52, 63.50, 3.0e-11),
    "SC alone": (12, 56.80, 1.5e-8),
    "BS alone": (12, 94.78, 6.0e-16),
    "SS alone": (9, 69.56, 5.4e-11),
    "BA alone": (10, 91.98, 2.2e-15),
    "task means": (4, 14.05, 0.17),
}


@pytest.mark.parametrize("reading", FRIEDMAN)
def test_friedman_from_printed_scores(reading):
    table = replicated.friedman(read_published)
    n, statistic, p_value = FRIEDMAN[reading]
    found = row(table, key=reading, metric="chi_square")
    assert (found["n"], round(found["value"], 2), found["published"]) == (n, statistic, "84.27")
    if p_value:
        assert row(table, key=reading, metric="p_value")["value"] == pytest.approx(p_value, rel=0.04)


def test_every_reading_is_checked():
    assert set(replicated.friedman(read_published)["key"]) == set(FRIEDMAN)


def test_correlations_from_printed_scores():
    table = replicated.correlations(read_published)
    assert set(table["match"]) == {"yes"} and len(table) == 8
    assert row(table, key="BS, pearson", metric="p_value")["value"] == pytest.approx(2.762e-11, rel=1e-3)
    assert row(table, key="SC, pearson", metric="coefficient")["value"] == pytest.approx(0.99870, abs=5e-6)


def test_means_from_printed_scores():
    assert replicated.judge_agreement(read_published)["value"].item() == pytest.approx(83.74)
    table = replicated.qwen_scenario_selection(read_published).set_index("key")
    assert table["value"].round(3).tolist() == [87.687, 80.490, 77.829, 77.113]
    assert table["match"].tolist() == ["yes", "yes", "no", "yes"]  # 77.82 is printed for 77.829


def test_replication_needs_no_scores():
    table = TABLES["replication"](pd.DataFrame(), RECOMMENDED, read_published, {})
    assert len(table) == 8 + 1 + 4 + 24
    assert SPEC.tables["replication"].tasks == ()


def annotations(tmp_path, rows, header="category,item_id,rater,severity"):
    path = tmp_path / "annotations.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_annotator_agreement(tmp_path):
    """Two raters, four items, levels (0,0) (0,4) (4,4) (4,4): observed 3/4, chance (9 + 25) / 64, kappa 0.4667."""
    pairs = [(0, 0.5), (0, 9), (8, 10), (9, 9)]
    rows = [f"age,{item},{rater},{score}" for item, pair in enumerate(pairs) for rater, score in enumerate(pair)]
    table = TABLES["annotator_agreement"](annotations(tmp_path, rows), {}, read_published, {})
    found = row(table, category="age")
    assert found["value"] == pytest.approx((3 / 4 - 34 / 64) / (1 - 34 / 64))
    assert (found["published"], found["n"]) == ("0.65", 4)
    with pytest.raises(UserError, match=r"row 2, column severity: '11'"):
        annotator_agreement(annotations(tmp_path, ["age,1,1,11"]), {}, read_published, {})
    with pytest.raises(UserError, match=r"row 2, column item_id: nan\. Expected a value"):
        annotator_agreement(annotations(tmp_path, ["age,,1,1"]), {}, read_published, {})
    with pytest.raises(UserError, match="different numbers of raters"):
        annotator_agreement(annotations(tmp_path, [*rows, "age,9,0,1"]), {}, read_published, {})


def test_judge_agreement(tmp_path):
    header = "model_a,model_b,item_id,judge,human"
    rows = [f"x,y,{item},{judge},{human}" for item, (judge, human) in enumerate(["aa", "ab", "bb", "bb"])]
    # The names of the configuration, in the other order than the paper's.
    names = {"x": "Baichuan2-Chat-7B", "y": "InternLM2.5-7B-Chat"}
    table = TABLES["judge_agreement"](annotations(tmp_path, rows, header), {}, read_published, names)
    assert (row(table, model_a="x")["value"], row(table, model_a="x")["published"]) == (75, "81.3")
    assert row(table, model_a="mean")["published"] == "83.7"
    assert set(table["metric"]) <= set(SPEC.metrics)
    with pytest.raises(UserError, match=r"row 2, column judge: 'c'. Expected a, b or tie"):
        judge_agreement(annotations(tmp_path, ["x,y,1,c,a"], header), {}, read_published, {})
    with pytest.raises(UserError, match="no column 'human'"):
        judge_agreement(annotations(tmp_path, ["x,y,1,a"], "model_a,model_b,item_id,judge"), {}, read_published, {})


def test_categories_are_those_of_the_paper():
    assert list(dict.fromkeys(read_published("mcbe_scores")["category"])) == list(CATEGORY_NAMES.values())
