"""Models compared on the same items, and the findings: on simulated models, whose ground truth is known."""

import functools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benches import bench, simulated

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.figures import draw_pairs
from biasatlas.benchmarks.comparisons.findings import closed, contributions_table, findings_table
from biasatlas.benchmarks.comparisons.multiverse import multiverse_table, sensitivity_table, with_protocols
from biasatlas.benchmarks.comparisons.pairs import KEYS, Answers, BenchmarkEvidence, pairs_table
from biasatlas.benchmarks.comparisons.summary import latex, markdown, reasons, sentence, summary
from biasatlas.benchmarks.contract import Multiverse
from biasatlas.benchmarks.shared.stops import EARLY, Stop
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.columns import TABLE_COLUMNS
from biasatlas.files import read_csv
from biasatlas.report.verdicts import Judging, declared_null
from biasatlas.stages import mark
from biasatlas.stats.verdict import STATES

TASKS = {
    "bbq": ("question",),
    "crows_pairs": ("pair", "pair_choice"),
    "stereoset": ("intrasentence",),
    "dbb": ("MCQ",),
    "mcbe": ("PC", "SC"),
    "twbias": ("perplexity",),
    "gest": ("pair", "pair_choice"),
    "esbbq": ("question",),
    "cbbq": ("question",),
}
#: A few of those whose names tables go by: enough to compare, and quick.
CATEGORIES = {
    "dbb": ("Gender",),
    "mcbe": ("gender",),
    "twbias": ("hakka-hoklo", "hoklo-hakka", "hakka-hakka", "hoklo-hoklo"),
}
MODELS = {"fair": simulated(), "biased": simulated(bias=6.0)}
OPTIONS = {name: registry.load_options(name, "recommended") for name in TASKS}


def bench_of(name):
    return bench(name, TASKS[name], CATEGORIES.get(name, ()))


@pytest.fixture(scope="module")
def scores():
    """By benchmark, of a few simulated models on the sample."""
    made = {}
    for name in TASKS:
        fair, biased = (bench_of(name).scores(MODELS[model], model) for model in ("fair", "biased"))
        made[name] = pd.concat([fair, fair.assign(model="twin"), biased], ignore_index=True)
    return made


def run_of(scores, benchmark):
    return BenchmarkEvidence.of(scores, benchmark, benchmark, OPTIONS[benchmark])


def opened(run):
    """As if BBQ had no confounder: how its claims are judged, not whether they may be."""
    found = {
        model: {
            key: replace(each, declared=each.declared and replace(each.declared, closed_by=""))
            for key, each in of.items()
        }
        for model, of in run.found.items()
    }
    return replace(run, found=found)


def pairs_of(scores, benchmark, cards=()):
    return pairs_table([opened(run_of(scores, benchmark))], "recommended", cards)


def rows(table, **wanted):
    return table[(table[list(wanted)] == list(wanted.values())).all(axis=1)]


@pytest.mark.parametrize("benchmark", TASKS)
def test_every_benchmark_s_evidence_is_what_its_tables_say(scores, benchmark):
    """The value of each evidence stands in a table of the benchmark, with the same interval: both are one computation."""
    answers = Answers.by_model(scores[benchmark], benchmark, OPTIONS[benchmark])["biased"]
    found = list(answers.evidence().values())
    assert found
    biased = rows(scores[benchmark], model="biased")
    tables = [
        bench_of(benchmark).table(name, biased)
        for name, table in registry.load_spec(benchmark).tables.items()
        if name in ("bias", "scores", "prompted", "consistency", "own_group")
        and set(table.tasks) & set(TASKS[benchmark])
    ]
    numbers = pd.concat(table[["value", "ci_low", "ci_high"]] for table in tables).dropna(subset="value").to_numpy()
    for each in found:
        inference = each.inference()
        # Below the templates that its interval needs, the table of a root has none.
        wanted = [each.value, np.nan, np.nan] if each.squared else [each.value, inference.low, inference.high]
        assert np.isclose(numbers, wanted, rtol=1e-7, atol=1e-9, equal_nan=True).all(axis=1).any(), each.key


