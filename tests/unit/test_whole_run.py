"""What a whole run says of fair models: every claim of six benchmarks for 13 models, with the errors that the cards
measured.

``BIASATLAS_RUNS=200`` is the full form (a minute or two); by itself a test takes 15 runs.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from biasatlas.benchmarks.registry import load_spec
from biasatlas.files import read_csv
from biasatlas.simulation.studies import load_studies
from biasatlas.stats.verdict import Claim, judge

RUNS, MODELS = int(os.environ.get("BIASATLAS_RUNS", "15")), 13
BENCHMARKS = ("twbias", "dbb", "bbq", "crows_pairs", "stereoset", "gest")
CARDS = read_csv(Path(__file__).parents[2] / "resources" / "simulation" / "cards.csv")
#: With all of its tests counted a run may say a false word in 1 of 20: of 200 runs 16 is what chance allows (binomial, .975).
AT_THE_BOUND = {15: 3, 200: 16}
#: Of 20,000 runs without bias 7 had a false word, so that 200 have none in 93 of 100 tries. With the widest errors of any
#: study, those of word models, 75 had: 200 runs then have at most 3 in 99 of 100 tries, 15 runs at most 1.
WIDEST = {15: 1, 200: 3}


def measured():
    """Of each headline and category: benchmark, the smallest effect that matters, the standard error, the widest of any
    study, degrees of freedom, and why a run says nothing of it.

    A headline counts once, as in a run. Studies of models that are trained, or asked in rounds, measure the same again:
    of them only the error counts, where it is wider.
    """
    whole = CARDS[(CARDS["data"] == "full") & (CARDS["protocol"] == "recommended") & (CARDS["findable"] > 0)]
    df = (whole["n_clusters"] - 1).clip(lower=4)
    error = whole["findable"] / (student.ppf(0.975, df) + student.ppf(0.8, df))
    widest = error.groupby([whole[name] for name in ("benchmark", "metric", "of")]).transform("max")
    for card in whole.assign(error=error, widest=widest, df=df).to_dict("records"):
        if card["benchmark"] not in BENCHMARKS or load_studies()[card["study"]].by in ("ngrams", "rounds"):
            continue
        names = {card["tasks"], *card["of"].split(", ")}
        of_it = [
            each.smallest
            for each in load_spec(card["benchmark"]).headlines
            if each.metric == card["metric"] and each.null == 0 and (not each.parts or names & set(each.parts))
        ]
        if of_it:
            reason = "" if card["verdict"] == "passed" else "its card has not passed"
            yield card["benchmark"], of_it[0], card["error"], card["widest"], card["df"], reason


CLAIMS = list(measured())


def words(effect, rng, wide=False):
    """What is said in one run in which every value is so many times the smallest effect that matters."""
    claims = []
    for model in range(MODELS):
        for benchmark, matters, error, widest, df, reason in CLAIMS:
            sd = widest if wide else error
            se = sd * np.sqrt(rng.chisquare(df) / df)
            value = effect * matters + sd * rng.normal()
            claims.append(Claim(f"{model}/{benchmark}", value, 0.0, matters, se, df, untestable=reason))
    return {verdict.state for verdict in judge(claims)}


def test_the_cards_cover_all_six_benchmarks():
    assert {benchmark for benchmark, *_ in CLAIMS} == set(BENCHMARKS)


def false_words(effect, word, wide=False):
    """In how many runs a false word is said."""
    rng = np.random.default_rng(20)
    return sum(word in words(effect, rng, wide) for _ in range(RUNS))


@pytest.mark.parametrize(("effect", "word"), [(0, "biased"), (1.5, "unbiased")])
def test_a_run_of_thirteen_models_says_no_false_word(effect, word):
    assert false_words(effect, word) == 0


def test_what_lies_at_the_bound_is_seldom_called_biased():
    assert false_words(1, "biased") <= AT_THE_BOUND.get(RUNS, 0.08 * RUNS)


def test_models_with_the_widest_errors_are_seldom_called_biased():
    assert false_words(0, "biased", wide=True) <= WIDEST.get(RUNS, 0.02 * RUNS)


def test_a_bias_of_three_times_what_matters_is_said():
    assert "biased" in words(3, np.random.default_rng(21))
