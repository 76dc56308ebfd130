"""The simulation studies: what they say of a metric, from made-up runs and a few simulated models."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from benches import bench, sample_items, simulated
from scipy.stats import norm

from biasatlas.benchmarks.comparisons.cards import sentence
from biasatlas.benchmarks.registry import load_spec
from biasatlas.benchmarks.shared.evidence import complete
from biasatlas.benchmarks.stereoset.items import TARGETS, swaps
from biasatlas.simulation import claims, direct, ngrams, own_group, rounds
from biasatlas.simulation.experiment import COLUMNS, run
from biasatlas.simulation.ground_truth import ground_truth
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.measure import shipped_for
from biasatlas.simulation.ngrams import WordModel
from biasatlas.simulation.nuisances import NUISANCES, half, nuisance
from biasatlas.simulation.studies import Headline, Study, load_studies
from biasatlas.simulation.validity import cards, markdown, settings_table, with_confounders
from biasatlas.stats.verdict import judge

KEYS = {"category": "overall", "direction": "all"}
STUDY = Study(
    benchmark="crows_pairs",
    tasks=["pair"],
    base={"noise": 1.0, "nats_per_token": 0.0},
    doses=[0.0, 0.5, 1.0],
    headlines=[Headline(table="scores", metric="stereotype_score", keys=KEYS)],
)


def runs(mean, truth, found=0.0, covered=0.95, seeds=200, clusters=40, above=0.1):
    """Runs of one headline: such a share of intervals holds the truth, such a share lies wholly ``above`` 50."""
    half = 3.0
    low = np.full(seeds, truth - half)
    low[round((1 - found) * seeds) :] = max(50 + above, truth - half)
    low[: round((1 - covered) * seeds)] = truth + 0.1  # these miss the truth
    value = mean + np.tile([-1.0, 1.0], seeds // 2)
    frame = {
        "metric": "stereotype_score",
        "of": "overall",
        "seed": range(seeds),
        "value": value,
        "ci_low": low,
        "ci_high": low + 2 * half,
    }
    return pd.DataFrame(
        frame | {"n": 100.0, "n_clusters": clusters, "p_value": np.nan, "ground_truth": truth}, columns=COLUMNS
    )


GOOD = {
    "bias-0": runs(50, 50),
    "bias-0.5": runs(52, 52, found=0.35),
    "bias-1": runs(54, 54, found=1.0),
    "length": runs(50, 50),
}


def card(**changed):
    (row,) = cards(settings_table("study", STUDY, GOOD | changed), {"study": STUDY.fitting()}).to_dict("records")
    return row


def test_a_nuisance_that_no_model_would_have_is_refused():
    with pytest.raises(ValueError, match="off: its first parameter is 'a', expected one of groups, asked, scores"):

        @nuisance("asking", ("choice",))
        def off(a, values, seed):
            """Nothing."""
            return values

    assert "off" not in NUISANCES


def test_a_metric_within_its_bars_has_passed():
    found = card()
    assert (found["verdict"], found["reason"], found["mistakes"], found["n_clusters"]) == ("passed", "", "", 40)
    # Power .4 at a bias of .5 (misses count too) and 1 at 1: .8 is two thirds of the way, where the truth is 52 + 4/3.
    assert found["smallest_dose"] == pytest.approx(0.5 + 0.5 * 2 / 3)
    assert found["smallest_value"] == pytest.approx(52 + 4 / 3)
    assert "finds 53.3 with 80% power" in sentence(found)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"length": runs(50, 50, found=0.2, above=20)}, "false alarms (length)"),
        ({"bias-0.5": runs(52, 52, covered=0.7)}, "coverage"),
        ({"bias-0.5": runs(53, 52)}, "estimates +1 off at a bias of 0.5"),
        ({"bias-1": runs(51, 51, found=1.0)}, "not monotone in the bias"),
    ],
)
def test_a_metric_that_misses_a_bar_is_descriptive_and_says_why(changed, reason):
    found = card(**changed)
    assert found["verdict"] == "descriptive"
    assert reason in found["reason"]
    assert sentence(found).startswith("overall: no verdict (")


def test_few_clusters_have_a_bar_of_their_own():
    short = {"bias-0.5": runs(52, 52, found=0.35, covered=0.8), "bias-1": runs(54, 54, found=1.0)}
    assert "coverage 0.900" in card(**short)["reason"]
    few = {name: frame.assign(n_clusters=12) for name, frame in (GOOD | short).items()}
    assert card(**few)["verdict"] == "passed"


def test_a_card_passes_by_as_many_seeds_as_tell_its_alarms_from_twice_the_level():
    """1 of 20 and 2 of 20 say nothing; 30 of 200 speak against .06, and 12 of 200 exclude .1, which 13 do not."""
    assert card(length=runs(50, 50, found=0.1, seeds=20, above=20))["verdict"] == "inconclusive"
    assert card(length=runs(50, 50, found=0.15, above=20))["mistakes"] == "length"
    assert card(length=runs(50, 50, found=0.06, above=20))["verdict"] == "passed"
    assert card(length=runs(50, 50, found=0.065, above=20))["reason"] == "too few models to tell (length)"


def declared(low, high, seeds=200):
    """Runs of CrowS-Pairs' shift, of which 0.25 nats matter: intervals from ``low`` to ``high`` twentieths of a nat."""
    frame = {"metric": "balanced_shift", "of": "overall", "seed": range(seeds), "value": (low + high) / 40}
    frame |= {
        "ci_low": low / 20,
        "ci_high": high / 20,
        "n": 100.0,
        "n_clusters": 40,
        "p_value": np.nan,
        "ground_truth": np.nan,
    }
    return pd.DataFrame(frame, columns=COLUMNS)


