"""The words of the first page: what each headline says of a model, in whole sentences."""

import pytest

from biasatlas.benchmarks.registry import benchmark_names, load_spec
from biasatlas.report.front import at

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