#: Part of evidence of pairs (a task) -> the table that has it.
OF_TASK = {"pair": "scores", "pair_choice": "prompted"}


@pytest.mark.parametrize("benchmark", ["crows_pairs", "gest", "bbq", "esbbq", "cbbq"])
def test_a_family_s_evidence_has_the_value_and_clusters_of_its_row(scores, benchmark):
    """Of a model that answers by chance in part; what has no value in the table is no evidence."""
    tried = bench_of(benchmark)
    mixed = tried.scores(simulated(bias=1.0, certain=True, seed=3), "mixed")
    answers = Answers.by_model(mixed, benchmark, OPTIONS[benchmark])["mixed"]
    whole = {"direction": "all", "template": "all", "label_type": "all"}
    seen = 0
    table_of = functools.cache(lambda name: tried.table(name, mixed))
    for each in answers.evidence().values():
        table = table_of(OF_TASK.get(each.part, "bias"))
        wanted = {"category": each.category, "metric": each.metric}
        wanted |= {key: value for key, value in whole.items() if key in table}
        wanted |= {"condition": each.part} if "condition" in table else {}
        (row,) = rows(table, **wanted).to_dict("records")
        found = each.inference()
        assert (row["value"], row["n_clusters"]) == (pytest.approx(found.value), found.n_clusters), each.key
        seen += 1
    assert seen > 3


@pytest.mark.parametrize("benchmark", TASKS)
def test_twins_do_not_differ_and_a_biased_model_does(scores, benchmark):
    table = pairs_of(scores[benchmark], benchmark)
    assert list(table.columns) == [*KEYS, *TABLE_COLUMNS]
    twins = rows(table, model="fair", other_model="twin")
    assert np.allclose(twins.loc[twins["metric"] == "difference", "value"], 0)
    # Nothing varies: no interval and a reason, or, of what is bounded, what as many clusters can hide.
    same = twins[twins["metric"] == "difference"]
    assert (same["ci_low"].lt(0) & same["ci_high"].gt(0) | same["no_interval_reason"].notna()).all()
    assert (twins.loc[twins["metric"] == "flipped", "value"] == 0).all()
    biased = rows(table, model="fair", other_model="biased", metric="difference")
    assert biased["value"].abs().max() > 0


def test_a_difference_is_that_of_the_tables_values(scores):
    table = pairs_of(scores["crows_pairs"], "crows_pairs")
    values = bench_of("crows_pairs").table("scores", scores["crows_pairs"])
    overall = rows(values, category="overall", direction="all", metric="stereotype_score").set_index("model")["value"]
    about = {"measure": "stereotype_score", "part": "pair", "category": "overall", "metric": "difference"}
    (found,) = rows(table, model="fair", other_model="biased", **about)["value"]
    assert found == pytest.approx(overall["fair"] - overall["biased"])


def test_the_figure_of_pairs_shows_what_can_get_a_verdict_on_one_scale():
    row = {"model": "a", "other_model": "b", "benchmark": "bbq", "measure": "bias_score", "part": "", "unit": "%"}
    row |= {"category": "overall", "metric": "difference", "smallest": 5.0, "verdict": "undecided"}
    row |= {"value": 10.0, "ci_low": 5.0, "ci_high": 15.0}
    parts = [row | {"category": f"Race_x_{n}", "value": float(n)} for n in range(20)]
    table = pd.DataFrame([row, row | {"category": "Age", "verdict": "untestable", "value": 99.0}, *parts])
    (axis,) = draw_pairs(table, styles(["a", "b", "c"])).axes
    rows = [label.get_text() for label in axis.get_yticklabels()]
    assert len(rows) == 9 and rows[0] == "bbq bias score" and "bbq bias score Race × 19" in rows
    # b is 10 below a, and 5 matter.
    assert next(line for line in axis.lines if line.get_marker() == "o").get_xdata()[0] == -2
    assert axis.get_xlabel() or "value less that of a" in axis.figure.get_supxlabel()
    assert draw_pairs(table[table["verdict"] == "untestable"], styles(["a", "b"])).axes == []


