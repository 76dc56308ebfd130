"""Asking in rounds: the order of the items, and what may be said after each round."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.rounds import analysis, ask_in_rounds
from biasatlas.benchmarks.shared.estimates import Estimate, make_table, row
from biasatlas.benchmarks.shared.evidence import OVERALL, Declared, Evidence, items_of
from biasatlas.benchmarks.shared.order import SHARES, asking_order, rounds_of
from biasatlas.benchmarks.shared.stops import Stop, in_rounds
from biasatlas.errors import OutOfBudget
from biasatlas.stats.clusters import proportion
from biasatlas.stats.intervals import confidence
from biasatlas.stats.replicates import ratio_replicates
from biasatlas.stats.rounds import Analysis, expected, level, levels, repeated_p, spending
from biasatlas.stats.verdict import judge


def _pocock(analyses):
    return math.log(1 + (math.e - 1) * analyses[-1].share)


def _obrien_fleming(analyses):
    return 4 * ndtr(-ndtri(1 - 0.0125) / math.sqrt(analyses[-1].share)) / 0.05


@pytest.mark.parametrize(
    ("spent", "printed"),
    [
        # Lan and DeMets (1983) and the tables of Reboussin, DeMets, Kim and Lan (2000): five equal analyses, 5% two-sided.
        (_pocock, [2.438, 2.427, 2.410, 2.397, 2.386]),
        (_obrien_fleming, [4.877, 3.357, 2.680, 2.290, 2.031]),
    ],
)
def test_boundaries_are_the_printed_ones(spent, printed):
    found = levels([Analysis(k / 5, k) for k in range(1, 6)], 0.05, spent)
    assert [-ndtri(each / 2) for each in found] == pytest.approx(printed, abs=6e-4)


def test_one_look_at_everything_is_an_ordinary_test():
    assert levels([Analysis(1.0, 3.0)], 0.05) == pytest.approx([0.05])
    assert level([], 0.05) == 0.05
    assert repeated_p([], 0.03) == 0.03
    assert repeated_p([Analysis(1.0, 3.0)], 0.03) == pytest.approx(0.03)


def test_null_models_are_called_biased_in_the_spent_share_alone():
    rng, shares = np.random.default_rng(3), [2.0**-k for k in range(5, -1, -1)]
    analyses = [Analysis(share, 20 * share) for share in shares]
    bounds = -ndtri(np.array(levels(analyses, 0.05)) / 2)
    steps = rng.normal(size=(40_000, len(analyses))) * np.sqrt(
        np.diff([0.0, *(analysis.information for analysis in analyses)])
    )
    z = steps.cumsum(axis=1) / np.sqrt([analysis.information for analysis in analyses])
    crossed = (abs(z) > bounds).any(axis=1).mean()
    assert crossed == pytest.approx(0.05, abs=0.004)
    assert (abs(z) > 1.96).any(axis=1).mean() > 0.12  # what plain intervals would do


def test_rounds_find_a_weak_bias_nearly_as_often_as_asking_once():
    """Where half of the items tell half: an error spent in proportion leaves too little for the end."""
    rng, shares = np.random.default_rng(4), np.array(SHARES)
    sums = (rng.normal(size=(200_000, len(shares))) * np.sqrt(np.diff(shares, prepend=0))).cumsum(axis=1)
    found = {}
    for name, drift in product(("spent", "in proportion"), (0.0, 1.44)):
        spent = spending if name == "spent" else lambda analyses: analyses[-1].share
        bounds = -ndtri(np.array(levels([Analysis(share, 20 * share) for share in shares], 0.05, spent)) / 2)
        found[name, drift] = (abs(sums + drift * shares) > bounds * np.sqrt(shares)).any(axis=1).mean()
    once = ndtr(1.44 - 1.96)  # .30
    assert found["spent", 0.0] == pytest.approx(0.05, abs=0.003)
    assert found["spent", 1.44] > 0.95 * once > found["in proportion", 1.44]


def test_less_error_is_spent_early_with_few_degrees_of_freedom_and_none_is_taken_back():
    spent = {
        df: [spending([Analysis(share, 1.0, df) for share in SHARES[:count]]) for count in range(1, 16)]
        for df in (5, 20, 90)
    }
    assert spent[5] < spent[20] == spent[90] and spent[5][-1] == spent[90][-1] == 1
    late = 0.8 * SHARES[-2] ** 8
    assert spent[5][-2] - late == pytest.approx((spent[20][-2] - late) / 4**4)
    falling = [Analysis(share, 9.0, df) for share, df in zip(SHARES, range(40, 10, -2), strict=True)]
    found = levels(falling, 0.05)
    assert all(level > 1e-9 for level in found)
    assert repeated_p(falling[:9], 1e-18) < 1e-9


def test_levels_are_right_where_information_hardly_grows():
    rng, analyses = np.random.default_rng(5), [Analysis(share, 1 + share / 9, 4.0) for share in SHARES]
    bounds = -ndtri(np.array(levels(analyses, 0.05)) / 2)
    information = np.maximum.accumulate(1.02 ** np.arange(15) * (1 + SHARES[0] / 9))
    steps = rng.normal(size=(200_000, 15)) * np.sqrt(np.diff(information, prepend=0.0))
    crossed = (abs(steps.cumsum(axis=1)) > bounds * np.sqrt(information)).any(axis=1).mean()
    assert crossed == pytest.approx(0.05, abs=0.002)


@pytest.mark.parametrize("p", [1e-9, 0.001, 0.02, 0.3])
def test_a_repeated_p_value_is_the_total_error_of_which_p_is_the_level(p):
    analyses = [Analysis(1 / 8, 1.0), Analysis(1 / 4, 1.5), Analysis(1 / 2, 1.4), Analysis(1.0, 3.0)]
    total = repeated_p(analyses, p)
    assert total >= p
    assert level(analyses, total) == pytest.approx(p, rel=1e-2)


def test_a_p_value_beyond_any_level_is_1():
    assert repeated_p([Analysis(1 / 8, 1.0), Analysis(1 / 4, 2.0)], 0.9) == 1.0


def test_a_plan_says_what_rounds_would_take():
    analyses = [Analysis(share, share / 0.5**2) for share in (1 / 8, 1 / 4, 1 / 2, 1.0)]
    take = lambda bias: expected(analyses, bias, 1.0, 0.05)  # noqa: E731
    assert take(50.0) == (1 / 8, 1.0)
    asked, decided = take(1.0)  # where neither verdict is right, and only errors give one
    assert asked > 0.97
    assert decided < 0.06
    plain = ndtr((2.5 - 1) / 0.5 + ndtri(0.025))  # of everything asked once
    assert plain - 0.1 < take(2.5)[1] < plain


def _items():
    rows = [
        (f"{template}-{k}", template, "ambig" if k % 2 else None, k)  # what is missing is a form, too
        for template, n in (("a", 32), ("b", 8), ("c", 200))
        for k in range(n)
    ]
    return pd.DataFrame(rows, columns=["item_id", "template", "condition", "context"])


def test_every_first_part_has_its_share_of_every_cluster_and_form():
    items, design = _items(), registry.load_spec("bbq").design
    order = asking_order(items, design)
    assert sorted(order) == sorted(items["item_id"])
    for share in (1 / 4, 1 / 2, 3 / 4):
        asked = items[items["item_id"].isin(order[: round(share * len(order))])]
        for keys in (["template"], ["template", "condition"]):
            all_ = items.groupby(keys, dropna=False).size()
            got = asked.groupby(keys, dropna=False).size().reindex(all_.index, fill_value=0)
            assert (got - share * all_).abs().max() <= 1.5


def test_an_order_is_of_names_and_a_seed_alone():
    items, design = _items(), registry.load_spec("bbq").design
    order = asking_order(items, design)
    assert asking_order(items.sample(frac=1, random_state=2), design) == order
    assert asking_order(items, design, seed=2) != order


def test_items_that_are_compared_with_each_other_stand_together():
    """Products of DBB's shifts are within a template: a quarter of its items, spread, had held a few of them."""
    items = pd.DataFrame(
        [(f"{t}-{k}", f"t{t}") for k in range(6) for t in range(8)], columns=["item_id", "template_id"]
    )
    order = asking_order(items, registry.load_spec("dbb").design)
    asked = items.set_index("item_id").loc[order[:12], "template_id"]
    assert asked.nunique() == 2


