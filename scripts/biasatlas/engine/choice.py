"""Exact probabilities of answers: texts are expanded token by token, with the answer's parser as the stop rule."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from transformers import PreTrainedModel

from biasatlas.engine import plain
from biasatlas.engine.live import LiveRows, Node
from biasatlas.engine.memory import Memory, check_finite
from biasatlas.engine.routes import TREE, Route, tree_of
from biasatlas.engine.sampling import Sampling, likely, penalise
from biasatlas.engine.tree import Tree
from biasatlas.progress import Progress

#: Once a parser remembers more parses than this (6 bytes each), it forgets them all.
_REMEMBERED = 4_000_000

#: A text so far, and whether it is complete after one more token.
_Key = tuple[tuple[int, ...], bool]


class TokenParser:
    """``read(text, complete)`` gives an outcome's index, or None while more text may change it.

    ``decode`` turns lists of token ids into texts, ``eos_token_ids`` are the tokens that complete a text. Parses are
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
        self._known: dict[_Key, tuple[np.ndarray, np.ndarray]] = {}
        self._remembered = 0

    def parse_next(self, asked: Sequence[tuple[tuple[int, ...], np.ndarray, bool]]) -> list[np.ndarray]:
        """For each (answer, token ids, last), the outcome of the answer followed by each of the tokens, −1 while open.

        ``last``: no other token may follow.
        """
        if self._remembered > _REMEMBERED:
            self._known, self._remembered = {}, 0
        by_key: dict[_Key, list[np.ndarray]] = {}
        for answer, ids, last in asked:
            by_key.setdefault((answer, last), []).append(ids)
        new = {}
        for key, parts in by_key.items():
            known = self._known.get(key)
            ids = np.unique(np.concatenate(parts))
            new[key] = ids if known is None else np.setdiff1d(ids, known[0], assume_unique=True)
        self._learn({key: ids for key, ids in new.items() if len(ids)})
        found = []
        for answer, ids, last in asked:
            learnt, outcomes = self._known[answer, last]
            found.append(outcomes[np.searchsorted(learnt, ids)])
        return found

    def _learn(self, new: dict[_Key, np.ndarray]) -> None:
        """Parse the texts that are not known yet, all of them decoded in one call."""
        tokens = [
            list(answer) if token in self.eos_token_ids else [*answer, token]
            for (answer, _), ids in new.items()
            for token in ids.tolist()
        ]
        texts = iter(self.decode(tokens) if tokens else [])
        for (answer, last), ids in new.items():
            complete = [last or token in self.eos_token_ids for token in ids.tolist()]
            outcomes = np.asarray([self._outcome(next(texts), last) for last in complete], np.int16)
            if (answer, last) in self._known:
                known = self._known[answer, last]
                ids, outcomes = np.append(known[0], ids), np.append(known[1], outcomes)
                order = np.argsort(ids)
                ids, outcomes = ids[order], outcomes[order]
            self._known[answer, last] = ids.astype(np.int32), outcomes
            self._remembered += len(complete)

    def _outcome(self, text: str, complete: bool) -> int:
        # A character cut between its bytes decodes to a replacement mark: wait for the rest of it.
        found = None if text.endswith("\ufffd") and not complete else self.read(text, complete)
        return -1 if found is None else found


#: A question is answered once its unresolved mass is at most this. Unresolved is the mass of open texts, and what was
#: cut from the tails of distributions, which may be a third of it.
UNRESOLVED = 0.003
#: The most texts that are expanded for one question.
EXPANSIONS = 1000
#: A question is given up if more than HOPELESS of its mass is open after PARSES parses of a next token. A model that
#: never starts an answer would otherwise take a thousand times as long as one that does.
HOPELESS, PARSES = 0.5, 20_000
#: The most parses of a next token for one question, however little is open.
MOST_PARSES = 200_000
#: The most texts of one question that are expanded in one round.
WIDTH = 32

Answer = tuple[int, ...]


@dataclass(frozen=True)
class Expansion:
    """What follows an answer: mass by outcome after one more token, and the ``tokens`` that leave it open, with mass.

    ``parses`` counts the next tokens that were parsed; the mass of all others is cut.
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
    """A question so far: its mass by outcome and by ``open`` answer, and the mass ``cut``. ``early`` are expansions of
    answers that are not open yet, since their beginnings were not expanded."""

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

        All cuts of a question together stay within a third of UNRESOLVED. Half of that is divided among lengths (all
        texts of one length have at most a mass of 1); of the other half, a text may take a sixteenth of what is left.
        """
        half = UNRESOLVED / 6
        by_length = half / ((len(answer) + 1) * (len(answer) + 2))
        mass = self.open.get(answer, 1.0)
        return min(0.5, max(by_length, (half - self.cut) / 16 / mass))

    def add(self, answer: Answer, expansion: Expansion) -> None:
        """Add an answer's expansion, and the early ones that it opens; to add it again changes nothing."""
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
        enough = UNRESOLVED - min(2 * self.cut, UNRESOLVED / 3)  # later cuts may be as large as those so far
        for mass, answer in heapq.nsmallest(WIDTH, ((-mass, answer) for answer, mass in self.open.items())):
            if unfinished <= enough or self.expansions + len(chosen) >= EXPANSIONS:
                break
            chosen.append(answer)
            unfinished += mass
        return chosen