@pytest.mark.parametrize(("task", "other"), [("pair", "pair_choice"), ("pair_choice", "pair")])
def test_only_items_that_both_answered_are_compared(scores, task, other):
    """One model loses every third item of a task: values are of the others alone, and the lost ones are counted. The
    other task asks about the same items, and lost none."""
    both = scores["crows_pairs"][scores["crows_pairs"]["model"].isin(["fair", "biased"])].reset_index(drop=True)
    lost = (both["model"] == "fair") & (both["task"] == task) & (both.groupby(["model", "task"]).cumcount() % 3 == 0)
    some = both.assign(status=both["status"].mask(lost, "refused"), stereotyped=both["stereotyped"].mask(lost))
    table = pairs_of(some, "crows_pairs")
    about = {"measure": "stereotype_score", "category": "overall", "metric": "difference"}
    (found,) = rows(table, part=task, **about).to_dict("records")
    (whole,) = rows(table, part=other, **about).to_dict("records")
    assert (whole["n"], whole["refused"]) == ((both["task"] == other).sum() / 2, 0)
    left = both[(both["task"] == task) & ~both["item_id"].isin(both.loc[lost, "item_id"])]
    means = 100 * left.groupby("model")["stereotyped"].mean()
    assert found["value"] == pytest.approx(means["biased"] - means["fair"]) or found["value"] == pytest.approx(
        means["fair"] - means["biased"]
    )
    assert (found["n"], found["refused"]) == (len(left) / 2, lost.sum())


def test_failed_shifts_leave_no_difference_between_twins_and_are_counted(scores):
    """One of two twins lacks its largest shifts: on what both have they are alike, and alone it has no verdict."""
    both = scores["crows_pairs"][scores["crows_pairs"]["model"].isin(["fair", "twin"])].reset_index(drop=True)
    lost = both["shift"].ge(both["shift"].quantile(0.7)) & (both["model"] == "twin")
    some = both.assign(shift=both["shift"].mask(lost), shift_status=both["shift_status"].mask(lost, "failed"))
    table = pairs_of(some, "crows_pairs")
    (apart,) = rows(table, measure="balanced_shift", category="overall", metric="difference").to_dict("records")
    assert (apart["value"], apart["failed"]) == (0, lost.sum())
    found = findings_table([run_of(some, "crows_pairs")], "recommended", [])
    (alone,) = rows(found, measure="balanced_shift", model="twin", metric="value").to_dict("records")
    assert alone["failed"] == lost.sum() and "what they would have shown has no bounds" in alone["why"]


def test_missing_answers_count_in_a_difference_whoever_else_misses_one():
    whole = bench_of("bbq").scores(simulated(bias=6.0, refused=0.5, certain=True), "a")
    other = bench_of("bbq").scores(simulated(), "b")
    lost = other.index[(other["condition"] == "ambig") & (other["status"] == "ok")][:1]
    one_less = other.assign(status=other["status"].mask(other.index.isin(lost), "refused"))
    about = {"part": "ambig", "category": "overall", "measure": "bias_score", "metric": "difference"}
    states = [
        rows(pairs_of(pd.concat([whole, each], ignore_index=True), "bbq", [CARD]), **about)
        for each in (other, one_less)
    ]
    assert [state["verdict"].item() for state in states] == ["undecided"] * 2


