"""One architecture through the engine and through the reference: likelihoods, choices and greedy texts.

Lengths go beyond every window and chunk of the tiny models, after cached prefixes too.
"""

from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedModel

from biasatlas.engine.choice import Question, TokenParser, answer_probabilities
from biasatlas.engine.generate import Prompt, generate
from biasatlas.engine.layers import compile_layers, through_onednn
from biasatlas.engine.masks import share_heads
from biasatlas.engine.memory import Memory
from biasatlas.engine.routes import Route, log_likelihoods
from biasatlas.engine.sampling import Sampling
from biasatlas.engine.selfcheck import choose_route

from . import architectures, reference

#: Tokens of an answer, tokens that sampling leaves, and the token that ends an answer.
LONGEST, TOP_K, END = 3, 4, 0
#: Tokens of the longest text.
LENGTH = 120


@dataclass(frozen=True)
class Parity:
    """Largest differences: of a log-likelihood in nats, of a label's probability beyond what the engine itself leaves
    unresolved; and how many of the greedy texts are the same."""

    route: Route
    likelihood: float
    choice: float
    texts: int
    of: int


def compare(model: PreTrainedModel, whole: PreTrainedModel | None = None, compiled: str = "") -> Parity:
    """Answer everything by the engine and by the reference, which uses ``whole`` if given, with torch's own layers.

    The engine gets oneDNN's layers, or torch's ``compiled`` by a backend of its compiler, as none takes oneDNN's.
    """
    whole, prompts = whole or model, _prompts()
    asked = [(ids, start) for ids, start in _requests() if len(ids)]
    wanted = [reference.log_likelihood(whole, ids, start) for ids, start in asked]
    outcomes = [np.asarray(reference.outcomes(whole, ids, _read, 3, LONGEST, TOP_K, END)) for ids in prompts]
    greedy = [reference.greedy(whole, ids, 10, END) for ids in prompts]
    if compiled:
        assert not compile_layers(model, type(model).__name__, compiled)
    else:
        through_onednn(model)
    if model.device.type == "cpu":
        share_heads()
    route = choose_route(model)
    values, _ = log_likelihoods(
        model, [ids for ids, _ in asked], np.asarray([start for _, start in asked]), Memory(128), route
    )
    parser = TokenParser(
        lambda text, complete: _read([int(part) for part in text.split()], complete),
        3,
        lambda answers: [" ".join(map(str, answer)) for answer in answers],
        [END],
    )
    questions = [Question(ids, parser, Sampling(top_k=TOP_K), LONGEST) for ids in prompts]
    answers, _ = answer_probabilities(model, questions, Memory(128), route)
    choice = 0.0
    for expected, (found, unresolved) in zip(outcomes, answers, strict=True):
        missing = expected - found
        choice = max(choice, -float(missing.min()), float(missing.sum()) - unresolved)
    texts, _ = generate(model, [Prompt(ids, Sampling(temperature=0), 10) for ids in prompts], [END], Memory(128), route)
    same = sum(found == expected for expected, (found, _) in zip(greedy, texts, strict=True))
    return Parity(route, float(np.abs(values - wanted).max()), choice, same, len(prompts))


def _read(answer: list[int], complete: bool) -> int | None:
    """The answer by the last token: a third of the vocabulary each is the first label, the second, or no answer yet."""
    third = architectures.VOCABULARY // 3
    if answer and answer[-1] < 2 * third:
        return answer[-1] // third
    return 2 if complete else None


def _prompts() -> list[np.ndarray]:
    random = np.random.default_rng(1)
    trunk = random.integers(2, architectures.VOCABULARY, 50)
    tails = (0, 5, 40)
    return [np.append(trunk, random.integers(2, architectures.VOCABULARY, n)).astype(np.int32) for n in tails]


def _requests() -> list[tuple[np.ndarray, int]]:
    random = np.random.default_rng(2)

    def draw(length: int) -> np.ndarray:
        return random.integers(2, architectures.VOCABULARY, length)

    trunk, other = draw(60), draw(3)
    tails = [(60, 30, 1), (60, 9, 60), (60, 20, 61), (60, 60, 70), (50, 40, 55), (30, 10, 30), (0, 1, 0)]
    requests = [(np.append(trunk[:n], draw(k)), max(start, 1)) for n, k, start in tails if n + k > 1]
    return [(ids.astype(np.int32), start) for ids, start in [*requests, (other, 1)]]
