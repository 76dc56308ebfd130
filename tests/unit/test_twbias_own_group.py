"""TWBias's regression on term counts, on models whose preference for terms, groups and edits is known."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.twbias.spec import PROMPTS
from biasatlas.benchmarks.twbias.swaps import regression, swapped_pairs
from biasatlas.stats.verdict import judge, p_outside

RECOMMENDED = registry.load_options("twbias", "recommended")
ETHNIC = {"hakka": ("客家", "客家人", "福佬客"), "hoklo": ("本省人", "閩南人", "福佬")}
GENDER = {"female": ("女人", "女性", "女孩"), "male": ("男人", "男性", "男孩")}


#: Reference groups of swaps between and inside groups; of genders these are everyday words.
REFERENCES = {"female": "women", "male": "men"}


def scores_of(
    terms, *, preference, advantage=0.0, edit=0.0, swap=0.0, sentences=60, seed=4, controls=True, noise=2.0, words=False
):
    """Scores of a model to which ``preference[term]`` nats are worth a term wherever it stands.

    A text that was edited loses ``edit`` nats, and one whose term is of another group ``advantage`` more. Each swap of
    two terms has a cost of its own, too, of standard deviation ``swap``. ``words``: of genders, swaps of everyday words.
    """
    rng = np.random.default_rng(seed)
    rows = []
    every = [term for group in terms.values() for term in group]
    costs = dict(zip(itertools.product(every, every), rng.normal(0, swap, len(every) ** 2), strict=True))
    for target, reference in itertools.product(terms, terms):
        if target == reference and not controls:
            continue
        for number in range(sentences):
            # Writers use the first term most.
            own = terms[target][int(rng.choice(3, p=(0.7, 0.2, 0.1)))]
            variants = []
            for other in terms[reference]:
                if other != own:
                    lost = edit + advantage * (target != reference) + costs[own, other] + rng.normal(0, noise)
                    change = preference[other] - preference[own] - lost
                    variants.append({"change": {own: -1, other: 1}, "weight": 1, "log_likelihood": change})
            rows += [
                {
                    "model": "m",
                    "category": f"{target}-{REFERENCES[reference] if words else reference}",
                    "item_id": f"{target}-{number}",
                    "target_group": target,
                    "prompt_type": prompt,
                    "toxicity": "toxic",
                    "attribute_categories": "[]",
                    "variant_changes": json.dumps(variants),
                    "ppl_original": np.exp(4),
                    "ppl_replaced_mean": np.exp(4 - np.mean([variant["log_likelihood"] for variant in variants]) / 20),
                    "log_ppl_replaced_mean": 4 - np.mean([variant["log_likelihood"] for variant in variants]) / 20,
                    "status": "ok",
                }
                for prompt in PROMPTS
            ]
    return pd.DataFrame(rows)


def table(scores, over="sentences"):
    result = registry.tables("twbias")["own_group"](scores, RECOMMENDED, None, {})
    return result[result["over"] == over].set_index("metric")


#: What a model without stereotypes thinks of terms: common ones, of either group, are likelier.
UNIGRAM = dict(zip((*ETHNIC["hakka"], *ETHNIC["hoklo"]), (3.0, 1.0, -1.0, 1.5, 0.5, -2.0), strict=True))
UNIGRAM |= dict(zip((*GENDER["female"], *GENDER["male"]), (2.0, 0.0, -1.0, 3.0, 1.0, 0.0), strict=True))


@pytest.mark.parametrize("terms", [ETHNIC, GENDER], ids=["ethnic", "gender"])
def test_a_preference_for_terms_is_no_stereotype(terms):
    """Twenty models without stereotypes; nominal 0.95."""
    covered = []
    for seed in range(20):
        scores = scores_of(terms, preference=UNIGRAM, sentences=30, seed=seed, controls=terms is ETHNIC)
        result = table(scores).dropna(subset="value").iloc[0]
        covered.append(result["ci_low"] <= 0 <= result["ci_high"])
    assert np.mean(covered) >= 0.8


def test_an_edit_that_costs_is_no_stereotype_of_ethnic_groups_and_is_said_to_be_one_of_genders():
    ethnic = table(scores_of(ETHNIC, preference=UNIGRAM, edit=1.0)).loc["own_group_advantage"]
    assert ethnic["ci_low"] <= 0 <= ethnic["ci_high"]
    gender = table(scores_of(GENDER, preference=UNIGRAM, edit=1.0, controls=False)).loc["own_term_advantage"]
    assert gender["ci_low"] > 0.5


def both(**kind):
    """Scores of genders by their lists and by everyday words."""
    listed = scores_of(GENDER, preference=UNIGRAM, controls=False, **kind)
    return pd.concat([listed, scores_of(GENDER, preference=UNIGRAM, words=True, **kind)])


def claims(scores, metric="own_group_advantage"):
    _, make = registry.evidence("twbias")
    return [each.claim("m/twbias") for each in make(scores, RECOMMENDED) if each.metric == metric]


def test_an_edit_that_costs_is_no_stereotype_of_genders_where_words_are_swapped_inside_them():
    (said,) = judge(claims(both(edit=1.0, sentences=40, noise=0.2)))
    assert said.state == "unbiased"
    (said,) = judge(claims(both(edit=1.0, advantage=1.0, sentences=40, noise=0.2)))
    assert said.state == "biased"
    assert said.value == pytest.approx(1.0, abs=0.2)


def test_genders_need_words_swapped_inside_them():
    result = table(scores_of(GENDER, preference=UNIGRAM, controls=False), "terms").loc["own_group_advantage"]
    assert np.isnan(result["value"])
    assert "own_group_swaps" in result["no_interval_reason"]
    assert claims(scores_of(GENDER, preference=UNIGRAM, controls=False)) == []


@pytest.mark.parametrize("words", [False, True], ids=["ethnic", "gender"])
def test_a_cost_of_each_swap_is_no_stereotype(words):
    """Twenty models without stereotypes. Over sentences, many of which share a swap, most would look biased."""
    p_values = []
    for seed in range(20):
        terms = GENDER if words else ETHNIC
        kind = {"preference": UNIGRAM, "swap": 1.0, "noise": 0.5, "sentences": 20, "words": words}
        scores = scores_of(terms, seed=seed, **kind)
        ((pair, found),) = swapped_pairs(scores, RECOMMENDED)
        model = regression(scores, found, pair)
        p_values.append([model.replicates(over).inference().p_value() for over in ("sentences", "terms")])
    sentences, over_terms = (np.array(p_values) < 0.05).mean(axis=0)
    assert sentences > 0.4
    assert over_terms <= 0.1


def test_rounding_of_a_unigram_model_is_no_effect():
    """Its advantage is 0 but for the last digits, which vary less still: p was 5e-62. The same everywhere, it is no verdict."""
    scores = scores_of(ETHNIC, preference=UNIGRAM, noise=0.0)
    (claim,) = claims(scores)
    assert abs(claim.value) < 1e-9 and p_outside(claim) == 1.0
    assert judge([claim])[0].state == "untestable"
    assert table(scores, "terms").loc["own_group_advantage", "no_interval_reason"] == "the clusters do not differ"


def test_two_models_differ_over_terms():
    one, other = (scores_of(ETHNIC, preference=UNIGRAM, advantage=a, edit=0.5, swap=0.2) for a in (1.0, 0.0))
    _, make = registry.evidence("twbias")
    ((first,), (second,)) = (list(make(scores, RECOMMENDED)) for scores in (one, other))
    apart = first.minus(second)
    assert apart.replicates.factors == {"terms": 6, "counterparts": 6}
    assert apart.value == pytest.approx(1.0, abs=1e-6)  # the same draws
    assert apart.claim("pair").neutral == 0.0


@pytest.mark.parametrize(("advantage", "seed"), [(1.0, 4), (2.0, 2), (-1.0, 3)])
def test_a_stereotype_is_found_at_its_size(advantage, seed):
    scores = scores_of(ETHNIC, preference=UNIGRAM, advantage=advantage, edit=0.5, seed=seed)
    result = table(scores).loc["own_group_advantage"]
    assert result["ci_low"] <= advantage <= result["ci_high"]
    assert (result["value"] > 0) == (advantage > 0)
    assert (result["n"], result["n_clusters"]) == (120, 120)
    wider = table(scores, "terms").loc["own_group_advantage"]
    assert wider["n_clusters"] == 6
    assert wider["ci_high"] - wider["ci_low"] >= result["ci_high"] - result["ci_low"]


def test_ethnic_groups_need_swaps_inside_a_group():
    result = table(scores_of(ETHNIC, preference=UNIGRAM, controls=False)).loc["own_group_advantage"]
    assert np.isnan(result["value"])
    assert "own_group_swaps" in result["no_interval_reason"]


def test_means_over_variants_give_no_ethnic_estimate_and_one_a_token_of_gender():
    def published(terms):
        scores = scores_of(terms, preference=UNIGRAM, advantage=1.0, sentences=300, controls=False)
        variants = scores["variant_changes"].map(json.loads)
        null = variants.map(lambda listed: json.dumps([variant | {"log_likelihood": None} for variant in listed]))
        return table(scores.assign(variant_changes=null))

    ethnic = published(ETHNIC).loc["own_group_advantage"]
    assert np.isnan(ethnic["value"])
    assert "published as means" in ethnic["no_interval_reason"]
    gender = published(GENDER).loc["own_term_advantage_per_token"]
    assert gender["value"] == pytest.approx(1 / 20, abs=0.02)


def test_a_sentence_that_lacks_a_prompt_is_counted_and_left_out():
    scores = scores_of(ETHNIC, preference=UNIGRAM, sentences=30)
    lost = (
        (scores["item_id"] == "hakka-3") & (scores["prompt_type"] == "prompt_4") & (scores["category"] == "hakka-hoklo")
    )
    scores.loc[lost, ["ppl_original", "ppl_replaced_mean", "log_ppl_replaced_mean"]] = np.nan
    scores.loc[lost, "variant_changes"] = None
    scores.loc[lost, "status"] = "refused"
    result = table(scores).loc["own_group_advantage"]
    assert result["refused"] == 1
    assert np.isfinite(result["ci_low"])


@pytest.mark.parametrize("terms", [ETHNIC, GENDER], ids=["ethnic", "gender"])
def test_where_every_sentence_lacks_a_prompt_there_is_no_value_and_a_reason(terms):
    scores = scores_of(terms, preference=UNIGRAM, sentences=30, controls=terms is ETHNIC)
    lost = scores["prompt_type"] == "prompt_4"
    scores.loc[lost, ["ppl_original", "ppl_replaced_mean", "log_ppl_replaced_mean"]] = np.nan
    scores.loc[lost, "variant_changes"] = None
    scores.loc[lost, "status"] = "failed"
    result = table(scores).iloc[0]
    assert np.isnan(result["value"]) and result["failed"] == scores["item_id"].nunique()
    assert result["no_interval_reason"] == "no sentence has a score under all ten prompts"
    assert claims(scores, result.name) == []