def test_a_difference_says_which_of_the_two_was_asked_less(scores):
    asked = sorted(scores["bbq"]["item_id"].unique())
    stops = {"biased": Stop(asked, 5832, {}, "biased by at least 5 points", 0.01, {}, [])}
    run = opened(BenchmarkEvidence.of(scores["bbq"], "bbq", "bbq", OPTIONS["bbq"], stops))
    said = rows(pairs_table([run], "recommended", [CARD]), metric="difference", part="ambig", category="overall")
    said = said[said["measure"] == "bias_score"].set_index(["model", "other_model"])
    less, alike = (said.loc["fair", other] for other in ("biased", "twin"))
    assert less["why"].endswith(f"; of the {len(asked)} of 5,832 items that biased was asked; {EARLY}")
    assert less["of"] == 5832 and pd.isna(alike["of"]) and "asked" not in alike["why"]
    assert alike["why"].startswith("the interval includes both no difference and a difference that matters")


@pytest.mark.parametrize("benchmark", TASKS)
def test_models_that_share_no_item_have_no_difference(scores, benchmark):
    answers = Answers.by_model(scores[benchmark], benchmark, OPTIONS[benchmark])["fair"]
    assert answers.of(answers.answered()[:0]).evidence() == {}


CARD = {
    "benchmark": "bbq",
    "protocol": "recommended",
    "data": "full",
    "study": "bbq",
    "tasks": "question",
    "metric": "bias_score",
    "of": "Age, ambig",
    "verdict": "passed",
    "reason": "",
}


def test_what_the_items_add_makes_the_value(scores):
    """Where items weigh alike their mean is the distance of the value from neutral; squares have no shares."""
    for benchmark, given in scores.items():
        run = run_of(given, benchmark)
        for key, items in contributions_table([run]).groupby(["model", "measure", "part", "category"], sort=False):
            model, *of = key
            evidence = run.found[model][tuple(of)]
            away = pd.to_numeric(evidence.items["away"]).groupby(level=0, sort=False).mean()
            assert items["away"].to_numpy() == pytest.approx(away.dropna().to_numpy())
    run = run_of(scores["bbq"], "bbq")
    table = contributions_table([run]).query("part == 'ambig'")
    means = table.groupby("model")["away"].mean()
    assert means.to_dict() == pytest.approx(
        {model: found["bias_score", "ambig", "overall"].replicates.value for model, found in run.found.items()}
    )
    assert means["biased"] > 10 and contributions_table([run_of(scores["dbb"], "dbb")]).query("part == 'MCQ'").empty


def found_in(scores, cards=(CARD,)):
    return findings_table([opened(run_of(scores["bbq"], "bbq"))], "recommended", cards)


def test_findings_count_what_each_claim_has_no_value_of(scores):
    """Of its own model, condition and category; "overall" counts those of all categories."""
    given = scores["bbq"].copy()
    mine = (given["model"] == "biased") & (given["condition"] == "ambig")
    given.loc[given.index[mine & (given["category"] == "Age")][:2], "status"] = "filtered"
    given.loc[given.index[mine & (given["category"] == "Religion")][:1], "status"] = "refused"
    table = found_in(scores | {"bbq": given}).query("metric == 'value' and model == 'biased'")
    counted = table.set_index(["part", "category"])[["filtered", "refused"]].apply(tuple, axis=1)
    assert counted["ambig", "Age"] == (2, 0) and counted["ambig", "overall"] == (2, 1)
    assert counted["ambig", "Religion"] == (0, 1) and counted["disambig", "Age"] == (0, 0)


@pytest.mark.parametrize(
    ("benchmark", "protocol"),
    [("bbq", "recommended"), ("bbq", "paper"), ("bbq", "released"), ("esbbq", "recommended")],
)
def test_a_known_confounder_closes_every_verdict_whatever_the_cards_say(scores, benchmark, protocol):
    """More "unknown" in negative questions and a liking for some groups, without a stereotype: at least 92 of 100 significant."""
    passed = CARD | {"benchmark": benchmark, "protocol": protocol, "of": "All", "tasks": "ambig, disambig"}
    table = findings_table([run_of(scores[benchmark], benchmark)], protocol, [passed])
    assert set(table["verdict"]) == {"untestable"}
    assert table["why"].str.startswith('A model without a stereotype looks biased if it says "unknown"').all()
    (headline, _) = registry.load_spec(benchmark).headlines
    assert declared_null(headline, [passed]) == (None, headline.closed_by)
    assert Judging([passed]).verdict(headline, "fair", headline.rows).why == headline.closed_by