def _declared(**fields):
    return Declared(**({"neutral": 0.0, "smallest": 5.0, "unit": "points", "reason": ""} | fields))


class Answering:
    """A model that answers items of 40 templates: what it is asked, and what that shows."""

    def __init__(self, value, declared=None, per_template=64, spread=2.0, noise=60.0):
        rng = np.random.default_rng(5)
        self.items = pd.DataFrame(
            [(f"t{t}-{k}", f"t{t}") for t in range(40) for k in range(per_template)], columns=["item_id", "template"]
        )
        lean = dict(zip(self.items["template"].unique(), rng.normal(0, spread, 40), strict=True))
        answers = value + self.items["template"].map(lean) + rng.normal(0, noise, len(self.items))
        self.answers = dict(zip(self.items["item_id"], answers, strict=True))
        self.declared = declared or _declared()
        self.rounds = []

    def evidence(self, ids):
        self.rounds.append(len(ids))
        mine = self.items[self.items["item_id"].isin(ids)]
        found = ratio_replicates(mine["item_id"].map(self.answers), np.ones(len(mine)), mine["template"])
        yield Evidence("shift", "", OVERALL, found, items_of(mine["item_id"], mine["template"]), declared=self.declared)

    def stop(self, **fields):
        design = registry.load_spec("bbq").design
        rounds = rounds_of(self.items, design, asking_order(self.items, design))
        claims = lambda found: [(each, each.claim("m/b")) for each in found]  # noqa: E731
        return ask_in_rounds(rounds, self.evidence, claims, **fields)


