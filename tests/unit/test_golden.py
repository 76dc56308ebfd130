"""Answers of fixed models, replies and texts, as pinned in tests/golden: they change only together with a VERSION."""

import json

import pytest
from golden import texts
from golden.cases import GOLDEN, same

from biasatlas.benchmarks.mcbe.parsers import PARSERS as MCBE_READERS
from biasatlas.benchmarks.shared.parsing.named import PARSERS

PINNED = pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)


@PINNED
def test_answers_are_those_pinned(golden):
    answers = json.loads(json.dumps(golden.compute()))
    fault = golden.fault(golden.versions(), answers)
    assert not fault, f"{fault}\n{first_difference(golden.pinned()['answers'], answers)}"


def first_difference(pinned, answers):
    """The first answer that differs, for whoever has to judge whether it should."""
    for kind, cases in pinned.items():
        for case in cases if isinstance(cases, dict) else range(len(cases)):
            if not same(cases[case], answers[kind][case]):
                return f"{kind} {case!r}: {answers[kind][case]}; pinned: {cases[case]}"
    return ""


@PINNED
def test_an_answer_that_changed_asks_for_a_version_and_a_version_for_new_answers(golden):
    versions, answers = golden.pinned()["versions"], golden.pinned()["answers"]
    assert golden.fault(versions, answers) == ""
    constants = f"VERSION in {' or '.join(versions)}"
    command = "run `python tests/golden/pin.py`"
    assert golden.fault(versions, answers | {"more": 1}) == f"answers changed: raise {constants} and {command}"
    for module in versions:
        raised = versions | {module: versions[module] + 1}
        assert golden.fault(raised, answers) == f"{constants} was raised and nothing pinned: {command}"


def test_every_reader_is_pinned():
    assert set(PARSERS) == set(texts.SHARED)
    assert set(MCBE_READERS) == set(texts.MCBE)


def test_numbers_may_differ_by_rounding_alone():
    assert same({"a": [1.0, "x", None]}, {"a": [1.000001, "x", None]})
    assert not same({"a": [1.0]}, {"a": [1.0001]})
    assert not same([1.0], [1.0, 2.0]) and not same({"a": 1}, {"b": 1}) and not same("x", "y")
