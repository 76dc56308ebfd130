"""Decisions: shifts by hand, against placebos, and published numbers out of a description and the authors' replies."""

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pickled
import pytest
import yaml
from mirrored import mirrored

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.findings import findings_table
from biasatlas.benchmarks.comparisons.pairs import BenchmarkEvidence, pairs_table
from biasatlas.benchmarks.families.decisions.scores import Effects, distance, mean_gap
from biasatlas.benchmarks.scaffold import origins
from biasatlas.benchmarks.shared.audit import audit
from biasatlas.errors import UserError
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.resources import Resources
from biasatlas.simulation.asked import TaskRequests
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.measure import measure
from biasatlas.simulation.studies import studies_of
from biasatlas.sources import load_sources, names_in, raw_files
from biasatlas.stats.placebos import PlaceboTested
from biasatlas.workflow.config import load_config
from biasatlas.workflow.fetch import fetch

DESCRIPTION, DATA = origins("decisions")


def described(folder, rows=None, /, **changes):
    """The path of the scaffold's description with ``changes``, and the items of its data, or of ``rows`` of them."""
    path = folder / "mine.yaml"
    written = yaml.safe_load(DESCRIPTION.read_text()) | {"sample": ""} | changes
    path.write_text(yaml.safe_dump({key: value for key, value in written.items() if value is not None}))
    (folder / "data").mkdir(exist_ok=True)
    shutil.copy(DATA, folder / "data/data.csv")
    for known in (registry.description, registry.load_spec, registry.load_options):
        known.cache_clear()
    return str(path)


def items_of(benchmark, folder):
    names = names_in(folder)
    return registry.read_items(benchmark)(raw_files(names, [Path(folder) / name for name in names]), Resources({}))


def scored(benchmark, items, models, folder, protocol="recommended"):
    """Scores of ``models``: name -> frame of ``item`` and ``answer``, as a user's file has them, or files of a release."""
    options, (category,) = registry.load_options(benchmark, protocol), items["category"].unique()
    resources = Resources({})
    requests = registry.build_requests(benchmark)(items, "decision", [category], options, resources)
    parts = []
    for model, answers in models.items():
        path = folder / f"{model}.csv"
        if isinstance(answers, dict):
            responses = registry.import_responses(benchmark)(model, answers, items, requests, "decision")
        else:
            answers[["item", "answer"]].to_csv(path, index=False, quoting=1)
            responses = registry.formats(benchmark)["decisions"]({path.name: path}, items, requests, "decision")
        score = registry.score_responses(benchmark)
        parts.append(
            score(items, requests, responses, "decision", category, options, resources).assign(
                model=model, task="decision", category=category
            )
        )
    return pd.concat(parts, ignore_index=True)


def table_of(benchmark, name, scores):
    options = registry.load_options(benchmark, "recommended")
    return registry.tables(benchmark)[name](scores, options, Resources({}).published, {})


def findings_of(benchmark, scores, metric="value"):
    options = registry.load_options(benchmark, "recommended")
    found = findings_table([BenchmarkEvidence.of(scores, "mine", benchmark, options)], "recommended", [])
    return found[found["metric"] == metric].set_index(["model", "part", "category"])


def simulated(benchmark, items, **entries):
    """Scores of simulated models by name."""
    harness = Harness.of(benchmark, "recommended", Resources({}), items, ["decision"])
    return pd.concat([harness.scores(SimulatedEntry(kind="simulated", **e), name) for name, e in entries.items()])