@pytest.mark.parametrize(
    ("interval", "alarms", "claimed", "verdict"),
    [((-1, 2), 0, 0, "passed"), ((1, 2), 1, 0, "passed"), ((6, 8), 1, 1, "descriptive")],
)
def test_a_nuisance_fools_a_headline_where_it_makes_a_bias_that_matters(interval, alarms, claimed, verdict):
    experiments = {"bias-0": declared(-1, 1), "letter": declared(*interval)}
    (row,) = cards(settings_table("study", STUDY, experiments), {"study": ["letter", "unknown"]}).to_dict("records")
    assert (row["false_alarms"], row["claimed"], row["verdict"]) == (alarms, claimed, verdict)
    assert row["mistakes"] == ("letter" if alarms else "")
    assert row["not_tried"] == "unknown"


def test_models_that_tell_no_margin_of_their_own_have_the_declared_one():
    """A study of likelihoods writes none, and one of two headlines may: 83 of 100 false alarms had counted as none."""
    found = declared(59.0, 62.0).assign(margin=np.nan)
    with_none, without = (
        settings_table("study", STUDY, {"bias-0": each})["claimed"].item()
        for each in (found, found.drop(columns="margin"))
    )
    assert with_none == without == 1.0


def test_no_sample_passes_what_fails_on_the_full_data():
    rows = pd.DataFrame({"benchmark": "gest", "study": "gest_pair", "metric": "side_shift", "of": "overall"}, [0, 1])
    rows = rows.assign(data=["full", "sample"], verdict=["descriptive", "passed"], reason=["false alarms", ""])
    assert with_confounders(rows)["verdict"].tolist() == ["descriptive"] * 2
    assert with_confounders(rows.iloc[1:])["verdict"].tolist() == ["passed"]


def test_a_bias_that_matters_must_not_be_called_none():
    experiments = {f"bias-{bias:g}": declared(-1, 1).assign(ground_truth=12 * bias) for bias in (0, 0.5)}
    (row,) = cards(settings_table("study", STUDY, experiments), {"study": []}).to_dict("records")
    assert "called unbiased at bias 0.5" in row["reason"]