def test_a_plain_bias_ends_the_asking_early_and_none_takes_more():
    plain, fair = Answering(40.0), Answering(0.0)
    stopped, later = plain.stop(), fair.stop()
    assert len(stopped.asked) <= 160 < len(later.asked)
    assert stopped.words.startswith(f"stopped after {len(stopped.asked)} of 2,560 items: biased by at least 5 points;")
    assert later.why == "unbiased within 5 points"


def test_the_stop_is_what_the_report_says_of_the_same_answers():
    model = Answering(14.0)
    stop = model.stop()
    (said,) = judge([each.claim("m/b") for each in stop.seen(model.evidence(stop.asked))])
    assert stop.is_early
    assert said.state == "biased"
    *before, last = [each["claims"][0] for each in stop.rounds]
    assert [each["state"] for each in before] == ["undecided"] * len(before)
    assert (last["claim"], last["state"]) == ("shift overall", "biased")
    assert said.low == pytest.approx(last["low"])


def test_a_rate_has_one_interval_in_tables_and_findings():
    """Its limits are not Student's, so that those of another level do not follow from them."""
    rng = np.random.default_rng(7)
    clusters = np.repeat(range(30), 12)
    top = (rng.random(360) < np.repeat(rng.beta(2, 8, 30), 12)).astype(float)
    declared = _declared(neutral=50.0)
    items = items_of(pd.Series(range(360)), pd.Series(clusters))
    found = ratio_replicates(top, np.ones(360), clusters).times(100)
    analyses = (Analysis(1 / 8, 0.1), Analysis(1 / 4, 0.2))
    rate = Evidence(
        "score", "", OVERALL, found, items, bounds=(0, 100), rate=True, declared=declared, analyses=analyses
    )
    (said,) = judge([rate.claim("m/b")])
    with confidence(1 - level(analyses, 0.05)):
        table = proportion(top, np.ones(360), clusters)
    assert (said.low, said.high) == pytest.approx((100 * table.low, 100 * table.high), rel=1e-12)