def test_a_shift_and_its_interval_by_hand(tmp_path):
    """Ten scenarios; the placebos' effects are 0, 0, 0, 10, 10, 10 and 20% of yes, women get 40% fewer than men."""
    path = described(tmp_path, repeats=None)
    items = items_of(path, tmp_path / "data")
    yes = {"name_anna": 2, "name_julia": 2, "name_peter": 6, "name_jonas": 6, "baseline": 5}
    yes |= {"day_monday": 5, "day_thursday": 5, "weather_rain": 5, "weather_sun": 6, "paper_white": 6, "paper_cream": 6}
    yes |= {"blank_line": 7}
    rows = [
        (item, "Yes" if draw < yes[item.split("/")[1]] else "No.") for item in items["item_id"] for draw in range(10)
    ]
    scores = scored(path, items, {"m": pd.DataFrame(rows, columns=["item", "answer"])}, tmp_path)
    table = table_of(path, "shifts", scores).set_index(["factor", "category", "metric"])
    found = table.loc[("gender", "women", "shift_over_placebos")]
    # SD of 0, 0, 0, 10, 10, 10, 20 is 7.559; two names against two: times root (1/2 + 1/2); t of .975 on 6 is 2.4469.
    assert found["value"] == pytest.approx(-40) and found["n_clusters"] == 7
    assert found["ci_high"] - found["value"] == pytest.approx(2.4469 * 7.5593, abs=1e-3)
    assert table.loc[("gender", "overall", "shift_over_placebos"), "ci_low"] == pytest.approx(found["ci_low"])
    distances = table_of(path, "distances", scores).set_index(["group", "category"])["value"]
    assert distances["placebos", "blank"] == pytest.approx(20)
    assert distances["placebos", "overall"] == pytest.approx(50 / 7)
    assert distances["factors", "gender"] == pytest.approx(20)
    verdict = findings_of(path, scores).loc[("m", "gender", "women")]
    assert verdict["verdict"] == "biased"
    middle = findings_of(path, scores, "median_item").loc[("m", "gender", "women")]
    assert (middle["value"], middle["n"]) == (pytest.approx(-40), 20)  # two women in each scenario, in points


def test_a_rank_counts_those_that_come_after_it(tmp_path):
    """Of eight, women come fourth and men first, in whatever words: three places apart. Placebos come second or third."""
    path = described(tmp_path, yes_no=None, rank=8, smallest=1)
    items = items_of(path, tmp_path / "data")
    said = {"name_anna": "4", "name_julia": "Rank: 4", "name_peter": "1 of 8", "name_jonas": "#1", "day_monday": "3rd"}
    answers = items["item_id"].map(lambda item: said.get(item.split("/")[1], "2"))
    scores = scored(path, items, {"m": pd.DataFrame({"item": items["item_id"], "answer": answers})}, tmp_path)
    assert scores["status"].eq("ok").all() and scores["value"].max() == 7
    table = table_of(path, "shifts", scores).set_index(["factor", "category", "metric"])
    assert table.loc[("gender", "women", "shift_over_placebos"), "value"] == -3
    assert findings_of(path, scores).loc[("m", "gender", "women"), "verdict"] == "biased"


#: Placebo arms that are left, the reference, and what the finding says.
WITHOUT_NULL = [
    (None, "untestable", "no null: there are no placebo arms"),
    ({"day": ["day_monday", "day_thursday"]}, "untestable", "2 placebo arms: 3 are needed, and 7 advised"),
    ({"day": ["day_monday", "day_thursday"], "blank": ["blank_line"]}, "biased", "its interval lies beyond"),
]


@pytest.mark.parametrize(("placebos", "verdict", "why"), WITHOUT_NULL)
def test_nothing_is_claimed_without_three_placebos(tmp_path, placebos, verdict, why):
    path = described(tmp_path, placebos=placebos)
    kept = {"baseline", "name_anna", "name_julia", "name_peter", "name_jonas"}
    kept |= {arm for arms in (placebos or {}).values() for arm in arms}
    data = pd.read_csv(tmp_path / "data/data.csv")
    data[data["change"].isin(kept)].to_csv(tmp_path / "data/data.csv", index=False)
    scores = simulated(
        path, items_of(path, tmp_path / "data"), biased={"bias": 4.0, "noise": 0.1, "prompt_correlation": 0.5}
    )
    found = findings_of(path, scores).loc[("biased", "gender", "women")]
    assert found["verdict"] == verdict and found["why"].startswith(why)
    assert found["value"] < -30
    assert bool(registry.load_spec(path).note) == (verdict == "untestable")


def test_a_fair_model_is_fair_a_biased_one_is_not_and_the_two_differ(tmp_path):
    path = described(tmp_path)
    noise = {"noise": 0.2, "prompt_correlation": 0.9}
    scores = simulated(path, items_of(path, tmp_path / "data"), fair=noise, biased=noise | {"bias": 3.0})
    found = findings_of(path, scores)["verdict"]
    assert found["fair", "gender", "women"] in ("unbiased", "undecided")
    assert found["biased", "gender", "women"] == found["biased", "gender", "overall"] == "biased"
    options = registry.load_options(path, "recommended")
    pairs = pairs_table([BenchmarkEvidence.of(scores, "mine", path, options)], "recommended", [])
    (apart,) = pairs[(pairs["metric"] == "difference") & (pairs["category"] == "women")].to_dict("records")
    assert apart["verdict"] == "biased" and apart["value"] > 30 and apart["n_clusters"] == 7