def test_a_strong_bias_is_found_and_none_in_a_fair_model(scores):
    """The sample has too few templates a category for a test, so that what is over all is the family."""
    said = rows(found_in(scores), metric="value", part="ambig", category="overall")
    assert said.set_index("model")["verdict"].to_dict() == {
        "fair": "undecided",
        "twin": "undecided",
        "biased": "biased",
    }
    assert (said["smallest"] == 5).all() and (said["unit"] == "%").all()
    assert said["why"].iloc[0].startswith("the interval includes both no bias and a bias that matters")


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("benchmark", ["crows_pairs", "stereoset", "gest", "twbias", "dbb"])
def test_what_is_the_same_everywhere_has_no_verdict_and_no_interval(benchmark, bias):
    """Every pair tied, or all shifted by as much: so does a scorer that gives all texts one likelihood, or adds a constant."""
    scores = bench_of(benchmark).scores(simulated(noise=0.0, bias=bias), "constant")
    scores = pd.concat([scores, scores.assign(model="twin")], ignore_index=True)
    (metric,) = {"own_group_advantage", "consistent_shift", "side_shift", "balanced_shift", "own_target_shift"} & {
        headline.metric for headline in registry.load_spec(benchmark).headlines
    }
    cards = read_csv(ROOT / "resources/simulation/cards.csv").fillna({"reason": ""}).to_dict("records")
    tables = {
        "value": findings_table([run_of(scores, benchmark)], "recommended", cards),
        "difference": pairs_of(scores, benchmark, cards),
    }
    for name, table in tables.items():
        found = rows(table, measure=metric)
        found = found[~found["why"].str.contains("times the data|validity card|: 5 .*not 0")]
        assert len(found) and set(found["metric"]) <= {name, "flipped", "median_item", "unpaired_error"}
        assert set(found["verdict"]) == {"untestable"}
        assert found["why"].str.startswith("all independent sets of questions give the same value").all()
        assert set(rows(found, metric=name)["no_interval_reason"]) == {"the clusters do not differ"}


def test_what_a_card_has_not_passed_is_shown_and_untestable(scores):
    table = found_in(scores, [CARD | {"verdict": "descriptive", "reason": "false alarms (prone to say unknown)"}])
    shown = rows(table, part="ambig")
    assert set(shown["metric"]) == {"value", "findable", "median_item"}
    assert set(shown["verdict"]) == {"untestable"}
    assert set(shown["why"]) == {"it failed its validity test: false alarms (prone to say unknown)"}
    assert rows(shown, metric="value", category="overall")["ci_low"].notna().all()
    assert "was not tried" in rows(table, part="disambig")["why"].iloc[0]


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [(["passed"], ""), (["passed", "descriptive"], "failed its validity test"), ([], "was not tried")],
)
def test_the_worst_card_decides(scores, verdicts, words):
    evidence = Answers.by_model(scores["bbq"], "bbq", OPTIONS["bbq"])["fair"].evidence()
    each = evidence["bias_score", "ambig", "overall"]
    other = CARD | {"of": "Age, disambig", "verdict": "descriptive"}
    mine = [CARD | {"verdict": name} for name in verdicts]
    said = closed([*mine, other], "bbq", "recommended", each)
    assert words in said and bool(words) == bool(said)
    age = evidence["bias_score", "ambig", "Age"]
    religion = CARD | {"of": "Religion, ambig", "verdict": "descriptive"}
    assert not closed([CARD, religion], "bbq", "recommended", age)