def test_many_families_need_more_items():
    assert len(Answering(14.0).stop(tests=60).asked) > len(Answering(14.0).stop().asked)


def test_no_round_has_fewer_items_than_there_are_clusters():
    model = Answering(0.0)
    model.stop()
    rounds = [40, 54, 80, 107, 160, 214, 320, 427, 534, 640, 800, 960, 1280, 1707, 2560]
    assert model.rounds == rounds[: len(model.rounds)]
    few = Answering(0.0, per_template=8)
    few.stop()
    assert few.rounds[0] == 40  # 1/8 of 320


def test_where_clusters_are_as_many_as_items_a_round_is_a_sample_of_them():
    """GEST's sentences are clusters: each category has its share of the first hundred."""
    rows = [(f"s{n}", f"s{n}", f"c{n % 16}") for n in range(3200)]
    items, design = pd.DataFrame(rows, columns=["item_id", "cluster", "category"]), registry.load_spec("gest").design
    rounds = rounds_of(items, design, asking_order(items, design))
    assert [len(asked) for _, asked in rounds][:5] == [100, 134, 200, 267, 400]
    first = items[items["item_id"].isin(rounds[0][1])]["category"].value_counts()
    assert len(first) == 16 and first.between(5, 8).all()


def test_what_can_get_no_verdict_is_asked_in_full_and_looked_at_once():
    model = Answering(40.0, _declared(closed_by="nobody knows what it sees"))
    stop = model.stop()
    assert not stop.is_early
    assert stop.words == ""
    assert (stop.level, dict(stop.analyses)) == (0.05, {})
    assert model.rounds == [40, 2560]


class Paid(Answering):
    """The same at an endpoint, whose budget pays for so many items."""

    def __init__(self, value, items):
        super().__init__(value)
        self.paid = items

    def evidence(self, ids):
        if len(ids) > self.paid:
            raise OutOfBudget("used up")
        return super().evidence(ids)


def test_a_budget_ends_the_asking_at_the_last_round_that_it_pays():
    stop = Paid(0.0, 200).stop()
    assert (len(stop.asked), stop.why) == (160, "the budget does not pay the next round")
    assert stop.level == level(stop.analyses["shift", "", OVERALL], 0.05)
    assert stop.analyses == Paid(0.0, 160).stop().analyses
    more = Paid(0.0, 10_000).stop()
    assert more.asked == Answering(0.0).stop().asked
    assert stop.asked == more.asked[:160]
    with pytest.raises(OutOfBudget):
        Paid(0.0, 39).stop()


def test_a_stop_comes_back_from_its_file(tmp_path):
    stop = Answering(40.0).stop(categories={"age": 3})
    (tmp_path / "stop.json").write_text(stop.to_json())
    again = Stop.read(tmp_path / "stop.json")
    assert again.to_json() == stop.to_json()
    assert again.analyses == stop.analyses
    requests = pd.DataFrame({"item_id": ["t0-0", stop.asked[0], stop.asked[1]]})
    assert set(again.cut(requests)["item_id"]) <= set(stop.asked)


def test_a_table_has_each_model_at_the_level_of_its_stop():
    def make(scores):
        rows = []
        for model, mine in scores.groupby("model"):
            found = ratio_replicates(mine["value"], np.ones(len(mine)), mine["template"]).inference()
            for metric in ("mean", "best"):
                rows.append(
                    row({"model": model, "category": "overall"}, metric, Estimate.of(found, len(mine)), published="1")
                )
        return make_table(["model", "category"], rows)

    model = Answering(40.0)
    stop = model.stop()
    scores = model.items.assign(value=model.items["item_id"].map(model.answers), model="early")
    both = pd.concat([stop.cut(scores), scores.assign(model="all")])
    plain, told = make(both), in_rounds(make, both, {"early": stop}, whole=["best"])
    plain, told = (table.set_index(["model", "metric"]) for table in (plain, told))
    assert told.loc["all"].drop(columns="of").equals(plain.loc["all"].drop(columns="of"))
    early, once = told.loc[("early", "mean")], plain.loc[("early", "mean")]
    wider = (early.ci_high - early.ci_low) / (once.ci_high - once.ci_low)
    assert wider > 1.1
    assert (early.n, early.of) == (len(stop.asked), 2560)
    assert early.published is None or pd.isna(early.published)
    assert math.isnan(told.loc[("early", "best"), "value"])
    assert told.loc[("all", "best"), "value"] == plain.loc[("all", "best"), "value"]