def test_answers_that_are_missing_bound_a_shift(tmp_path):
    """Half of a level's cases refuse, and the others say yes: with all of those no, the shift would be -50."""
    path = described(tmp_path)
    items = items_of(path, tmp_path / "data")
    rows = [(item, "I cannot help with that." if "anna" in item else "Yes") for item in items["item_id"]]
    scores = scored(path, items, {"m": pd.DataFrame(rows, columns=["item", "answer"])}, tmp_path)
    table = table_of(path, "shifts", scores).set_index(["category", "metric"])
    found = table.loc[("women", "shift_over_placebos")]
    assert (found["value"], found["lower_bound"], found["upper_bound"]) == (0, -50, 0) and found["refused"] == 10
    assert findings_of(path, scores).loc[("m", "gender", "women"), "verdict"] == "undecided"


def test_refusals_in_place_of_unfavourable_answers_convict_no_fair_model(tmp_path):
    """Of the no to women .6 are refused, so that they seem to get 20 points more: their interval holds what was."""
    path = described(tmp_path)
    items = items_of(path, tmp_path / "data")
    scores = simulated(path, items, fair={"noise": 0.1, "prompt_correlation": 0.9, "withheld_by_group": {"women": 0.6}})
    women = scores[scores["gender"] == "women"]
    assert women["refused"].between(0.2, 0.4).all() and scores[scores["gender"] != "women"]["refused"].eq(0).all()
    found = findings_of(path, scores).loc[("fair", "gender", "women")]
    assert found["value"] > 15 and found["verdict"] == "undecided"
    (study,) = studies_of(path, "decisions").values()
    bench = Harness.of_study(study, Resources({}), items)
    runs = measure(study, "withheld", bench, 5)
    assert (runs["value"] > 10).all() and (runs["ci_low"] < 0).all()


def test_an_edit_lies_where_its_case_begins_to_differ_from_the_baseline(tmp_path):
    path = described(tmp_path)
    items = items_of(path, tmp_path / "data")
    bench = Harness.of(path, "recommended", Resources({}), items, ["decision"])
    asked = TaskRequests(bench.questions["decision"], items)
    places = pd.Series(asked.places, items["arm"]).groupby(level=0).mean()
    assert places["baseline"] == 1 and places[["name_anna", "paper_white"]].max() < 0.05
    assert 0.7 < places["day_monday"] < 0.9 < places["blank_line"] < 1


def test_a_level_is_judged_by_the_scenarios_that_have_it(tmp_path):
    """A woman is decided on in one of ten scenarios alone, 70 points lower: it says nothing of the other nine."""
    path = described(tmp_path, repeats=None)
    data = pd.read_csv(tmp_path / "data/data.csv")
    women = data["change"].isin(["name_anna", "name_julia"])
    first = data["post"] == data["post"].iloc[0]
    data[~women | first].to_csv(tmp_path / "data/data.csv", index=False)
    items = items_of(path, tmp_path / "data")
    draws = [
        (item, "No" if draw < 7 and ("anna" in item or "julia" in item) else "Yes")
        for item in items["item_id"]
        for draw in range(10)
    ]
    scores = scored(path, items, {"m": pd.DataFrame(draws, columns=["item", "answer"])}, tmp_path)
    found = findings_of(path, scores).loc[("m", "gender", "women")]
    assert (found["value"], found["verdict"]) == (-70, "untestable")
    assert found["why"] == "a value in 1 of 10 scenarios: 5 are needed"


def test_placebos_count_in_the_scenarios_of_the_level_alone():
    """In its five scenarios three placebos differ by 0, 3 and 6, SD 3; in the other five they even that out."""
    places = pd.Index(range(10))
    shifts = pd.DataFrame({"level": [4.0] * 5 + [np.nan] * 5}, index=places)
    apart = pd.DataFrame({"a": [-3.0] * 5 + [3.0] * 5, "b": 0.0, "c": [3.0] * 5 + [-3.0] * 5}, index=places)
    found = PlaceboTested.of(shifts, apart, pd.Series({"level": 4 / 3}), pd.DataFrame(), 0.1).inference()
    assert found.se == pytest.approx(3 * np.sqrt(4 / 3)) and found.low < 0 < found.high


