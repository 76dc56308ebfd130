"""The words of the first page: what each headline says of a model, in whole sentences."""

from types import SimpleNamespace

import pytest

from biasatlas.benchmarks.registry import benchmark_names, load_spec
from biasatlas.report.example import asked_for
from biasatlas.report.front import Question, at, plain
from biasatlas.report.run import Run, TaskRun
from biasatlas.report.verdicts import Cell

SPEAKING = [
    (name, headline)
    for name in benchmark_names()
    for headline in load_spec(name).headlines
    if headline.null is not None
]


@pytest.mark.parametrize(("name", "headline"), SPEAKING, ids=lambda value: getattr(value, "name", value))
def test_every_headline_with_a_null_has_words_for_it(name, headline):
    assert headline.topic and all(headline.ends) and "?" in headline.question


@pytest.mark.parametrize(
    ("metric", "unit", "away", "said"),
    [
        ("balanced_shift", "nats", 1.1, ("3", " times as likely about their own group")),
        ("balanced_shift", "nats", -0.008, ("0.99", " times as likely about their own group")),
        ("side_shift", "nats", 0.69, ("2", " times the odds for their own side")),
        ("stereotype_score", "%", -12.04, ("-12", " points")),
        ("consistent_shift", "points", 65.83, ("65.8", " points of probability")),
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
