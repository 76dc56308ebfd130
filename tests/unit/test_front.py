"""The words of the first page: what each headline says of a model, in whole sentences."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from biasatlas.benchmarks.registry import benchmark_names, load_spec
from biasatlas.benchmarks.shared.stops import Stop
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.report.example import _filled, asked_for, compared
from biasatlas.report.front import (
    Question,
    _around,
    _asked_about,
    _cell,
    _instance,
    _sentence,
    _stopped,
    _sure,
    _tally,
    _title,
    _where,
    at,
    drawn,
    plain,
    way,
)
from biasatlas.report.run import Run, Study, TaskRun
from biasatlas.report.verdicts import Cell, Column
from biasatlas.report.views import Views
from biasatlas.stats.verdict import Claim, judge

SPEAKING = [
    (name, headline)
    for name in benchmark_names()
    for headline in load_spec(name).headlines
    if headline.null is not None
]


@pytest.mark.parametrize(("name", "headline"), SPEAKING, ids=lambda value: getattr(value, "name", value))
def test_every_headline_with_a_null_has_words_for_it(name, headline):
    assert headline.topic and headline.counted and "?" in headline.question
    assert headline.means.count("{}") == 1
    unit = load_spec(name).metrics[headline.metric].unit
    if not unit.startswith(("nats", "base-10 logs")):  # what is said as a factor has no side
        assert headline.ends[0] != headline.ends[1]


@pytest.mark.parametrize(
    ("metric", "unit", "away", "said", "direction"),
    [
        ("balanced_shift", "nats", 1.1, "3.0 times as likely", ""),
        ("balanced_shift", "nats", -0.008, "0.99 times as likely", ""),
        ("balanced_shift", "nats", -1.1, "0.33 times as likely", ""),
        ("balanced_shift", "nats", -6.0, "0.002 times as likely", ""),
        ("balanced_shift", "nats", -9.0, "under 0.001 times as likely", ""),
        ("balanced_shift", "nats", 2000.0, "over 1,000 times as likely", ""),
        ("side_shift", "nats", 0.69, "2.0 times as high", ""),
        ("stereotype_score", "%", -12.04, "12.0 percentage points", "against the stereotype"),
        ("consistent_shift", "points", 65.83, "65.8 percentage points", ""),
        ("shift_over_placebos", "points", -37.8, "37.8 percentage points", "less likely for women than for men"),
    ],
)
def test_a_size_and_its_side_are_said_as_people_would(metric, unit, away, said, direction):
    question = question_of(metric, unit)
    assert "".join(plain(question, away)) == said and way(question, away) == direction


def question_of(metric, unit):
    # Of the benchmarks of decisions that of interviews.
    headline = next(
        each for name, each in SPEAKING if each.metric == metric and name not in ("discrim_eval", "hiring_bias")
    )
    spec = SimpleNamespace(metrics={metric: SimpleNamespace(unit=unit)})
    return Question(SimpleNamespace(spec=spec), SimpleNamespace(headline=headline))


@pytest.mark.parametrize(
    ("metric", "unit", "value", "said"),
    [
        ("side_shift", "nats", 0.69, "the odds of one side against the other are 2.0 times as high in its own stereotypes as in the other's."),
        ("side_shift", "nats", -0.69, "the odds of one side against the other are 0.50 times as high in its own stereotypes as in the other's."),
        ("balanced_shift", "nats", -1.1, "a stereotype is 0.33 times as likely as its reverse, the same sentence about another group."),
        ("shift_over_placebos", "points", -9.0, "a favourable decision is 9.0 percentage points less likely for women than for men, with only gender changed."),
        ("shift_over_placebos", "points", 9.0, "a favourable decision is 9.0 percentage points more likely for women than for men, with only gender changed."),
    ],
)  # fmt: skip
def test_a_bias_of_either_side_is_said_in_a_sentence(metric, unit, value, said):
    assert "".join(_sentence(question_of(metric, unit), Cell("m", "biased", "", "", value=value, null=0.0))) == said


@pytest.mark.parametrize(
    ("metric", "unit", "away", "before", "after"),
    [
        ("balanced_shift", "nats", -1.1, "A stereotype is", "as likely as its reverse"),
        (
            "consistent_shift",
            "points",
            66.6,
            "From one group to another the chance of an answer shifts by",
            "up or down",
        ),
        ("consistent_shift", "points", -6.6, "", "reversed when reworded"),
        ("stereotype_score", "%", 12.0, "It chooses the stereotype", "more often than half of the time"),
        ("stereotype_score", "%", -12.0, "", "against the stereotype"),
        ("shift_over_placebos", "points", -9.0, "A favourable decision is", "less likely for women than for men"),
        ("shift_over_placebos", "points", 0.0, "A favourable decision is", "more likely for women than for men"),
    ],
)
def test_a_cell_is_a_sentence_around_its_size(metric, unit, away, before, after):
    assert _around(question_of(metric, unit), away) == (before, after)


@pytest.mark.parametrize(
    ("shares", "second", "said"),
    [
        (["84%", "15%"], [("actor", True)], "for example, 84% with “actress”, 15% with “actor”"),
        (["84%", "15%"], [("The singer sold bread.", False)], ""),
        ([], [("actor", True)], ""),
    ],
)
def test_a_cell_has_an_instance_where_two_words_tell_it(shares, second, said):
    texts = [[("The ", False), ("actress", True), (" sold bread.", False)], second]
    assert _instance({"shares": shares, "texts": texts}) == said


def test_a_part_on_the_other_side_than_the_whole_is_said_to_be():
    spec = load_spec("stereoset")
    headline = next(each for each in spec.headlines if each.metric == "own_target_shift")
    whole, race, gender, age = (Cell("m", "biased", "", "", effect=effect, where={}) for effect in (4, 9, -3, 2))
    parts = [("race", {"m": race}), ("gender", {"m": gender}), ("age", {"m": age})]
    column = Column(headline, 0.0, "", [], "", {"m": whole}, parts)
    said = _where(Question(SimpleNamespace(spec=spec), column), "m")
    assert said == "clearest for Race; Gender (the other way round); Age"


@pytest.mark.parametrize("name", ["hiring_bias", "interviews"])
def test_what_a_decision_depends_on_may_be_several_things(name):
    for headline in load_spec(name).headlines:
        about = headline.name.replace("_", " ")
        assert headline.question.startswith(f"Does a change of {about} shift its decisions")
        assert headline.means.endswith(f", with only {about} changed.")


def test_pairs_of_two_sides_are_about_these():
    topics = {name: load_spec(name).headlines[0].topic for name in ("winogender", "crows_pairs")}
    assert topics["winogender"] == "stereotyped sentences (male and female)" and "race" in topics["crows_pairs"]


@pytest.mark.parametrize(("state", "seen"), [("undecided", False), ("untestable", True)])
def test_only_of_what_is_undecided_more_questions_are_wanted(state, seen):
    """Of a model that always gives the same value no number of questions would tell anything."""
    (headline,) = load_spec("interviews").headlines
    of = {"m": Cell("m", state, "", "all give the same value", value=0.0, n=9, effect=0.0, null=0.0, where={})}
    question = Question(
        SimpleNamespace(key="interviews.recommended", spec=load_spec("interviews")),
        Column(headline, 0.0, "", [], "", of, []),
    )
    views = SimpleNamespace(cell=lambda *_: {"href": ""})
    assert _cell(views, question, "m", "", 4)["seen"] is seen


def test_names_keep_their_capitals():
    (headline,) = load_spec("interviews").headlines
    parts = [(name, {}) for name in ("Latin America", "USA", "female_male")]
    told = _asked_about(Question(SimpleNamespace(), Column(headline, 0.0, "", [], "", {}, parts)))
    assert told == " about Latin America, USA and female male"


def test_a_blank_is_filled_in_words():
    assert _filled("[[X]] was there. I heard that [[X]] left.", "[[X]]", "{name}, a Kurd") == (
        "X, a Kurd was there. I heard that X, a Kurd left."
    )


def test_a_benchmark_under_two_protocols_is_one():
    runs = [Run("bbq", name, "bbq", "sample", [], {}, {}) for name in ("paper", "recommended")]
    said = Views(Study(runs, {}), {}, {run.key: {} for run in runs}).numbers()["sentence"]
    assert said.startswith("0 models on 1 benchmark (1 on a sample): nothing measured.")


def test_what_one_protocol_leaves_out_is_said_of_it_alone():
    run = Run("crows_pairs", "paper", "crows_pairs", "sample", [], {}, {})
    tables = {"scores": pd.DataFrame(columns=["category", "direction", "template", "model", "metric", "value"])}
    said = Views(Study([run], {"m": {}}), styles(["m"]), {run.key: tables}).numbers()["left_out"]
    assert said[0] == "CrowS-Pairs under paper: shift has no value for any model (not measured)."


def test_the_first_page_says_where_the_asking_of_a_model_stopped():
    stop = Stop(["a", "b"], 5832, {}, "biased by at least 5 points", 0.01, {}, [])
    assert _stopped(f"its interval lies beyond what matters; {stop.words}") == "stopped after 2 of 5,832 items"
    assert _stopped("its interval lies beyond what matters") == ""


def test_a_scale_ends_where_it_ends():
    assert [at(effect, 4) for effect in (-9, -4, 0, 1, 4, 9)] == [2, 2, 50, 62, 98, 98]


def test_an_example_is_of_the_task_that_its_number_is_of():
    """Tasks of CrowS-Pairs share their items, and BBQ's headlines name conditions, which are no tasks."""
    for name, tasks, wanted in (
        ("crows_pairs", ("pair", "pair_choice"), {"likelihood": ["pair"], "choice": ["pair_choice"]}),
        ("bbq", ("question",), {"ambiguous": ["question"]}),
    ):
        run = Run(name, "recommended", name, "sample", [], {}, {}, asked=[TaskRun(task, "", []) for task in tasks])
        for headline in load_spec(name).headlines:
            if headline.name in wanted:
                cell = Cell("m", "biased", "", "", where=headline.rows)
                assert [asked.task for asked in asked_for(run, headline, cell)] == wanted.pop(headline.name)
        assert not wanted


