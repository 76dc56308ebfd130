"""The words of the first page: what each headline says of a model, in whole sentences."""

import pytest

from biasatlas.benchmarks.registry import benchmark_names, load_spec
from biasatlas.report.example import asked_for
from biasatlas.report.front import at
from biasatlas.report.run import Run, TaskRun
from biasatlas.report.verdicts import Cell

SPEAKING = [
    (name, headline)
    for name in benchmark_names()
    for headline in load_spec(name).headlines
    if headline.null is not None
]


@pytest.mark.parametrize(("name", "headline"), SPEAKING, ids=lambda value: getattr(value, "name", value))
def test_every_headline_with_a_null_has_words_for_both_sides(name, headline):
    unit = load_spec(name).metrics[headline.metric].unit
    assert headline.topic and "?" in headline.question
    for pattern in (headline.above, headline.below):
        assert ("{times}" in pattern) == (unit.split(" ")[0] in ("nats", "base-10")), pattern
        assert ("{value}" in pattern) != ("{times}" in pattern) and len(pattern) <= 120


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