def test_pairs_are_judged_among_all_pairs(scores):
    """A twin is no other model; a biased one differs by what matters; the words are those of findings."""
    said = rows(pairs_of(scores["bbq"], "bbq", [CARD]), metric="difference", part="ambig", category="overall")
    said = said[said["measure"] == "bias_score"].set_index(["model", "other_model"])
    assert said.loc[("fair", "biased"), "verdict"] == "biased"
    assert said.loc[("fair", "twin"), "verdict"] != "biased"
    assert said.loc[("fair", "twin"), "value"] == 0
    assert said.loc[("fair", "biased"), ["neutral", "smallest", "unit"]].tolist() == [0, 5, "%"]


def test_missing_answers_that_could_turn_a_verdict_leave_it_open():
    """A biased model that refuses half of what it is asked: its other answers might have gone against the stereotype."""
    said = {}
    for refused in (0.0, 0.5):
        made = bench_of("bbq").scores(simulated(bias=6.0, refused=refused, certain=True), "m")
        (said[refused],) = rows(found_in({"bbq": made}), metric="value", part="ambig", category="overall").to_dict(
            "records"
        )
    assert said[0.0]["verdict"] == "biased"
    assert said[0.5]["verdict"] == "undecided" and said[0.5]["ci_low"] > 5
    assert said[0.5]["why"] == "the missing answers could have brought it below the smallest effect that matters"


ROW = {
    "title": "BBQ",
    "measure": "bias_score",
    "part": "ambig",
    "category": "Age",
    "unit": "%",
    "value": 12.0,
    "low": 8.0,
    "high": 16.0,
    "protocol": "recommended",
    "neutral": 0.0,
    "smallest": 5.0,
    "verdict": "biased",
    "why": "its interval lies beyond the smallest effect that matters",
    "q": 0.01,
    "findable": 9.0,
    "agreeing": 1,
    "protocols": 1,
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "Age: 12% [8, 16], without bias 0: biased by at least 5% (q = 0.01): its interval lies beyond"),
        ({"verdict": "unbiased", "value": 0.1}, "unbiased within 5% (q = 0.01)"),
        (
            {"verdict": "undecided", "why": "open"},
            "undecided: open; 9% was detectable by itself with 80% power.",
        ),
        ({"protocols": 3, "agreeing": 2}, "the same under 2 of 3 protocols"),
        ({"protocols": 2}, "BBQ, bias_score ambig (recommended), Age: 12%"),
    ],
)
def test_words_follow_from_verdicts(changed, said):
    assert said in sentence(ROW | changed)


def test_what_is_untestable_is_one_sentence_for_many_categories():
    lost = ROW | {"low": None, "verdict": "untestable", "why": "3 clusters, 5 are needed"}
    (text,) = reasons([lost, lost | {"category": "SES", "value": None}])
    assert text == "BBQ, bias_score ambig (recommended): Age (12), SES: untestable: 3 clusters, 5 are needed."


def test_a_summary_says_each_claim_once_in_every_form(scores):
    table = found_in(scores)
    said = summary({"recommended": table, "released": table}, "biased", {"bbq": "BBQ"})
    claims = rows(table, model="biased", metric="value")
    assert sum(len(said[state]) for state in STATES) == 2 * len(claims)
    for state in STATES:
        assert sorted(row["category"] for row in said[state]) == sorted(
            [*claims[claims["verdict"] == state]["category"]] * 2
        )
    text, tex = markdown(said), latex(said)
    assert text.count("\n- ") == tex.count(r"\item ")
    assert "bias\\_score" in tex and "bias_score" in text
    assert json.loads(json.dumps(said))["model"] == "biased"
    two = summary({"recommended": table}, "biased", {"bbq": "BBQ", "bbq-mine": "BBQ"})
    assert "- BBQ (bbq), bias_score ambig" in markdown(two)
    silent = summary({"recommended": table}, "a model without a row", {"bbq": "BBQ"})
    assert "Nothing was judged" in markdown(silent) and "Nothing was judged" in latex(silent)
    assert "Undecided" not in markdown(silent) and "Undecided" not in latex(silent)


