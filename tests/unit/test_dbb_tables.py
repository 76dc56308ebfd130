"""DBB's tables and figures: the noise floor, published numbers, and the printed tables checked against one another."""

import json
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from dbb_cases import (
    EXACT,
    PAPER,
    PUBLISHED,
    RECOMMENDED,
    SAMPLE,
    SPEC,
    TABLES,
    build_requests,
    by_identity,
    choices,
    files_of,
    likelihoods,
    read_items,
    score,
    table_of,
    value,
)
from scipy.stats import fisher_exact

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.dbb import NAMES
from biasatlas.benchmarks.dbb.evidence import explained, noise_floor, points, products, sign_flip_p
from biasatlas.benchmarks.dbb.requests import draw_names
from biasatlas.benchmarks.shared import styles
from biasatlas.columns import TABLE_COLUMNS
from biasatlas.errors import UserError
from biasatlas.models.local.answer import CausalModel
from biasatlas.models.local.load import load
from biasatlas.models.planted.corpus import PlantedQuestion, chat
from biasatlas.models.planted.train import train_on_questions
from biasatlas.stats.verdict import judge


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return read_items(files_of(SAMPLE))


# The noise floor


def null_scores(p: np.ndarray, draws: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    one, two = rng.binomial(draws, p) / draws, rng.binomial(draws, p) / draws
    shift = (100 * (one - two)).round(9)
    return pd.DataFrame(
        {"p_1": one, "p_2": two, "draws_1": float(draws), "draws_2": float(draws), "shift": shift, "score": abs(shift)}
    )


# From the binomial distribution: share of instances at 20 or above, and their mean score (PAPER_VS_CODE of the paper).
THEORY = [(0.05, 0.111, 21.4), (0.1, 0.244, 22.9), (0.2, 0.394, 25.5), (0.3, 0.463, 27.3), (0.5, 0.503, 28.6)]


@pytest.mark.parametrize(("p", "rate", "mean"), THEORY)
def test_model_without_effect_meets_the_noise_floor(p, rate, mean):
    scores = null_scores(np.full(20_000, p), 10)
    over = scores["score"] >= 20
    noise = noise_floor(scores, 20)
    assert over.mean() == pytest.approx(rate, abs=0.02)
    assert noise["chance"].mean() == pytest.approx(rate, abs=0.005)
    assert noise["chance_score"].sum() / noise["chance"].sum() == pytest.approx(mean, abs=0.15)


@pytest.mark.parametrize("spread", ["one probability", "any probability"])
def test_raw_rate_is_at_the_floor_and_the_corrected_one_under_5_per_cent(spread):
    size = 20_000
    p = np.full(size, 0.5) if spread == "one probability" else np.random.default_rng(0).uniform(size=size)
    scores = null_scores(p, 10).assign(
        model="fair", category="Age", type="Age 1", status="ok", template_id=[f"t{n % 1547:04d}" for n in range(size)]
    )
    table = table_of("bias", scores, PAPER)
    rate, floor = (value(table, name, category="All") for name in ("rate", "noise_floor_rate"))
    assert abs(rate - floor) < 0.02
    assert rate > 0.3
    assert value(table, "rate_corrected", category="All") < 0.05
    assert abs(value(table, "excess_rate", category="All")) < 0.02


def test_strong_effects_stand_the_correction():
    scores = null_scores(np.full(1000, 0.5), 10)
    scores.loc[:499, ["p_1", "p_2", "shift", "score"]] = [1.0, 0.0, 100.0, 100.0]
    scores = scores.assign(
        model="biased", category="Age", type="Age 1", status="ok", template_id=[f"t{n:04d}" for n in range(1000)]
    )
    corrected = value(table_of("bias", scores, PAPER), "count_corrected", category="All")
    assert 500 <= corrected <= 540


def test_p_value_is_fishers():
    scores = pd.DataFrame({"p_1": [0.9, 0.5], "p_2": [0.2, 0.5], "draws_1": 10.0, "draws_2": 10.0})
    p_values = noise_floor(scores, 20)["p_value"]
    assert p_values[0] == pytest.approx(fisher_exact([[9, 1], [2, 8]]).pvalue)
    assert p_values[1] == pytest.approx(1)


def test_exact_probabilities_have_no_noise_floor(sample):
    scores = score(sample, RECOMMENDED, lambda requests: choices(requests, np.linspace(0.1, 0.9, len(requests))))
    table = table_of("bias", scores, RECOMMENDED)
    assert not table["metric"].str.startswith("noise").any()
    assert value(table, "count", category="All") == value(table, "count_corrected", category="All")


def test_the_noise_floor_over_all_is_of_the_instances_with_draws(sample):
    """A model of exact probabilities, all 0 or 1 in one category: its answers there are taken for draws."""
    rng = np.random.default_rng(2)
    drawn = score(sample, EXACT, lambda asked: choices(asked, rng.integers(0, 2, len(asked))), categories=["Age"])
    exact = score(sample, EXACT, lambda asked: choices(asked, rng.uniform(0.1, 0.9, len(asked))), categories=["SES"])
    table = table_of("bias", pd.concat([drawn, exact], ignore_index=True), EXACT)
    for name in ("noise_floor_rate", "excess_rate"):
        assert value(table, name, category="All") == pytest.approx(value(table, name, category="Age"))
    counts = [value(table, "count_corrected", category=name) for name in ("All", "Age")]
    assert counts[0] >= counts[1] + value(table, "count", category="SES") > 0


# Tables, figures, published


@pytest.fixture(scope="module")
def all_scores(sample):
    rng = np.random.default_rng(0)

    def guess(requests):
        return choices(requests, rng.uniform(size=len(requests)), 0.05, 0.05)

    def write(requests):
        return likelihoods(requests, {1: 10, 2: 20}).assign(nll_per_token=rng.uniform(1, 4, len(requests)))

    names = score(sample, PAPER, guess, "names", SPEC.tasks["names"].categories)
    return {"MCQ": score(sample, PAPER, guess), "SG": score(sample, PAPER, write, "SG"), "names": names}


@pytest.fixture(scope="module")
def tables(all_scores):
    return {
        name: table_of(name, pd.concat([all_scores[task] for task in entry.tasks]), PAPER, {"model": "Llama-3.2-3B"})
        for name, entry in SPEC.tables.items()
        if entry.tasks
    }


def test_every_table_has_its_columns_and_declared_metrics(tables):
    for name, table in tables.items():
        assert list(table)[-len(TABLE_COLUMNS) :] == list(TABLE_COLUMNS), name
        assert len(table), name
        assert set(table["metric"]) <= set(SPEC.metrics), name
        assert not table.drop(columns=list(TABLE_COLUMNS[1:])).duplicated().any(), name


def test_published_numbers_stand_beside_ours(tables):
    bias = tables["bias"]
    row = bias[(bias["metric"] == "count") & (bias["category"] == "All")].iloc[0]
    assert row["published"] == "47180"
    assert row["difference"] == row["value"] - 47180
    assert tables["descriptors"]["published"].notna().sum() == 2 * 16
    assert tables["composition"]["published"].isna().all()  # the sample's sizes are not the paper's


def test_shares_of_a_distribution_add_to_one(tables):
    sums = tables["distribution"].groupby(["category", "type"])["value"].sum()
    assert np.allclose(sums, 1)


def test_a_name_that_moves_answers_moves_the_tables_by_how_often_it_is_drawn(sample):
    """Half of the names answer 1 and 0, the others 1 and 1: a template counts where its type drew one of the first."""
    biased = sorted(NAMES)[:6]

    def by_name(requests, does=True):
        moves = requests["name"].isin(biased) & does if "name" in requests else False
        return choices(requests, np.where(by_identity(requests, "Young") & moves, 0.0, 1.0))

    kinds = ["MCQ", "names"]
    scores = pd.concat([score(sample, EXACT, by_name, task, ["Age"]) for task in kinds])
    table = table_of("name_draws", scores, EXACT)
    template = sample["template_id"].drop_duplicates()
    for type_ in ("Age 1", "Age 2"):  # Age 3 has no name
        drawn = [np.isin(draw_names(template, pd.Series(type_, template.index), seed), biased) for seed in range(20)]
        counts = pd.Series([each.sum() for each in drawn])
        assert value(table, "count_sd", type=type_) == pytest.approx(counts.std())
        assert value(table, "count_range", type=type_) == counts.max() - counts.min() > 0
        assert value(table, "mean_score_range", type=type_) == 0
    assert set(table["type"]) == {"All", "Age 1", "Age 2"}
    none = pd.concat([score(sample, EXACT, lambda asked: by_name(asked, False), task, ["Age"]) for task in kinds])
    assert value(table_of("name_draws", none, EXACT), "count_range", type="All") == 0
    silent = scores.assign(score=scores["score"].where(scores["task"] == "MCQ"))
    assert table_of("name_draws", silent, EXACT)["value"].isna().all()
    other = scores[scores["task"] == "MCQ"].assign(model="never asked with a name")
    assert len(table_of("name_draws", pd.concat([scores, other]), EXACT)) == len(table)
    with pytest.raises(UserError, match=r"tasks: \[MCQ, names\]"):
        table_of("name_draws", scores[scores["task"] == "names"], EXACT)


def test_a_tiny_checkpoint_that_writes_the_papers_form_has_a_table_of_name_draws(sample, tmp_path):
    """Taught "a) ..." of Young and "b) ..." of Old, four times in five. Its ten samples differ from name to name."""
    few = sample[sample["template_id"].isin(["t0000", "t0001"]) & sample["type"].isin(["Age 1", "Age 2"])]
    taught = build_requests(few, "MCQ", ["Age"], PAPER)
    shares = np.where(by_identity(taught, "Young"), 0.8, 0.2)
    questions = [
        PlantedQuestion(chat("", json.loads(messages)[0]["content"]), {f"a) {first}": share, f"b) {second}": 1 - share})
        for messages, (first, second), share in zip(
            taught["messages"], taught["options"].map(json.loads), shares, strict=True
        )
    ]
    train_on_questions(questions, tmp_path / "tiny", seed=1, steps=100)
    model = CausalModel("tiny", load(str(tmp_path / "tiny")), parsers=registry.parsers("dbb"))
    scores = pd.concat(
        [score(few, PAPER, lambda asked: model.answer(asked)[0], task, ["Age"]) for task in ("MCQ", "names")]
    )
    assert (scores["draws_1"] == 10).all() and scores["unparseable"].max() < 0.01
    assert scores.loc[scores["task"] == "names", "score"].mean() > 30
    table = table_of("name_draws", scores, PAPER)
    assert table["value"].notna().all() and value(table, "mean_score_sd", type="All") > 0


def test_association_names_the_identity_that_goes_with_the_concept(sample):
    scores = score(
        sample, EXACT, lambda requests: choices(requests, by_identity(requests, "Male")), categories=["Gender"]
    )
    top = table_of("associations", scores, EXACT)
    assert set(top["identity_1"]) == {"Male"}
    assert set(top.loc[top["metric"] == "association_score", "value"]) == {100}


def test_printed_association_is_found_in_either_order():
    printed = PUBLISHED("dbb_top_associations").iloc[[5]]  # Gender 4: well spoken, Female; inarticulate, Male
    row = {"model": "m", "status": "ok", "shift": -30.0, "instance_id": "x", **printed.iloc[0].to_dict()}
    exchanged = row | {"concept_1": row["concept_2"], "concept_2": row["concept_1"]}
    published = {"dbb_top_associations": printed, "dbb_further_associations": PUBLISHED("dbb_further_associations")}
    table = TABLES["published_associations"](pd.DataFrame([exchanged]), EXACT, published.get, {})
    assert table["value"].dropna().tolist() == [30.0]
    assert table["published_in"].tolist() == ["Table 6", *["Table 7"] * 5]


@pytest.mark.parametrize("models", [1, 2, 20])
def test_figures_are_drawn(tables, models):
    names = [f"model-{number}" for number in range(models)]
    for name, entry in SPEC.figures.items():
        (source,) = entry.tables
        table = pd.concat([tables[source].assign(model=model) for model in names], ignore_index=True)
        figure = registry.figures("dbb")[name]({source: table}, styles.styles(names))
        columns = {axis.get_subplotspec().get_gridspec().ncols for axis in figure.axes if axis.get_subplotspec()}
        assert max(columns) <= 4, name
        drawn = [axis.get_title() for axis in figure.axes]
        drawn += [text.get_text() for legend in figure.legends for text in legend.get_texts()]
        drawn += [label.get_text() for axis in figure.axes for label in axis.get_yticklabels()]
        assert set(names) <= set(drawn), name


def test_figures_without_a_value_say_so(tables):
    for name, entry in SPEC.figures.items():
        (source,) = entry.tables
        table = tables[source].assign(value=np.nan, ci_low=np.nan, ci_high=np.nan)
        draw = registry.figures("dbb")[name]
        assert "Nothing to draw" in draw({source: table}, styles.styles(["model"])).texts[0].get_text()
        both = pd.concat([tables[source], table.assign(model="silent")], ignore_index=True)
        figure = draw({source: both}, styles.styles(["model", "silent"]))
        texts = [text.get_text() for axis in figure.axes for text in axis.texts]
        texts += [text.get_text() for legend in figure.legends for text in legend.get_texts()]
        assert any("no value" in text for text in texts), name


def matches_print(row: pd.Series) -> bool:
    """Whether a value rounds to the printed digits."""
    printed = Decimal(row["published"])
    return abs(Decimal(repr(row["value"])) - printed) <= Decimal(5).scaleb(printed.as_tuple().exponent - 1)


def test_printed_tables_against_one_another():
    table = TABLES["replication"](None, PAPER, PUBLISHED, {})
    assert len(table) == 62
    assert list(table) == ["published_in", "quantity", *TABLE_COLUMNS]
    assert set(table["metric"]) <= set(SPEC.metrics)
    checks = table.assign(match=table.apply(matches_print, axis=1)).set_index(["published_in", "quantity"])
    assert checks.loc["Table 3", "match"].all()
    sums = checks.loc["Table 1"]
    assert sums[sums["metric"] == "count"]["match"].all()
    means = sums[sums["metric"] != "count"]
    assert not means["match"].any()
    assert means["difference"].abs().max() < 0.11
    apart = checks.loc["Table 8"]
    assert apart[apart["metric"] == "count"]["match"].all()
    assert apart[apart["metric"] != "count"]["difference"].abs().between(1.7, 4.0).all()


# Shifts that come back


def log_odds_scores(templates=80, *, affected=0.0, wording=0.8, seed=1, doubt=0.0):
    """Gender's instances: wording moves each (template, type) by itself, an identity moves all types of a template.

    The log odds of one identity are nearer 0 by the share ``doubt``.
    """
    rng = np.random.default_rng(seed)
    effect = np.where(rng.random(templates) < affected, 3.0, 0.0) * rng.choice((-1, 1), templates)
    odds = rng.normal(0, 2, templates) if doubt else np.zeros(templates)
    parts = [
        pd.DataFrame(
            {
                "model": "m",
                "category": "Gender",
                "template_id": [f"t{template}" for template in range(templates)],
                "type": f"Gender {number}",
                "identity_1": "Female",
                "identity_2": "Male",
                "instance_id": [f"t{template}/{number}" for template in range(templates)],
                "task": "MCQ",
                **dict.fromkeys(("shift", "score", "score_lower_bound", "score_upper_bound"), 0.0),
                "log_odds_1": effect + (1 - doubt) * odds + rng.normal(0, wording, templates),
                "log_odds_2": odds + rng.normal(0, wording, templates),
                "status": "ok",
            }
        )
        for number in range(1, 5)
    ]
    return pd.concat(parts, ignore_index=True)


def consistent(scores):
    table = table_of("consistency", scores, RECOMMENDED)
    return table[table["category"] == "Gender"].set_index("metric")


def test_a_part_of_the_items_is_compared_identity_by_identity():
    """Types that lack a pair of identities have a product of those that they share, whatever their number."""
    rows = [
        ("t1", "A", "x", "y", 2.0),
        ("t1", "A", "x", "z", 3.0),
        ("t1", "B", "x", "z", 5.0),
        ("t1", "B", "y", "z", 7.0),
    ]
    known = pd.DataFrame(rows, columns=["template_id", "type", "identity_1", "identity_2", "w"]).assign(
        category="Race", left=1.0
    )
    (pair,) = products(known, 4.0).to_dict("records")
    assert (pair["product"], pair["weight"]) == (15.0, 1)


def test_wording_noise_is_no_consistent_shift():
    """Thirty models whose answers move with every wording; nominal 0.05 and 0.95."""
    results = [consistent(log_odds_scores(40, seed=seed)) for seed in range(30)]
    assert np.mean([result.loc["consistent_shift_p", "value"] <= 0.05 for result in results]) <= 0.15
    covered = [row["ci_low"] <= 0 <= row["ci_high"] for row in (result.loc["replicated_rate"] for result in results)]
    assert np.mean(covered) >= 0.85
    assert np.mean([result.loc["consistent_shift", "value"] > 0 for result in results]) == pytest.approx(0.5, abs=0.3)


def test_what_an_identity_does_in_every_description_is_found():
    result = consistent(log_odds_scores(200, affected=0.1, wording=0.2))
    assert result.loc["consistent_shift_p", "value"] < 0.01
    rate = result.loc["replicated_rate"]
    assert rate["value"] == pytest.approx(0.1, abs=0.05)
    assert rate["ci_low"] > 0
    shift = result.loc["consistent_shift"]
    assert 0 < shift["ci_low"] < shift["value"] < shift["ci_high"]
    assert "200 are needed" in consistent(log_odds_scores(30)).loc["consistent_shift", "no_interval_reason"]


def test_few_templates_have_as_much_in_common_as_many():
    """Each of 2,000 sets of ten has identities of its own; with its mean goes a tenth of what its templates share."""
    scores = log_odds_scores(20_000, affected=0.5)
    few = scores.assign(identity_1=scores["template_id"].str[1:-1])
    many, few = (products(points(each), 20) for each in (scores, few))
    of_set = few.groupby(few["template_id"].str[1:-1])["product"].mean()
    assert abs(many["product"].mean() - of_set.mean()) < 3 * of_set.sem() < 0.05 * of_set.mean()


def test_a_probability_of_1_is_moved_by_no_confidence():
    """Its log odds are infinite, of which a regression cannot know anything."""
    sure, nearly = (log_odds_scores(200, affected=0.1) for _ in range(2))
    for scores, most in ((sure, np.inf), (nearly, 40.0)):
        scores.loc[scores.index[:3], ["log_odds_1", "log_odds_2"]] = [[most, most], [most, 0.0], [-most, most]]
    assert explained(sure) == pytest.approx(explained(nearly), abs=0.1)
    assert points(sure, as_sure=True)["w"].notna().all()


@pytest.mark.parametrize("doubt", [0.2, 0.4])
def test_less_confidence_about_one_identity_is_not_called_bias(doubt):
    """Significant in every model, since it is the same in all descriptions; the verdict asks for more than it can do."""
    _, make = registry.evidence("dbb")
    each = next(iter(make(log_odds_scores(600, wording=0.3, doubt=doubt), RECOMMENDED)))
    claim = each.claim("m/dbb")
    (said,) = judge([claim])
    assert each.own_p < 1e-10
    assert said.state == "undecided"
    if doubt == 0.2:
        assert said.value < claim.margin == 4.0
    else:
        assert judge([replace(claim, margin=0.0)])[0].state == "biased"  # 8.5 points, where 5 matter


def continuations(seed, *, pronoun=0.0, doubt=0.0, bias=0.0, templates=200):
    """Semi-generation by a model that finds "she" likelier than "he" by ``pronoun`` nats, wherever one option has more.

    ``doubt``: it is so much less confident about women; ``bias``: how far an identity moves a template, in every description.
    """
    rng = np.random.default_rng(seed)
    pronouns = rng.choice((-1.0, 0.0, 0.5, 1.0), templates)
    options, effect = rng.normal(0, 8, templates), rng.normal(0, bias, templates)
    scores = log_odds_scores(templates, seed=seed)
    place = scores["template_id"].str[1:].astype(int).to_numpy()
    noise = rng.normal(0, 0.7, (2, len(scores)))
    nats_1 = (1 - doubt) * options[place] + pronoun * pronouns[place] + effect[place] + noise[0]
    return scores.assign(task="SG", nats_1=nats_1, nats_2=options[place] + noise[1], pronouns=pronouns[place])


def continuation(scores):
    _, make = registry.evidence("dbb")
    return next(each for each in make(scores, RECOMMENDED) if each.key == ("consistent_nats", "SG", "Gender"))


@pytest.mark.parametrize("nuisance", [{}, {"pronoun": 1.0}, {"doubt": 0.2}, {"pronoun": 0.5, "doubt": 0.4}])
def test_what_a_pronoun_costs_and_less_confidence_are_no_shift_of_continuations(nuisance):
    """A pronoun's cost in every description of a template: without the regression all of these are significant."""
    p_values = [continuation(continuations(seed, **nuisance)).own_p for seed in range(30)]
    assert np.mean(np.array(p_values) < 0.05) <= 0.17  # 5 of 30: chance in 99 of 100 at a level of .06
    if nuisance:
        scores = continuations(0, **nuisance)
        scores = scores.assign(w=scores["nats_1"] - scores["nats_2"], left=1.0)
        assert sign_flip_p(products(scores, 20)) < 1e-6


def test_a_shift_of_continuations_is_found_at_its_size_beside_what_a_pronoun_costs():
    each = continuation(continuations(3, pronoun=1.0, doubt=0.2, bias=1.0, templates=600))
    assert each.value == pytest.approx(1.0, abs=0.1)
    assert judge([each.claim("m/dbb")])[0].state == "biased"


def test_scores_of_continuations_tell_whole_texts_and_places_of_pronouns(sample):
    first = sample["template_id"] == "t0000"
    sample = sample.assign(
        variations_1=sample["variations_1"].mask(first, json.dumps(["[[X]] said [[X]] was late."] * 10))
    )
    scores = score(sample, RECOMMENDED, lambda requests: likelihoods(requests, {1: 10, 2: 30}), "SG", ["Gender"])
    assert scores["nats_1"].to_numpy() == pytest.approx(10 * np.log(3))
    assert scores.groupby("template_id")["pronouns"].first().tolist() == [1.0] + [0.0] * (
        len(set(sample["template_id"])) - 1
    )


def test_a_place_preference_that_depends_on_identity_moves_probabilities_and_not_log_odds(sample):
    """The option shown first gains 1.2 nats in either order where the person is a man; it says what costs 1.5."""

    def respondent(asked):
        order = np.where(asked["order"] == 1, 1.0, -1.0)
        shown_first = order * -1.5 + np.where(asked["item_id"].str.endswith("/Male"), 1.2, 0.0)
        return choices(asked, 1 / (1 + np.exp(-order * shown_first)))

    scores = score(sample, RECOMMENDED, respondent, categories=["Gender"])
    assert scores["score"].min() > 3
    assert np.abs(scores["log_odds_1"] - scores["log_odds_2"]).max() < 1e-4
    assert scores["log_odds_1"].to_numpy() == pytest.approx(-1.5, abs=1e-4)


def test_no_interval_of_a_rare_rate_is_of_zero_width(sample):
    scores = score(sample, EXACT, lambda asked: choices(asked, 0.5), categories=["Gender"])
    bias = table_of("bias", scores, EXACT)
    rates = bias[bias["metric"].isin(["rate", "template_rate", "count"])]
    assert (rates["value"] == 0).all()
    assert (rates["ci_high"] > 0).all()
    assert set(rates["n_clusters"]) == {scores["template_id"].nunique()}