def test_a_table_has_the_intervals_of_the_findings():
    """Of categories whose errors shrink unevenly from round to round, so that each has its own level."""
    models = {"u": Answering(40.0, spread=1.0, noise=90.0), "w": Answering(40.0, spread=20.0, noise=30.0)}

    def evidence(ids):
        for category, model in models.items():
            (each,) = model.evidence(ids)
            yield replace(each, category=category)

    def make(scores):
        found = [(each, each.inference()) for each in evidence(scores["item_id"])]
        keys = [{"model": "m", "category": each.category} for each, _ in found]
        return make_table(
            ["model", "category"],
            [row(key, "shift", Estimate.of(of, 1)) for key, (_, of) in zip(keys, found, strict=True)],
        )

    items, design = models["u"].items, registry.load_spec("bbq").design
    rounds = rounds_of(items, design, asking_order(items, design))[1:4]
    analyses = {}
    for share, ids in rounds:
        analyses = {each.key: (*analyses.get(each.key, ()), analysis(each, share)) for each in evidence(ids)}
    levels = {key: level(each, 0.05) for key, each in analyses.items()}
    assert len(set(levels.values())) == 2
    stop = Stop(rounds[-1][1], len(items), {}, "", min(levels.values()), analyses, [])
    verdicts = judge([each.claim("m/b") for each in stop.seen(evidence(stop.asked))])
    told = in_rounds(make, stop.cut(items.assign(model="m")), {"m": stop})
    for verdict, (_, shown) in zip(verdicts, told.iterrows(), strict=True):
        assert (shown["ci_low"], shown["ci_high"]) == pytest.approx((verdict.low, verdict.high), rel=1e-12)


def test_two_models_are_compared_on_the_items_of_the_one_that_was_asked_less():
    first, second = Answering(40.0), Answering(0.0)
    stops = {"early": first.stop(), "all": second.stop()}
    parts = [
        stop.seen(model.evidence(stops["early"].asked))
        for model, stop in zip((first, second), stops.values(), strict=True)
    ]
    (one,), (two,) = parts
    apart = one.minus(two)
    assert apart.analyses == one.analyses
    assert apart.analyses[-1].share < two.analyses[-1].share


def test_what_shows_no_difference_yet_is_waited_for():
    """A claim of which the first answers are all alike had been left without a verdict, since another had one."""
    plain, slow = Answering(40.0), Answering(40.0)
    items, design = plain.items, registry.load_spec("bbq").design
    first = set(plain.stop().asked)
    slow.answers |= dict.fromkeys(first, 0.0)

    def evidence(ids):
        yield from plain.evidence(ids)
        yield from (replace(each, metric="other") for each in slow.evidence(ids))

    claims = lambda found: [(each, each.claim("m/b")) for each in found]  # noqa: E731
    rounds = rounds_of(items, design, asking_order(items, design))
    stop = ask_in_rounds(rounds, evidence, claims)
    assert len(stop.asked) > len(first)
    assert {each["state"] for each in stop.rounds[-1]["claims"]} == {"biased"}


def test_no_round_lacks_an_item_of_a_task():
    items, design = _items(), registry.load_spec("bbq").design
    order = asking_order(items, design)
    whole = rounds_of(items, design, order)
    assert rounds_of(items, design, order, [order[:2], order[1:]]) == whole
    assert [len(asked) for _, asked in rounds_of(items, design, order, [order, order[100:]])] == [120, 160, 240]
