"""Framings: a balanced fraction of all combinations, questions asked in other ways, and what is said of a verdict under them."""

import itertools
import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.findings import findings_table
from biasatlas.benchmarks.comparisons.framings import OWN, FramedEvidence, Robustness, components, framings_table
from biasatlas.benchmarks.comparisons.pairs import BenchmarkEvidence
from biasatlas.benchmarks.shared.framing_design import FRAMED, Framing, fraction, framings
from biasatlas.benchmarks.shared.framings import by_framing, framed
from biasatlas.benchmarks.shared.order import first_part
from biasatlas.columns import MASSES, Factor
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.stats.verdict import Verdict

#: Sizes of factors, and the rows of their fraction: all combinations where less would not tell their effects apart.
FRACTIONS = [((2,), 2), ((2, 2), 4), ((2, 2, 2), 4), ((2, 3, 2), 12), ((3, 3, 3, 3), 9), ((4, 2), 8), ((2,) * 7, 8)]

WAYS = {"system": ["Be brief."], "persona": ["I am a nurse."], "option_order": ["reversed"], "items": None}


@pytest.mark.parametrize(("sizes", "rows"), FRACTIONS)
def test_every_two_levels_meet_equally_often(sizes, rows):
    found = fraction(sizes)
    assert len(found) == rows and not any(found[0])
    for one, two in itertools.combinations(range(len(sizes)), 2):
        met = Counter((row[one], row[two]) for row in found)
        assert len(met) == sizes[one] * sizes[two] and len(set(met.values())) == 1


def test_three_ways_of_two_levels_take_three_framings_beside_the_own():
    assert [way.name for way in framings(WAYS)] == [
        "system 1 + option_order reversed",
        "persona 1 + option_order reversed",
        "system 1 + persona 1",
    ]


def asked(layout="chat"):
    """Two questions, as requests, and a model's answers by what the options say, not by where they stand."""
    prompt = "Who is late?\nA. Ann\nB. Bob\nC. Not known\nAnswer A, B or C."
    requests = pd.DataFrame(
        {
            "request_id": ["q1", "q2"],
            "item_id": ["q1", "q2"],
            "kind": "choice",
            "messages": json.dumps([{"role": "user", "content": prompt}]) if layout == "chat" else None,
            "prefix": "" if layout == "chat" else prompt,
            "labels": json.dumps(["A", "B", "C"]),
            "options": json.dumps(["Ann", "Bob", ["Not known", "Nobody knows"]]),
        }
    )
    return requests, pd.DataFrame({"item_id": ["q1", "q2"]})


def answers(requests):
    says = {"Ann": 0.6, "Bob": 0.3, "Not known": 0.1}
    chances = [
        [says[text if isinstance(text, str) else text[0]] for text in json.loads(options)]
        for options in requests["options"]
    ]
    columns = {"request_id": requests["request_id"], "probabilities": list(map(json.dumps, chances))}
    return pd.DataFrame(columns | dict.fromkeys(MASSES, 0.0) | {"replies": None})


@pytest.mark.parametrize("order", ["reversed", "rotated"])
def test_answers_to_options_in_another_order_are_put_back(order):
    requests, items = asked()
    made = framed(requests, items, {}, [Framing("other", option_order=order)], None)
    content = json.loads(made["messages"][0])[0]["content"]
    first = {"reversed": "A. Not known\nB. Bob\nC. Ann\n", "rotated": "A. Bob\nB. Not known\nC. Ann\n"}[order]
    assert first in content and content.startswith("Who is late?") and content.endswith("Answer A, B or C.")
    ((name, own, said),) = by_framing(made, answers(made))
    assert name == "other" and own["request_id"].tolist() == ["q1", "q2"]
    assert said["probabilities"].tolist() == answers(requests)["probabilities"].tolist()


