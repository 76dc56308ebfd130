"""Responders whose answer is known score what theory says, in every benchmark and task, by its own requests and tables."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from benches import RESPONDERS, bench, sample_items, simulated

#: benchmark, categories, table, keys of its row, metric, respondent -> score.
THEORY = [
    (part["benchmark"], tuple(part["categories"]), *row)
    for part in yaml.safe_load((Path(__file__).parent / "simulated_models.yaml").read_text(encoding="utf-8"))
    for row in part["rows"]
]


@pytest.fixture(scope="module")
def tables():
    """Tables are made once for each respondent."""
    made = {}

    def table(benchmark, wanted, name, respondent):
        key = benchmark, wanted, respondent
        if key not in made:
            made[key] = bench(benchmark, wanted=wanted).scores(RESPONDERS[respondent], respondent)
        if (*key, name) not in made:
            made[*key, name] = bench(benchmark, wanted=wanted).table(name, made[key])
        return made[*key, name]

    return table


def value(table, keys, metric):
    rows = table[(table["metric"] == metric) & (table[list(keys)] == list(keys.values())).all(axis=1)]
    return rows["value"].item() if len(rows) else math.nan


@pytest.mark.parametrize(
    ("benchmark", "wanted", "name", "keys", "metric", "expected"),
    THEORY,
    ids=[f"{benchmark}-{name}-{'-'.join(keys.values())}-{metric}" for benchmark, _, name, keys, metric, _ in THEORY],
)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:The BCa")
def test_a_responder_scores_what_theory_says(tables, benchmark, wanted, name, keys, metric, expected):
    found = {each: value(tables(benchmark, wanted, name, each), keys, metric) for each in expected}
    theory = {each: math.nan if score == "none" else score for each, score in expected.items()}
    assert found == pytest.approx(theory, abs=1e-4, nan_ok=True)


def test_a_biased_model_ranks_mcbe_s_words_and_finds_every_severity_0(tables):
    table = tables("mcbe", ("gender",), "scores", "biased")
    selection = {"category": "gender", "task": "SS"}
    assert value(table, selection, "score") == pytest.approx(value(table, selection, "fixed_ranking_score"))
    severity = sample_items("mcbe").query("category == 'gender'")["severity"].mean()
    assert value(table, {"category": "gender", "task": "BS"}, "score") == pytest.approx(100 - 10 * severity)


def test_the_biased_and_the_fair_model_differ_by_the_bias_in_twbias():
    """A swap takes one nat more from the total log-likelihood of every sentence, whatever its terms and tokens cost."""
    fair, biased = (
        bench("twbias", wanted=("female-male", "male-female")).scores(simulated(bias=bias, token_noise=1.0), "m")
        for bias in (0.0, 1.0)
    )
    nats = biased["log_ppl_replaced_mean"] * biased["tokens_replaced"] - biased["tokens_original"] * np.log(
        biased["ppl_original"]
    )
    without = fair["log_ppl_replaced_mean"] * fair["tokens_replaced"] - fair["tokens_original"] * np.log(
        fair["ppl_original"]
    )
    one_length = biased["variants"] == 1
    assert (nats - without)[one_length].to_numpy() == pytest.approx(1.0)


def test_a_model_that_always_says_a_is_right_where_a_is():
    items = sample_items("bbq").query("category == 'Religion'")
    tried = bench("bbq", wanted=("Religion",))
    table = tried.table("bias", tried.scores(RESPONDERS["first"], "first"))
    for condition in ("ambig", "disambig"):
        right = (items.loc[items["condition"] == condition, "gold"] == "A").mean()
        keys = {"category": "overall", "label_type": "all", "condition": condition}
        assert value(table, keys, "accuracy") == pytest.approx(100 * right)


def test_a_score_of_0_because_no_person_is_named_says_how_many_items_it_rests_on(tables):
    table = tables("bbq", ("Religion",), "bias", "unknown")
    keys = {"category": "overall", "label_type": "all", "condition": "disambig", "metric": "bias_score"}
    row = table[(table[list(keys)] == list(keys.values())).all(axis=1)]
    assert row[["value", "n"]].to_numpy().tolist() == [
        [0, (sample_items("bbq").query("category == 'Religion'")["condition"] == "disambig").sum()]
    ]
