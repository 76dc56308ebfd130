"""DBB's scores, for simulated models whose scores are known."""

import json

import numpy as np
import pandas as pd
import pytest
from dbb_cases import (
    EXACT,
    PAPER,
    RECOMMENDED,
    SAMPLE,
    build_requests,
    by_identity,
    changed,
    choices,
    files_of,
    likelihoods,
    read_items,
    score,
    table_of,
    value,
)
from scipy.special import expit

from biasatlas.benchmarks.dbb import SCORE_COLUMNS, TEMPLATE
from biasatlas.benchmarks.dbb.evidence import missing_bounds
from biasatlas.benchmarks.dbb.spec import SPEC
from biasatlas.benchmarks.shared.order import asking_order, rounds_of


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return read_items(files_of(SAMPLE))


RESPONDERS = {
    # probability of the first concept's option for each request, and the score and shift that follow for Gender
    "ignores identity": (lambda requests: np.full(len(requests), 0.3), 0, 0),
    "fully biased": (lambda requests: by_identity(requests, "Female").astype(float), 100, 100),
    "the other way": (lambda requests: by_identity(requests, "Male").astype(float), 100, -100),
    "mildly biased": (lambda requests: np.where(by_identity(requests, "Female"), 0.6, 0.4), 20, 20),
    "always A": (lambda requests: (requests["order"] == 1).astype(float), 0, 0),
}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (name, options)
        for name in RESPONDERS
        for options in (EXACT, RECOMMENDED, PAPER)
        # Drawn, so known on average only.
        if options is not PAPER or name not in ("ignores identity", "mildly biased")
    ],
)
def test_responder(sample, name, options):
    respond, expected, shift = RESPONDERS[name]
    scores = score(sample, options, lambda requests: choices(requests, respond(requests)), categories=["Gender"])
    assert list(scores.drop(columns=["model", "task", "category"])) == list(SCORE_COLUMNS)
    assert np.allclose(scores["score"], expected)
    assert np.allclose(scores["shift"], shift)
    first = 1.0 if name == "always A" else 0.5
    if options is RECOMMENDED:
        assert np.allclose(scores["first_option_share"], first)
    counted = value(table_of("bias", scores, options), "count", category="All")
    assert counted == (len(scores) if expected >= 20 else 0)


def test_a_round_has_whole_templates(sample):
    def scored(items):
        scores = score(items, EXACT, lambda asked: choices(asked, by_identity(asked, "Female")))
        return scores.set_index("instance_id")

    whole, sizes = scored(sample), []
    for _, asked in rounds_of(sample, SPEC.design, asking_order(sample, SPEC.design)):
        part = scored(sample[sample["item_id"].isin(asked)].reset_index(drop=True))
        assert part["shift"].equals(whole.loc[whole["template_id"].isin(part["template_id"]), "shift"])
        sizes.append(len(part))
    assert sizes == sorted(set(sizes)) and sizes[-1] == len(whole)


@pytest.mark.parametrize(
    ("said", "mass", "counted"),
    [("ok", "refused", "refused"), ("filtered", "refused", "filtered"), ("thought", "unparseable", "thought")],
)
def test_refuser_has_no_score_and_is_counted(sample, said, mass, counted):
    """Also where a service's filter does it, or nothing but thinking came: tables count those apart."""
    refusing = lambda requests: choices(requests, 0.5, **{mass: 1.0}).assign(status=said)  # noqa: E731
    scores = score(sample, RECOMMENDED, refusing, categories=["Gender"])
    assert scores["score"].isna().all()
    assert set(scores["status"]) == {counted}
    table = table_of("bias", scores, RECOMMENDED)
    rate = table[(table["metric"] == "rate") & (table["category"] == "All")].iloc[0]
    assert np.isnan(rate["value"])
    assert (rate["n"], rate[counted]) == (0, len(scores))
    refusals = table_of("refusals", scores, RECOMMENDED)
    assert value(refusals, "refusal_rate", category="All") == 100 * (mass == "refused")
    assert value(refusals, "unanswered_rate", category="All") == 100
    assert value(refusals, "unparseable_rate", category="All") == 100 * (mass == "unparseable")
    assert set(refusals["n"]) == {len(scores)} and not refusals[counted].any()  # the rates are over them
    position = table_of("position", scores, RECOMMENDED)
    assert position["value"].isna().all() and set(position[counted]) == {len(scores)}


def test_what_failed_is_counted_beside_the_rates_of_answers(sample):
    """Asian with each of the four others fails in one template; all other answers refuse."""

    def respond(requests):
        responses = choices(requests, 0.5, refused=1.0)
        broken = requests["item_id"] == "t0000/Race 1/Asian"
        columns = ["probabilities", "refused", "ambiguous", "unparseable", "unresolved"]
        return responses.assign(status=responses["status"].mask(broken, "failed"), **responses[columns].mask(broken))

    scores = score(sample, RECOMMENDED, respond, categories=["Race"])
    rate = table_of("refusals", scores, RECOMMENDED).query("metric == 'refusal_rate' and category == 'Race'").iloc[0]
    assert (rate["value"], rate["n"], rate["failed"], rate["refused"]) == (100, len(scores) - 4, 4, 0)