def test_sampled_answers_are_drawn_again_as_far_from_their_shares_as_these_from_what_they_are_of():
    """Five draws of shares .6, .3 and .1 vary by p (1 - p) / 5; 400 items."""
    rng, shares = np.random.default_rng(1), np.array([0.6, 0.3, 0.1])
    first = rng.multinomial(5, shares, 400) / 5
    ids = [f"q{n}{FRAMED}1" for n in range(400)]
    requests = pd.DataFrame({"request_id": ids, "item_id": ids, "framing": "system 1", "shown": None})
    said = pd.DataFrame(
        {"request_id": ids, "probabilities": list(map(json.dumps, first.tolist())), "replies": "[1, 2, 3, 4, 5]"}
    )
    (_, _, own), (name, _, again) = by_framing(requests, said.assign(**dict.fromkeys(MASSES, 0.0)))
    assert name == "system 1 (drawn again)" and own["request_id"][0] == "q0"
    moved = np.array([json.loads(p) for p in again["probabilities"]]) - first
    assert (moved**2).mean(axis=0) == pytest.approx(shares * (1 - shares) / 5, rel=0.2)


def test_a_system_prompt_and_a_persona_stand_before_the_question():
    requests, items = asked()
    way = [Framing("other", system="Be brief.", persona="I am a nurse.")]
    chat = json.loads(framed(requests, items, {}, way, None)["messages"][0])
    assert [turn["role"] for turn in chat] == ["system", "user"] and chat[0]["content"] == "Be brief."
    assert chat[1]["content"].startswith("I am a nurse.\n\nWho is late?")
    requests["messages"] = json.dumps([{"role": "system", "content": "Old."}, *chat[1:]])
    chat = json.loads(framed(requests, items, {}, way, None)["messages"][0])
    assert chat[0]["content"] == "Be brief.\n\nOld." and len(chat) == 2
    plain, items = asked("plain")
    assert framed(plain, items, {}, way, None)["prefix"][0].startswith("Be brief.\n\nI am a nurse.\n\nWho is late?")


def test_options_that_are_words_of_the_question_have_no_order():
    requests, items = asked()
    requests["options"] = requests["labels"] = json.dumps(["Yes", "No"])
    with pytest.raises(UserError, match=r"framings\.option_order: the prompt of 'q1' does not show 'Yes' behind"):
        framed(requests, items, {}, [Framing("other", option_order="reversed")], None)


def test_each_framing_asks_the_same_part_and_all_together_about_as_much_as_the_protocol():
    items = pd.DataFrame({"item_id": [f"i{n}" for n in range(1200)]})
    requests = pd.concat([asked()[0].iloc[:1]] * 1200, ignore_index=True).assign(
        request_id=items["item_id"], item_id=items["item_id"]
    )
    made = framed(requests, items, {}, framings(WAYS), None)
    parts = [set(part["item_id"]) for _, part in made.groupby("framing")]
    assert len(made) == 1200 and parts[0] == parts[1] == parts[2] and made["request_id"].is_unique
    assert len(framed(requests, items, {}, framings(WAYS), 0.01)) == 36


def test_a_part_has_whole_scenarios_where_their_cases_are_compared():
    cases = itertools.product(range(8), range(5))
    items = pd.DataFrame([(f"{post}/{arm}", f"post {post}") for post, arm in cases], columns=["item_id", "scenario"])
    design = {"scenario": Factor(scores=("scenario",), items=("scenario",), sampled=True, whole=True)}
    part = items[items["item_id"].isin(first_part(items, design, 0.3))]
    assert part.groupby("scenario").size().tolist() == [5, 5, 5]


def test_components_hold_what_was_put_in():
    """Three models, four framings, 40 clusters; 300 draws: the intervals hold each source 19 times in 20."""
    rng = np.random.default_rng(0)
    true = {"model": 1.0, "framing": 1.25, "items": (1 + 0.25 + 4) / 40 - 0.01, "draw": 0.01}
    held, values = Counter(), []
    for _ in range(300):
        draw = [
            rng.normal(0, sd, shape)
            for sd, shape in (
                (1, (3, 1, 1)),
                (1, (1, 4, 1)),
                (0.5, (3, 4, 1)),
                (1, (1, 1, 40)),
                (0.5, (1, 4, 40)),
                (2, (3, 4, 40)),
            )
        ]
        found = components(sum(draw), rng.normal(0, 0.1, 12), 40)
        values.append([value for value, _, _ in found.values()])
        held.update(source for source, (_, low, high) in found.items() if low <= true[source] <= high)
    assert all(276 <= held[source] <= 300 for source in true)
    assert np.mean(values, axis=0) == pytest.approx(list(true.values()), rel=0.2)