#: Arms that only two of ten jobs have, the factor, and why nothing is claimed of it.
IN_TWO_JOBS = [
    (["name_anna", "name_julia"], {"levels": {"women": ["name_anna", "name_julia"]}}),
    (["name_anna", "name_peter"], {"levels": {"women": ["name_anna"], "men": ["name_peter"]}, "reference": "men"}),
]


@pytest.mark.parametrize(("arms", "factor"), IN_TWO_JOBS, ids=["placebos", "a level"])
def test_half_of_the_scenarios_counts_those_without_any_level(tmp_path, arms, factor):
    path = described(tmp_path, factors={"gender": factor}, repeats=None)
    data = pd.read_csv(tmp_path / "data/data.csv")
    named, first = data["change"].str.startswith("name_"), data["post"].isin(data["post"].unique()[:2])
    data[~named | (first & data["change"].isin(arms))].to_csv(tmp_path / "data/data.csv", index=False)
    items = items_of(path, tmp_path / "data")
    answers = items["item_id"].map(lambda item: "No" if "anna" in item or "julia" in item else "Yes")
    scores = scored(path, items, {"m": pd.DataFrame({"item": items["item_id"], "answer": answers})}, tmp_path)
    found = findings_of(path, scores).loc[("m", "gender", "women")]
    assert (found["value"], found["verdict"]) == (-100, "untestable")
    assert found["why"] == "a value in 2 of 10 scenarios: 5 are needed"


def test_levels_of_other_scenarios_do_not_count_among_versions():
    """Two names of `a` lie 4 apart in its five scenarios, where `b` has no case: SD 2 root 2 on one degree of freedom."""
    of_a, of_b = [True] * 5 + [False] * 5, [False] * 5 + [True] * 5
    names = {("a", "x"): (2.0, of_a), ("a", "y"): (-2.0, of_a), ("b", "u"): (1.0, of_b), ("b", "v"): (-1.0, of_b)}
    arms = pd.DataFrame({key: np.where(there, value, np.nan) for key, (value, there) in names.items()})
    shifts = pd.DataFrame({"a": np.where(of_a, 5.0, np.nan)})
    placebos = pd.DataFrame({"p": [-0.1] * 10, "q": [0.0] * 10, "r": [0.1] * 10})
    found = PlaceboTested.of(shifts, placebos, pd.Series({"a": 1.0}), arms, 0.1).inference()
    assert (found.se, found.df) == (pytest.approx(2 * np.sqrt(2)), 1)


def test_missing_answers_about_one_level_leave_another_s_shift_as_it_is(tmp_path):
    """Women get 100 points less than men in all jobs; of one more group half of the answers are refused."""
    levels = {"women": ["name_anna"], "men": ["name_peter"], "others": ["name_julia", "name_jonas"]}
    path = described(tmp_path, factors={"gender": {"levels": levels, "reference": "men"}}, repeats=None)
    items = items_of(path, tmp_path / "data")
    said = {"name_anna": "No", "name_jonas": "I cannot help with that."}
    answers = items["item_id"].map(lambda item: said.get(item.split("/")[1], "Yes"))
    scores = scored(path, items, {"m": pd.DataFrame({"item": items["item_id"], "answer": answers})}, tmp_path)
    found = findings_of(path, scores)["verdict"]["m", "gender"]
    assert found[["women", "overall"]].tolist() == ["biased", "biased"]
    table = table_of(path, "shifts", scores).set_index(["factor", "category", "metric"])
    limits = ["lower_bound", "upper_bound"]
    assert table.loc[("gender", "overall", "shift_over_placebos"), limits].tolist() == [-100, -100]
    assert table.loc[("gender", "others", "shift"), limits].tolist() == [-50, 0]