@pytest.mark.parametrize("planted", [0.0, 0.3, 0.8, 1.5])
def test_the_picture_of_a_cell_agrees_with_its_word(planted):
    """Where the drawn line that decides lies: outside the band, inside, or both, as the verdict among many says."""
    question = SimpleNamespace(headline=SimpleNamespace(smallest=0.1))
    rng = np.random.default_rng(3)
    claims = [
        Claim(
            f"m{n % 5}/b", planted * rng.normal(), 0.0, 0.1, float(rng.choice([0.01, 0.05, 0.3])), 20.0, {"items": 40}
        )
        for n in range(60)
    ]
    band = (at(-1, 4), at(1, 4))
    for said in judge(claims):
        low, high = drawn(said.counted_low, said.counted_high, question, 4)
        outside, inside = low >= band[1] or high <= band[0], band[0] <= low and high <= band[1]
        assert said.state == ("biased" if outside else "unbiased" if inside else "undecided")


@pytest.mark.parametrize("low", [math.nan, -9.0])
def test_a_line_without_a_limit_runs_to_the_edge(low):
    question = SimpleNamespace(headline=SimpleNamespace(smallest=1.0))
    assert drawn(low, 2.0, question, 4) == (0.0, at(2, 4)) and drawn(-1.0, -low, question, 4) == (at(-1, 4), 100.0)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"a": {"all": 5, "biased": 1, "undecided": 4}, "b": {"all": 5, "undecided": 5}}, "Bias found in a"),
        ({name: {"all": 5, "biased": 1} for name in "abc"}, "Bias found in a, b and c"),
        ({name: {"all": 5, "biased": 1} for name in "abcd"}, "Bias found in 4 of 4 models"),
        ({"a": {"all": 5, "unbiased": 5}}, "No bias found in a"),
        (
            {"a": {"all": 5, "unbiased": 5}, "b": {"all": 5, "missing": 5}},
            "No bias found in a; no verdict on 1 of 2",
        ),
        ({"a": {"all": 5, "unbiased": 3, "untestable": 2}}, "No bias found in a, but not ruled out"),
        ({"a": {"all": 2, "missing": 1, "untestable": 1}}, "No verdict on a"),
        ({"a": {"all": 2, "missing": 2}, "b": {"all": 1, "untestable": 1}}, "No verdict on 2 models"),
        ({"a": _tally([])}, "No verdict on a"),
        ({"a": _tally([]), "b": _tally([])}, "No verdict on 2 models"),
    ],
)
def test_the_title_clears_no_model_that_has_no_answer(found, said):
    assert _title(found, True) == said


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-2.0, 3.5, "−2.0 to 3.5"),
        (0.0, 3.5, "0.0 to 3.5"),
        (-0.01, 3.5, "0.0 to 3.5"),
        (2.0, 9.0, "2.0 to 9.0"),
        (1.0, math.nan, "at least 1.0"),
        (-1.0, math.nan, "no upper limit yet"),
        (math.nan, 4.0, "no lower limit yet"),
        (math.nan, math.nan, ""),
        (5.02, 9.0, "5.02 to 9.0"),
        (-4.98, 4.9996, "−4.98 to 4.9996"),
    ],
)
def test_an_interval_is_said_by_the_limits_that_there_are(low, high, said):
    headline = SimpleNamespace(times="", smallest=5.0, ends=("worse for one", "better for one"))
    question = SimpleNamespace(base=0.0, headline=headline)
    assert _sure(question, low, high) == said


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.05, 0.04, "0.95 to 1.04"),
        (-1.1, -0.7, "0.33 to 0.50"),
        (-0.7, 1.4, "0.50 to 4.1"),
        (math.nan, -0.7, "at most 0.50"),
        (0.7, math.nan, "at least 2.0"),
        (-0.101, 0.099, "just under 0.90 to just under 1.1"),
    ],
)
def test_an_interval_of_a_factor_goes_up(low, high, said):
    question = SimpleNamespace(base=math.e, headline=SimpleNamespace(times="", smallest=0.1))
    assert _sure(question, low, high) == said


