"""Where the mass of a question's answers is: texts that are decided, open or cut, and which to read on."""

import heapq
from dataclasses import dataclass, field

import numpy as np

#: The unresolved mass at which a question is answered: in texts that are not read further, and cut from the tails of
#: distributions, which may come to a third of it.
UNRESOLVED = 0.003
#: The most texts that are expanded for one question.
EXPANSIONS = 1000
#: A question that is this open after so many parses of a next token has answers too many to follow, and is given up:
#: a model that starts no answer at all would take a thousand times as long as one that does.
HOPELESS, PARSES = 0.5, 20_000
#: The most parses of a next token for one question, whatever is open.
MOST_PARSES = 200_000
#: The most texts of one question that are expanded in one round.
WIDTH = 32

Answer = tuple[int, ...]


@dataclass(frozen=True)
class Expansion:
    """What one more token does to an answer: mass by outcome, and next tokens that leave it open with their mass.

    ``parses`` counts the tokens that were read after it; the rest of the mass is cut.
    """

    parses: int
    outcomes: np.ndarray
    tokens: np.ndarray
    mass: np.ndarray

    @property
    def cut(self) -> float:
        return max(0.0, 1 - float(self.outcomes.sum()) - float(self.mass.sum()))


@dataclass
class State:
    """One question on the way: its mass by outcome, by ``open`` answer, and what was cut. ``early`` are expansions of answers that nothing has led to yet."""

    outcomes: np.ndarray
    open: dict[Answer, float] = field(default_factory=lambda: {(): 1.0})
    early: dict[Answer, Expansion] = field(default_factory=dict)
    cut: float = 0.0
    expansions: int = 0
    parses: int = 0

    @property
    def unfinished(self) -> float:
        return sum(self.open.values())

    def cut_allowed(self, answer: Answer) -> float:
        """The share of an answer's mass that may be cut from the tail of its next tokens.

        All cuts of a question together stay within a third of UNRESOLVED: one half of it is dealt out by length, where
        texts of one length have at most a mass of 1, of the other each text may take a sixteenth of what is left.
        """
        half = UNRESOLVED / 6
        by_length = half / ((len(answer) + 1) * (len(answer) + 2))
        mass = self.open.get(answer, 1.0)
        return min(0.5, max(by_length, (half - self.cut) / 16 / mass))

    def add(self, answer: Answer, expansion: Expansion) -> None:
        """Take in what an answer expands to, and all that was waiting for it; twice is as good as once."""
        self.early[answer] = expansion
        waiting = [answer]
        while waiting:
            answer = waiting.pop()
            if answer not in self.open or answer not in self.early:
                continue
            mass, expansion = self.open.pop(answer), self.early.pop(answer)
            self.expansions += 1
            self.parses += expansion.parses
            self.outcomes += mass * expansion.outcomes
            self.cut += mass * expansion.cut
            children = [(*answer, token) for token in expansion.tokens.tolist()]
            self.open.update(zip(children, (mass * expansion.mass).tolist(), strict=True))
            waiting += [child for child in self.early if child in self.open]

    def next(self) -> list[Answer]:
        """The open answers that should be expanded next, most probable first (none: finished)."""
        unfinished = self.unfinished
        chosen: list[Answer] = []
        most = PARSES if unfinished > HOPELESS else MOST_PARSES
        if unfinished + self.cut <= UNRESOLVED or self.parses > most:
            return chosen
        enough = UNRESOLVED - min(2 * self.cut, UNRESOLVED / 3)  # as much may be cut again as was so far
        for mass, answer in heapq.nsmallest(WIDTH, ((-mass, answer) for answer, mass in self.open.items())):
            if unfinished <= enough or self.expansions + len(chosen) >= EXPANSIONS:
                break
            chosen.append(answer)
            unfinished += mass
        return chosen