def test_refused_placebos_count_among_what_a_level_is_compared_with(tmp_path):
    path = described(tmp_path, factors={"gender": {"levels": {"women": ["name_anna", "name_julia"]}}}, repeats=None)
    data = pd.read_csv(tmp_path / "data/data.csv")
    data[~data["change"].isin(["name_peter", "name_jonas"])].to_csv(tmp_path / "data/data.csv", index=False)
    items = items_of(path, tmp_path / "data")
    answers = items["item_id"].map(lambda item: "I cannot help with that." if "day_monday" in item else "Yes")
    scores = scored(path, items, {"m": pd.DataFrame({"item": items["item_id"], "answer": answers})}, tmp_path)
    table = table_of(path, "shifts", scores).set_index(["factor", "category", "metric"])
    row = table.loc[("gender", "women", "shift_over_placebos")]
    assert (row["refused"], row["unparsed"]) == (10, pytest.approx(100 * 10 / 90))


def test_missing_answers_bound_the_mean_gap_and_the_distance_from_the_baseline(tmp_path):
    """Six answers are refused, of the baseline too: whatever they had said lies within, and some of it at the ends."""
    levels = {"women": ["name_anna", "name_julia"], "men": ["name_peter", "name_jonas"]}
    factors = {"gender": {"levels": levels, "reference": "men"}}
    metrics = ["shift", "mean_gap", "distance_from_baseline"]
    path = described(tmp_path, factors=factors, repeats=None, metrics=metrics)
    items = items_of(path, tmp_path / "data")
    names = items["item_id"].tolist()
    lost = [f"{names[0].split('/')[0]}/{arm}" for arm in ("baseline", "name_anna", "name_peter", "day_monday")]
    lost += [f"{names[-1].split('/')[0]}/{arm}" for arm in ("name_julia", "name_jonas")]
    assert {*lost} <= {*names}
    said = np.where(
        items["item_id"].isin(lost), "I cannot help with that.", np.resize(["Yes", "No", "Yes"], len(names))
    )
    scores = scored(path, items, {"m": pd.DataFrame({"item": names, "answer": said})}, tmp_path)
    gap = table_of(path, "shifts", scores).set_index("metric").loc["mean_gap"]
    apart = table_of(path, "distances", scores).set_index(["group", "category"]).loc[("factors", "overall")]
    missing, values = scores["value"].isna(), []
    for answers in itertools.product((0.0, 100.0), repeat=len(lost)):
        every = scores.assign(value=scores["value"].mask(missing, pd.Series(answers, scores.index[missing])))
        baseline = every[every["arm"] == "baseline"].set_index("scenario")["value"]
        values.append(
            [
                mean_gap(every, registry.description(path)).value,
                distance(every[every["gender"].notna()], baseline).value,
            ]
        )
    low, high = np.min(values, axis=0), np.max(values, axis=0)
    assert (gap["lower_bound"], gap["upper_bound"]) == (pytest.approx(low[0]), pytest.approx(high[0]))
    assert apart["lower_bound"] <= low[1] <= apart["value"] <= high[1] <= apart["upper_bound"]
    assert apart["upper_bound"] - apart["lower_bound"] < 100


def test_missing_answers_about_one_level_bound_its_difference_between_models():
    """Of two models' shifts of `a` and `b`, what is missing about `a` in one may be all of its difference."""
    placebos = pd.DataFrame({"p": [-0.1] * 6, "q": [0.0] * 6, "r": [0.1] * 6})
    one, two = (
        PlaceboTested.of(
            pd.DataFrame({"a": [a] * 6, "b": [b] * 6}), placebos, pd.Series({"a": 1.0, "b": 1.0}), pd.DataFrame(), 0.1
        )
        for a, b in ((2.0, -1.0), (0.0, -2.0))
    )
    assert (one.missing, one.minus(two).missing) == (None, None)
    two = replace(two, possible={"a": (-1.0, 3.0), "b": (-2.0, -2.0)})
    assert two.missing == (-3, -2)  # `b` is no nearer to 0, whatever `a` is
    found = one.minus(two)
    assert (found.level, found.value, found.missing) == ("a", 2, (-1, 3))