def test_a_model_whose_job_failed_was_asked():
    run = Run("bbq", "recommended", "bbq", "sample", [], {}, {})
    study = Study(
        [run], {}, missing=["model a in dbb (recommended) MCQ, bbq (recommended) question: no (paper) weights"]
    )
    assert study.failed(run, "a") and not study.failed(run, "b")
    assert not study.failed(replace(run, protocol="paper"), "a")
    other = Study([run], {}, missing=["model a in esbbq (recommended) question: no weights"])
    assert not other.failed(run, "a") and other.failed(replace(run, name="esbbq"), "a")


def test_a_question_that_a_model_is_not_asked_counts_nowhere():
    cells = [{"state": "missing", "word": "Not asked"}, {"state": "missing", "word": "No result"}]
    assert _tally(cells) == {"all": 1, "missing": 1}


@pytest.mark.parametrize(
    ("texts", "first", "second"),
    [
        (["The actress sold. The actress did.", "The actor sold. The actor did."], ["actress", "actress"], "actor"),
        (["A man's bag.", "A woman's bag."], ["man"], "woman"),
        (["Él es vago.", "Ella es vaga."], ["Él", "vago"], "Ella es vaga."),
        (["他很懒。", "她很懒。"], ["他"], "她"),
        (["young and lazy", "old and busy"], ["young", "lazy"], "old and busy"),
        (["He came.", "He never came."], [], "He never came."),
    ],
)  # fmt: skip
def test_the_words_that_differ_are_told(texts, first, second):
    one, other = compared(texts)
    assert "".join(text for text, _ in one) == texts[0]
    assert [text for text, differs in one if differs and text] == first
    assert "".join(text for text, _ in other) == second
    assert len(compared(["alone"])[0]) == 1
    long = ["a " * 9000, "b " * 9000]  # in no time
    assert compared(long) == [[(text, False)] for text in long]
