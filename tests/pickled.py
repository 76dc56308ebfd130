"""Pickles as Wang et al. (2025) write them: questions byte for byte, replies without some of the options."""

import pickle
import sys
from argparse import Namespace
from types import ModuleType
from unittest import mock

import numpy as np

#: Prefixes of the names of models behind an API, whose tokens are counted.
CALLED = ("claude", "gpt")


def scalar(kind, content):
    """Stands for numpy's own, under the name that it had when the authors pickled it."""


scalar.__module__ = "numpy.core.multiarray"


class Scalar:
    """A numpy scalar that is pickled as numpy 1 did."""

    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        return scalar, self.value.__reduce__()[1]


def dumped(value):
    module = ModuleType(scalar.__module__)
    module.scalar = scalar
    with mock.patch.dict(sys.modules, {scalar.__module__: module}):
        return pickle.dumps(value, protocol=4)


def questions(name, differ, equal):
    """The pickle of a set, from its rows of question, answer and scenario (a text)."""

    def whole(number):
        return Scalar(np.int64(number))

    def rows(condition, given):
        shared = {}
        for question, answer, scenario in given:
            if name == "N2":
                identity = whole(scenario) if condition == "differ" else int(scenario)
                yield [Scalar(np.str_(question)), whole(answer), identity]
            elif name in ("D1", "N3") or (name, condition) == ("D4", "equal"):
                yield [question, answer, int(scenario)]
            elif name == "D3":
                yield [question, answer, shared.setdefault(scenario, scenario)]
            else:
                yield [question, whole(answer) if name == "N4" else answer, scenario]

    return dumped([list(rows("differ", differ)), list(rows("equal", equal))])


def replies(number, model, lists):
    """The pickle of a model's replies to lists of prompts from ``number`` on, 27 bytes short of the authors' own.

    The first published version of their script (f0dd7af) reads all of these options; what else they held is unknown.
    """
    options = Namespace(
        input_prompts=[number + place for place in range(len(lists))],
        system_prompts=[0],
        temp=1.0,
        n=1,
        model=model,
        save_loc="",
        specify_america=number in (1002, 1004, 1012),
        free_answer=True,
        sp_append=False,
        q_version=0,
    )
    tokens = [70_000, 300] if model.startswith(CALLED) else [0, 0]
    return dumped([options, [[[[reply] for reply in said]] for said in lists], tokens])