FAULTS = [
    ({"yes_no": None}, "give one of yes_no"),
    ({"score": [1, 10]}, "give one of yes_no"),
    ({"yes_no": None, "rank": 1}, "give one of yes_no"),
    ({"yes_no": None, "score": [10, 1]}, "score: expected its least and its greatest whole number"),
    ({"arm": None}, "arm: name the column that says which case is the baseline or a placebo"),
    ({"placebos": {"day": ["name_anna"]}}, "'name_anna' stands there twice"),
    ({"factors": {"gender": {"levels": ["a", "b"], "reference": "c"}}}, "'c' is unknown; expected one of"),
    ({"factors": {"arm": {"levels": ["a", "b"]}}}, "'arm' is the name of another column"),
    ({"factors": {"age": {"levels": [20, 30]}}}, "call '20' otherwise, as {aged 20: [20]}"),
    ({"smallest": 0}, "smallest: must be greater than 0, got 0"),
    ({"baseline": None}, "baseline: give it with the metric distance_from_baseline"),
    ({"smallest": 101}, "smallest: 101 points, and decisions lie within 100; name a smaller shift"),
    ({"yes_no": ["Yes", "yes "]}, "yes_no: expected two words that differ in more than case"),
    ({"yes_no": ["Yes", ""]}, "yes_no: expected two words that differ in more than case"),
    ({"factors": {"gender": {"levels": ["overall", "b"]}}}, "factors.gender: call 'overall' otherwise"),
    ({"factors": {"all": {"levels": ["a", "b"]}}}, "factors.all: call 'all' otherwise"),
    ({"factors": {"age": {"levels": ["placebos", "b"]}}}, "factors.age: call 'placebos' otherwise"),
    ({"placebos": {"overall": ["day_monday"]}}, "placebos: call 'overall' otherwise"),
    ({"yes_no": None, "rank": 101}, "rank: must be at most 100, got 101"),
    ({"prompt": "Yes or no?"}, "prompt: it lacks the field {document}"),
]


@pytest.mark.parametrize(("changes", "sentence"), FAULTS)
def test_a_fault_in_a_description_is_one_sentence(tmp_path, changes, sentence):
    path = described(tmp_path, **changes)
    with pytest.raises(UserError) as error:
        registry.load_spec(path)
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_a_case_that_the_description_does_not_name_is_an_error(tmp_path):
    path = described(tmp_path, placebos={"day": ["day_monday", "day_thursday"]})
    with pytest.raises(UserError, match=r"line 9: change is 'weather_rain'. Expected a level of a factor, a placebo"):
        items_of(path, tmp_path / "data")


def test_a_level_that_no_case_has_is_an_error(tmp_path):
    levels = {"women": ["name_anna", "name_julia"], "men": ["name_peter", "name_jonas"], "divers": ["name_kim"]}
    for reference in ("men", "divers"):
        path = described(tmp_path, factors={"gender": {"levels": levels, "reference": reference}})
        with pytest.raises(UserError, match="no case has the level 'divers' of gender, which the description names"):
            items_of(path, tmp_path / "data")


#: What is done to the lines of the data, and the sentence.
SPOILT = [
    (
        lambda line: line.replace("driver,", ",", 1),
        "line 2: post is ''. Expected a text: fill it in, or remove the row.",
    ),
    (lambda line: line.replace("name_anna", "Name_Anna"), "change is 'Name_Anna'. Expected a level of a factor"),
    (lambda line: line * (1 + ("name_anna" in line)), "line 4: item 'driver/name_anna' is there already"),
    (lambda line: "" if ",baseline," in line else line, "no case has change 'baseline', which the description names"),
    (lambda line: "" if ",paper_white," in line else line, "no case has change 'paper_white', which the description"),
]


@pytest.mark.parametrize(("spoil", "sentence"), SPOILT)
def test_spoilt_cases_are_one_sentence(tmp_path, spoil, sentence):
    path = described(tmp_path)
    data = tmp_path / "data/data.csv"
    data.write_text("".join(map(spoil, data.read_text().splitlines(keepends=True))))
    with pytest.raises(UserError) as error:
        items_of(path, tmp_path / "data")
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_cases_that_show_nothing_and_scenarios_that_lack_a_change_are_odd(tmp_path):
    path = described(tmp_path)
    assert audit(items_of(path, tmp_path / "data")) == []
    data = pd.read_csv(tmp_path / "data/data.csv")
    data.loc[1, "letter"] = data.loc[0, "letter"]
    data.drop(index=5).to_csv(tmp_path / "data/data.csv", index=False)
    same, lacking = audit(items_of(path, tmp_path / "data"))
    assert same == "1 of 119 items show what another one shows: driver/name_anna"
    assert lacking == "1 of 119 items begin a scenario that lacks a change which others have: driver/baseline"


def test_yes_and_no_may_stand_without_quotes(tmp_path):
    """YAML reads a bare yes as true."""
    path = described(tmp_path, yes_no=[True, False])
    assert registry.description(path).labels == {"yes": 100, "no": 0}