#: The most keys and values that are kept to continue texts from, in token budgets. A question that needs more feeds its
#: texts again; its masses so far stand.
KEPT = 8

_Pair = tuple[int, Answer]  # a question's index and an answer to it


@dataclass(frozen=True)
class Question:
    """A prompt, how its answers are parsed and sampled, and ``guesses``: likely answers, expanded in round one."""

    tokens: np.ndarray
    parser: TokenParser
    sampling: Sampling
    max_tokens: int | None
    guesses: tuple[Answer, ...] = ()


def answer_probabilities(
    model: PreTrainedModel, questions: Sequence[Question], memory: Memory, route: Route = TREE
) -> tuple[list[tuple[np.ndarray, float]], dict[str, int]]:
    """The mass of each outcome of each question, and the mass that was not resolved; together they are 1.

    The mass of an outcome is the frequency that sampling with the question's settings converges to: the probability of
    all texts that its parser maps to it. Texts open after ``max_tokens`` are read as complete, as sampled ones are.
    The unresolved mass is at most UNRESOLVED unless EXPANSIONS texts or MOST_PARSES parses were not enough, or the
    question was given up (HOPELESS). The dictionary counts tokens. Raises NotFiniteError.
    """
    work = _Choice(questions, tree_of(model, memory, route))
    wanted = {i: [(), *question.guesses] for i, question in enumerate(questions)}
    while wanted:
        work.run([(i, answer) for i, answers in wanted.items() for answer in answers], route)
        found = {i: work.states[i].next() for i in wanted}
        wanted = {i: answers for i, answers in found.items() if answers}
        work.progress.reach(len(questions) - sum(work.states[i].unfinished for i in wanted))
    run = {"tokens_asked": work.asked, "tokens_fed": work.tree.tokens_fed}
    return [(state.outcomes, max(0.0, 1 - float(state.outcomes.sum()))) for state in work.states], run


