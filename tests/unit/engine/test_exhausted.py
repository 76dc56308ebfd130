"""Memory that runs out once, at any place where keys and values are kept: the answers are the same."""

import numpy as np
import pytest
import torch

from biasatlas.engine import generate as generate_module
from biasatlas.engine import plain
from biasatlas.engine.choice import Question, TokenParser, answer_probabilities
from biasatlas.engine.generate import Prompt, Slots, generate
from biasatlas.engine.live import LiveRows
from biasatlas.engine.memory import Memory
from biasatlas.engine.routes import TREE, Route, States, log_likelihoods
from biasatlas.engine.sampling import Sampling
from biasatlas.engine.tree import Tree

from . import tiny

MODEL = "qwen2"


def prompts(repeats=2):
    """Three families of prompts, each with a long beginning of its own."""
    random = np.random.default_rng(0)
    trunks = [random.integers(2, tiny.VOCABULARY, 60) for _ in range(3)]
    ends = [(trunk, n) for trunk in trunks for n in (3, 9, 30) * repeats]
    return [np.append(trunk, random.integers(2, tiny.VOCABULARY, n)).astype(np.int32) for trunk, n in ends]


def likelihoods():
    tokens = prompts(12)
    start = np.asarray([20 + 40 * (i % 2) for i in range(len(tokens))])
    return log_likelihoods(tiny.model(MODEL), tokens, start, Memory(64))[0]


def choices():
    third = tiny.VOCABULARY // 3

    def read(text, complete):
        last = int(text.split()[-1]) if text else 2 * third
        return last // third if last < 2 * third else 2 if complete else None

    parser = TokenParser(read, 3, lambda rows: [" ".join(map(str, row)) for row in rows], [0])
    questions = [Question(ids, parser, Sampling(top_k=4), 4) for ids in prompts()]
    found, _ = answer_probabilities(tiny.model(MODEL), questions, Memory(64))
    return np.concatenate([outcomes for outcomes, _ in found])


def texts(route=TREE, budget=64):
    asked = [Prompt(ids, Sampling(), 12, repeat) for ids in prompts() for repeat in range(2)]
    found, _ = generate(tiny.model(MODEL), asked, [0], Memory(budget), route)
    return [token for answer, _ in found for token in [*answer, -1]]


def texts_in_step():
    return texts(Route("states"))


def texts_anew():
    return texts(Route("plain", writes="anew"), 512)  # several rows in a pass


@pytest.mark.parametrize(
    "answer, holder, name, call",
    [
        (likelihoods, Tree, "_forward", 1),  # of a prefix, which alone is kept
        (likelihoods, Tree, "_forward", 2),
        (choices, LiveRows, "keep", 1),
        (choices, LiveRows, "keep", 4),
        (choices, LiveRows, "append", 1),
        (choices, LiveRows, "feed", 2),
        (texts, Slots, "add", 1),
        (texts, Slots, "add", 3),
        (texts, Slots, "feed", 3),
        (texts_in_step, States, "_go_on", 2),  # of a prompt, in parts
        (texts_in_step, States, "_go_on", 9),  # of answers on the way
        (texts_anew, plain, "_logits", 3),
        (texts_anew, generate_module, "_next_tokens", 3),  # what is drawn from its logits
    ],
)
def test_memory_may_run_out_once_anywhere(answer, holder, name, call, monkeypatch, caplog):
    wanted, real, calls = answer(), getattr(holder, name), []

    def fails_once(*arguments, **keywords):
        found = real(*arguments, **keywords)  # what it did of its work stands
        calls.extend([name] * keywords.get("keep", True))
        if len(calls) == call:
            raise torch.OutOfMemoryError("injected")
        return found

    monkeypatch.setattr(holder, name, fails_once)
    found = answer()
    assert len(calls) > call and "out of memory: going on with passes of at most" in caplog.text
    assert found == pytest.approx(wanted, abs=1e-4)