@pytest.mark.parametrize("more", [0, 1])
def test_a_root_is_as_right_as_its_squares_are_on_average(more):
    """Roots of squares that are right lie too low, and with enough models none would pass."""
    squares = np.random.default_rng(0).normal(size=400)
    squares = 5 * (squares - squares.mean()) + 4 + more
    frame = runs(2, 2, seeds=400).assign(metric="consistent_shift", value=np.sign(squares) * np.sqrt(abs(squares)))
    dbb = STUDY.model_copy(update={"benchmark": "dbb"})
    fair = frame.assign(value=np.tile([-1.0, 1.0], 200), ground_truth=0.0)
    table = settings_table("study", dbb, {"bias-0": fair, "bias-0.5": frame})
    row = table.to_dict("records")[1]
    assert row["mean"] + 3 * row["mean_error"] < 2 + more
    assert row["off"] == pytest.approx(more / pd.Series(squares).sem())
    (made,) = cards(table, {"study": []}).to_dict("records")
    assert ("off at a bias of 0.5" in made["reason"]) == (more == 1)


def test_seeds_without_an_interval_are_counted_and_no_finding():
    none = runs(50, 50)
    none[["ci_low", "ci_high"]] = np.nan
    (row,) = settings_table("study", STUDY, {"bias-0": none}).to_dict("records")
    assert row["without_interval"] == 200
    assert math.isnan(row["found"]) and math.isnan(row["coverage"])


@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_the_truth_of_a_preference_is_that_of_the_formula(bias):
    entry = STUDY.entry(f"bias-{bias:g}", 1, {})
    expected = 100 * norm.cdf(bias / np.sqrt(2))
    assert ground_truth(bench("crows_pairs", ("pair",)), entry, STUDY.headlines[0]) == pytest.approx(expected)


def test_estimates_of_a_study_are_about_the_truth():
    found = run(STUDY, "bias-1", bench("crows_pairs", ("pair",)), range(1, 9))
    error = found["value"].std() / math.sqrt(len(found))
    assert found["value"].mean() == pytest.approx(found["ground_truth"].iloc[0], abs=4 * error)


@pytest.mark.parametrize("name", [name for name, study in load_studies().items() if study.by == "tables"])
@pytest.mark.filterwarnings("ignore")
def test_every_headline_of_a_study_is_one_row_of_its_table(name):
    study = load_studies()[name]
    tried = bench(study.benchmark, tuple(study.tasks), tuple(study.categories), study.protocol)
    found = run(study, f"bias-{study.doses[-1]:g}", tried, [1])
    assert len(found) == len(study.headlines)
    assert found["value"].notna().any()


def test_every_setting_of_every_study_is_a_model():
    for study in (each for each in load_studies().values() if each.by != "ngrams"):
        assert all(study.entry(setting, 1, {"one": ["a", "b"]}).seed == 1 for setting in study.settings())


def test_a_nuisance_of_half_of_the_groups_names_every_second_one():
    assert half({"one": ["a", "b", "c"], "other": ["b"]}, 0.5) == {"a": 0.5, "b": 0.5, "c": 0.5}


def test_no_item_is_doubled_where_no_cluster_is():
    """Of one cluster, a fifth of the seeds double it, and the others leave all as it is."""
    scores = pd.DataFrame({"item_id": ["a", "b"], "cluster": ["x", "x"], "row": [0, 1]})
    doubled = [NUISANCES["duplicates"].act(scores, "cluster", seed) for seed in range(5)]
    assert [len(frame) for frame in doubled] == [8, 2, 2, 2, 2]
    assert all(frame["row"].dtype == scores["row"].dtype for frame in doubled)


def test_a_nuisance_reaches_every_study_that_it_fits_and_no_other():
    studies = {name: study for name, study in load_studies().items() if study.by != "ngrams"}
    of_texts = {name for name, study in studies.items() if "swap" in study.settings()}
    asked = {name: load_spec(study.benchmark).tasks[study.tasks[0]].kind for name, study in studies.items()}
    assert of_texts == {name for name, kind in asked.items() if kind == "likelihood"}
    assert {name for name, study in load_studies().items() if "abstention_by_polarity" in study.settings()} >= {"bbq"}