class _Choice:
    """Questions and their states so far.

    ``live`` are rows that wait until enough others can be continued with them; ``nodes`` says where in these each
    answer ends. ``asked`` counts the tokens of all expanded texts, as if each was fed alone.
    """

    def __init__(self, questions: Sequence[Question], tree: Tree):
        self.questions, self.tree, self.memory = questions, tree, tree.memory
        self.states = [State(np.zeros(question.parser.outcomes)) for question in questions]
        self.asked = 0
        self.live: LiveRows | None = None
        self.nodes: dict[_Pair, Node] = {}
        self.progress = Progress("questions", len(questions))

    def run(self, pairs: list[_Pair], route: Route) -> None:
        """Expand the answers of ``pairs`` and, on the tree, what follows them as long as it fits."""
        tokens = [self._text(pair) for pair in pairs]
        self.asked += sum(map(len, tokens))

        def follow(live: LiveRows, ends: list[tuple[int, Node]]) -> None:
            nodes: dict[_Pair, Node] = {}
            for k, node in ends:
                i, answer = pairs[k]
                for length in range(len(answer) + 1):
                    nodes.setdefault((i, answer[:length]), node.above(len(answer) - length))
            self._pool(live, nodes)

        if route.name == "plain":
            plain.next_logits(self.tree.model, tokens, self.memory, self._visit(pairs))
            self.tree.tokens_fed += sum(map(len, tokens))
            return
        self.tree.next_logits(tokens, self._visit(pairs), follow if route.name == "tree" else None)
        self._follow()

    def _visit(self, pairs: Sequence[_Pair]) -> plain.Visit:
        return lambda at, logits: self._expand([pairs[k] for k in at], logits)

    def _text(self, pair: _Pair) -> np.ndarray:
        """A question's tokens, and those of an answer."""
        return np.append(self.questions[pair[0]].tokens, np.asarray(pair[1], np.int32))

    def _pool(self, live: LiveRows, nodes: dict[_Pair, Node]) -> None:
        """Merge unfinished rows into the pending batch; run it past half the KV budget."""
        wanted = {i: self.states[i].next() for i in {i: None for i, _ in nodes}}
        self.progress.advance(sum(not answers for answers in wanted.values()))
        going = [i for i, answers in wanted.items() if answers and all((i, answer[:-1]) in nodes for answer in answers)]
        if not going:
            return
        with self.memory.halved_if_exhausted(splittable=True) as attempt:
            nodes = self._keep(live, nodes, going)
            if self.live is None:
                self.live, self.nodes = live, nodes
            else:
                first = self.live.append(live)
                self.nodes |= {key: Node(first + node.row, node.columns) for key, node in nodes.items()}
        if attempt.failed:  # perhaps only some layers were merged: all questions feed their texts again
            self.live, self.nodes = None, {}
        elif self.live.tokens > KEPT * self.memory.token_budget / 2:
            self._follow()

    def _keep(self, live: LiveRows, nodes: dict[_Pair, Node], going: list[int]) -> dict[_Pair, Node]:
        """Drop tokens that lead to no open answer of the questions ``going``; return the nodes that are left."""
        needed = [
            key for key in {(i, answer[:-1]): None for i in going for answer in self.states[i].open} if key in nodes
        ]
        return dict(zip(needed, live.keep([nodes[key] for key in needed]), strict=True))

    def _follow(self) -> None:
        """Expand answers on kept keys and values until their questions are finished, or need more than is kept."""
        live, nodes, self.live, self.nodes = self.live, self.nodes, None, {}
        going = settled = list({i: None for i, _ in nodes})
        while live is not None:
            wanted = {i: self.states[i].next() for i in going}
            self.progress.advance(sum(not answers for answers in wanted.values()))
            going = [i for i in going if wanted[i] and all((i, answer[:-1]) in nodes for answer in wanted[i])]
            if not going:
                return
            pairs = [(i, answer) for i in going for answer in wanted[i]]
            if 2 * len(going) <= len(settled) or self._too_much(live, nodes, pairs):
                with self.memory.halved_if_exhausted(splittable=True) as attempt:
                    nodes, settled = self._keep(live, nodes, going), going
                if attempt.failed or self._too_much(live, nodes, pairs):
                    return
            with self.memory.halved_if_exhausted(splittable=True) as attempt:
                for part in _parts(pairs, nodes, self.memory.token_budget // live.rows):
                    hidden, new = live.feed([nodes[i, answer[:-1]] for i, answer in part], [a[-1] for _, a in part])
                    self.tree.tokens_fed += len(part)
                    self.asked += sum(len(self.questions[i].tokens) + len(answer) for i, answer in part)
                    nodes.update(zip(part, new, strict=True))
                    self.tree.read(hidden, partial(map, self._text, part), self._visit(part))
            if attempt.failed:
                return

    def _too_much(self, live: LiveRows, nodes: dict[_Pair, Node], pairs: list[_Pair]) -> bool:
        """Whether more keys and values would be kept than KEPT allows, if ``pairs`` were fed."""
        added = Counter(nodes[i, answer[:-1]].row for i, answer in pairs)
        return live.tokens + live.rows * max(added.values()) > KEPT * self.memory.token_budget

    @torch.inference_mode()
    def _expand(self, pairs: Sequence[_Pair], logits: torch.Tensor) -> None:
        """Expand answers by one token; ``logits`` (pairs × vocabulary, fp32) follow them, and are overwritten."""
        check_finite(logits, [i for i, _ in pairs])
        cut = np.asarray([self.states[i].cut_allowed(answer) for i, answer in pairs])
        samplings = [self.questions[i].sampling for i, _ in pairs]
        for sampling in dict.fromkeys(samplings):
            at = np.asarray([row for row, own in enumerate(samplings) if own == sampling])
            part = logits if len(at) == len(pairs) else logits[torch.as_tensor(at, device=logits.device)]
            prompts, answers = [self.questions[pairs[row][0]].tokens for row in at], [pairs[row][1] for row in at]
            penalise(part, prompts, answers, sampling)
            for found in likely(part, sampling, torch.as_tensor(1 - cut[at], device=logits.device)):
                rows = at[found.rows.cpu().numpy()]
                ids, mass = found.ids.cpu().numpy(), found.mass.cpu().numpy()
                kept = np.minimum((mass.cumsum(1) < 1 - cut[rows, None]).sum(1) + 1, (mass > 0).sum(1))
                self._read([pairs[row] for row in rows], ids, mass, kept)

    def _read(self, pairs: list[_Pair], ids: np.ndarray, mass: np.ndarray, kept: np.ndarray) -> None:
        """Parse each answer with each of its first ``kept`` next tokens (``ids``, pairs × k, with their mass)."""
        by_parser: dict[int, list[int]] = {}
        for row, (i, _) in enumerate(pairs):
            by_parser.setdefault(id(self.questions[i].parser), []).append(row)
        for rows in by_parser.values():
            parser = self.questions[pairs[rows[0]][0]].parser
            asked = []
            for row in rows:
                i, answer = pairs[row]
                longest = self.questions[i].max_tokens
                asked.append((answer, ids[row, : kept[row]], longest is not None and len(answer) + 1 >= longest))
            for row, (answer, tokens, _), outcome in zip(rows, asked, parser.parse_next(asked), strict=True):
                weight, still = mass[row, : kept[row]], outcome < 0
                outcomes = np.bincount(outcome[~still], weight[~still], minlength=parser.outcomes)
                expansion = Expansion(len(tokens), outcomes, tokens[still], weight[still])
                self.states[pairs[row][0]].add(answer, expansion)


def _parts(pairs: list[_Pair], nodes: dict[_Pair, Node], most: int) -> Iterator[list[_Pair]]:
    """Yield the pairs in parts that add at most ``most`` tokens (or one) to each row."""
    by_row: dict[int, list[_Pair]] = {}
    for i, answer in pairs:
        by_row.setdefault(nodes[i, answer[:-1]].row, []).append((i, answer))
    most = max(1, most)
    for first in range(0, max(map(len, by_row.values())), most):
        yield [pair for row in by_row.values() for pair in row[first : first + most]]