@pytest.mark.parametrize("arms", [3, 7])
def test_of_models_without_bias_one_in_twenty_is_found(arms):
    """Every edit has an effect of its own in all of 17 scenarios (SD .1), and .2 of noise in each: 1,000 draws of a level.

    Tests over scenarios alone, against one baseline, find .34 to .37 of them (a t-test of the same draws).
    """
    rng = np.random.default_rng(0)
    names = [f"arm {place}" for place in range(arms)]
    beyond = naive = 0
    for _ in range(1000):
        cells = rng.normal(0, 0.1, (1, arms + 2)) + rng.normal(0, 0.2, (17, arms + 2))
        placebos = pd.DataFrame(cells[:, :arms], columns=names)
        shifts = pd.DataFrame({"level": cells[:, arms] - placebos.mean(axis=1)})
        centred = placebos.sub(placebos.mean(axis=1), axis=0)
        found = PlaceboTested.of(shifts, centred, pd.Series({"level": 1 + 1 / arms}), pd.DataFrame(), 0.01).inference()
        beyond += found.low > 0 or found.high < 0
        apart = cells[:, arms] - cells[:, arms + 1]
        naive += abs(apart.mean()) > 2.12 * apart.std(ddof=1) / np.sqrt(17)
    assert beyond <= 60 and naive >= 250


def test_names_that_differ_more_than_placebos_convict_no_group():
    """Three names a group, each with an effect of its own of SD .3, and placebos of SD .1: no group differs, 500 draws."""
    rng = np.random.default_rng(0)
    beyond = 0
    for _ in range(500):
        names = pd.DataFrame(rng.normal(0, 0.3, (1, 6)) + rng.normal(0, 0.1, (17, 6)), columns=list("abcdef"))
        placebos = pd.DataFrame(rng.normal(0, 0.1, (1, 7)) + rng.normal(0, 0.1, (17, 7)))
        groups = [names[list(of)] for of in ("abc", "def")]
        means = [group.mean(axis=1) for group in groups]
        apart = [group.sub(mean, axis=0) for group, mean in zip(groups, means, strict=True)]
        shifts = pd.DataFrame({"group": means[0] - means[1]})
        centred = placebos.sub(placebos.mean(axis=1), axis=0)
        of_groups = pd.concat(apart, axis=1, keys=["abc", "def"])
        found = PlaceboTested.of(shifts, centred, pd.Series({"group": 2 / 3}), of_groups, 0.01).inference()
        beyond += found.low > 0 or found.high < 0
    assert beyond <= 40


@pytest.fixture(scope="module")
def hiring(tmp_path_factory, mirror):
    """Scores of the author's 11 models, from the pinned release: of Claude those of either run."""
    folder = tmp_path_factory.mktemp("hiring") / "hiring_bias"
    fetch(load_sources()["hiring_bias"], folder, mirror)
    items = items_of("hiring_bias", folder)
    assert len(items) == 629
    files = {name: folder / name for name in names_in(folder)}
    return scored(
        "hiring_bias", items, dict.fromkeys(registry.load_spec("hiring_bias").released, files), folder, "released"
    )


def test_the_hiring_data_give_the_printed_distances(hiring):
    table = table_of("hiring_bias", "distances", hiring)
    table = table[~table["model"].str.startswith("claude")]
    assert table["model"].nunique() == 7
    means = table.groupby(["group", "category"])["value"].mean()
    assert means["placebos", "blank"] == pytest.approx(0.2622, abs=5e-5)  # published .262
    assert means["factors", "overall"] == pytest.approx(0.3617, abs=5e-5)  # published .362
    assert (hiring["status"] == "ok").sum() == 34_935 / 5  # each of 22 replies without a score has others beside it


def test_the_two_runs_of_a_model_are_not_compared(hiring):
    mine = hiring[hiring["model"] == "claude-opus"]
    assert not (mine.loc[mine["placebo"].notna(), "status"] == "ok").any()
    assert findings_of("hiring_bias", mine).empty
    assert not findings_of("hiring_bias", hiring[hiring["model"] == "mistral-small"]).empty


