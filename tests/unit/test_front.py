"""The words of the first page: what each headline says of a model, in whole sentences."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from biasatlas.benchmarks.registry import benchmark_names, load_spec
from biasatlas.report.example import asked_for
from biasatlas.report.front import Question, _tally, _title, _told, at, drawn, plain
from biasatlas.report.run import Run, TaskRun
from biasatlas.report.verdicts import Cell
from biasatlas.stats.verdict import Claim, judge

SPEAKING = [
    (name, headline)
    for name in benchmark_names()
    for headline in load_spec(name).headlines
    if headline.null is not None
]


@pytest.mark.parametrize(("name", "headline"), SPEAKING, ids=lambda value: getattr(value, "name", value))
def test_every_headline_with_a_null_has_words_for_it(name, headline):
    assert headline.topic and all(headline.ends) and "?" in headline.question
    assert headline.means.count("{}") == bool(headline.means)


@pytest.mark.parametrize(
    ("metric", "unit", "away", "said"),
    [
        ("balanced_shift", "nats", 1.1, ("3", " times as likely")),
        ("balanced_shift", "nats", -0.008, ("0.99", " times as likely")),
        ("side_shift", "nats", 0.69, ("2", " times the odds")),
        ("stereotype_score", "%", -12.04, ("-12", " points")),
        ("consistent_shift", "points", 65.83, ("65.8", " percentage points")),
    ],
)
def test_a_size_is_said_as_people_would(metric, unit, away, said):
    headline = next(each for _, each in SPEAKING if each.metric == metric)
    spec = SimpleNamespace(metrics={metric: SimpleNamespace(unit=unit)})
    question = Question(SimpleNamespace(spec=spec), SimpleNamespace(headline=headline))
    shown, of = plain(question, away)
    assert (shown.replace("−", "-").removesuffix(".0"), of) == said


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
    ("other", "left"),
    [
        ({"all": 5, "unbiased": 5}, ""),
        ({"all": 5, "unbiased": 2, "undecided": 3}, ", 3 of 5 questions undecided"),
        ({"all": 5, "missing": 5}, ", 5 of 5 questions without an answer"),
        ({"all": 5, "undecided": 3, "untestable": 2}, ", 5 of 5 questions without an answer"),
    ],
)
def test_the_title_clears_no_model_that_has_no_answer(other, left):
    found = {"a": {"all": 5, "biased": 1, "undecided": 4}, "b": other}
    assert _title(found, True) == f"Bias found in a; none found in b{left}"


def test_a_question_that_a_model_is_not_asked_counts_nowhere():
    cells = [{"state": "missing", "word": "Not asked"}, {"state": "missing", "word": "No result"}]
    assert _tally(cells) == {"all": 1, "missing": 1}
    assert _told([{"topic": "one"}, {"topic": "other"}], cells) == [
        {"state": "missing", "on": [({"topic": "other"}, cells[1])]}
    ]
