"""Exact probabilities of answers: texts are expanded token by token, with the answer's reader as the stop rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from transformers import PreTrainedModel

from biasatlas.engine import plain
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.sampling import Sampling, warp
from biasatlas.engine.tree import Tree
from biasatlas.progress import Progress

#: The unresolved mass at which a question is answered: a third of it may be cut from the tails of distributions, the
#: rest stays in texts that are not read further.
UNRESOLVED = 0.003
#: The most texts that are expanded for one question.
EXPANSIONS = 1000
#: A question that is this open after so many readings of a next token has answers too many to follow, and is given up:
#: a model that starts no answer at all would take a thousand times as long as one that does.
HOPELESS, READINGS = 0.5, 20_000
#: The most readings of a next token for one question, whatever is open.
MOST_READINGS = 60_000
#: The most texts of one question that are expanded in one round.
WIDTH = 32


class TokenReader:
    """How answers are read: ``read(text, complete)`` gives an outcome's index, or None while more text may change it.

    ``decode`` turns lists of token ids into texts, ``eos_token_ids`` are the tokens that complete a text. Readings are
    remembered by the text so far, since many questions have the same few answers.
    """

    def __init__(
        self,
        read: Callable[[str, bool], int | None],
        outcomes: int,
        decode: Callable[[list[list[int]]], list[str]],
        eos_token_ids: Sequence[int],
    ):
        self.read, self.outcomes, self.decode = read, outcomes, decode
        self.eos_token_ids = frozenset(eos_token_ids)
        self._known: dict[tuple[tuple[int, ...], bool], dict[int, int]] = {}

    def outcome(self, answer: tuple[int, ...], tokens: list[int], last: bool) -> list[int]:
        """The outcome of the answer followed by each of the tokens (−1 while open); ``last``: no token may follow."""
        known = self._known.setdefault((answer, last), {})
        new = [token for token in tokens if token not in known]
        answers = [list(answer) if token in self.eos_token_ids else [*answer, token] for token in new]
        for token, text in zip(new, self.decode(answers) if new else [], strict=True):
            complete = last or token in self.eos_token_ids
            # A character cut between its bytes decodes to a replacement mark: wait for the rest of it.
            found = None if text.endswith("\ufffd") and not complete else self.read(text, complete)
            known[token] = -1 if found is None else found
        return [known[token] for token in tokens]


@dataclass(frozen=True)
class Question:
    """A prompt, how its answers are read and drawn, and answers likely enough to be looked at in the first round."""

    tokens: np.ndarray
    reader: TokenReader
    sampling: Sampling
    max_tokens: int | None
    guesses: tuple[tuple[int, ...], ...] = ()


@dataclass
class _Expansion:
    """What one more token does to an answer: mass by outcome, open answers with their mass, mass cut from the tail.

    ``readings`` counts the tokens that were read after it.
    """

    readings: int
    outcomes: np.ndarray
    children: list[tuple[tuple[int, ...], float]]
    cut: float


@dataclass
class _Progress:
    """One question on the way: expansions so far, and where its mass is."""

    expansions: dict[tuple[int, ...], _Expansion] = field(default_factory=dict)
    outcomes: np.ndarray = field(default_factory=lambda: np.zeros(0))
    unresolved: float = 1.0

    def settle(self, outcomes: int) -> list[tuple[int, ...]]:
        """Add up the mass; the open answers that should be expanded next (none: finished)."""
        self.outcomes, cut = np.zeros(outcomes), 0.0
        open_answers: list[tuple[float, tuple[int, ...]]] = []
        stack: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
        while stack:
            answer, mass = stack.pop()
            expansion = self.expansions.get(answer)
            if expansion is None:
                open_answers.append((mass, answer))
                continue
            self.outcomes += mass * expansion.outcomes
            cut += mass * expansion.cut
            stack.extend((child, mass * share) for child, share in expansion.children)
        unfinished = sum(mass for mass, _ in open_answers)
        self.unresolved = cut + unfinished
        chosen: list[tuple[int, ...]] = []
        readings = sum(expansion.readings for expansion in self.expansions.values())
        if readings > (READINGS if unfinished > HOPELESS else MOST_READINGS):
            return chosen
        for mass, answer in sorted(open_answers, key=lambda pair: (-pair[0], pair[1]))[:WIDTH]:
            if unfinished <= UNRESOLVED * 2 / 3 or len(self.expansions) + len(chosen) >= EXPANSIONS:
                break
            chosen.append(answer)
            unfinished -= mass
        return chosen


def answer_probabilities(
    model: PreTrainedModel, questions: Sequence[Question], memory: Memory, tree_refusal: str = ""
) -> tuple[list[tuple[np.ndarray, float]], dict]:
    """The mass of each outcome of each question, and the mass that was not resolved; together they are 1.

    The mass of an outcome is the frequency to which sampling under the question's settings tends: the probability of
    all texts that its reader maps to it. Texts open after ``max_tokens`` are read as complete, as sampled ones are.
    The unresolved mass is at most UNRESOLVED unless EXPANSIONS texts or MOST_READINGS of tokens were not enough, or
    the question was given up (HOPELESS). Raises NotFiniteError.
    """
    progress = Progress("questions", len(questions))
    states = [_Progress() for _ in questions]
    tree = Tree(model, memory)
    asked = fed = 0
    wanted = {i: [(), *question.guesses] for i, question in enumerate(questions)}
    while wanted:
        pairs = [(i, answer) for i, answers in wanted.items() for answer in answers]
        tokens = [np.append(questions[i].tokens, np.asarray(answer, np.int32)) for i, answer in pairs]

        def visit(
            at: int,
            logits: torch.Tensor,
            pairs: list[tuple[int, tuple[int, ...]]] = pairs,
            wanted: dict[int, list[tuple[int, ...]]] = wanted,
        ) -> None:
            i, answer = pairs[at]
            states[i].expansions[answer] = expansion = _expand(questions[i], answer, logits, i)
            # About what this text resolves: how the open mass is spread over the texts of a round is known at its end.
            progress.advance(states[i].unresolved * float(expansion.outcomes.sum()) / len(wanted[i]))

        if tree_refusal:
            plain.next_logits(model, tokens, memory, visit)
        else:
            tree.next_logits(tokens, visit)
        asked += sum(map(len, tokens))
        settled = {i: states[i].settle(questions[i].reader.outcomes) for i in wanted}
        wanted = {i: answers for i, answers in settled.items() if answers}
        progress.reach(len(states) - sum(states[i].unresolved for i in wanted))
    fed = asked if tree_refusal else tree.tokens_fed
    run = {
        "path": "plain" if tree_refusal else "tree",
        "reason": tree_refusal,
        "tokens_asked": asked,
        "tokens_fed": fed,
    }
    return [(state.outcomes, state.unresolved) for state in states], run


def _expand(question: Question, answer: tuple[int, ...], logits: torch.Tensor, index: int) -> _Expansion:
    if not torch.isfinite(logits.max()):
        raise NotFiniteError(index, float(logits.max()))
    prompt, written = (
        torch.as_tensor(np.asarray(ids, np.int64), device=logits.device) for ids in (question.tokens, answer)
    )
    probabilities = warp(logits, prompt, written, question.sampling).softmax(0)
    falling, order = probabilities.sort(descending=True, stable=True)
    kept = int(torch.searchsorted(falling.double().cumsum(0), 1 - UNRESOLVED / 3)) + 1
    tokens = order[:kept].tolist()
    mass = falling[:kept].double().cpu().numpy()
    last = question.max_tokens is not None and len(answer) + 1 >= question.max_tokens
    found = np.asarray(question.reader.outcome(answer, tokens, last))
    outcomes = np.bincount(found[found >= 0], mass[found >= 0], minlength=question.reader.outcomes)
    children = [((*answer, tokens[at]), float(mass[at])) for at in np.flatnonzero(found < 0)]
    return _Expansion(kept, outcomes, children, max(0.0, 1 - float(mass.sum())))