@pytest.mark.parametrize("name", sorted(name for name, each in NUISANCES.items() if each.form == "asked"))
def test_a_nuisance_moves_answers(name):
    each = NUISANCES[name]
    asked = {("polarity",): ("bbq", "question"), ("identity",): ("dbb", "MCQ")}
    asked |= {("document",): ("hiring_bias", "decision")}
    benchmark, task = asked.get(tuple(each.columns), ("twbias", "perplexity"))
    tried, entry = bench(benchmark, (task,)), simulated(seed=1)
    plain, moved = (way.questions[task].answer(entry) for way in (tried, tried.under(each)))
    assert (plain.iloc[:, 4] != moved.iloc[:, 4]).any()


def test_confidence_about_an_identity_is_no_bias_of_dbb():
    """A model that is twice as sure about one identity shifts by 11 points in all descriptions, for no stereotype."""
    study = load_studies()["dbb_mcq"]
    tried = bench("dbb", ("MCQ",), ("Age",), study.protocol).under(NUISANCES["twice_as_sure"])
    scores = direct.shifts(study, "twice_as_sure", tried)(1).assign(model="any")
    (evidence,) = (each for each in claims.declared(tried, scores) if each.category == "Age")
    as_declared, widened = judge([replace(evidence, margin=0.0).claim("a")]), judge([evidence.claim("a")])
    assert (as_declared[0].state, widened[0].state) == ("biased", "undecided")
    assert widened[0].why.startswith(f"a known confounder moves it by up to {evidence.margin:g}")


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ({"bias": 2.0}, "biased"),
        ({"bias": 2.0, "refused": 0.02}, "biased"),
        ({"bias": 2.0, "refused": 0.5}, "undecided"),
        ({"withheld_by_group": {"Male": 0.8}}, "undecided"),
    ],
)
def test_a_verdict_on_dbb_rests_on_the_worst_that_missing_answers_could_have_said(entry, state):
    """Where half are refused, or a fair model refuses rather than to say the stereotype about one identity."""
    tried = bench("dbb", ("MCQ",), ("Gender",))
    scores = tried.scores(simulated(noise=0.5, **entry), "any")
    (evidence,) = (each for each in claims.declared(tried, scores) if each.category == "Gender")
    (verdict,) = judge([evidence.claim("a")])
    assert verdict.state == state
    assert (evidence.missing is None) == (entry == {"bias": 2.0})
    alone = judge([replace(evidence, missing=None).claim("a")])
    assert alone[0].state == "biased"
    assert (
        state == "biased"
        or verdict.why == "the missing answers could have brought it below the smallest effect that matters"
    )


def test_what_is_not_known_of_confounders_or_missing_answers_is_not_left_out():
    """The least and the greatest of a number and NaN may be the number: a verdict then rested on it."""
    tried = bench("dbb", ("MCQ",), ("Gender",))
    known, other = (
        claims.declared(tried, tried.scores(simulated(noise=0.5, bias=2.0, seed=seed), "any"))[0] for seed in (1, 2)
    )
    unknown = replace(other, margin=math.nan)
    assert judge([unknown.claim("a")])[0].why == "how far confounders move it is not known"
    assert all(math.isnan(each.claim("a").margin) for each in (unknown.minus(known), known.minus(unknown)))
    scores = pd.DataFrame({"score": [1.0, np.nan], "score_lower_bound": 0.0, "score_upper_bound": 9.0})

    def make(rows):
        value = known.replicates.value if rows["score"].hasnans else math.nan
        yield replace(known, replicates=SimpleNamespace(value=value))

    (completed,) = complete(load_spec("dbb"), make, scores)
    assert completed.missing is not None and all(map(math.isnan, completed.missing))


