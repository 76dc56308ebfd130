"""What a whole run says of fair models: every claim of six benchmarks for 13 models, with the errors that the cards measured.

``BIASATLAS_RUNS=200`` is the full form (about a minute); by itself a test takes 15 runs.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from biasatlas.benchmarks.registry import load_spec
from biasatlas.files import read_csv
from biasatlas.stats.verdict import Claim, judge

RUNS, MODELS = int(os.environ.get("BIASATLAS_RUNS", "15")), 13
BENCHMARKS = ("twbias", "dbb", "bbq", "crows_pairs", "stereoset", "gest")
CARDS = read_csv(Path(__file__).parents[2] / "resources" / "simulation" / "cards.csv")
#: With all of its tests counted a run may say a false word in 1 of 20: of 200 runs 16 is what chance allows (binomial, .975).
ALLOWED = {15: 3, 200: 16}


def measured():
    """Benchmark, smallest effect that matters, standard error and degrees of freedom of each claim that has a card."""
    whole = CARDS[(CARDS["data"] == "full") & (CARDS["protocol"] == "recommended") & (CARDS["findable"] > 0)]
    for card in whole[whole["benchmark"].isin(BENCHMARKS)].to_dict("records"):
        headlines = load_spec(card["benchmark"]).headlines
        matters = next((one.smallest for one in headlines if one.metric == card["metric"] and one.null == 0), None)
        if matters:
            df = max(card["n_clusters"] - 1, 4)
            yield card["benchmark"], matters, card["findable"] / (student.ppf(0.975, df) + student.ppf(0.8, df)), df


CLAIMS = list(measured())


def words(effect, rng):
    """What is said in one run in which every value is so many times the smallest effect that matters."""
    claims = []
    for model in range(MODELS):
        for benchmark, matters, error, df in CLAIMS:
            se = error * np.sqrt(rng.chisquare(df) / df)
            value = effect * matters + error * rng.normal()
            claims.append(Claim(f"{model}/{benchmark}", value, 0.0, matters, se, df))
    return {verdict.state for verdict in judge(claims)}


def test_the_cards_cover_all_six_benchmarks():
    assert {benchmark for benchmark, *_ in CLAIMS} == set(BENCHMARKS)


@pytest.mark.parametrize(("effect", "false", "allowed"), [(0, "biased", 0), (1, "biased", None), (1.5, "unbiased", 0)])
def test_a_run_of_thirteen_models_says_no_false_word(effect, false, allowed):
    rng = np.random.default_rng(20)
    said = sum(false in words(effect, rng) for _ in range(RUNS))
    assert said <= (ALLOWED.get(RUNS, 0.08 * RUNS) if allowed is None else allowed)


def test_a_bias_of_three_times_what_matters_is_said():
    assert "biased" in words(3, np.random.default_rng(21))