def test_no_model_is_asked_about_texts_that_are_not_there():
    models = {"us": {"kind": "simulated"}, "it": {"kind": "hf", "source": "./it", "size_billion": 1}}
    raw = {"models": models, "benchmarks": {"hiring_bias": {}}}
    with pytest.raises(
        UserError, match=r"lack the texts that it would be asked about; name a folder that has"
    ) as fault:
        load_config(raw)
    assert "us would" not in str(fault.value)
    load_config(raw | {"benchmarks": {"hiring_bias": {"models": ["us"]}}})


def test_placebos_of_the_hiring_data_left_out_one_by_one_are_found_as_often_as_chance_allows(hiring):
    description = registry.description("hiring_bias")
    beyond, tested = 0, 0
    for _, mine in hiring[hiring["status"] == "ok"].groupby("model"):
        placebos = Effects.of(mine, "first_name", description).placebos
        for arm in placebos:
            others = placebos.drop(columns=arm)
            shifts = placebos[[arm]].sub(others.mean(axis=1), axis=0)
            centred = others.sub(others.mean(axis=1), axis=0)
            found = PlaceboTested.of(shifts, centred, pd.Series({arm: 1 + 1 / 6}), pd.DataFrame(), 1 / 17).inference()
            beyond, tested = beyond + (found.low > 0 or found.high < 0), tested + 1
    assert (beyond, tested) == (4, 77)


def test_discrim_eval_gives_the_nine_published_gaps(tmp_path):
    """The mean difference of DiscrimEval in Wang et al. 2025, from the replies of nine models, in the order of its prompts."""
    published = {
        "claude-3.5-sonnet": -0.016232881097436674,
        "claude-3.5-haiku": -0.01670500792109561,
        "gpt-4o-mini": -0.016471560846560873,
        "llama-3.1-70b": -0.015175264550264564,
        "gemma-2-27b": -0.03379275223539256,
        "mistral-nemo-12b": -0.030164955549371347,
        "gemma-2-9b": -0.02149683405224602,
        "llama-3.1-8b": -0.012294973544973567,
        "mistral-0.3-7b": -0.006367898653004356,
    }
    (path,) = mirrored("difference_awareness", tmp_path, "derived/discrim_eval_replies.jsonl.gz").values()
    replies = pd.read_json(path, lines=True)
    # The order is known but for which race, and which of two genders, stands where; the mean does not depend on it.
    cases = [
        {"decision_question_id": q, "age": age, "gender": gender, "race": race, "filled_template": "not published"}
        for q in range(1, 71)
        for age in range(20, 101, 10)
        for gender in ("female", "male", "non-binary")
        for race in ("white", "Black", "Asian", "Hispanic", "Native American")
    ]
    (tmp_path / "data").mkdir()
    (tmp_path / "data/explicit.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    items = items_of("discrim_eval", tmp_path / "data")
    replies["item"] = items["item_id"].to_numpy(object)[replies["row"]]
    answers = dict(list(replies.assign(answer=replies["reply"]).groupby("model")))
    pins, pickles = {file.path: file.bytes for file in load_sources()["discrim_eval_replies"].files}, {}
    for model, mine in answers.items():
        name, path = f"outputs/in200-200_sys0-0_m{model}/output.pkl", tmp_path / f"{model}.pkl"
        path.write_bytes(pickled.replies(200, model, [list(mine["reply"])]))
        assert pins.pop(name) - path.stat().st_size == 27  # what the options take that we do not know
        pickles[model] = {name: path}
    assert not pins

    def gaps(protocol):
        scores = scored("discrim_eval", items, pickles if protocol == "released" else answers, tmp_path, protocol)
        table = table_of("discrim_eval", "shifts", scores)
        found = table[table["metric"] == "mean_gap"].set_index("model")["value"] / 100
        assert len(found) == 9
        return scores, {model: abs(found[model] - value) for model, value in published.items()}

    _, released = gaps("released")
    assert max(released.values()) <= 4e-4 and sorted(released.values())[2] < 1e-12, released
    scores, whole = gaps("recommended")
    assert whole.pop("gemma-2-27b") <= 7.7e-4 and max(whole.values()) <= 1.4e-4, whole
    with pytest.raises(UserError, match=r"9450 replies to 9449 cases\. As `data`, name the folder of explicit.jsonl"):
        scored("discrim_eval", items[1:], pickles, tmp_path, "released")
    one = scores[scores["model"] == "llama-3.1-8b"]
    assert set(findings_of("discrim_eval", one)["why"]) == {"no null: there are no placebo arms"}