def test_a_study_takes_all_clusters_of_a_sample_and_few_of_the_published_data():
    study, items = load_studies()["dbb_mcq"], sample_items("dbb")
    many = pd.concat([items.assign(template_id=items["template_id"] + f"#{n}") for n in range(4)], ignore_index=True)
    left = [Harness.of_study(study, shipped_for("dbb"), each).items["template_id"].nunique() for each in (items, many)]
    assert left == [items["template_id"].nunique(), -(-4 * items["template_id"].nunique() // study.every)]


def test_tables_for_the_docs_leave_out_what_is_missing():
    table = pd.DataFrame({"metric": ["x"], "value": [0.123456], "none": [np.nan]})
    assert markdown(table, {"metric": "name", "value": "v", "none": ""}).splitlines()[-1] == "| x | 0.123 |  |"


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("bbq", "refused_by_group"),
        ("bbq_paper", "right"),
        ("bbq", "few_clusters"),
        ("esbbq", "letter_by_group"),
        ("gest_pair", "token_noise"),
        ("gest_pair_choice", "orders"),
        ("dbb_mcq", "refused_by_group"),
        ("dbb_sg", "token_noise"),
        ("dbb_nats", "frequency"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_answers_kept_as_numbers_give_what_the_table_gives(name, setting):
    """Of the same models on the sample, for every headline that it has."""
    study = load_studies()[name]
    there = tuple(sample_items(study.benchmark)["category"].unique()[:2])
    tried = bench(study.benchmark, tuple(study.tasks), there, study.protocol)
    headlines = [one for one in study.headlines if one.keys["category"] in ("overall", "All", *there)]
    study = study.model_copy(update={"headlines": headlines})
    quick, slow = (way(study, setting, tried, [7, 8]) for way in (direct.run, run))
    assert len(quick) == 2 * len(study.headlines) > 2
    assert quick[["metric", "of"]].equals(slow[["metric", "of"]])
    numbers = list(COLUMNS[2:])
    assert quick[numbers].to_numpy(float) == pytest.approx(slow[numbers].to_numpy(float), nan_ok=True)


@pytest.mark.parametrize("name", ["dbb_mcq", "dbb_sg"])
def test_without_noise_a_consistent_shift_is_its_truth(name):
    study, there = load_studies()[name], tuple(sample_items("dbb")["category"].unique()[:2])
    mine = [one for one in study.headlines if one.test and one.keys["category"] in ("All", *there)]
    study = study.model_copy(update={"headlines": mine, "base": {"noise": 0.0}})
    found = direct.run(study, f"bias-{study.doses[-1]:g}", bench("dbb", tuple(study.tasks), there), [1])
    assert len(found) == 3
    # The truth is of the templates that there are, of which the estimate is of those that they are a sample of.
    here = found["value"] * np.sqrt(1 - 1 / found["n_clusters"])
    assert here.to_numpy() == pytest.approx(found["ground_truth"].to_numpy(), rel=1e-4)


def test_a_key_with_several_values_is_a_headline_for_each():
    rows = [headline.keys for headline in load_studies()["esbbq"].headlines if headline.metric == "bias_score"]
    assert rows[:3] == [
        {"category": "overall", "condition": "ambig"},
        {"category": "overall", "condition": "disambig"},
        {"category": "Age", "condition": "ambig"},
    ]


def test_regressions_made_ready_give_what_the_table_gives():
    """Of the same model on the sample: value and interval."""
    study = load_studies()["twbias_own_group"]
    wanted = [f"{target}-{reference}" for target in ("female", "male") for reference in ("women", "men")]
    headlines = [headline for headline in study.headlines if headline.keys["group"] == "female"]
    assert [headline.metric for headline in headlines] == ["own_term_advantage", "own_group_advantage"]
    study = study.model_copy(update={"headlines": headlines, "one_prompt": False})
    tried = bench("twbias", ("perplexity",), ("female-male", "male-female", *wanted))
    quick = own_group.run(study, "token_noise", tried, [7])
    slow = run(study, "token_noise", tried, [7])
    columns = ["value", "ci_low", "ci_high", "n", "n_clusters", "ground_truth"]
    assert quick[columns].to_numpy() == pytest.approx(slow[columns].to_numpy(), nan_ok=True)


def test_a_word_model_knows_what_it_was_trained_on():
    model = WordModel([["a", "b", "c"], ["a", "b", "c"], ["a", "d", "e"]])
    seen, unseen = (model.log_likelihood(["a"], words) for words in (["b", "c"], ["d", "c"]))
    assert seen > unseen
    vocabulary = sum(math.exp(model.log_likelihood(["a", "b"], [word])) for word in "abcde")
    assert vocabulary <= 1 + 1e-9


@pytest.mark.parametrize("name", ["crows_pairs_ngrams", "twbias_ngrams"])
def test_word_models_trained_on_stereotypes_have_them_and_fair_ones_do_not(name):
    study = load_studies()[name]
    tried = bench(study.benchmark, tuple(study.tasks))
    if study.headlines:  # the sample has too few terms of most groups
        study = study.model_copy(update={"headlines": study.headlines[:1], "one_prompt": False})
    fair, biased = (ngrams.run(study, setting, tried, range(1, 9)) for setting in ("bias-0", "bias-1"))
    assert abs(fair["value"].mean()) < biased["value"].mean()


def test_texts_to_train_on_have_any_target_alike_and_with_bias_more_often_their_own():
    tried = bench("stereoset", ("intrasentence",))
    drawn, written = ngrams._sentences(tried), tried.items[["stereotype", "anti-stereotype"]].to_numpy()

    def kept(bias):
        return np.mean([text in own for n in range(40) for text, own in zip(draws(n, bias), written, strict=True)])

    def draws(seed, bias):
        return drawn(np.random.default_rng(seed), bias, 0.7)

    alike = 1 / pd.Series(
        swap.item_id for swap in swaps(tried.items, tried.resources.yaml(TARGETS), None)
    ).value_counts().add(1)
    expected = alike.reindex(tried.items["item_id"]).fillna(1.0).mean()
    assert kept(False) == pytest.approx(expected, abs=0.05)
    assert kept(True) == pytest.approx(0.5 + 0.5 * expected, abs=0.05)


def test_a_network_trained_on_texts_finds_them_likelier_than_others():
    study = load_studies()["crows_pairs_ngrams"]
    questions = bench("crows_pairs", ("pair",)).questions["pair"]
    asked = questions.requests.iloc[[0, -1]]
    texts = [(row["prefix"] or "") + row["continuation"] for row in asked.to_dict("records")]
    few = replace(questions, requests=asked)
    one, other = (ngrams._network([text] * 64, few, 3) for text in texts)
    assert one[0] > other[0] and other[1] > one[1]
    assert study.base == {}


def test_models_that_are_asked_in_rounds_show_what_the_round_with_a_verdict_shows():
    study = load_studies()["crows_pairs_rounds"].model_copy(update={"base": {"noise": 0.1, "nats_per_token": 0.0}})
    tried = bench("crows_pairs", ("pair",))
    fair, biased = (rounds.run(study, setting, tried, range(1, 6)) for setting in ("bias-0", "bias-0.5"))
    assert len(fair) == rounds.EACH * 5
    assert (biased["p_value"] < 0.05).all() and not (fair["p_value"] < 0.05).all()


def test_nuisances_reach_models_that_are_asked_in_rounds():
    study = load_studies()["crows_pairs_rounds"]
    tried = bench("crows_pairs", ("pair",))
    plain, *others = (
        rounds.run(study, setting, tried.under(study.nuisance(setting)), range(1, 4)).drop(columns="seed")
        for setting in ("bias-0", "noise", "swap", "duplicates", "few_clusters")
    )
    assert all(len(plain) == len(moved) and not plain["value"].equals(moved["value"]) for moved in others)


def test_rows_of_a_regression_show_what_scores_of_a_round_show():
    study = load_studies()["twbias_rounds"].model_copy(update={"one_prompt": False})
    tried = bench("twbias", ("perplexity",))
    asked = list(tried.items["item_id"].iloc[::2])
    ((seed, of_rounds),) = rounds.in_rounds(study, "bias-0.4", tried)([(0.5, asked)], [3])
    ((_, shown),) = of_rounds
    scores = tried.scores(study.entry("bias-0.4", seed, tried.groups), "any")
    expected = claims.declared(tried, scores[scores["item_id"].isin(asked)])
    assert [each.key for each in shown] == [each.key for each in expected] != []
    for one, other in zip(shown, expected, strict=True):
        assert one.value == pytest.approx(other.value)
        assert one.inference().se == pytest.approx(other.inference().se, nan_ok=True)
        assert len(one.items) == len(other.items)
        assert one.declared == other.declared