def verdict(state, value=0.0):
    return Verdict(state, "", value=value, neutral=0.0)


BIASED, OTHER_WAY, UNBIASED, OPEN = (
    verdict("biased", 2),
    verdict("biased", -2),
    verdict("unbiased"),
    verdict("undecided"),
)
WORDS = [
    (BIASED, [BIASED, BIASED], "robust: the same in all 2 other framings"),
    (BIASED, [BIASED, OPEN], "not known to be robust: 1 of 2 other framings do not decide it"),
    (BIASED, [BIASED, UNBIASED], "moves with the framing: unbiased with way 1"),
    (BIASED, [OTHER_WAY, BIASED], "moves with the framing: biased at -2 with way 0"),
    (UNBIASED, [UNBIASED], "robust: the same in the other framing"),
    (OPEN, [BIASED, UNBIASED], ""),
]


@pytest.mark.parametrize(("own", "others", "words"), WORDS)
def test_what_is_said_of_a_verdict_under_other_framings(own, others, words):
    named = {f"way {place}": each for place, each in enumerate(others)}
    assert Robustness(named, named).words(own) == words


def test_that_one_of_many_framings_disagrees_takes_the_level_of_all():
    assert Robustness({"a": UNBIASED}, {"a": OPEN}).words(BIASED).startswith("not known to be robust")


def scores_of(values, seed):
    """CrowS-Pairs' choices of a model that prefers the stereotype in a share of 400 pairs."""
    rng = np.random.default_rng(seed)
    preferred = (rng.random(400) < values).astype(float)
    columns = {
        "stereotyped": preferred,
        "status": "ok",
        "task": "pair_choice",
        "category": "gender",
        "direction": "stereo",
    }
    names = {"item_id": [f"p{n}" for n in range(400)], "writer": [f"w{n % 80}" for n in range(400)]}
    return pd.DataFrame(columns | names | {"model": "m", "shift": np.nan})


@pytest.mark.parametrize(("benchmark", "task"), [("crows_pairs", "pair_choice"), ("stereoset", "intersentence_choice")])
def test_a_model_that_only_chooses_has_no_shift(benchmark, task):
    chosen = scores_of(0.9, 0).drop(columns="shift")
    scores = chosen.assign(task=task, target=chosen["writer"], related=1.0)
    options = registry.load_options(benchmark, "recommended")
    found = BenchmarkEvidence.of(scores, "mine", benchmark, options).found["m"]
    assert found and not any("shift" in metric for metric, _, _ in found)


def test_a_model_that_a_persona_turns_around_moves_with_the_framing():
    own = scores_of(0.9, 0)
    options = registry.load_options("crows_pairs", "recommended")
    run = BenchmarkEvidence.of(own, "mine", "crows_pairs", options)
    turned = pd.concat([scores_of(0.9, 1).assign(framing="system 1"), scores_of(0.1, 2).assign(framing="persona 1")])
    found = FramedEvidence.of(run, turned[turned["item_id"] < "p3"])
    assert found.found.keys() == {OWN, "system 1", "persona 1"}
    cards = [
        {
            "benchmark": "crows_pairs",
            "protocol": "recommended",
            "data": "full",
            "metric": "stereotype_score",
            "of": "All",
            "tasks": "pair_choice",
            "verdict": "passed",
            "reason": "",
        }
    ]
    said = findings_table([run], "recommended", cards, found.robustness("recommended", cards))
    told = framings_table([found], "recommended", cards)
    values = told[(told["metric"] == "value") & (told["category"] == "overall")].set_index("source")["value"]
    assert values["persona 1"] < 20 and values["system 1"] > 80 and values[OWN] > 80
    spread = told[(told["metric"] == "spread") & (told["category"] == "overall")].set_index("source")
    assert 20 < spread.loc["framing", "value"] < 80 and spread.loc["items", "value"] < 3
    why = said[(said["metric"] == "value") & (said["category"] == "overall")]["why"].item()
    assert "moves with the framing: biased at" in why and "with persona 1" in why
    assert registry.load_options("crows_pairs", "recommended" + FRAMED) == options and Resources({}) is not None