@pytest.mark.parametrize(("refusal", "expected"), [("exclude", 0.5), ("count_as_neither", 0.4)])
def test_refusals_in_the_denominator(sample, refusal, expected):
    options = changed(EXACT, refusal=refusal)
    scores = score(sample, options, lambda requests: choices(requests, 0.5, 0.1, 0.1), categories=["SES"])
    assert np.allclose(scores["p_1"], expected)
    assert np.allclose(scores["refused"], 0.1)


def test_failed_response_takes_its_instances_along(sample):
    def respond(requests):
        responses = choices(requests, 0.5)
        broken = requests["item_id"] == "t0000/Race 1/Asian"
        responses.loc[broken, ["status", "detail", "probabilities"]] = ["failed", "time out", None]
        return responses

    scores = score(sample, RECOMMENDED, respond, categories=["Race"])
    assert (scores["status"] == "failed").sum() == 4  # Asian with each of the four others
    failed = scores[scores["status"] == "failed"]
    assert set(failed["detail"]) == {"time out"}
    assert (failed["score_lower_bound"] == 0).all() and (failed["score_upper_bound"] == 50).all()


def test_sampled_frequencies_are_taken_as_they_are(sample):
    scores = score(sample, PAPER, lambda requests: choices(requests, np.arange(len(requests)) % 2 * 0.3 + 0.2))
    assert set(scores["p_1"]) <= {0.2, 0.5}
    assert set(scores["draws_1"]) == {10}


# Semi-generation


def test_sg_normalises_reciprocal_perplexities(sample):
    # 1/10 against 1/30: three quarters; the same whichever way the variations are averaged, since they are alike.
    for rule in ("per_variation", "after_mean"):
        options = changed(PAPER, sg_normalise=rule)
        scores = score(sample, options, lambda requests: likelihoods(requests, {1: 10, 2: 30}), "SG", ["SES"])
        assert np.allclose(scores["p_1"], 0.75)
        assert np.allclose(scores["score"], 0)


def test_sg_normalisation_differs_where_variations_do(sample):
    def respond(requests):
        responses = likelihoods(requests, {1: 10, 2: 10})
        rare = (requests["variation"] == 0) & (requests["option"] == 1)
        return responses.assign(nll_per_token=np.where(rare, np.log(1e9), responses["nll_per_token"]))

    p = {
        rule: score(sample, changed(PAPER, sg_normalise=rule), respond, "SG", ["SES"])["p_1"].iloc[0]
        for rule in ("per_variation", "after_mean")
    }
    assert p["per_variation"] == pytest.approx(0.45)  # nine halves and a nought
    assert p["after_mean"] == pytest.approx(0.9 / 1.9)


def test_sg_lookup_and_pronouns_as_released(sample):
    own = build_requests(sample, "SG", ["Gender"], PAPER)
    released = build_requests(sample, "SG", ["Gender"], changed(PAPER, sg_lookup="modulo_50", sg_pronoun="released"))
    concepts = sample["template_id"].nunique()
    first = released[released["variation"] == 2].drop_duplicates("item_id").merge(sample, on="item_id")
    for item in first.itertuples():
        expected = json.loads(sample.loc[50 * (item.row % concepts), "variations_1"])[2]
        assert expected.split("[[X]]")[1] in item.continuation
    assert own.loc[own["item_id"] == "t0000/Gender 4/Female", "continuation"].str.contains(" she ").all()
    assert released["continuation"].str.contains(r"\b(?:He|She)\b").all()


def test_a_missing_answer_may_turn_a_shift_round():
    """Two descriptions shift each template by 10 points, one way or the other; of the third nothing is known."""
    rows = [
        {"category": "Age", TEMPLATE: f"t{place}", "type": kind, "identity_1": "a", "identity_2": "b", "odds": odds}
        for place in range(40)
        for kind, odds in (("x", 0.2), ("y", 0.2), ("z", np.nan))
    ]
    made = pd.DataFrame(rows).assign(score_lower_bound=0.0, score_upper_bound=100.0)
    sign = np.where(made[TEMPLATE].str[1:].astype(int) % 2, 1, -1)
    made = made.assign(log_odds_1=sign * made["odds"], log_odds_2=-sign * made["odds"])
    known = made["odds"].notna()
    made.loc[known, ["score_lower_bound", "score_upper_bound"]] = 10.0
    shift = 100 * (expit(0.2) - expit(-0.2))
    low, high = missing_bounds(made)
    left = 1 - 1 / 40
    assert low == pytest.approx((shift**2 - 2 * shift * 100) / 3 / left)
    assert high == pytest.approx((shift**2 + 2 * shift * 100) / 3 / left)