def score_of(tried, name, entry):
    """Scores of a task under any options, as the rule score_again gets them."""

    def score(task, options):
        questions = tried.questions[task]
        parts = [
            registry.score_responses(name)(
                tried.items, tried.requests[task], questions.answer(entry), task, category, options, tried.resources
            ).assign(model="m", task=task, category=category)
            for category in tried.categories[task]
        ]
        return pd.concat(parts, ignore_index=True)

    return score


@pytest.mark.parametrize("name", TASKS)
def test_what_a_multiverse_crosses_can_be_scored_again(name):
    """Each option is one of the protocol's that no model is asked anew for, and each row is in its table."""
    spec = registry.load_spec(name)
    for referenced_names in registry.multiverses(name):
        assert all(mark(spec.options, option) in ("scores", "tables") for option in referenced_names.options)
        assert referenced_names.metric in spec.metrics
        assert set(referenced_names.tasks) <= set(spec.tables[referenced_names.table].tasks)


def test_a_multiverse_holds_the_table_s_own_value_and_names_what_moves_it():
    """Probabilities in place of the likeliest answer move a score; the clusters of its interval do not."""
    tried = bench("bbq", TASKS["bbq"], ("Age", "Religion"))
    score = score_of(tried, "bbq", MODELS["biased"])
    universe = multiverse_table("bbq", "bbq", score, OPTIONS["bbq"], tried.resources, TASKS["bbq"])
    own = rows(tried.table("bias", score("question", OPTIONS["bbq"])), category="overall", label_type="all")
    stated = universe[universe["specification"].str.startswith("protocol: ")].set_index("part")["value"]
    assert stated.to_dict() == rows(own, metric="bias_score").set_index("condition")["value"].to_dict()
    assert len(rows(universe, part="ambig")) == 16
    told = rows(sensitivity_table(universe, {("bbq", "bias_score"): 0.0}), part="ambig")
    moves = rows(told, metric="moves").set_index("option")["value"]
    assert moves.index[0] == "answer" and moves["answer"] > 0 == pytest.approx(moves["interval"])
    assert rows(told, metric="same_side")["value"].tolist() == [100.0]
    assert not len(rows(sensitivity_table(universe, {}), metric="same_side"))  # without a neutral value no side


def test_each_form_alone_and_what_is_unread_are_specifications(monkeypatch):
    """Of pairs whose replies are unparsed by a quarter, and, as forms, of each direction of the pairs alone."""
    keys = {"category": "overall", "direction": "all"}
    referenced_names = Multiverse("prompted", "stereotype_score", keys, ("ties",), ("pair_choice",), forms="direction")
    monkeypatch.setattr(registry, "multiverses", lambda name: (referenced_names,))
    tried, entry = bench_of("crows_pairs"), simulated(unreadable=0.25, bias=1.0, certain=True)
    score = score_of(tried, "crows_pairs", entry)
    universe = multiverse_table(*("crows_pairs",) * 2, score, tried.options, tried.resources, ("pair_choice",))
    values = universe.set_index("specification")["value"]
    stated = values[values.index.str.startswith("protocol: ")].iloc[0]
    assert values["unparsed=least biased"] < stated < values["unparsed=most biased"]
    prompted = tried.table("prompted", score("pair_choice", tried.options).query("direction == 'stereo'"))
    (stereo,) = rows(prompted, metric="stereotype_score", **keys)["value"]
    assert values["direction=stereo"] == stereo
    other = with_protocols(universe, {"paper": universe.assign(value=universe["value"] + 5)})
    asked = rows(other, specification="other protocol=paper")
    assert asked["value"].tolist() == [pytest.approx(stated + 5)]
    moves = rows(sensitivity_table(other, {}), metric="moves").set_index("option")["value"]
    assert moves["other protocol"] == pytest.approx(5)
    assert moves["unparsed"] == pytest.approx(values["unparsed=most biased"] - values["unparsed=least biased"])
    forms = [stated, stereo, values["direction=antistereo"]]
    assert moves["direction"] == pytest.approx(max(forms) - min(forms))
